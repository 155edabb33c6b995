"""A shape: how many ways a job is split, and how its steps are run."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final

from solver.codes import FaultCode
from solver.errors import Fault
from solver.shapes.pipeline.orders import (
    DUALPIPE,
    FORTH_AND_BACK,
    INTERLEAVED,
    ONE_F_ONE_B,
    ORDERS,
    V_CHUNKS,
    ranks_of_stages,
    stages_of_way,
)
from solver.shapes.transformer import Transformer

#: What is computed again in the backward pass: nothing, attention's scores, or whole layers.
RECOMPUTATIONS: Final = ("none", "selective", "full")

#: What data-parallel ranks share out: nothing, the optimizer's state (ZeRO-1), gradients as well
#: (ZeRO-2), or parameters as well (FSDP, ZeRO-3).
SHARDINGS: Final = ("none", "optimizer", "gradients", "parameters")

#: How context parallelism attends: keys and values go round beside attention, or are gathered
#: before it; or each rank has some heads of the whole sequence, which all-to-alls exchange.
BY_HEADS: Final = "all_to_all"
CONTEXTS: Final = ("ring", "all_gather", BY_HEADS)


@dataclass(frozen=True, slots=True)
class JobShape:
    """How many ways a job is split, and how its steps are run.

    Ranks are numbered with tensor parallelism innermost, then context, data and pipeline, as in
    Megatron-LM; expert parallelism is within the ranks of context and data parallelism.

    Attributes
    ----------
    tp, pp, dp, cp, ep
        Ranks of tensor, pipeline, data, context and expert parallelism; GPUs are
        ``tp * cp * dp * pp``.
    micro_batch
        Sequences of a micro-batch.
    micro_batches
        Micro-batches of a step on each data-parallel rank (gradient accumulation).
    schedule
        Key of :data:`solver.shapes.pipeline.orders.ORDERS`.
    vpp
        Chunks of layers on each pipeline rank (virtual stages).
    sequence_parallel
        Norms and residuals are split along the sequence over the tensor-parallel ranks.
    sharding
        One of :data:`SHARDINGS`.
    shard
        Ranks over which ``sharding`` shares out, a divisor of ``cp * dp`` (HSDP); None for all.
    reshard
        With ``parameters``: gathered parameters are freed after the forward pass and gathered
        again for the backward pass.
    recomputation
        One of :data:`RECOMPUTATIONS`.
    context
        One of :data:`CONTEXTS`.
    flash_attention
        Scores of attention are not written to memory, and their causal half alone is computed.
    precision
        Precision of the matrix multiplications, a key of the GPU's figures.
    gradient_bytes
        Bytes of a gradient as it is summed: 4, or 2.
    overlapped_buckets
        Pieces in which the last backward pass of a chunk gives its gradients to the network, so
        that their sums overlap with it; 1 for sums after it.
    layers_of_stages
        Layers of each virtual stage, in the order of the model, with ``dualpipe`` of each stage;
        None for as even as may be.
    expert_imbalance
        Tokens of the busiest expert rank over the mean; 1 for an even load.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    micro_batch: int = 1
    micro_batches: int = 1
    schedule: str = ONE_F_ONE_B
    vpp: int = 1
    sequence_parallel: bool = False
    sharding: str = "none"
    shard: int | None = None
    reshard: bool = True
    recomputation: str = "none"
    context: str = "ring"
    flash_attention: bool = True
    precision: str = "bf16"
    gradient_bytes: int = 4
    overlapped_buckets: int = 1
    layers_of_stages: tuple[int, ...] | None = None
    expert_imbalance: float = 1.0

    @property
    def gpus(self) -> int:
        """GPUs of the job."""
        return self.tp * self.cp * self.dp * self.pp

    @property
    def global_batch(self) -> int:
        """Sequences of a step."""
        return self.micro_batch * self.micro_batches * self.dp

    @property
    def sharing(self) -> int:
        """Ranks over which ``sharding`` shares out."""
        return self.shard or self.cp * self.dp

    def stage_layers(self, layers: int) -> tuple[int, ...]:
        """Layers of each virtual stage; what is left over goes to the stages in the middle.

        The first and the last of each way have the embedding and the head besides.
        """
        return self.ways * (self.layers_of_stages or _even_layers(layers, self.stages_of_way))

    @property
    def stages_of_way(self) -> int:
        """Virtual stages that a micro-batch passes, which hold the model once."""
        return stages_of_way(self.schedule, self.pp, self.vpp)

    @property
    def ways(self) -> int:
        """How often the virtual stages hold the model: twice where there are two ways."""
        return self.pp * self.vpp // self.stages_of_way

    @property
    def passes(self) -> int:
        """Most passes of a step on all ranks of a pipeline."""
        return 3 * self.stages_of_way * self.micro_batches

    @property
    def first_stages(self) -> range:
        """Virtual stages that have the embedding: the first of each way."""
        return range(0, self.pp * self.vpp, self.stages_of_way)

    @property
    def last_stages(self) -> range:
        """Virtual stages that have the head: the last of each way."""
        return range(self.stages_of_way - 1, self.pp * self.vpp, self.stages_of_way)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Pipeline rank of each virtual stage."""
        return ranks_of_stages(self.schedule, self.pp, self.vpp)

    def stages_of(self, rank: int) -> tuple[int, ...]:
        """Virtual stages of a pipeline rank, in the order of the model."""
        return tuple(k for k, other in enumerate(self.ranks) if other == rank)

    def firsts(self, layers: int) -> tuple[int, ...]:
        """First layer of each virtual stage."""
        return _firsts(self.stage_layers(layers), layers)

    def __str__(self) -> str:
        """Name the parts that differ from 1, and how the pipeline runs."""
        degrees = (("tp", self.tp), ("cp", self.cp), ("pp", self.pp), ("ep", self.ep))
        parts = [f"{name}{ways}" for name, ways in degrees if ways > 1]
        parts += [f"dp{self.dp}", f"mb{self.micro_batch}x{self.micro_batches}"]
        if self.pp > 1:
            chunks = f"x{self.vpp}" if self.schedule == INTERLEAVED and self.vpp > 1 else ""
            parts.append(f"{self.schedule}{chunks}")
        if self.sequence_parallel:
            parts.append("sp")
        if self.sharding != "none":
            parts.append(f"{self.sharding}{'' if self.shard is None else f'/{self.shard}'}")
        if self.recomputation != "none":
            parts.append(f"recompute-{self.recomputation}")
        return " ".join(parts)


@lru_cache(maxsize=1024)
def _even_layers(layers: int, stages: int) -> tuple[int, ...]:
    least, over = divmod(layers, stages)
    first = (stages - over) // 2
    return tuple(least + (first <= k < first + over) for k in range(stages))


@lru_cache(maxsize=1024)
def _firsts(counts: tuple[int, ...], layers: int) -> tuple[int, ...]:
    return tuple(first % layers for first in (0, *accumulate(counts))[:-1])


def faults_of_shape(shape: JobShape, model: Transformer) -> Iterator[Fault]:
    """Yield why a model cannot be split so."""
    counts = ("tp", "pp", "dp", "cp", "ep", "vpp", "micro_batch", "micro_batches")
    faults = [fault for field in counts for fault in _below(shape, field)]
    faults += _below(shape, "overlapped_buckets")
    faults += _choices(shape)
    yield from faults
    if not faults:
        yield from _divisors(shape, model)
        yield from _stages(shape, model)


def _below(shape: JobShape, field: str) -> Iterator[Fault]:
    value = getattr(shape, field)
    if value < 1:
        detail = f"Shape: {field} must be at least 1, got {value}."
        yield Fault(f"/{field}", FaultCode.OUT_OF_RANGE, detail)


def _choices(shape: JobShape) -> Iterator[Fault]:
    for field, choices in (
        ("schedule", tuple(ORDERS)),
        ("sharding", SHARDINGS),
        ("recomputation", RECOMPUTATIONS),
        ("context", CONTEXTS),
        ("gradient_bytes", (2, 4)),
    ):
        value = getattr(shape, field)
        if value not in choices:
            named = ", ".join(map(str, choices))
            detail = f"Shape: {field} must be one of {named}; got {value!r}."
            yield Fault(f"/{field}", FaultCode.OUT_OF_RANGE, detail)
    if not shape.expert_imbalance >= 1:
        detail = f"Shape: expert_imbalance must be at least 1, got {shape.expert_imbalance:g}."
        yield Fault("/expert_imbalance", FaultCode.OUT_OF_RANGE, detail)


def _divisors(shape: JobShape, model: Transformer) -> Iterator[Fault]:
    kv_heads = model.kv_heads or model.heads
    for field, value, named, whole in (
        ("tp", shape.tp, "heads", model.heads),
        ("tp", shape.tp, "feed_forward", model.feed_forward),
        ("cp", shape.cp, "sequence", model.sequence),
        ("ep", shape.ep, "experts", model.experts or 1),
        ("ep", shape.ep, "cp * dp", shape.cp * shape.dp),
        ("shard", shape.sharing, "cp * dp", shape.cp * shape.dp),
    ):
        if whole % value:
            detail = f"Shape: {field} must divide {named}, {whole}; got {value}."
            yield Fault(f"/{field}", FaultCode.OUT_OF_RANGE, detail)
    if shape.context == BY_HEADS and kv_heads % (shape.tp * shape.cp):
        detail = (
            f"Shape: context {BY_HEADS} needs tp * cp to divide kv_heads, {kv_heads}; got "
            f"{shape.tp * shape.cp}."
        )
        yield Fault("/cp", FaultCode.OUT_OF_RANGE, detail)
    if shape.tp > kv_heads and shape.tp % kv_heads:
        detail = f"Shape: tp must divide kv_heads, {kv_heads}, or be a multiple; got {shape.tp}."
        yield Fault("/tp", FaultCode.OUT_OF_RANGE, detail)


def _stages(shape: JobShape, model: Transformer) -> Iterator[Fault]:
    stages = shape.stages_of_way
    if stages > model.layers:
        detail = f"Shape: pp * vpp must be at most layers, {model.layers}; got {stages}."
        yield Fault("/pp", FaultCode.OUT_OF_RANGE, detail)
    given = shape.layers_of_stages
    if given is not None and (len(given) != stages or sum(given) != model.layers or min(given) < 0):
        detail = f"Shape: layers_of_stages must be {stages} counts of sum {model.layers}."
        yield Fault("/layers_of_stages", FaultCode.OUT_OF_RANGE, detail)
    if shape.schedule in FORTH_AND_BACK and shape.vpp != V_CHUNKS:
        detail = f"Shape: schedule {shape.schedule} needs vpp {V_CHUNKS}, got {shape.vpp}."
        yield Fault("/vpp", FaultCode.OUT_OF_RANGE, detail)
    if shape.schedule == DUALPIPE and shape.pp % 2:
        detail = f"Shape: schedule {DUALPIPE} needs an even pp, got {shape.pp}."
        yield Fault("/pp", FaultCode.OUT_OF_RANGE, detail)
    if shape.schedule == DUALPIPE and (
        shape.micro_batches % 2 or shape.micro_batches < 2 * shape.pp
    ):
        detail = (
            f"Shape: schedule {DUALPIPE} needs an even number of micro_batches of at least 2 pp, "
            f"{2 * shape.pp}; got {shape.micro_batches}."
        )
        yield Fault("/micro_batches", FaultCode.OUT_OF_RANGE, detail)
    if shape.vpp > 1 and shape.schedule not in (INTERLEAVED, *FORTH_AND_BACK):
        detail = f"Shape: vpp above 1 needs schedule {INTERLEAVED}, got {shape.schedule}."
        yield Fault("/vpp", FaultCode.OUT_OF_RANGE, detail)
    if shape.schedule == INTERLEAVED and shape.micro_batches % shape.pp:
        detail = (
            f"Shape: interleaved needs micro_batches that pp, {shape.pp}, divides; got "
            f"{shape.micro_batches}."
        )
        yield Fault("/micro_batches", FaultCode.OUT_OF_RANGE, detail)
