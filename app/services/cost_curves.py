"""A cost model over the sizes, beside what it was fitted to."""

from collections.abc import Sequence

import numpy as np

from app import VERSION
from app.schemas.clusters import ClusterBody
from app.schemas.cost_curves import (
    CostCurve,
    CostCurvesAnswer,
    CurvePoint,
    KindCurves,
    MeasuredSize,
)
from app.schemas.cost_models import CostModelAnswer, CostModelRequest
from app.schemas.networks import CostModelBody, Table
from app.services.benchmarks import measured
from app.services.cost_models import fits_of, kinds_of, some_workers
from solver.calibration.fits import Fit, Model, Points, Samples
from solver.costs import Cost, PiecewiseCost, cost_of
from solver.graph import ALL_REDUCE
from solver.limits import MAX_BYTES
from solver.units import IntArray

#: Points of a curve for each doubling of the size.
_PER_DOUBLING = 4


#: Curves go on so many times beyond the least and the most that was measured.
_BEYOND = 8


#: Where curves are drawn when nobody knows what was measured [bytes].
_USUAL = (1_024, 2**30)


def answer_of(request: CostModelRequest, kept: CostModelAnswer) -> CostCurvesAnswer:
    """Draw a model that was kept, and the fits of its request that were not taken.

    Samples are read, and the other fits made, once more: those of a request are always the same.

    Raises
    ------
    InvalidRequest
        When a text cannot be read any more, as an earlier version could.
    """
    model = kept.model
    pools = {} if request.model is not None else measured(request)[0]
    others: list[Fit] = []
    if set(pools) == {ALL_REDUCE}:
        fits, _ = fits_of(request, pools[ALL_REDUCE])
        others = [fit for fit in fits if fit.name != model.algorithm]
    workers = some_workers(model)
    cluster = ClusterBody(workers=workers, cost_model=model).to_cluster()
    kinds = []
    for kind in kinds_of(model):
        sizes = _by_size(pools.get(kind, ()))
        known = _range(kind, model, sizes)
        own = (model.algorithm, cost_of(cluster, kind), _bends_of_model(kind, model))
        drawn = [own, *((fit.name, fit.cost, _bends(fit.parameters)) for fit in others)]
        curves = [
            _curve(name, cost, _spread(known or _USUAL, bends), sizes, is_model=i == 0)
            for i, (name, cost, bends) in enumerate(drawn)
        ]
        kinds.append(KindCurves(kind=kind, measured_bytes=known, measured=sizes, curves=curves))
    return CostCurvesAnswer(workers=workers, kinds=kinds, version=VERSION)


def _curve(
    name: str, cost: Cost, at: IntArray, sizes: Sequence[MeasuredSize], *, is_model: bool
) -> CostCurve:
    return CostCurve(
        algorithm=name,
        is_model=is_model,
        points=[
            CurvePoint(bytes=size, us=time)
            for size, time in zip(at.tolist(), cost.times(at).tolist(), strict=True)
        ],
        residuals=[cost.time(size.bytes) / size.mean_us - 1 for size in sizes],
    )


def _by_size(samples: Samples) -> list[MeasuredSize]:
    times: dict[int, list[float]] = {}
    for size, time in sorted(samples):
        times.setdefault(size, []).append(time)
    return [
        MeasuredSize(
            bytes=size,
            mean_us=sum(found) / len(found),
            least_us=found[0],
            most_us=found[-1],
            samples=len(found),
        )
        for size, found in times.items()
    ]


def _range(
    kind: str, model: CostModelBody, sizes: Sequence[MeasuredSize]
) -> tuple[int, int] | None:
    """Return least and most bytes that were measured; None when nobody knows."""
    if sizes:
        return sizes[0].bytes, sizes[-1].bytes
    if kind in model.measured_of_kinds:
        return model.range_of(kind)
    if kind == ALL_REDUCE:
        return model.range
    bends = _bends_of_model(kind, model)
    return (min(bends), max(bends)) if bends else None


def _bends_of_model(kind: str, model: CostModelBody) -> list[int]:
    """List the sizes [bytes] where the cost of a kind bends or jumps, as :func:`_bends` does."""
    tables: list[tuple[str, Table]] = [(ALL_REDUCE, model.table), *model.tables.items()]
    found = [size for other, table in tables if other == kind for size, _ in table]
    return found if model.piecewise is None else [*found, *_jump(model.piecewise.threshold_bytes)]


def _bends(parameters: Model) -> list[int]:
    """List the points of a table, or both sides of a threshold [bytes]."""
    if isinstance(parameters, Points):
        return [size for size, _ in parameters.points]
    return _jump(parameters.threshold_bytes) if isinstance(parameters, PiecewiseCost) else []


def _jump(threshold_bytes: int) -> list[int]:
    return [max(1, threshold_bytes - 1), threshold_bytes]


def _spread(known: tuple[int, int], bends: Sequence[int]) -> IntArray:
    """Return sizes [bytes] from below the least to above the most that is known, and the bends."""
    least, most = max(1, known[0] // _BEYOND), min(MAX_BYTES, known[1] * _BEYOND)
    count = int(np.log2(most / least) * _PER_DOUBLING) + 2
    even = np.geomspace(least, most, count).round().astype(np.int64)
    return np.unique(np.concatenate([even, np.array(bends, dtype=np.int64)]))
