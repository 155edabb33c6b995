"""The shapes that are looked at: choices for each part, and what a job must keep."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import RECOMPUTATIONS, SHARDINGS, JobShape, faults_of_shape
from solver.shapes.pipeline.orders import (
    FORTH_AND_BACK,
    INTERLEAVED,
    ONE_F_ONE_B,
    ORDERS,
    V_CHUNKS,
)
from solver.shapes.transformer import Transformer

#: A space has no more shapes than this.
MOST_SHAPES = 50_000

#: Nor are more combinations of its choices tried.
MOST_TRIED = 2_000_000

#: A pipeline has no more ranks than this.
MOST_PIPELINE_RANKS = 128


@dataclass(frozen=True, slots=True)
class ShapeSpace:
    """Choices for each part of a shape; one choice fixes it.

    Attributes
    ----------
    global_batch
        Sequences of a step, which every shape keeps.
    tp, pp, cp, ep
        Ways; None for all powers of two that fit: tensor parallelism within the innermost level, at
        most :data:`MOST_PIPELINE_RANKS` of a pipeline,
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
        All that :func:`faults_of_space` finds; or more than :data:`MOST_SHAPES`.
    """
    faults = list(faults_of_space(model, cluster, space))
    if faults:
        raise InvalidOptions(faults)
    shapes = _every_shape(model, cluster, space)
    yield from islice(shapes, MOST_SHAPES)
    if next(shapes, None) is not None:
        detail = f"The space has more than {MOST_SHAPES:,} shapes; fix some parts."
        raise InvalidOptions([Fault("", FaultCode.OUT_OF_RANGE, detail)])


def _every_shape(
    model: Transformer, cluster: TrainingCluster, space: ShapeSpace
) -> Iterator[JobShape]:
    gpus = cluster.gpus
    for tp, pp, cp, ep, micro_batch in product(*_choices(model, cluster, space).values()):
        dp = gpus // (tp * pp * cp)
        if tp * pp * cp * dp != gpus or space.global_batch % (dp * micro_batch or 1):
            continue
        micro_batches = space.global_batch // (dp * micro_batch) if dp else 0
        for schedule, vpp in _pipelines(space, pp):
            for sp, sharding, recomputation in product(
                dict.fromkeys(space.sequence_parallel if tp > 1 else (False,)),
                dict.fromkeys(space.shardings if dp * cp > 1 else ("none",)),
                dict.fromkeys(space.recomputations),
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


def _choices(
    model: Transformer, cluster: TrainingCluster, space: ShapeSpace
) -> dict[str, tuple[int, ...]]:
    """Return the choices of each part that the model, the GPUs and the batch allow by themselves.

    So few are left that their product can be walked.
    """
    gpus, heads = cluster.gpus, model.heads
    experts = model.experts or 1
    allowed: dict[str, Callable[[int], bool]] = {
        "tp": lambda n: not (gpus % n or heads % n or model.feed_forward % n),
        "pp": lambda n: not gpus % n and n <= model.layers,
        "cp": lambda n: not (gpus % n or model.sequence % n),
        "ep": lambda n: not (gpus % n or experts % n),
        "micro_batch": lambda n: not space.global_batch % n,
    }
    return {
        name: tuple(dict.fromkeys(filter(allowed[name], choices)))
        for name, choices in _given(model, cluster, space).items()
    }


def _given(
    model: Transformer, cluster: TrainingCluster, space: ShapeSpace
) -> dict[str, tuple[int, ...]]:
    """Return the choices of each part, whether they are possible or not."""
    return {
        "tp": space.tp or _powers(cluster.levels[0].gpus),
        "pp": space.pp or _powers(min(model.layers, cluster.gpus, MOST_PIPELINE_RANKS)),
        "cp": space.cp,
        "ep": space.ep or _powers(model.experts or 1),
        "micro_batch": space.micro_batch,
    }


#: What a choice must do, to be one of a part.
_RULES = {
    "tp": "divide the GPUs, heads and feed_forward",
    "pp": "divide the GPUs and be at most the layers",
    "cp": "divide the GPUs and the sequence",
    "ep": "divide the GPUs and the experts (1 without any)",
    "micro_batch": "divide the global batch",
    "dp": "divide the global batch, times a micro-batch",
}


class RuledOut(NamedTuple):
    """Choices of a part that no shape has, and what they would have to do."""

    part: str
    choices: tuple[int, ...]
    rule: str


def ruled_out(
    model: Transformer, cluster: TrainingCluster, space: ShapeSpace
) -> tuple[RuledOut, ...]:
    """Return the choices that GPUs, model and batch rule out, by part.

    Data parallelism is what the other parts leave of the GPUs: of it, ``dp``, those are returned
    that no micro-batch goes with. O(combinations of tp, pp, cp and micro-batch).
    """
    given, left = _given(model, cluster, space), _choices(model, cluster, space)
    out = {name: set(given[name]) - set(left[name]) for name in given}
    splits = {prod(split) for split in product(left["tp"], left["pp"], left["cp"])}
    ways = {cluster.gpus // split for split in splits if not cluster.gpus % split}
    out["dp"] = {
        dp
        for dp in ways
        if left["micro_batch"]
        and all(space.global_batch % (dp * micro) for micro in left["micro_batch"])
    }
    return tuple(
        RuledOut(name, tuple(sorted(choices)), _RULES[name])
        for name, choices in out.items()
        if choices
    )


def faults_of_space(
    model: Transformer, cluster: TrainingCluster, space: ShapeSpace
) -> Iterator[Fault]:
    """Yield what is wrong with a space: numbers, names, parts that no choice is left for."""
    faults = list(_faults_of_choices(space))
    yield from faults
    if "bf16" in (rates := dict(cluster.accelerator.tflops)) and space.precision not in rates:
        detail = f"precision must be one of the GPU's, {', '.join(rates)}; got {space.precision!r}."
        yield Fault("/precision", FaultCode.OUT_OF_RANGE, detail)
    if faults:
        return
    choices = _choices(model, cluster, space)
    for name, left in choices.items():
        if not left:
            detail = f"No choice of {name} is possible: it must {_RULES[name]}."
            yield Fault(f"/{name}", FaultCode.OUT_OF_RANGE, detail)
    tried = prod(map(len, choices.values()))
    if tried > MOST_TRIED:
        detail = f"The choices have {tried:,} combinations, at most {MOST_TRIED:,}; fix some parts."
        yield Fault("", FaultCode.OUT_OF_RANGE, detail)


def _faults_of_choices(space: ShapeSpace) -> Iterator[Fault]:
    if space.global_batch < 1:
        detail = f"The global batch must be at least 1, got {space.global_batch}."
        yield Fault("/global_batch", FaultCode.OUT_OF_RANGE, detail)
    for name in ("tp", "pp", "cp", "ep", "micro_batch", "vpp"):
        choices = getattr(space, name)
        if choices is not None and (not choices or min(choices) < 1):
            detail = f"Choices of {name} must be one or more counts of at least 1."
            yield Fault(f"/{name}", FaultCode.OUT_OF_RANGE, detail)
    if space.pp and max(space.pp) > MOST_PIPELINE_RANKS:
        detail = f"Choices of pp must be at most {MOST_PIPELINE_RANKS}, got {max(space.pp)}."
        yield Fault("/pp", FaultCode.OUT_OF_RANGE, detail)
    for name, known in (
        ("schedules", tuple(ORDERS)),
        ("sequence_parallel", (False, True)),
        ("shardings", SHARDINGS),
        ("recomputations", RECOMPUTATIONS),
    ):
        given = getattr(space, name)
        if not given or set(given) - set(known):
            named = ", ".join(map(str, known))
            detail = f"Choices of {name} must be one or more of {named}."
            yield Fault(f"/{name}", FaultCode.OUT_OF_RANGE, detail)
    if space.gradient_bytes not in (2, 4):
        detail = f"gradient_bytes must be 2 or 4, got {space.gradient_bytes}."
        yield Fault("/gradient_bytes", FaultCode.OUT_OF_RANGE, detail)


def _pipelines(space: ShapeSpace, pp: int) -> Iterator[tuple[str, int]]:
    """Yield schedule and chunks; without a pipeline all schedules are the same."""
    if pp == 1:
        yield ONE_F_ONE_B, 1
        return
    for schedule in dict.fromkeys(space.schedules):
        if schedule == INTERLEAVED:
            yield from ((schedule, vpp) for vpp in dict.fromkeys(space.vpp) if vpp > 1)
        else:
            yield schedule, V_CHUNKS if schedule in FORTH_AND_BACK else 1


def _powers(most: int) -> tuple[int, ...]:
    return tuple(1 << k for k in range(most.bit_length()))
