"""Cost models: fitted to measurements, or checked."""

from typing import Any

from app import VERSION
from app.errors import InvalidRequest
from app.reading.cluster_faults import model_faults
from app.schemas.clusters import ClusterBody
from app.schemas.cost_models import (
    AUTO,
    BEST,
    CostModelAnswer,
    CostModelRequest,
    FitOut,
)
from app.schemas.networks import CostModelBody
from solver.calibration.fits import FITS, Fit, Line, Samples, best_fit, fit_all, fit_piecewise
from solver.calibration.measurements import read_measurements
from solver.codes import FaultCode
from solver.costs import PIECEWISE, TABLE, Curve, cost_of
from solver.errors import Fault, InvalidCluster, InvalidMeasurements
from solver.limits import MAX_WORKERS

_SOURCES = ("model", "samples", "text")


def run(request: CostModelRequest) -> CostModelAnswer:
    """Fit a cost model to measurements, or check one whose figures are known.

    Raises
    ------
    InvalidRequest
        When there is not one source, or it cannot be read or fitted.
    """
    if faults := [*_source_faults(request), *_idle_faults(request)]:
        raise InvalidRequest(faults)
    if request.model is not None:
        named = request.name or request.model.name
        model = request.model.model_copy(update={"name": named})
        return CostModelAnswer(
            name=named, model=model, fits=[], samples=0, notes=[], version=VERSION
        )
    samples, workers, notes = _measured(request)
    fits, refusals = _fits(request, samples)
    chosen = best_fit(fits)
    ordered = [chosen, *(fit for fit in fits if fit is not chosen)]
    return CostModelAnswer(
        name=request.name,
        model=_model(request, chosen, workers),
        fits=[
            FitOut(algorithm=fit.name, errors=fit.errors, validated=fit.validated)
            for fit in ordered
        ],
        samples=len(samples),
        notes=[*notes, *refusals],
        version=VERSION,
    )


def _source_faults(request: CostModelRequest) -> list[Fault]:
    """Want one source, and in it what its cost needs."""
    given = [source for source in _SOURCES if getattr(request, source) is not None]
    if not given:
        detail = "Give a model, samples, or the text of a benchmark."
        return [Fault("/text", FaultCode.MISSING_FIELD, detail)]
    if len(given) > 1:
        detail = f"Give one of {', '.join(given)}, not more."
        return [Fault(f"/{source}", FaultCode.EXTRA_FIELD, detail) for source in given[1:]]
    return _model_faults(request.model) if request.model else []


def _model_faults(model: CostModelBody) -> list[Fault]:
    """List what is wrong with figures that are to be stored."""
    if model.id is not None:
        return [
            Fault("/model/id", FaultCode.EXTRA_FIELD, "Model: what is stored has its own figures.")
        ]
    some = model.workers or min(2 * (model.node_workers or 1), MAX_WORKERS)
    cluster = ClusterBody(workers=some, cost_model=model).to_cluster()
    try:
        cost_of(cluster)
    except InvalidCluster as error:
        missing = [Fault(f"/model{f.pointer}", f.code, f.detail) for f in error.faults]
    else:
        missing = []
    return [*model_faults(model, "/model"), *missing]


def _idle_faults(request: CostModelRequest) -> list[Fault]:
    """List the fields that were given and do not count."""
    idle = []
    if request.model is not None:
        idle += [("workers", "a model"), ("bandwidth_gbps", "a model"), ("fit", "a model")]
    if request.text is None:
        idle.append(("format", "no text"))
    if request.model is not None or request.fit not in {BEST, PIECEWISE}:
        idle.append(("threshold_bytes", "no piecewise fit"))
    return [
        Fault(
            f"/{field}",
            FaultCode.EXTRA_FIELD,
            f"{field} does not count with {beside}; leave it out.",
        )
        for field, beside in idle
        if getattr(request, field) != CostModelRequest.model_fields[field].default
    ]


def _measured(request: CostModelRequest) -> tuple[Samples, int | None, list[str]]:
    """Return samples, the workers they were taken with, and what was dropped and assumed."""
    if request.samples is not None:
        return request.samples, request.workers, []
    assert request.text is not None, "one source"
    try:
        found = read_measurements(request.text, None if request.format == AUTO else request.format)
    except InvalidMeasurements as error:
        faults = [Fault("/text", f.code, f.detail) for f in error.faults]
        raise InvalidRequest(faults) from error
    notes = list(found.notes)
    if found.kind not in {None, "all_reduce"}:
        detail = " ".join(["A cost model is that of an all-reduce.", *notes])
        raise InvalidRequest([Fault("/text", FaultCode.NOT_ALL_REDUCE, detail)])
    if request.workers and found.workers and request.workers != found.workers:
        notes.append(
            f"The text says {found.workers} workers; {request.workers} were given, and count."
        )
    return found.samples, request.workers or found.workers, notes


def _fits(request: CostModelRequest, samples: Samples) -> tuple[tuple[Fit, ...], list[str]]:
    """Fit what was asked for; of several, leave out what cannot be fitted, and say why."""
    fits: tuple[Fit, ...]
    left_out: tuple[Fault, ...] = ()
    try:
        if request.fit == BEST:
            fits, left_out = fit_all(samples, request.threshold_bytes)
        elif request.fit == PIECEWISE:
            fits = (fit_piecewise(samples, request.threshold_bytes),)
        else:
            fits = (FITS[request.fit](samples),)
    except InvalidMeasurements as error:
        source = "/samples" if request.samples is not None else "/text"
        raise InvalidRequest(
            [
                Fault(f.pointer.replace("/samples", source, 1), f.code, f.detail)
                for f in error.faults
            ]
        ) from error
    return fits, [fault.detail for fault in left_out]


def _model(request: CostModelRequest, fit: Fit, workers: int | None) -> CostModelBody:
    """Write a fit as a cost model."""
    found = fit.parameters
    figures: dict[str, Any]
    if isinstance(found, Line):
        figures = {"constant_us": found.startup_us, "us_per_byte": found.us_per_byte}
    elif isinstance(found, Curve):
        figures = {"piecewise": found}
    else:
        figures = {"table": found.points}
    measured = {} if fit.name == TABLE else {"measured_bytes": fit.measured}
    return CostModelBody.model_validate(
        {
            "name": request.name,
            "algorithm": fit.name,
            "workers": workers,
            "bandwidth_gbps": request.bandwidth_gbps,
            **figures,
            **measured,
        },
        strict=False,
        from_attributes=True,
    )
