"""A plan beside FIFO as a Chrome trace, which Perfetto opens."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

from solver.chain import chain_of
from solver.costs import Cost
from solver.graph import COMPUTE, Graph
from solver.policies import wfbp
from solver.policies.plan import replay
from solver.result import Plan
from solver.simulate import Send, Timeline, simulate

Event = dict[str, Any]


def chrome_trace(graph: Graph, cost: Cost, plan: Plan) -> dict[str, Any]:
    """Lay out one iteration under the plan and under FIFO.

    Two processes, "plan" and "fifo"; in each, thread 0 is the channel and the others compute, as
    many as run at once. Times are microseconds, as the format asks.
    """
    timelines = {
        "plan": simulate(graph, cost, replay(_sends(graph, plan))),
        "fifo": simulate(graph, cost, wfbp),
    }
    events: list[Event] = []
    for pid, (name, timeline) in enumerate(timelines.items(), start=1):
        events.append(_name("process_name", pid, 0, name))
        events.append(_name("thread_name", pid, 0, "channel"))
        events += _channel(graph, timeline, pid)
        events += _compute(graph, timeline, pid)
    return {
        "displayTimeUnit": "ms",
        "traceEvents": events,
        "otherData": {
            "graph": graph.name,
            "iteration_time_us": plan.iteration_time_us,
            "fifo_iteration_time_us": timelines["fifo"].iteration_time,
            "lower_bound_us": plan.lower_bound_us,
        },
    }


def _sends(graph: Graph, plan: Plan) -> list[Send]:
    """Name the plan's parts by chain index."""
    positions = chain_of(graph).positions.tolist()
    index = {graph.ops[position].id: i for i, position in enumerate(positions)}
    members = {b.id: tuple(index[tensor] for tensor in b.tensors) for b in plan.buckets}
    return [Send(members[part.bucket], part.bytes) for part in plan.parts]


def _channel(graph: Graph, timeline: Timeline, pid: int) -> Iterator[Event]:
    positions = chain_of(graph).positions.tolist()
    for part in timeline.sent:
        tensors = [graph.ops[positions[i]].id for i in part.bucket]
        label = tensors[0] if len(tensors) == 1 else f"{tensors[0]} + {len(tensors) - 1} more"
        args = {"tensors": tensors, "offset_bytes": part.offset, "bytes": part.bytes}
        yield _complete(label, "all_reduce", pid, 0, part.start, part.end, args)


def _compute(graph: Graph, timeline: Timeline, pid: int) -> Iterator[Event]:
    """Compute ops, each in the first thread that is free at its start."""
    ops = [i for i, op in enumerate(graph.ops) if op.kind == COMPUTE]
    threads = 0
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    for i in sorted(ops, key=lambda i: (timeline.starts[i], timeline.ends[i], i)):
        start, end = timeline.starts[i], timeline.ends[i]
        while busy and busy[0][0] <= start:
            heappush(free, heappop(busy)[1])
        if not free:
            threads += 1
            heappush(free, threads)
            yield _name("thread_name", pid, threads, "compute")
        thread = heappop(free)
        heappush(busy, (end, thread))
        yield _complete(graph.ops[i].id, COMPUTE, pid, thread, start, end, {})


def _name(kind: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _complete(
    name: str, category: str, pid: int, tid: int, start: float, end: float, args: Event
) -> Event:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": pid,
        "tid": tid,
        "ts": start,
        "dur": end - start,
        "args": args,
    }
