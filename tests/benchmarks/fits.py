"""How well each fit predicts times it was not fitted to, on measured files.

Run it with ``python -m tests.benchmarks.fits FOLDER``; PROTOCOL.md says what is measured.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from solver.calibration.fits import FITS, Fit, Samples, best_fit, cost_of_model, fit_all
from solver.calibration.measurements import read_measurements
from solver.costs import Affine, Cost
from solver.errors import InterlaceError

MIB = 2**20
EVERY = 4
LARGEST = 2**26  # bytes of a file that is looked at


def plain(samples: Samples) -> Cost:
    """Least squares of the times themselves: one line, start-up 0 or more."""
    sizes, times = np.array(samples, dtype=float).T
    slope, constant = np.polyfit(sizes, times, 1)
    if constant < 0:
        slope, constant = sizes @ times / (sizes @ sizes), 0.0
    return Affine(float(constant), float(slope))


def models(samples: Samples) -> dict[str, Callable[[], Cost]]:
    def fitted(fit: Callable[[Samples], Fit]) -> Cost:
        return cost_of_model(fit(samples).parameters)

    return {
        "plain least squares": partial(plain, samples),
        **{name: partial(fitted, fit) for name, fit in FITS.items()},
        "best": partial(fitted, lambda given: best_fit(fit_all(given)[0])),
    }


def percent(misses: np.ndarray) -> str:
    if not misses.size:
        return f"{'-':>9}{'-':>9}"
    return f"{np.median(misses):>9.1%}{misses.max():>9.1%}"


def report(path: Path, samples: Samples) -> None:
    sizes = sorted({size for size, _ in samples})
    fitted_to = set(sizes[::EVERY])
    train = [sample for sample in samples if sample[0] in fitted_to]
    test = np.array([sample for sample in samples if sample[0] not in fitted_to])
    inside = (test[:, 0] >= MIB) & (test[:, 0] <= 32 * MIB)
    print(f"{path.name}: {len(samples)} samples of {len(sizes)} sizes, {len(fitted_to)} fitted to")
    for name, model in models(train).items():
        try:
            misses = abs(model().times(test[:, 0].astype(np.int64)) / test[:, 1] - 1)
        except InterlaceError as error:
            print(f"  {name:<22}  {error}")
        else:
            print(f"  {name:<22}{percent(misses[inside])}{percent(misses)}")


def main(folder: str) -> None:
    print(f"{'held out:':<24}{'1 to 32 MiB':>18}{'all sizes':>18}")
    print(f"{'':<24}{'median':>9}{'worst':>9}{'median':>9}{'worst':>9}")
    for path in sorted(Path(folder).rglob("*")):
        if not path.is_file() or path.stat().st_size > LARGEST:
            continue
        try:
            samples = read_measurements(path.read_text()).samples
        except (InterlaceError, UnicodeDecodeError):
            continue  # another kind of file
        if len({size for size, _ in samples}) > EVERY:
            report(path, samples)


if __name__ == "__main__":
    main(*sys.argv[1:])
