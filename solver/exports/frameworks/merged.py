"""A plan as frameworks send it: each bucket whole."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from solver.buckets import Launch, Members
from solver.chain import Chain, chain_of
from solver.codes import FaultCode
from solver.errors import Fault, InvalidPlan
from solver.fusion.fused import fused_ops
from solver.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    NETWORK,
    REDUCE_SCATTER,
    SEND_RECV,
    Graph,
    build,
)
from solver.simulation.rules import group_tensors


@dataclass(frozen=True, slots=True)
class MergedGraph:
    """A graph whose all-reduces are buckets.

    Attributes
    ----------
    graph
        The graph.
    tensors
        Ids of the tensors of each bucket, by the id of its collective.
    """

    graph: Graph
    tensors: dict[str, tuple[str, ...]]


def gradient_buckets(graph: Graph, launches: Iterable[Launch]) -> tuple[Members, ...]:
    """Return the buckets of gradients, in the order of their first launches.

    They are the all-reduces of the channel ``network`` or, when it has none, of all channels. Other
    all-reduces, and broadcasts, are the program's own: no framework fuses them.

    Raises
    ------
    InvalidPlan
        When there is no all-reduce (``no_all_reduce``); when there are collectives of data that is
        sharded or exchanged (``not_data_parallel``), which only other tools send.
    """
    chain = chain_of(graph)
    lanes = gradient_lanes(chain)
    ops = [graph.ops[i] for i in graph.collectives]
    faults = []
    if not lanes:
        detail = "The plan has no all-reduce, so there are no buckets of gradients to write."
        faults.append(Fault("/buckets", FaultCode.NO_ALL_REDUCE, detail))
    for kind in (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, SEND_RECV):
        found = [op.id for op in ops if op.kind == kind]
        if found:
            detail = (
                f"{len(found)} of {len(ops)} collectives are {kind}, the first is {found[0]!r}: "
                "this is no plain data parallelism, in which each worker sums whole gradients. For "
                "FSDP there is the format fsdp."
            )
            faults.append(Fault("/buckets", FaultCode.NOT_DATA_PARALLEL, detail))
    if faults:
        raise InvalidPlan(faults)
    buckets = dict.fromkeys(launch.bucket for launch in launches)
    return tuple(bucket for bucket in buckets if chain.lane[bucket[0]] in lanes)


def gradient_lanes(chain: Chain) -> list[int]:
    """Return the lanes of all-reduces of gradients."""
    lanes = [k for k, lane in enumerate(chain.lanes) if lane.kind == ALL_REDUCE]
    return [k for k in lanes if chain.lanes[k].channel == NETWORK] or lanes


def fill_buckets(graph: Graph, joins: Callable[[int, int], bool]) -> tuple[Members, ...]:
    """Put gradients in buckets in release order; ``joins(held, size)`` tells who joins [bytes]."""
    chain = chain_of(graph)
    sizes = chain.bytes.tolist()
    lanes = gradient_lanes(chain)
    groups = group_tensors(chain, lambda _, held, tensor: joins(held, sizes[tensor]))
    return tuple(tuple(group) for group in groups if chain.lane[group[0]] in lanes)


def merge(graph: Graph, buckets: Sequence[Members], *, late: bool = False) -> MergedGraph:
    """Make each bucket one collective.

    Parameters
    ----------
    graph
        The graph as it was planned.
    buckets
        Chain indices; tensors in none stay as they are.
    late
        Whether a bucket goes when the first tensor of the next one of its channel is ready, not
        with its own last tensor. Buckets are then in release order, and no collective of the graph
        comes after another.
    """
    chain = chain_of(graph)
    positions = chain.positions.tolist()
    rest = {positions[i] for bucket in buckets for i in bucket[1:]}
    ops = fused_ops(graph, chain, buckets)
    remaining = (i for i in range(len(graph.ops)) if i not in rest)
    fused = {i: op.id for i, op in zip(remaining, ops, strict=True)}
    names = [fused[positions[bucket[0]]] for bucket in buckets]
    tensors = {
        name: tuple(graph.ops[positions[i]].id for i in bucket)
        for name, bucket in zip(names, buckets, strict=True)
    }
    if late:
        waits = _waits(graph, chain, buckets)
        by_name = dict(zip(names, waits, strict=True))
        ops = tuple(op._replace(after=op.after + by_name.get(op.id, ())) for op in ops)
    return MergedGraph(build(graph.name, ops), tensors)


def _waits(graph: Graph, chain: Chain, buckets: Sequence[Members]) -> list[tuple[str, ...]]:
    """Return for each bucket what the first tensor of the next one of its lane comes after."""
    positions = chain.positions.tolist()
    waits: list[tuple[str, ...]] = [()] * len(buckets)
    for lane in range(len(chain.lanes)):
        places = [b for b, bucket in enumerate(buckets) if chain.lane[bucket[0]] == lane]
        for here, following in pairwise(places):
            waits[here] = graph.ops[positions[buckets[following][0]]].after
    return waits
