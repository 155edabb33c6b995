"""A cluster by its levels: GPUs, and the networks that groups of them cross."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from math import inf
from typing import Final

from solver.codes import FaultCode
from solver.costs import RING, Cluster, Cost, cost_of
from solver.errors import Fault
from solver.shapes.kernels import MeasuredKernels, faults_of_kernels


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A GPU by the figures of its data sheet.

    Attributes
    ----------
    name
        What it is called.
    tflops
        Dense operations a second by precision [10^12/s].
    memory_gib
        Memory [GiB].
    memory_gbps
        Bandwidth of the memory [GB/s, 10^9 bytes].
    source
        Where the figures are from; None for figures of one's own.
    kernels
        What sizes of multiplications were measured to reach; None where none were.
    """

    name: str
    tflops: tuple[tuple[str, float], ...]
    memory_gib: float
    memory_gbps: float
    source: str | None = None
    kernels: MeasuredKernels | None = None

    def flops_per_us(self, precision: str) -> float:
        """Operations per microsecond at a precision; as many as ``bf16`` where it is not told."""
        rates = dict(self.tflops)
        return rates.get(precision, rates["bf16"]) * 1e6


#: GPUs by name.
ACCELERATORS: Final[dict[str, Accelerator]] = {
    gpu.name: gpu
    for gpu in (
        Accelerator("v100", (("bf16", 125.0),), 32.0, 900.0, "NVIDIA V100 data sheet, 2020"),
        Accelerator("a100", (("bf16", 312.0),), 80.0, 2039.0, "NVIDIA A100 data sheet, 2022"),
        Accelerator(
            "h100", (("bf16", 989.0), ("fp8", 1979.0)), 80.0, 3350.0, "NVIDIA H100 data sheet, 2023"
        ),
        Accelerator(
            "h200",
            (("bf16", 989.0), ("fp8", 1979.0)),
            141.0,
            4800.0,
            "NVIDIA H200 data sheet, 2024",
        ),
        Accelerator(
            "b200", (("bf16", 2250.0), ("fp8", 4500.0)), 180.0, 8000.0, "NVIDIA DGX B200, 2024"
        ),
    )
}


@dataclass(frozen=True, slots=True)
class NetworkLevel:
    """A network that GPUs cross: that of a node, of a rack, of the spine.

    Attributes
    ----------
    name
        ``node``, ``rack``, ``spine``: what it joins.
    gpus
        GPUs that it joins; of the last level, all.
    bandwidth_gbps
        Bandwidth of each GPU on it, one way [Gbit/s].
    startup_us, hop_us
        Fixed cost of a launch, and of each step of a ring [us].
    table
        Measured all-reduces (bytes, us) of ``table_ranks`` ranks, in the place of the ring's
        formula; other counts and kinds are scaled as a ring would be.
    table_ranks
        Ranks of the table; None without one.
    """

    name: str
    gpus: int
    bandwidth_gbps: float
    startup_us: float = 0.0
    hop_us: float = 0.0
    table: tuple[tuple[int, float], ...] = ()
    table_ranks: int | None = None


@dataclass(frozen=True, slots=True)
class TrainingCluster:
    """GPUs of one kind, joined level by level.

    Attributes
    ----------
    accelerator
        The GPU.
    levels
        Networks from the innermost, each joining more GPUs than the one before.
    """

    accelerator: Accelerator
    levels: tuple[NetworkLevel, ...] = field(default=())

    @property
    def gpus(self) -> int:
        """GPUs of the cluster."""
        return self.levels[-1].gpus

    def crossed(self, span: int) -> int:
        """Position of the first level that joins each run of so many GPUs; the last at most.

        Runs follow one another from the first GPU: of 4 in nodes of 6 the second is of two nodes.
        """
        for i, level in enumerate(self.levels):
            if level.gpus % span == 0:
                return i
        return len(self.levels) - 1


@lru_cache(maxsize=4096)
def cost_at(level: NetworkLevel, ranks: int, kind: str) -> Cost:
    """Return the cost of a kind of collective between so many ranks of a level.

    A measured table is read as an affine ring of the same bandwidth where the ranks are not its
    own: its times are scaled by the share of the bytes that a ring of so many sends.
    """
    cluster = Cluster(ranks, level.bandwidth_gbps, level.startup_us, level.hop_us)
    return cost_of(cluster, kind)


