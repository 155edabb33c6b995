"""Certify a plan: is it feasible for this graph, and what is its objective by definition.

Shares no code with the simulator: releases and the objective come from the graph's edges and the
parts' times alone.
"""

from collections.abc import Callable, Iterator, Sequence
from math import inf

import numpy as np

from solver.codes import FaultCode
from solver.costs import ChannelCost, Network, scale
from solver.errors import Fault, InterlaceError
from solver.graph import Graph, Op
from solver.planning.check_links import times_without_others
from solver.planning.result import Bucket, Part, Plan
from solver.units import FloatArray, same, slack

#: What an op states of its slowdowns.
Statement = tuple[tuple[str, float], ...] | None

#: What each op comes after.
After = dict[str, list[str]]

#: When an op ends, from itself, its start and its time at full speed [us].
Compute = Callable[[Op, float, float], float]


class InfeasiblePlan(InterlaceError):
    """The parts cannot run as said."""


def check(graph: Graph, network: Network, plan: Plan) -> float:
    """Return the plan's iteration time [us] by definition: the end of the last op.

    While parts are under way each compute op takes so many times as long as the largest factor of
    theirs: those that it states by channel, or else ``network.compute_slowdown``.

    Raises
    ------
    InfeasiblePlan
        With every rule that a part or bucket breaks: each tensor is in one bucket, of its kind and
        channel and with tensors of its fuse_key and element_bytes, a bucket's parts carry each of
        its bytes once and in order and end between elements, no part starts before
        all that its bucket comes after has ended, a part takes the cost of its bytes, and what
        others on its network card take of it, a channel carries one part at a time, and the
        bucket's release, tail and bytes are as said.

    Notes
    -----
    O(ops + edges + parts log parts).
    """
    finish = {part.bucket: part.end_us for part in plan.parts}
    done = {tensor: finish.get(b.id, 0.0) for b in plan.buckets for tensor in b.tensors}
    after = _after(graph)
    ends = _ends(graph, after, done, _compute(graph, plan, network.compute_slowdown))
    found = [*_bucket_faults(graph, after, plan, ends), *_tail_faults(graph, after, plan)]
    found += _part_faults(network, plan)
    if found:
        raise InfeasiblePlan([Fault("", FaultCode.INFEASIBLE, detail) for detail in found])
    return max(ends.values())


def _after(graph: Graph) -> dict[str, list[str]]:
    """List what each op comes after, the op before it in its stream included."""
    last: dict[str, str] = {}
    after = {}
    for op in graph.ops:
        after[op.id] = list(op.after)
        if op.stream is not None:
            after[op.id] += [last[op.stream]] if op.stream in last else []
            last[op.stream] = op.id
    return after


def _compute(graph: Graph, plan: Plan, slowdown: float) -> Compute:
    """Tell when compute ends beside a plan's parts."""
    stated = {op.slowdown for op in graph.ops}
    if slowdown == 1 and stated == {None}:
        return lambda _, start, work: start + work
    channel = {bucket.id: bucket.channel for bucket in plan.buckets}
    parts = [(channel[part.bucket], part.start_us, part.end_us) for part in plan.parts]
    times = np.unique([0.0, *(time for _, start, end in parts for time in (start, end))])
    carrying: list[set[str]] = [set() for _ in times]  # from each of these times to the next
    for name, begin, close in parts:
        for k in range(*np.searchsorted(times, [begin, close]).tolist()):
            carrying[k].add(name)
    done = {each: _done(each, slowdown, times, carrying) for each in stated}

    def end(op: Op, start: float, work: float) -> float:
        by_then = done[op.slowdown]
        k = int(np.searchsorted(times, start, side="right")) - 1
        speed = 1 / _factor(op.slowdown, slowdown, carrying[k])
        goal = by_then[k] + (start - times[k]) * speed + work
        k = max(k, int(np.searchsorted(by_then, goal, side="left")) - 1)
        speed = 1 / _factor(op.slowdown, slowdown, carrying[k])
        return float(times[k] + (goal - by_then[k]) / speed)

    return end


def _done(
    stated: Statement, slowdown: float, times: FloatArray, carrying: Sequence[set[str]]
) -> FloatArray:
    """How much compute [us at full speed] of such ops could have been done by each time."""
    speeds = [1 / _factor(stated, slowdown, channels) for channels in carrying[:-1]]
    return np.concatenate([[0.0], np.cumsum(np.diff(times) * speeds)])


def _factor(stated: Statement, slowdown: float, carrying: set[str]) -> float:
    """Of what carries, what slows such an op down most."""
    if stated is None:
        return slowdown if carrying else 1.0
    return max((factor for channel, factor in stated if channel in carrying), default=1.0)


def _ends(graph: Graph, after: After, done: dict[str, float], compute: Compute) -> dict[str, float]:
    """End of each op [us] when collectives end at the times given."""
    ends: dict[str, float] = {}
    for position in graph.order:
        op = graph.ops[position]
        start = max((ends[other] for other in after[op.id]), default=0.0)
        known = done.get(op.id)
        ends[op.id] = compute(op, start, op.duration_us or 0.0) if known is None else known
    return ends


