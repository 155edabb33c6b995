"""What a program is for: a graph, what its launches and copies cost, and what it must keep."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from solver.costs import ChannelCost, Network, lane_of_op
from solver.graph import ALL_GATHER, REDUCE_SCATTER, Graph

#: Bytes a microsecond of one Gbit/s.
_BYTES_PER_US = 125.0

#: Until when what a launch reads is held.
InputsHeld = Literal["wait", "launch"]

#: Until the host's wait for the launch: what PyTorch does.
TO_WAIT: Final = "wait"

#: Until the launch has ended.
TO_LAUNCH: Final = "launch"


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """What a program must keep; None where nothing is said.

    Attributes
    ----------
    memory_bytes
        The most memory at any instant [bytes].
    bucket_bytes
        The most bytes of a bucket of several collectives.
    under_way_bytes
        The most bytes of the buckets that the program has launched and not waited for yet, but
        for a bucket alone.
    """

    memory_bytes: int | None = None
    bucket_bytes: int | None = None
    under_way_bytes: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ProgramProblem:
    """A graph whose order of compute, launches and buckets are to be chosen together.

    Attributes
    ----------
    graph
        Ops, buffers, and which streams are of free order.
    network
        What a launch costs, and how many ranks each channel has.
    copy_gbps
        Speed of the copies into and out of buckets [Gbit/s], of bytes read + bytes written; None
        where they take no time.
    limits
        What a program must keep.
    inputs_held
        Until when what a launch reads is held, its members' own buffers and the bucket's packed
        input: ``wait`` or ``launch``. Figures of memory under one rule say nothing of the other.
    memo
        What has been computed of it and is asked for again; no part of its value.
    """

    graph: Graph
    network: Network
    copy_gbps: float | None = None
    limits: ProgramLimits = ProgramLimits()
    inputs_held: InputsHeld = TO_WAIT
    memo: dict[str, Any] = field(init=False, default_factory=dict, repr=False)


def lane_of(graph: Graph, position: int) -> ChannelCost:
    """Return what the collective at a position may be fused with: others of the same lane."""
    op = graph.ops[position]
    return lane_of_op(op)


def launch_time(problem: ProgramProblem, members: Sequence[int]) -> float:
    """Time of one launch of the collectives at these positions [us]."""
    ops = problem.graph.ops
    lane = lane_of(problem.graph, members[0])
    return problem.network(lane).time(sum(ops[i].bytes or 0 for i in members))


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies of a bucket.

    Attributes
    ----------
    packed_bytes, unpacked_bytes
        Size of the packed input and of the packed output [bytes].
    pack_us, unpack_us
        Time to pack and to unpack [us].
    """

    packed_bytes: int
    unpacked_bytes: int
    pack_us: float
    unpack_us: float


NO_COPIES = Copies(0, 0, 0.0, 0.0)


def copies_of(problem: ProgramProblem, members: Sequence[int]) -> Copies:
    """Return the copies of a bucket of the collectives at these positions; none of one alone.

    What is packed is what the collectives read, what is unpacked is what they write: shards of an
    all-gather in and wholes out, wholes of a reduce-scatter in and shards out, wholes of all others
    both ways. A copy reads and writes these bytes once.
    """
    if len(members) == 1:
        return NO_COPIES
    ops = problem.graph.ops
    first = ops[members[0]]
    whole = sum(ops[i].bytes or 0 for i in members)
    workers = dict(problem.network.workers).get(first.channel, 1)
    shard = sum(-(-(ops[i].bytes or 0) // workers) for i in members)
    packed = shard if first.kind == ALL_GATHER else whole
    unpacked = shard if first.kind == REDUCE_SCATTER else whole
    return Copies(packed, unpacked, copy_us(problem, packed), copy_us(problem, unpacked))


def copy_us(problem: ProgramProblem, size: int) -> float:
    """Time to read and write so many bytes on the compute stream [us]."""
    return 0.0 if problem.copy_gbps is None else 2 * size / (problem.copy_gbps * _BYTES_PER_US)


def is_fusable(problem: ProgramProblem, members: Iterable[int]) -> bool:
    """Tell whether collectives may be one bucket, by lane and size; one may still need another."""
    members = tuple(members)
    graph, most = problem.graph, problem.limits.bucket_bytes
    lanes = {lane_of(graph, i) for i in members}
    size = sum(graph.ops[i].bytes or 0 for i in members)
    return len(lanes) == 1 and (most is None or len(members) == 1 or size <= most)


def compute_time(graph: Graph) -> float:
    """Return the longest path of compute, and at least the load of each stream [us]."""
    ends = [0.0] * len(graph.ops)
    loads: dict[str, float] = {}
    for i in graph.order:
        ends[i] = max((ends[j] for j in graph.preds[i]), default=0.0) + graph.durations[i]
        if (stream := graph.ops[i].stream) is not None:
            loads[stream] = loads.get(stream, 0.0) + graph.durations[i]
    return max([*ends, *loads.values()], default=0.0)
