"""Benchmarks of a request: read, each collective by itself, and only those of one cluster."""

from collections.abc import Iterator, Sequence

from app.errors import InvalidRequest
from app.schemas.cost_models import AUTO, KINDS, CostModelRequest
from solver.calibration.fits import Samples
from solver.calibration.measurements import Measurements, read_runs
from solver.calibration.measurements.pooling import differences, joined
from solver.calibration.measurements.ranks import OTHER
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.graph import ALL_REDUCE

#: Where measurements, or a model itself, may stand in a request.
SOURCES = ("model", "samples", "text", "texts")


def measured(request: CostModelRequest) -> tuple[dict[str, Samples], int | None, list[str]]:
    """Return samples by kind, their workers, and what was dropped and assumed.

    Raises
    ------
    InvalidRequest
        When a text cannot be read, does not tell its collective, or is of another cluster.
    """
    if request.samples is not None:
        return {request.kind or ALL_REDUCE: request.samples}, request.workers, []
    runs = list(_runs(request))
    faults = [
        fault
        for i, (source, run) in enumerate(runs)
        if (fault := _kind_fault(request, source, run, [other for _, other in runs[:i]]))
    ]
    found = [run for _, run in runs]
    if not request.mixed and (several := differences(found)):
        detail = f"{several} Fit each by itself, or say that they are one (mixed)."
        faults.append(Fault(f"/{source_of(request)}", FaultCode.MIXED_CLUSTERS, detail))
    if faults:
        raise InvalidRequest(list(dict.fromkeys(faults)))
    pools: dict[str, list[Measurements]] = {}
    for run in found:
        pools.setdefault(_kind_of(request, run), []).append(run)
    whole = joined(found)
    notes = list(whole.notes)
    if request.workers and whole.workers and request.workers != whole.workers:
        notes.append(
            f"The text says {whole.workers} workers; {request.workers} were given, and count."
        )
    if request.kind is None and any(run.kind is None for run in found):
        notes.append("The collective is not named: taken as all_reduce.")
    samples: dict[str, Samples] = {
        kind: joined(pools[kind]).samples for kind in KINDS if kind in pools
    }
    return samples, request.workers or whole.workers, notes


def source_of(request: CostModelRequest) -> str:
    """Name the field that the measurements stand in."""
    return next(source for source in SOURCES if getattr(request, source) is not None)


def _runs(request: CostModelRequest) -> Iterator[tuple[str, Measurements]]:
    """Read the runs of all texts, each with the pointer to its text.

    Raises
    ------
    InvalidRequest
        With all that is wrong with all texts.
    """
    texts = {"/text": request.text} if request.text is not None else {}
    texts |= {f"/texts/{i}": text for i, text in enumerate(request.texts or ())}
    faults: list[Fault] = []
    for source, text in texts.items():
        try:
            runs = read_runs(text, None if request.format == AUTO else request.format)
        except InvalidMeasurements as error:
            faults += [Fault(source, f.code, f.detail) for f in error.faults]
        else:
            yield from ((source, run) for run in runs)
    if faults:
        raise InvalidRequest(faults)


def _kind_of(request: CostModelRequest, run: Measurements) -> str:
    """Return the collective of a run: what it says itself, else what was given."""
    if run.kind not in {None, OTHER}:
        return str(run.kind)
    return request.kind or ALL_REDUCE


def _kind_fault(
    request: CostModelRequest, source: str, run: Measurements, before: Sequence[Measurements]
) -> Fault | None:
    """Say what is wrong with the collective of a run, if anything."""
    if run.kind == OTHER and request.kind in {None, ALL_REDUCE}:
        detail = " ".join(["The benchmark does not say its collective; give kind.", *run.notes])
        return Fault(source, FaultCode.UNKNOWN_KIND, detail)
    if run.kind is not None and run.kind not in {OTHER, *KINDS}:
        known = ", ".join(KINDS)
        detail = f"The benchmark is {run.kind}, which graphs do not have; they have {known}."
        return Fault(source, FaultCode.NOT_SUPPORTED, detail)
    kinds = {other.kind for other in (*before, run)}
    if request.kind and run.kind not in {None, OTHER, request.kind} and len(kinds) == 1:
        detail = f"The benchmark is {run.kind}, not {request.kind}; leave kind out."
        return Fault("/kind", FaultCode.OUT_OF_RANGE, detail)
    return None
