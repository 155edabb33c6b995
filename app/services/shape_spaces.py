"""Requests for shapes, checked: what is ranked, where, and what is known of the machine."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.errors import InvalidRequest
from app.schemas.shapes import AcceleratorBody, ShapeRequest, TransformerBody
from solver.codes import FaultCode
from solver.errors import Fault
from solver.shapes.fit.rows import MeasuredShape, faults_of_rows
from solver.shapes.hardware import (
    ACCELERATORS,
    Accelerator,
    NetworkLevel,
    TrainingCluster,
    faults_of_cluster,
    joined,
)
from solver.shapes.published import PUBLISHED
from solver.shapes.ranking.space import ShapeSpace, faults_of_space
from solver.shapes.transformer import Transformer, faults_of_transformer
from solver.wording import must_be


@dataclass(frozen=True, slots=True)
class CheckedSpace:
    """A request without faults: what it ranks, where, and what is known of the machine."""

    model: Transformer
    gpu: Accelerator
    levels: tuple[NetworkLevel, ...]
    cluster: TrainingCluster
    space: ShapeSpace
    rows: list[MeasuredShape]


def checked_space(request: ShapeRequest) -> CheckedSpace:
    """Return what a request means.

    Raises
    ------
    InvalidRequest
        With all that is wrong with the model, the cluster, the rows, or the space.
    """
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
    return CheckedSpace(model, gpu, levels, cluster, space, rows)


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
