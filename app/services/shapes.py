"""Shapes of a job: ranked, with what they rest on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app import VERSION
from app.errors import InvalidRequest
from app.schemas.shapes import (
    AcceleratorBody,
    ExposedGroup,
    ShapeAnswer,
    ShapeRequest,
    ShapeRow,
    ShapeTimelineRequest,
    TransformerBody,
)
from app.services.shape_notes import notes_of
from app.services.shape_plans import plans_of
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError
from solver.shapes.communication.shape_plan import ShapePlan
from solver.shapes.efficiency import Efficiencies
from solver.shapes.fit.figures import assumed_figures
from solver.shapes.fit.rows import MeasuredShape, faults_of_rows
from solver.shapes.fit.shape_fit import PredictedStep, ShapeFit, fit_steps
from solver.shapes.hardware import (
    ACCELERATORS,
    Accelerator,
    NetworkLevel,
    TrainingCluster,
    faults_of_cluster,
    joined,
)
from solver.shapes.job_shape import JobShape, faults_of_shape
from solver.shapes.launch import PROGRAMS
from solver.shapes.published import PUBLISHED
from solver.shapes.ranking.first_answers import RankingFollower
from solver.shapes.ranking.rank import RankedShape, ShapeRanking, rank_shapes
from solver.shapes.ranking.space import ShapeSpace, faults_of_space, ruled_out
from solver.shapes.step_trace import step_trace
from solver.shapes.transformer import Transformer, faults_of_transformer
from solver.wording import must_be

#: Passes of a shape whose timeline is drawn; a page shows some 100,000 slices.
MOST_DRAWN_PASSES = 30_000


@dataclass(frozen=True, slots=True)
class _CheckedSpace:
    """A request without faults: what it ranks, where, and what is known of the machine."""

    model: Transformer
    gpu: Accelerator
    levels: tuple[NetworkLevel, ...]
    cluster: TrainingCluster
    space: ShapeSpace
    rows: list[MeasuredShape]


def _checked(request: ShapeRequest) -> _CheckedSpace:
    """Return what a request means, or all that is wrong with it."""
    faults: list[Fault] = []
    model = model_of(request.model, "/model", faults)
    if model is not None and request.sequence is not None:
        model = replace(model, sequence=request.sequence)
    gpu = gpu_of(request.gpu, faults)
    if gpu is not None and request.kernels is not None:
        gpu = replace(gpu, kernels=request.kernels.to_kernels())
    if request.kernels is not None and "matmul" in request.efficiencies:
        detail = "Efficiencies: matmul is not taken beside kernels, which tell it by size."
        faults.append(Fault("/efficiencies/matmul", FaultCode.OUT_OF_RANGE, detail))
    levels = tuple(level.to_level() for level in request.levels)
    space = request.to_space()
    rows: list[MeasuredShape] = []
    if gpu is not None:
        whole = TrainingCluster(gpu, levels)
        found = list(faults_of_cluster(whole))
        faults += [_at_gpu(fault) for fault in found]
        if not found and model is not None:
            rows = _rows(request, model, gpu, levels, faults)
            if not (unjoined := list(_unjoined(request, levels))):
                cluster = joined(gpu, request.gpus, levels)
                faults += faults_of_space(model, cluster, space)
            faults += unjoined
    if faults or model is None or gpu is None:
        raise InvalidRequest(faults)
    cluster = joined(gpu, request.gpus, levels)
    return _CheckedSpace(model, gpu, levels, cluster, space, rows)


def answer_of(request: ShapeRequest, told: RankingFollower | None = None) -> ShapeAnswer:
    """Rank the shapes of a job, with figures fitted to its measured steps, if there are any.

    ``told`` hears how far it is.

    Raises
    ------
    InvalidRequest
        With all that is wrong with the model, the cluster and the rows, or with the space.
    """
    checked = _checked(request)
    model, cluster = checked.model, checked.cluster
    fit = fit_steps(checked.rows) if checked.rows else None
    known = request.to_efficiencies() if fit is None else fit.known
    ranking = _ranking(request, checked, known, told)
    stated = frozenset(request.efficiencies)
    plans = plans_of(ranking, request.planned, model, cluster, known, fit, stated, told)
    return ShapeAnswer.of(
        ranking,
        model=model.name,
        parameters=model.parameters,
        gpus=request.gpus,
        best=[_row(each, model, cluster, fit, request.launch, plans) for each in ranking.best],
        front=[_row(each, model, cluster, fit, request.launch, plans) for each in ranking.front],
        figures=list(fit.figures if fit else assumed_figures(known, stated)),
        rows=len(checked.rows),
        rows_error=fit.error if fit else None,
        notes=list(
            notes_of(
                ranking,
                fit,
                stated,
                ruled_out(model, cluster, checked.space),
                checked.gpu.kernels,
                checked.space.schedules,
            )
        ),
        version=VERSION,
    )


def _ranking(
    request: ShapeRequest,
    checked: _CheckedSpace,
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
    checked = _checked(request)
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


def _shape_faults(shape: JobShape, gpus: int, checked: _CheckedSpace) -> Iterator[Fault]:
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


def model_of(given: str | TransformerBody, place: str, faults: list[Fault]) -> Transformer | None:
    """Return the model that is meant, or None with what is wrong."""
    if isinstance(given, str):
        if given not in PUBLISHED:
            detail = must_be(
                "Model", f"numbers, or one of {', '.join(PUBLISHED)}", given, PUBLISHED
            )
            faults.append(Fault(place, FaultCode.OUT_OF_RANGE, detail))
            return None
        return PUBLISHED[given]
    model = given.to_model()
    found = [replace(f, pointer=f"{place}{f.pointer}") for f in faults_of_transformer(model)]
    faults += found
    return None if found else model


def gpu_of(given: str | AcceleratorBody, faults: list[Fault]) -> Accelerator | None:
    """Return the GPU that is meant, or None with what is wrong."""
    if isinstance(given, str):
        if given not in ACCELERATORS:
            detail = must_be(
                "GPU", f"figures, or one of {', '.join(ACCELERATORS)}", given, ACCELERATORS
            )
            faults.append(Fault("/gpu", FaultCode.OUT_OF_RANGE, detail))
            return None
        return ACCELERATORS[given]
    return given.to_accelerator()


def _at_gpu(fault: Fault) -> Fault:
    """Put a fault of the GPU where the request has it."""
    for place, given in (("/accelerator/kernels", "/kernels"), ("/accelerator", "/gpu")):
        if fault.pointer.startswith(place):
            return replace(fault, pointer=fault.pointer.replace(place, given, 1))
    return fault


def _rows(
    request: ShapeRequest,
    model: Transformer,
    gpu: Accelerator,
    levels: tuple[NetworkLevel, ...],
    faults: list[Fault],
) -> list[MeasuredShape]:
    """Return the measured steps, each on as many GPUs as its shape has, with all their faults."""
    found: list[tuple[int, MeasuredShape]] = []
    for i, row in enumerate(request.rows):
        own = model if row.model is None else model_of(row.model, f"/rows/{i}/model", faults)
        shape = row.shape.to_shape()
        if own is not None:
            found.append(
                (
                    i,
                    MeasuredShape(
                        own,
                        joined(gpu, shape.gpus, levels),
                        shape,
                        row.time_us,
                        frozenset(row.shape.model_fields_set),
                    ),
                )
            )
    measured = [row for _, row in found]
    for fault in faults_of_rows(measured):
        pointer, detail = fault.pointer, fault.detail
        if pointer:  # rows whose model is unknown are not among them
            _, at, *rest = pointer.split("/")
            place = found[int(at)][0]
            pointer = "/".join(("", str(place), *rest))
            detail = detail.replace(f"Row {int(at) + 1}:", f"Row {place + 1}:", 1)
        faults.append(replace(fault, pointer=f"/rows{pointer}", detail=detail))
    return measured


def _unjoined(request: ShapeRequest, levels: tuple[NetworkLevel, ...]) -> Iterator[Fault]:
    """Yield whether the job or a row has more GPUs than any network joins."""
    last = levels[-1]
    needed = [("/levels", "the job", request.gpus)]
    for i, row in enumerate(request.rows):
        needed.append((f"/rows/{i}/shape", f"row {i + 1}", row.shape.to_shape().gpus))
    for pointer, name, gpus in needed:
        if gpus > last.gpus:
            detail = (
                f"Level {last.name!r}, the last, must join all GPUs of {name}, {gpus:,}; it joins "
                f"{last.gpus:,}."
            )
            yield Fault(pointer, FaultCode.OUT_OF_RANGE, detail)


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