@lru_cache(maxsize=65536)
def collective_us(level: NetworkLevel, ranks: int, kind: str, size: int) -> float:
    """Time of one collective [us] of ``size`` bytes; 0 for one rank, or nothing to send.

    With a table, of an all-reduce of S bytes between n ranks, whose r ranks took T(S), it takes
    T(S) (n - 1) r / (n (r - 1)), as a ring's bytes go; the other kinds half of it.
    """
    if ranks == 1 or size == 0:
        return 0.0
    if not level.table or level.table_ranks is None:
        return cost_at(level, ranks, kind).time(size)
    measured = _table_cost(level).time(size)
    of_ring = cost_of(_ring(ranks), kind).time(size)
    return measured * of_ring / cost_of(_ring(level.table_ranks)).time(size)


@lru_cache(maxsize=64)
def _table_cost(level: NetworkLevel) -> Cost:
    assert level.table_ranks is not None
    return cost_of(Cluster(level.table_ranks, algorithm="table", table=level.table))


@lru_cache(maxsize=256)
def _ring(ranks: int) -> Cluster:
    return Cluster(ranks, 1.0, algorithm=RING)


def joined(
    accelerator: Accelerator, gpus: int, levels: tuple[NetworkLevel, ...]
) -> TrainingCluster:
    """Return the cluster of so many GPUs: levels that join more are cut to it, outer ones left."""
    kept = [level for level in levels if level.gpus < gpus]
    rest = [level for level in levels if level.gpus >= gpus]
    last = replace(rest[0] if rest else kept.pop(), gpus=gpus)
    return TrainingCluster(accelerator, (*kept, last))


def faults_of_cluster(cluster: TrainingCluster) -> Iterator[Fault]:
    """Yield what is wrong with a cluster's figures."""
    gpu = cluster.accelerator
    if "bf16" not in dict(gpu.tflops):
        detail = f"GPU {gpu.name!r}: tflops must have bf16."
        yield Fault("/accelerator/tflops", FaultCode.MISSING_FIELD, detail)
    figures = [("memory_gib", gpu.memory_gib), ("memory_gbps", gpu.memory_gbps)]
    figures += [(f"tflops/{name}", rate) for name, rate in gpu.tflops]
    for name, figure in figures:
        if not 0 < figure < inf:
            detail = f"GPU {gpu.name!r}: {name} must be positive, got {figure:g}."
            yield Fault(f"/accelerator/{name}", FaultCode.OUT_OF_RANGE, detail)
    if gpu.kernels is not None:
        for fault in faults_of_kernels(gpu.kernels, dict(gpu.tflops)):
            yield replace(fault, pointer=f"/accelerator/kernels{fault.pointer}")
    if not cluster.levels:
        yield Fault("/levels", FaultCode.MISSING_FIELD, "A cluster has at least one level.")
    inner = 0
    for i, level in enumerate(cluster.levels):
        yield from _faults_of_level(level, i, inner)
        inner = max(inner, level.gpus)


def _faults_of_level(level: NetworkLevel, i: int, inner: int) -> Iterator[Fault]:
    """Yield what is wrong with a level that joins more than ``inner`` GPUs."""
    if level.gpus <= inner:
        detail = f"Level {level.name!r}: gpus must be more than {inner}, got {level.gpus}."
        yield Fault(f"/levels/{i}/gpus", FaultCode.OUT_OF_RANGE, detail)
    if not 0 < level.bandwidth_gbps < inf:
        detail = f"Level {level.name!r}: bandwidth_gbps must be positive."
        yield Fault(f"/levels/{i}/bandwidth_gbps", FaultCode.OUT_OF_RANGE, detail)
    for name in ("startup_us", "hop_us"):
        if not 0 <= getattr(level, name) < inf:
            detail = f"Level {level.name!r}: {name} must not be negative."
            yield Fault(f"/levels/{i}/{name}", FaultCode.OUT_OF_RANGE, detail)
    if bool(level.table) != (level.table_ranks is not None):
        detail = f"Level {level.name!r}: table and table_ranks go together."
        yield Fault(f"/levels/{i}/table_ranks", FaultCode.MISSING_FIELD, detail)
    if level.table_ranks is not None and level.table_ranks < 2:  # noqa: PLR2004 - a pair
        detail = f"Level {level.name!r}: table_ranks must be at least 2, got {level.table_ranks}."
        yield Fault(f"/levels/{i}/table_ranks", FaultCode.OUT_OF_RANGE, detail)
    if any(one[0] >= two[0] or one[1] > two[1] for one, two in pairwise(level.table)):
        detail = f"Level {level.name!r}: the table's bytes must ascend, and its times not fall."
        yield Fault(f"/levels/{i}/table", FaultCode.OUT_OF_RANGE, detail)
