"""A plan as MLCommons Chakra ``.et`` files, one a rank, which ASTRA-sim replays.

Every part is one collective node, and comes after the part before it on its channel: order and
preemption are those of the plan. Attributes are the ones that ASTRA-sim's feeder reads, and
``channel`` and ``whole_size`` for our own reader where they tell more.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from solver.chain import chain_of
from solver.costs import Network
from solver.exports.exporter import ExplicitPlan, Export, replay_plan
from solver.graph import ALL_GATHER, COMPUTE, NETWORK, Graph, Op, build
from solver.limits import MAX_EXPORTED_FILES
from solver.policies.wfbp import wfbp
from solver.simulation.engine import Timeline, simulate
from solver.traces.chakra.codec import (
    COLLECTIVE_NODE,
    COMM_TYPES,
    COMPUTE_NODE,
    GlobalMetadata,
    Node,
    encode,
)

FORMAT = "chakra"
NOTES = (
    "Order and preemption are kept: each part is a collective that waits for the one before it.",
    "Durations are whole microseconds; it is the ends that are rounded, so errors do not add up.",
    "ASTRA-sim runs one compute op and one collective at a time: streams and channels take turns.",
    "ASTRA-sim simulates the network itself, but takes a broadcast's time from the file.",
)

_VERSION = "0.0.4"
_TYPES = {kind: number for number, kind in reversed(COMM_TYPES.items())}


def export(graph: Graph, network: Network, plan: ExplicitPlan) -> Export:
    """Write ``plan.0.et``, ``plan.1.et``, ...: one file for each worker, all alike.

    Of more workers than :data:`MAX_EXPORTED_FILES` not every file is written, and a note says so.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives.
    """
    _, timeline = replay_plan(graph, network, plan)
    parts = graph_of_parts(graph, plan, timeline)
    again = simulate(parts, network, wfbp)
    content = encode(_messages(parts, again, plan.workers))
    ranks = min(plan.workers, MAX_EXPORTED_FILES)
    left_out = (f"All {plan.workers:,} files are alike; {ranks:,} are written.",)
    return Export(
        format=FORMAT,
        files={f"plan.{rank}.et": content for rank in range(ranks)},
        media_type="application/octet-stream",
        notes=NOTES if ranks == plan.workers else (*NOTES, *left_out),
        iteration_time_us=again.iteration_time,
        plan_time_us=timeline.iteration_time,
    )


def graph_of_parts(graph: Graph, plan: ExplicitPlan, timeline: Timeline) -> Graph:
    """Make each part of a plan a collective, and durations whole.

    A part comes after what its bucket's tensors came after, and after the part before it on its
    channel; what came after a tensor comes after the last part of its bucket. Run by ``wfbp`` this
    takes the plan's time, up to the rounding.

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
        parts.append(Op(name, first.kind, None, part.bytes, tuple(after), first.channel))
    whole_buckets = [
        float(round(b) - round(a)) for a, b in zip(timeline.starts, timeline.ends, strict=True)
    ]
    computes = [
        op._replace(duration_us=us)
        for op, us in zip(graph.ops, whole_buckets, strict=True)
        if op.kind == COMPUTE
    ]
    ops = [
        op._replace(after=tuple(dict.fromkeys(last.get(other, other) for other in op.after)))
        for op in (*computes, *parts)
    ]
    return build(graph.name, ops)


def _messages(parts: Graph, timeline: Timeline, workers: int) -> Iterator[Any]:
    """Write nodes in the order of their starts, which is the order in which ASTRA-sim chooses."""
    yield GlobalMetadata(version=_VERSION)
    place = {i: k for k, i in enumerate(parts.order)}
    order = sorted(place, key=lambda i: (timeline.starts[i], place[i]))
    number = {i: k for k, i in enumerate(order, start=1)}
    for i in order:
        op = parts.ops[i]
        yield Node(
            id=number[i],
            name=op.id,
            type=COMPUTE_NODE if op.kind == COMPUTE else COLLECTIVE_NODE,
            data_deps=sorted(number[j] for j in parts.preds[i]),
            duration_micros=round(timeline.ends[i]) - round(timeline.starts[i]),
            attr=[{"name": "is_cpu_op", "bool_val": False}, *_payload(op, workers)],
        )


def _payload(op: Op, workers: int) -> Iterator[dict[str, Any]]:
    """Say what a collective sends; of an all-gather the format counts one worker's share."""
    if op.bytes is None:
        return
    share = -(-op.bytes // workers) if op.kind == ALL_GATHER else op.bytes
    yield {"name": "comm_type", "int64_val": _TYPES[op.kind]}
    yield {"name": "comm_size", "int64_val": share}
    if op.kind == ALL_GATHER:
        yield {"name": "whole_size", "int64_val": op.bytes}
    if op.channel != NETWORK:
        yield {"name": "channel", "string_val": op.channel}
