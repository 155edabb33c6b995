"""Whose launches the runs of one file are: groups of one size, and the bytes of all ranks."""

from collections.abc import Sequence
from dataclasses import replace

from solver.calibration.measurements.readings import Measurements
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.limits import MAX_BYTES


def of_one_size(runs: Sequence[Measurements], workers: int | None) -> tuple[Measurements, ...]:
    """Keep the runs of one number of ranks, and note in the first which were left out.

    A job has groups of several sizes, and a benchmark of MPI runs with 2, 4, ... ranks; a cost is
    that of one number. It is ``workers`` where some run has so many, else the largest.
    """
    sizes = sorted({run.workers for run in runs if run.workers is not None})
    if len(sizes) <= 1:
        return tuple(runs)
    kept = workers if workers in sizes else sizes[-1]
    left = ", ".join(str(size) for size in sizes if size != kept)
    note = (
        f"The file has launches of {left} and {kept} ranks: those of {kept} are read; `workers` "
        "(--workers N) chooses others."
    )
    first, *others = (run for run in runs if run.workers == kept)
    return (replace(first, notes=(note, *first.notes)), *others)


def whole(run: Measurements, workers: int | None) -> Measurements:
    """Give samples the bytes of all ranks where they have those of one.

    ``workers`` counts where the file does not say how many took part.

    Raises
    ------
    InvalidMeasurements
        When neither says it, or the bytes of all are too many.
    """
    if not run.is_per_rank:
        return run
    ranks = run.workers or workers
    if ranks is None:
        detail = (
            f"The file has the bytes of one rank of an {run.kind}, and does not say how many ranks "
            "took part: say it by `workers` (--workers N), or keep the command line "
            "(mpirun -np N ...) in the file."
        )
        raise InvalidMeasurements([Fault("", FaultCode.MISSING_FIELD, detail)])
    if max(size for size, _ in run.samples) * ranks > MAX_BYTES:
        detail = f"The bytes of {ranks} ranks must be at most 2^60."
        raise InvalidMeasurements([Fault("", FaultCode.OUT_OF_RANGE, detail)])
    note = f"The file has the bytes of one of {ranks} ranks of an {run.kind}; samples have all."
    return replace(
        run,
        samples=tuple((size * ranks, time) for size, time in run.samples),
        workers=ranks,
        notes=(*run.notes, note),
        is_per_rank=False,
    )
