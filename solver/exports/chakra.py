"""A plan as MLCommons Chakra ``.et`` files, one a rank, which ASTRA-sim replays.

Every part is one collective node, and comes after the part before it on its channel: order and
preemption are those of the plan. Attributes are the ones that ASTRA-sim's feeder reads, and
``channel`` and ``whole_size`` for our own reader where they tell more.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from typing import Any

from solver.chain import chain_of
from solver.codes import FaultCode
from solver.costs import Network
from solver.errors import Fault, InvalidPlan
from solver.exports.explicit_plan import ExplicitPlan, Export, replay_plan
from solver.exports.network_file import Dimensions, dimensions_of
from solver.graph import ALL_GATHER, COMPUTE, NETWORK, SEND_RECV, Graph, Op, build
from solver.limits import MAX_EXPORTED_FILES
from solver.policies.wfbp import wfbp
from solver.simulation.contention import contention_of, without_slowdowns
from solver.simulation.engine import Timeline, simulate
from solver.traces.chakra.codec import (
    COLLECTIVE_NODE,
    COMM_TYPES,
    COMPUTE_NODE,
    encode,
    metadata,
    node,
)
from solver.units import same

FORMAT = "chakra"
NOTES = (
    "Order and preemption are kept: each part is a collective that waits for the one before it.",
    "Durations are whole microseconds; it is the ends that are rounded, so errors do not add up.",
    "ASTRA-sim simulates the network itself, but takes a broadcast's time from the file.",
    "In network.yml a launch's start-up is latency of its steps. It is for rings, one chunk each.",
)

_VERSION = "0.0.4"
_TYPES = {kind: number for number, kind in reversed(COMM_TYPES.items())}


def export(graph: Graph, network: Network, plan: ExplicitPlan) -> Export:
    """Write ``plan.0.et``, ``plan.1.et``, ...: one file for each rank, all alike; ``network.yml``.

    Each channel is a dimension of ASTRA-sim's network. Of more ranks than
    :data:`MAX_EXPORTED_FILES` not every file is written, and a note says so.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives, or the graph has sends from one rank
        to another: the files of all ranks are alike.
    """
    _refuse_sends(graph)
    _, timeline = replay_plan(graph, network, plan)
    parts = graph_of_parts(graph, plan, timeline)
    again = simulate(parts, Network(network.cost), wfbp)
    ranks_of = {NETWORK: plan.workers, **dict(plan.channels)}
    dimensions = dimensions_of(parts, network, ranks_of)
    number = _numbers(parts, again)
    content = encode(_messages(parts, again, number, dimensions, plan.workers))
    ranks = min(dimensions.ranks, MAX_EXPORTED_FILES)
    notes = [*NOTES, *dimensions.notes]
    notes += _contention_notes(graph, network)
    turns = _take_turns(parts, again, number)
    if not same(turns, again.iteration_time):
        extra = turns - again.iteration_time
        notes.append(
            "ASTRA-sim runs one compute op and one collective at a time: streams and channels take "
            f"turns, which takes {extra:,.1f} us of the time."
        )
    if ranks < dimensions.ranks:
        notes.append(f"All {dimensions.ranks:,} files are alike; {ranks:,} are written.")
    files: dict[str, str | bytes] = {f"plan.{rank}.et": content for rank in range(ranks)}
    if dimensions.text is not None:
        files["network.yml"] = dimensions.text
    return Export(
        format=FORMAT,
        files=files,
        media_type="application/octet-stream",
        notes=tuple(notes),
        iteration_time_us=turns,
        plan_time_us=timeline.iteration_time,
    )


def graph_of_parts(graph: Graph, plan: ExplicitPlan, timeline: Timeline) -> Graph:
    """Make each part of a plan a collective, and durations whole.

    A part comes after what its bucket's tensors came after, and after the part before it on its
    channel; what came after a tensor comes after the last part of its bucket. Run by ``wfbp`` this
    takes the plan's time, up to the rounding, by itself: what slowed compute down is in its time.
    What others on its network card or its links took of a part is not, nor is what compute did.

    Parameters
    ----------
    graph
        What was planned.
    plan
        The plan.
    timeline
        How it ran.
    """
    chain = chain_of(graph)
    tensors = [graph.ops[i] for i in chain.positions.tolist()]
    home = {tensor: bucket.id for bucket in plan.buckets for tensor in bucket.tensors}
    taken = {op.id for op in graph.ops}
    counts = Counter(part.bucket for part in timeline.launches)
    begun: Counter[tuple[int, ...]] = Counter()
    before: dict[str, str] = {}
    last: dict[str, str] = {}
    parts: list[Op] = []
    for part in timeline.launches:
        members = [tensors[i] for i in part.bucket]
        first = members[0]
        name = home[first.id]
        after = [other for tensor in members for other in tensor.after if not begun[part.bucket]]
        begun[part.bucket] += 1
        if counts[part.bucket] > 1:
            name += f" part {begun[part.bucket]}"
        while name in taken:
            name += "'"
        taken.add(name)
        if first.channel in before:
            after.append(before[first.channel])
        before[first.channel] = name
        last |= {tensor.id: name for tensor in members}
        parts.append(first._replace(id=name, bytes=part.bytes, after=tuple(after)))
    whole_buckets = [
        float(round(b) - round(a)) for a, b in zip(timeline.starts, timeline.ends, strict=True)
    ]
    computes = [
        op._replace(duration_us=us, slowdown=None)
        for op, us in zip(graph.ops, whole_buckets, strict=True)
        if op.kind == COMPUTE
    ]
    ops = [
        op._replace(after=tuple(dict.fromkeys(last.get(other, other) for other in op.after)))
        for op in (*computes, *parts)
    ]
    return build(graph.name, ops)


def _contention_notes(graph: Graph, network: Network) -> Iterator[str]:
    """Say what the plan knows of contention, and ASTRA-sim does not."""
    contention = contention_of(graph, network)
    if any(factor > 1 for factors in contention.factors for factor in factors):
        is_stated = without_slowdowns(graph) is not graph
        longer = "longer" if is_stated else f"{network.compute_slowdown:g} times as long"
        yield (
            f"Durations are those of the plan, where compute beside communication takes {longer}: "
            "ASTRA-sim does not slow it down."
        )
    channels = chain_of(graph).channels
    shared = [repr(c) for c, n in zip(channels, contention.cards, strict=True) if n is not None]
    if shared:
        yield (
            f"Channels {' and '.join(shared)} share network cards in the plan: ASTRA-sim gives "
            "each a dimension of its own."
        )
    crossing = [repr(c) for c, path in zip(channels, contention.paths, strict=True) if path]
    if crossing:
        yield (
            f"Channels {' and '.join(crossing)} cross links in the plan: ASTRA-sim gives each a "
            "dimension of its own, which shares nothing."
        )
    slowed = [repr(c) for c, much in zip(channels, contention.slowed, strict=True) if much > 1]
    if slowed:
        yield (
            f"Launches on {' and '.join(slowed)} take longer beside compute in the plan: ASTRA-sim "
            "does not slow them down."
        )


def _numbers(parts: Graph, timeline: Timeline) -> dict[int, int]:
    """Give each node its number: ASTRA-sim chooses the least, so they are in order of starts."""
    place = {i: k for k, i in enumerate(parts.order)}
    order = sorted(place, key=lambda i: (timeline.starts[i], place[i]))
    return {i: k for k, i in enumerate(order, start=1)}


def _take_turns(parts: Graph, timeline: Timeline, number: Mapping[int, int]) -> float:
    """Run nodes as ASTRA-sim does: one of each sort at a time, the least number first."""
    missing = [len(before) for before in parts.preds]
    ready: dict[bool, list[int]] = {True: [], False: []}
    node = {k: i for i, k in number.items()}
    running: list[tuple[float, int]] = []
    busy: set[bool] = set()
    now = 0.0
    released = [i for i, count in enumerate(missing) if not count]
    while released or running or any(ready.values()):
        for i in released:
            heappush(ready[parts.ops[i].kind == COMPUTE], number[i])
        for sort, waiting in ready.items():
            if waiting and sort not in busy:
                i = node[heappop(waiting)]
                busy.add(sort)
                heappush(running, (now + timeline.ends[i] - timeline.starts[i], number[i]))
        now, k = heappop(running)
        done = node[k]
        busy.remove(parts.ops[done].kind == COMPUTE)
        for j in parts.succs[done]:
            missing[j] -= 1
        released = [j for j in parts.succs[done] if not missing[j]]
    return now


def _refuse_sends(graph: Graph) -> None:
    """Refuse a graph of which one rank does what another does not."""
    sends = [op.id for op in (graph.ops[i] for i in graph.collectives) if op.kind == SEND_RECV]
    if sends:
        detail = (
            f"{len(sends)} of {len(graph.collectives)} collectives are {SEND_RECV}, the first is "
            f"{sends[0]!r}: the files of all ranks are alike, so none of them sends to another."
        )
        raise InvalidPlan([Fault("/format", FaultCode.NO_FORM, detail)])


def _messages(
    parts: Graph,
    timeline: Timeline,
    number: Mapping[int, int],
    dimensions: Dimensions,
    workers: int,
) -> Iterator[Any]:
    """Write nodes by their numbers; ``workers`` share on channels whose ranks are not known."""
    yield metadata(version=_VERSION)
    for i in number:
        op = parts.ops[i]
        yield node(
            id=number[i],
            name=op.id,
            type=COMPUTE_NODE if op.kind == COMPUTE else COLLECTIVE_NODE,
            data_deps=sorted(number[j] for j in parts.preds[i]),
            duration_micros=round(timeline.ends[i]) - round(timeline.starts[i]),
            attr=[{"name": "is_cpu_op", "bool_val": False}, *_payload(op, dimensions, workers)],
        )


def _payload(op: Op, dimensions: Dimensions, workers: int) -> Iterator[dict[str, Any]]:
    """Say what a collective sends; of an all-gather the format counts one worker's share."""
    if op.bytes is None:
        return
    known = dict(zip(dimensions.channels, dimensions.workers, strict=True))
    share = -(-op.bytes // known.get(op.channel, workers)) if op.kind == ALL_GATHER else op.bytes
    yield {"name": "comm_type", "int64_val": _TYPES[op.kind]}
    yield {"name": "comm_size", "int64_val": share}
    if op.kind == ALL_GATHER:
        yield {"name": "whole_size", "int64_val": op.bytes}
    if len(dimensions.channels) > 1 and op.channel in dimensions.channels:
        involved = [name == op.channel for name in dimensions.channels]
        yield {"name": "involved_dim", "bool_list": {"values": involved}}
    if op.channel != NETWORK:
        yield {"name": "channel", "string_val": op.channel}