def _bucket_faults(graph: Graph, after: After, plan: Plan, ends: dict[str, float]) -> list[str]:
    ops = {op.id: op for op in graph.ops}
    tensors = [tensor for bucket in plan.buckets for tensor in bucket.tensors]
    collectives = {graph.ops[i].id for i in graph.collectives}
    faults = []
    if len(tensors) != len(set(tensors)) or set(tensors) != collectives:
        faults.append("The buckets are not a partition of the tensors.")
    for bucket in plan.buckets:
        members = [ops[tensor] for tensor in bucket.tensors if tensor in collectives]
        if any((op.kind, op.channel) != (bucket.kind, bucket.channel) for op in members):
            faults.append(f"Bucket {bucket.id}: a tensor is of another kind or channel.")
        if len({(op.fuse_key, op.element_bytes) for op in members}) > 1:
            faults.append(f"Bucket {bucket.id}: its tensors differ in fuse_key or element_bytes.")
        if len({(op.source, op.target) for op in members}) > 1:
            faults.append(f"Bucket {bucket.id}: its tensors are sent between different ranks.")
        if bucket.bytes != sum(op.bytes or 0 for op in members):
            faults.append(f"Bucket {bucket.id}: bytes are not the sum of its tensors'.")
        release = max((ends[other] for op in members for other in after[op.id]), default=0.0)
        if not same(release, bucket.release_us):
            faults.append(f"Bucket {bucket.id}: release is {release}, not {bucket.release_us}.")
        parts = [part for part in plan.parts if part.bucket == bucket.id]
        faults += _offset_faults(bucket, members, parts)
        if any(part.start_us < release - slack(release) for part in parts):
            faults.append(f"Bucket {bucket.id}: a part starts before its release.")
    return faults


def _offset_faults(bucket: Bucket, members: Sequence[Op], parts: Sequence[Part]) -> Iterator[str]:
    offset = 0
    for part in parts:
        if part.offset_bytes != offset or part.bytes < 1:
            yield f"Bucket {bucket.id}: a part does not follow the one before."
        offset += part.bytes
        if any(offset % op.element_bytes for op in members):
            yield f"Bucket {bucket.id}: a part ends within an element."
    if offset != bucket.bytes:
        yield f"Bucket {bucket.id}: its parts carry {offset} of {bucket.bytes} bytes."


def _tail_faults(graph: Graph, after: After, plan: Plan) -> list[str]:
    """Compare each bucket's tail with the longest compute path behind any of its tensors."""
    behind = {op.id: 0.0 for op in graph.ops}
    for position in reversed(graph.order):
        op = graph.ops[position]
        path = behind[op.id] + (op.duration_us or 0.0)
        for other in after[op.id]:
            behind[other] = max(behind[other], path)
    return [
        f"Bucket {bucket.id}: tail is {tail}, not {bucket.tail_us}."
        for bucket in plan.buckets
        if not same(tail := max(behind.get(t, 0.0) for t in bucket.tensors), bucket.tail_us)
    ]


def _part_faults(network: Network, plan: Plan) -> list[str]:
    faults = []
    lanes = {bucket.id: ChannelCost(bucket.channel, bucket.kind) for bucket in plan.buckets}
    now: dict[str, float] = {}
    for part, time in zip(plan.parts, _times_alone(network, plan), strict=True):
        lane = lanes[part.bucket]
        free = now.get(lane.channel, 0.0)
        if part.start_us < free - slack(free):
            faults.append(f"Bucket {part.bucket}: a part starts while the channel is busy.")
        now[lane.channel] = part.end_us
        if abs(time - network(lane).time(part.bytes)) > slack(part.end_us):
            faults.append(f"Bucket {part.bucket}: a part does not take the cost of its bytes.")
    return faults


def _times_alone(network: Network, plan: Plan) -> list[float]:
    """Take from the time of each part what others on its network card took of it [us].

    From the end of its start-up on a part has 1/m of its card while m parts are so far.
    """
    lanes = {bucket.id: ChannelCost(bucket.channel, bucket.kind) for bucket in plan.buckets}
    card_of = dict(network.cards)
    times = [part.end_us - part.start_us for part in plan.parts]
    on_card: dict[str, list[int]] = {}
    for i, part in enumerate(plan.parts):
        if (channel := lanes[part.bucket].channel) in card_of:
            on_card.setdefault(card_of[channel], []).append(i)
    for members in on_card.values():
        parts = [plan.parts[i] for i in members]
        startups = [scale(network(lanes[p.bucket]), inf).time(p.bytes) for p in parts]
        begins = np.array([p.start_us for p in parts]) + startups
        ends = np.maximum(begins, [p.end_us for p in parts])
        at = np.unique([begins, ends])
        changes = np.zeros(len(at))
        np.add.at(changes, np.searchsorted(at, begins), 1)
        np.add.at(changes, np.searchsorted(at, ends), -1)
        shares = np.diff(at) / np.maximum(1, np.cumsum(changes)[:-1])
        served = np.interp([begins, ends], at, np.concatenate([[0.0], np.cumsum(shares)]))
        for i, startup, time in zip(members, startups, served[1] - served[0], strict=True):
            times[i] = startup + float(time)
    for i, time in times_without_others(network, plan).items():
        times[i] = time
    return times
