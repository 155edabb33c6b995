"""Certify a plan: is it feasible for this graph, and what is its objective by definition.

Shares no code with the simulator: releases and the objective come from the graph's edges and the
parts' times alone.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from solver.codes import FaultCode
from solver.costs import Lane, Network
from solver.errors import Fault, InterlaceError
from solver.graph import Graph, Op
from solver.planning.result import Bucket, Part, Plan
from solver.units import same, slack

#: What each op comes after.
After = dict[str, list[str]]

#: When compute ends, from its start and its time at full speed [us].
Compute = Callable[[float, float], float]


class InfeasiblePlan(InterlaceError):
    """The parts cannot run as said."""


def check(graph: Graph, network: Network, plan: Plan) -> float:
    """Return the plan's iteration time [us] by definition: the end of the last op.

    While a part is under way compute takes ``network.compute_slowdown`` times as long.

    Raises
    ------
    InfeasiblePlan
        With every rule that a part or bucket breaks: each tensor is in one bucket, of its kind and
        channel and with tensors of its fuse_key and element_bytes, a bucket's parts carry each of
        its bytes once and in order and end between elements, no part starts before
        all that its bucket comes after has ended, a part takes the cost of its bytes, a channel
        carries one part at a time, and the bucket's release, tail and bytes are as said.

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
    if slowdown == 1:
        return lambda start, work: start + work
    times, done = [0.0], [0.0]  # and how much compute at full speed is done by then
    for start, end in sorted((part.start_us, part.end_us) for part in plan.parts):
        begin = max(start, times[-1])
        end = max(begin, end)  # noqa: PLW2901 - other parts may reach further
        done += [done[-1] + begin - times[-1], done[-1] + begin - times[-1]]
        done[-1] += (end - begin) / slowdown
        times += [begin, end]
    times.append(times[-1] + sum(graph.durations))
    done.append(done[-1] + sum(graph.durations))
    return lambda start, work: float(np.interp(np.interp(start, times, done) + work, done, times))


def _ends(graph: Graph, after: After, done: dict[str, float], compute: Compute) -> dict[str, float]:
    """End of each op [us] when collectives end at the times given."""
    ends: dict[str, float] = {}
    for position in graph.order:
        op = graph.ops[position]
        start = max((ends[other] for other in after[op.id]), default=0.0)
        known = done.get(op.id)
        ends[op.id] = compute(start, op.duration_us or 0.0) if known is None else known
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
    lanes = {bucket.id: Lane(bucket.channel, bucket.kind) for bucket in plan.buckets}
    now: dict[str, float] = {}
    for part in plan.parts:
        lane = lanes[part.bucket]
        free = now.get(lane.channel, 0.0)
        if part.start_us < free - slack(free):
            faults.append(f"Bucket {part.bucket}: a part starts while the channel is busy.")
        now[lane.channel] = part.end_us
        if not same(part.end_us, part.start_us + network(lane).time(part.bytes)):
            faults.append(f"Bucket {part.bucket}: a part does not take the cost of its bytes.")
    return faults
