"""Cost models: fitted to measurements, or checked."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app import VERSION
from app.errors import InvalidRequest
from app.reading.cluster_faults import model_faults
from app.schemas.clusters import ClusterBody
from app.schemas.cost_models import (
    BEST,
    CostModelAnswer,
    CostModelRequest,
    FitOut,
)
from app.schemas.networks import CostModelBody
from app.services.benchmarks import SOURCES, measured, source_of
from solver.calibration.fits import (
    FITS,
    Fit,
    Points,
    Samples,
    StraightLine,
    best_fit,
    fit_all,
    fit_piecewise,
    fit_table,
)
from solver.calibration.impossible import flat_said, impossible, impossible_said, slow_said
from solver.calibration.spread import spread_of
from solver.codes import FaultCode
from solver.costs import PIECEWISE, TABLE, CostError, PiecewiseCost, cost_of
from solver.costs.cost_error import weighted
from solver.errors import Fault, InvalidCluster, InvalidMeasurements
from solver.graph import ALL_REDUCE
from solver.limits import MAX_WORKERS

#: What makes times too short for any network.
_WHAT_UNITS = "No cost follows; look at the units of bytes and times, and at what was timed."


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
    pools, workers, notes = measured(request)
    said = [impossible_said(some, workers, kind) for kind, some in pools.items()]
    if faults := [
        Fault("", FaultCode.NO_COST, f"{impossible_said(some, workers, kind)} {_WHAT_UNITS}")
        for kind, some in pools.items()
        if 2 * impossible(some, workers, kind) > len(some)
    ]:
        raise InvalidRequest(faults)
    if set(pools) == {ALL_REDUCE}:
        samples = pools[ALL_REDUCE]
        fits, refusals = fits_of(request, samples)
        chosen = best_fit(fits)
        ordered = [chosen, *(fit for fit in fits if fit is not chosen)]
        fitted = [(ALL_REDUCE, fit) for fit in ordered]
        _refuse_implausible(fitted[:1], workers)
        model = _with_error(_model(request, chosen, workers), [chosen], pools)
    else:
        fitted, refusals = _tables(request, pools), []
        _refuse_implausible(fitted, workers)
        model = _model_of_kinds(request, fitted, workers)
        model = _with_error(model, [fit for _, fit in fitted], pools)
    return CostModelAnswer(
        name=request.name,
        model=model,
        fits=[
            FitOut(kind=kind, algorithm=fit.name, errors=fit.errors, validated=fit.validated)
            for kind, fit in fitted
        ],
        samples=sum(map(len, pools.values())),
        notes=[*filter(None, said), *notes, *refusals],
        version=VERSION,
    )


def some_workers(model: CostModelBody) -> int:
    """Return the workers that a model was measured with, else as few as it can be about."""
    return model.workers or min(2 * (model.node_workers or 1), MAX_WORKERS)


def kinds_of(model: CostModelBody) -> list[str]:
    """Return the collectives that a model was made for, all-reduce first."""
    own = [ALL_REDUCE] if model.table or not model.tables else []
    return [*own, *model.tables]


def _with_error(
    model: CostModelBody, fits: Sequence[Fit], pools: Mapping[str, Samples]
) -> CostModelBody:
    """Say in a model how far it is from what it was fitted to: by samples, over all kinds."""
    rows = []
    for fit, some in zip(fits, pools.values(), strict=True):
        spread = spread_of(*np.array(some, float).T)
        rows.append((CostError(fit.errors.median, fit.errors.p90, spread), len(some)))
    error = weighted(rows)
    assert error is not None, "what was fitted has samples"
    told = {"error_median": error.median, "error_p90": error.p90, "spread": error.spread}
    return model.model_copy(update=told)


def _source_faults(request: CostModelRequest) -> list[Fault]:
    """Want one source, and in it what its cost needs."""
    given = [source for source in SOURCES if getattr(request, source) is not None]
    if not given:
        detail = "Give a model, samples, or the text of a benchmark, or of several."
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
    cluster = ClusterBody(workers=some_workers(model), cost_model=model).to_cluster()
    try:
        for kind in kinds_of(model):
            cost_of(cluster, kind)
    except InvalidCluster as error:
        missing = [Fault(f"/model{f.pointer}", f.code, f.detail) for f in error.faults]
    else:
        missing = []
    return [*model_faults(model, "/model"), *missing]


def _idle_faults(request: CostModelRequest) -> list[Fault]:
    """List the fields that were given and do not count."""
    idle = []
    if request.model is not None:
        idle += [
            (field, "a model") for field in ("workers", "bandwidth_gbps", "fit", "kind", "mixed")
        ]
    elif request.samples is not None:
        idle.append(("mixed", "samples"))
    if request.texts is None:
        idle.append(("kinds", "no texts"))
    if request.text is None and request.texts is None:
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


def _refuse_implausible(fitted: Sequence[tuple[str, Fit]], workers: int | None) -> None:
    """Refuse costs that do not grow with bytes, or grow faster than over the slowest network.

    Raises
    ------
    InvalidRequest
        With all that is wrong with the fits, of each kind of collective the one that is taken.
    """
    faults = []
    for kind, fit in fitted:
        first, last = fit.cost.times(np.array(fit.measured)).tolist()
        said = (
            check(fit.measured, last - first, workers, kind) for check in (flat_said, slow_said)
        )
        faults += [Fault("", FaultCode.NO_COST, f"{one} {_WHAT_UNITS}") for one in said if one]
    if faults:
        raise InvalidRequest(faults)


def _tables(request: CostModelRequest, pools: Mapping[str, Samples]) -> list[tuple[str, Fit]]:
    """Fit a table to each kind: lines and curves are described of all-reduces alone."""
    if request.fit not in {BEST, TABLE}:
        detail = f"{request.fit} describes all_reduce alone; {' and '.join(pools)} take a table."
        raise InvalidRequest([Fault("/fit", FaultCode.OUT_OF_RANGE, detail)])
    if request.threshold_bytes is not None:
        detail = "threshold_bytes does not count with tables; leave it out."
        raise InvalidRequest([Fault("/threshold_bytes", FaultCode.EXTRA_FIELD, detail)])
    fitted, faults = [], list[Fault]()
    for kind, samples in pools.items():
        try:
            fitted.append((kind, fit_table(samples)))
        except InvalidMeasurements as error:
            faults += [
                Fault(f"/{source_of(request)}", f.code, f"{kind}: {f.detail}") for f in error.faults
            ]
    if faults:
        raise InvalidRequest(faults)
    return fitted


def _model_of_kinds(
    request: CostModelRequest, fitted: Sequence[tuple[str, Fit]], workers: int | None
) -> CostModelBody:
    """Write a table for each kind as one cost model."""
    points = {
        kind: fit.parameters.points for kind, fit in fitted if isinstance(fit.parameters, Points)
    }
    return CostModelBody.model_validate(
        {
            "name": request.name,
            "algorithm": TABLE,
            "workers": workers,
            "bandwidth_gbps": request.bandwidth_gbps,
            "table": points.pop(ALL_REDUCE, ()),
            "tables": points,
        },
        strict=False,
    )


def fits_of(request: CostModelRequest, samples: Samples) -> tuple[tuple[Fit, ...], list[str]]:
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
        source = f"/{source_of(request)}"
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
    if isinstance(found, StraightLine):
        figures = {"constant_us": found.startup_us, "us_per_byte": found.us_per_byte}
    elif isinstance(found, PiecewiseCost):
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
