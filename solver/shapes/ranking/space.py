"""The shapes that are looked at: choices for each part, and what a job must keep."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape, faults_of_shape
from solver.shapes.pipeline.orders import INTERLEAVED, ONE_F_ONE_B
from solver.shapes.transformer import Transformer

#: A space has no more shapes than this.
MOST_SHAPES = 50_000


@dataclass(frozen=True, slots=True)
class ShapeSpace:
    """Choices for each part of a shape; one choice fixes it.

    Attributes
    ----------
    global_batch
        Sequences of a step, which every shape keeps.
    tp, pp, cp, ep
        Ways; None for all powers of two that fit: tensor parallelism within the innermost level,
        context parallelism only where it is asked for.
    micro_batch
        Sequences of a micro-batch.
    vpp
        Chunks of an interleaved schedule.
    schedules, sequence_parallel, shardings, recomputations
        As in :class:`JobShape`; sequence parallelism goes with tensor parallelism alone.
    precision, flash_attention, gradient_bytes, overlapped_buckets
        As in :class:`JobShape`, the same for all.
    """

    global_batch: int
    tp: tuple[int, ...] | None = None
    pp: tuple[int, ...] | None = None
    cp: tuple[int, ...] = (1,)
    ep: tuple[int, ...] | None = None
    micro_batch: tuple[int, ...] = (1, 2, 4, 8)
    vpp: tuple[int, ...] = (2, 4)
    schedules: tuple[str, ...] = (ONE_F_ONE_B, INTERLEAVED)
    sequence_parallel: tuple[bool, ...] = (True,)
    shardings: tuple[str, ...] = ("optimizer", "parameters")
    recomputations: tuple[str, ...] = ("none", "selective", "full")
    precision: str = "bf16"
    flash_attention: bool = True
    gradient_bytes: int = 4
    overlapped_buckets: int = 1


def shapes_of(
    model: Transformer, cluster: TrainingCluster, space: ShapeSpace
) -> Iterator[JobShape]:
    """Yield every shape of a space that uses all GPUs and keeps the global batch, in order.

    Raises
    ------
    InvalidOptions
        When the global batch is not positive, no choice is left for a part, or there are more than
        :data:`MOST_SHAPES`.
    """
    _check(space)
    shapes = _every_shape(model, cluster, space)
    yield from islice(shapes, MOST_SHAPES)
    if next(shapes, None) is not None:
        detail = f"The space has more than {MOST_SHAPES:,} shapes; fix some parts."
        raise InvalidOptions([Fault("", FaultCode.OUT_OF_RANGE, detail)])


def _every_shape(
    model: Transformer, cluster: TrainingCluster, space: ShapeSpace
) -> Iterator[JobShape]:
    gpus = cluster.gpus
    within = cluster.levels[0].gpus
    tps = space.tp or tuple(n for n in _powers(within) if gpus % n == 0)
    pps = space.pp or _powers(min(model.layers, gpus))
    eps = space.ep or (_powers(model.experts) if model.experts else (1,))
    for tp, pp, cp, ep, micro_batch in product(tps, pps, space.cp, eps, space.micro_batch):
        dp = gpus // (tp * pp * cp)
        if tp * pp * cp * dp != gpus or space.global_batch % (dp * micro_batch or 1):
            continue
        micro_batches = space.global_batch // (dp * micro_batch) if dp else 0
        for schedule, vpp in _pipelines(space, pp):
            for sp, sharding, recomputation in product(
                space.sequence_parallel if tp > 1 else (False,),
                space.shardings if dp * cp > 1 else ("none",),
                space.recomputations,
            ):
                if recomputation == "selective" and space.flash_attention:
                    continue  # there are no scores to compute again
                shape = JobShape(
                    tp,
                    pp,
                    dp,
                    cp,
                    ep,
                    micro_batch,
                    micro_batches,
                    schedule,
                    vpp,
                    sp,
                    sharding,
                    recomputation=recomputation,
                    flash_attention=space.flash_attention,
                    precision=space.precision,
                    gradient_bytes=space.gradient_bytes,
                    overlapped_buckets=space.overlapped_buckets,
                )
                if next(faults_of_shape(shape, model), None) is None:
                    yield shape


def _check(space: ShapeSpace) -> None:
    faults = []
    if space.global_batch < 1:
        detail = f"The global batch must be at least 1, got {space.global_batch}."
        faults.append(Fault("/global_batch", FaultCode.OUT_OF_RANGE, detail))
    for name in ("tp", "pp", "cp", "ep", "micro_batch", "vpp"):
        choices = getattr(space, name)
        if choices is not None and (not choices or min(choices) < 1):
            detail = f"Choices of {name} must be one or more counts of at least 1."
            faults.append(Fault(f"/{name}", FaultCode.OUT_OF_RANGE, detail))
    for name in ("schedules", "sequence_parallel", "shardings", "recomputations"):
        if not getattr(space, name):
            detail = f"At least one choice of {name} is needed."
            faults.append(Fault(f"/{name}", FaultCode.OUT_OF_RANGE, detail))
    if faults:
        raise InvalidOptions(faults)


def _pipelines(space: ShapeSpace, pp: int) -> Iterator[tuple[str, int]]:
    """Yield schedule and chunks; without a pipeline all schedules are the same."""
    if pp == 1:
        yield ONE_F_ONE_B, 1
        return
    for schedule in space.schedules:
        if schedule == INTERLEAVED:
            yield from ((schedule, vpp) for vpp in space.vpp if vpp > 1)
        else:
            yield schedule, 1


def _powers(most: int) -> tuple[int, ...]:
    return tuple(1 << k for k in range(most.bit_length()))
