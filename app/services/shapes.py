"""Shapes of a job: ranked, with what they rest on."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from app import VERSION
from app.errors import InvalidRequest
from app.schemas.shapes import (
    ExposedGroup,
    ShapeAnswer,
    ShapeRequest,
    ShapeRow,
    ShapeTimelineRequest,
)
from app.services.shape_notes import notes_of
from app.services.shape_plans import PLANS, plans_of
from app.services.shape_spaces import CheckedSpace, checked_space
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError
from solver.shapes.communication.shape_plan import ShapePlan
from solver.shapes.efficiency import Efficiencies
from solver.shapes.fit.figures import assumed_figures
from solver.shapes.fit.shape_fit import PredictedStep, ShapeFit, fit_steps
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape, faults_of_shape
from solver.shapes.launch import PROGRAMS
from solver.shapes.ranking.first_answers import RankingFollower
from solver.shapes.ranking.rank import rank_shapes
from solver.shapes.ranking.ranked import RankedShape, ShapeRanking
from solver.shapes.ranking.space import ruled_out
from solver.shapes.step_trace import step_trace
from solver.shapes.transformer import Transformer

#: Passes of a shape whose timeline is drawn; a page shows some 100,000 slices.
MOST_DRAWN_PASSES = 30_000


#: Told how far a ranking is, as :data:`RankingFollower` is, with what writes it as an answer.
#: Any thread may call that, at any time.
ShapeFollower = Callable[[str, int, int | None, ShapeRanking, Callable[[], ShapeAnswer]], None]


def answer_of(request: ShapeRequest, told: ShapeFollower | None = None) -> ShapeAnswer:
    """Rank the shapes of a job, with figures fitted to its measured steps, if there are any.

    ``told`` hears how far it is.

    Raises
    ------
    InvalidRequest
        As :func:`app.services.shape_spaces.checked_space` does.
    """
    checked = checked_space(request)
    model, cluster = checked.model, checked.cluster
    fit = fit_steps(checked.rows) if checked.rows else None
    known = request.to_efficiencies() if fit is None else fit.known
    stated = frozenset(request.efficiencies)

    def written(
        ranking: ShapeRanking, plans: Mapping[JobShape, ShapePlan], stopped: str | None = None
    ) -> ShapeAnswer:
        row = partial(
            _row, model=model, cluster=cluster, fit=fit, program=request.launch, plans=plans
        )
        out = ruled_out(model, cluster, checked.space)
        return ShapeAnswer.of(
            ranking,
            model=model.name,
            parameters=model.parameters,
            gpus=request.gpus,
            best=[row(each) for each in ranking.best],
            front=[row(each) for each in ranking.front],
            figures=list(fit.figures if fit else assumed_figures(known, stated)),
            rows=len(checked.rows),
            rows_error=fit.error if fit else None,
            notes=list(
                notes_of(
                    ranking,
                    fit,
                    stated,
                    out,
                    checked.gpu.kernels,
                    checked.space.schedules,
                    stopped,
                )
            ),
            version=VERSION,
        )

    def tell(phase: str, done: int, total: int | None, so_far: ShapeRanking) -> None:
        if told is not None:
            told(phase, done, total, so_far, partial(written, so_far, {}, phase))

    def tell_plans(done: int, total: int, plans: Mapping[JobShape, ShapePlan]) -> None:
        if told is not None:
            told(PLANS, done, total, ranking, partial(written, ranking, plans, PLANS))

    ranking = _ranking(request, checked, known, None if told is None else tell)
    plans = plans_of(ranking, request.planned, model, cluster, known, fit, stated, tell_plans)
    return written(ranking, plans)


def _ranking(
    request: ShapeRequest,
    checked: CheckedSpace,
    known: Efficiencies,
    told: RankingFollower | None = None,
) -> ShapeRanking:
    try:
        return rank_shapes(
            checked.model,
            checked.cluster,
            checked.space,
            known,
            request.count,
            request.price_per_gpu_hour,
            told=told,
        )
    except InterlaceError as error:
        raise InvalidRequest(error.faults) from error


def timeline_of(request: ShapeTimelineRequest) -> dict[str, Any]:
    """Lay out a step of one shape as a Chrome trace: one pipeline of its ranks.

    What measured steps tell besides the simulation is not drawn.

    Raises
    ------
    InvalidRequest
        With all that is wrong with the request or the shape, or where that has too many passes.
    """
    checked = checked_space(request)
    known = fit_steps(checked.rows).known if checked.rows else request.to_efficiencies()
    shape = None if request.shape is None else request.shape.to_shape()
    if shape is None:
        best = _ranking(request, checked, known).best
        if not best:
            detail = "No shape of this space is simulated, so that none can be drawn."
            raise InvalidRequest([Fault("", FaultCode.OUT_OF_RANGE, detail)])
        shape = best[0].shape
    if faults := list(_shape_faults(shape, request.gpus, checked)):
        raise InvalidRequest([replace(f, pointer=f"/shape{f.pointer}") for f in faults])
    return step_trace(checked.model, checked.cluster, shape, known)


def _shape_faults(shape: JobShape, gpus: int, checked: CheckedSpace) -> Iterator[Fault]:
    found = list(faults_of_shape(shape, checked.model))
    yield from found
    rates = dict(checked.gpu.tflops)
    if shape.precision not in rates:
        detail = f"Shape: precision must be one of the GPU's, {', '.join(rates)}."
        yield Fault("/precision", FaultCode.OUT_OF_RANGE, detail)
    if found:
        return
    if shape.gpus != gpus:
        detail = f"Shape: tp * cp * dp * pp must be the GPUs of the job, {gpus:,}; {shape.gpus:,}."
        yield Fault("", FaultCode.OUT_OF_RANGE, detail)
    if shape.passes > MOST_DRAWN_PASSES:
        detail = f"Shape: at most {MOST_DRAWN_PASSES:,} passes are drawn, got {shape.passes:,}."
        yield Fault("/micro_batches", FaultCode.OUT_OF_RANGE, detail)


def _row(
    ranked: RankedShape,
    model: Transformer,
    cluster: TrainingCluster,
    fit: ShapeFit | None,
    program: str | None,
    plans: Mapping[JobShape, ShapePlan],
) -> ShapeRow:
    predicted: PredictedStep | None = None
    longer = 1.0  # than simulated, as predicted
    if fit is not None:
        predicted = fit.predict(model, cluster, ranked.shape)
        longer = predicted.time_us / ranked.step.time_us
    price = ranked.price_per_billion_tokens
    return ShapeRow.of(
        ranked,
        ranked.step,
        name=str(ranked.shape),
        predicted_us=predicted and predicted.time_us,
        low_us=predicted and predicted.low_us,
        high_us=predicted and predicted.high_us,
        outside=list(predicted.outside if predicted else ()),
        memory_bytes=ranked.memory.peak_bytes,
        memory_rank=ranked.memory.rank,
        exposed=[ExposedGroup(group=name, us=us) for name, us in ranked.step.exposed],
        tokens_per_s_per_gpu=ranked.tokens_per_s_per_gpu / longer,
        mfu=ranked.mfu / longer,
        price_per_billion_tokens=None if price is None else price * longer,
        launch=None if program is None else PROGRAMS[program](model, ranked.shape),
        plan=plans.get(ranked.shape),
    )
