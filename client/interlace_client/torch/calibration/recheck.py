"""Recheck: launches of the first planned steps beside the table that they were planned with."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from math import log
from statistics import median
from typing import TYPE_CHECKING

from interlace_client.torch.calibration.result import ALL_REDUCE
from interlace_client.torch.calibration.table import monotone, time_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace_client.torch.calibration.result import Calibration


@dataclass(frozen=True)
class Recheck:
    """How measured launches differ from a calibration, and the calibration that fits them.

    Attributes
    ----------
    off
        Measured time of all launches / that of the table - 1.
    by_size
        The same for each size, by the median of its launches; sizes ascending.
    calibration
        With the costs of the measured sizes as measured, and those of the others scaled like their
        neighbours; monotone.
    sentence
        How much it is off.
    """

    off: float
    by_size: Mapping[int, float]
    calibration: Calibration
    sentence: str


def recheck(
    calibration: Calibration, launches: Sequence[tuple[int, float]], kind: str = ALL_REDUCE
) -> Recheck:
    """Compare launches of a run with a calibration's table, and correct it.

    Parameters
    ----------
    calibration
        What the run was planned with.
    launches
        Size [bytes] and time [us] of each: from its start, or from the end of the one before it
        where that is later, to its end on the slowest rank.
    kind
        Of collective.

    Raises
    ------
    ValueError
        When there are no launches, or the kind was not calibrated.

    Notes
    -----
    Between two measured sizes the factor is linear in the logarithm of the size, and beyond them it
    is that of the nearest.
    """
    if kind not in calibration.tables:
        raise ValueError(f"{kind} was not calibrated, only {', '.join(calibration.tables)}.")
    if not launches:
        raise ValueError("There are no launches to compare with.")
    table = calibration.tables[kind]
    times: dict[int, list[float]] = {}
    for size, time in launches:
        times.setdefault(size, []).append(time)
    factors = {size: median(times[size]) / time_of(table, size) for size in sorted(times)}
    expected = sum(time_of(table, size) for size, _ in launches)
    off = sum(time for _, time in launches) / expected - 1
    scaled = {size: [time * _factor(factors, size)] for size, time in table}
    corrected = monotone({**scaled, **times})
    worst = max(factors, key=lambda size: abs(factors[size] - 1))
    sentence = (
        f"{len(launches)} launches took {abs(off):.1%} {'longer' if off >= 0 else 'less'} than "
        f"calibrated; the furthest off are those of {worst} bytes, by {factors[worst] - 1:+.1%}."
    )
    by_size = {size: factor - 1 for size, factor in factors.items()}
    tables = {**calibration.tables, kind: corrected}
    return Recheck(off, by_size, replace(calibration, tables=tables), sentence)


def _factor(factors: Mapping[int, float], size: int) -> float:
    """Return how much longer launches of a size take than calibrated."""
    sizes = list(factors)
    at = bisect_left(sizes, size)
    if at == len(sizes):
        return factors[sizes[-1]]
    if at == 0 or sizes[at] == size:
        return factors[sizes[at]]
    low, high = sizes[at - 1], sizes[at]
    share = (log(size) - log(low)) / (log(high) - log(low))
    return factors[low] + share * (factors[high] - factors[low])
