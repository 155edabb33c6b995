"""Timelines as a Chrome trace, which Perfetto opens."""

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Any

from solver.chain import Chain, chain_of
from solver.graph import COMPUTE, Graph
from solver.simulation.engine import Timeline

Event = dict[str, Any]


def chrome_trace(
    graph: Graph,
    timelines: Mapping[str, Timeline],
    other: Mapping[str, Any],
    graphs: Mapping[str, Graph] = MappingProxyType({}),
) -> dict[str, Any]:
    """Lay out simulated iterations of a graph one below the other.

    Each timeline is a process of its name. Its threads are the channels, then the compute streams,
    by name, then as many named "compute" as other compute ops run at once. The category of an event
    is the kind of its op. Times are microseconds, as the format asks.

    Parameters
    ----------
    graph
        What was simulated.
    timelines
        The iterations by name.
    other
        What else to tell of them, beside the name of the graph.
    graphs
        What the timelines of these names ran on, where that is another graph: one with a barrier.
    """
    events: list[Event] = []
    for pid, (name, timeline) in enumerate(timelines.items(), start=1):
        events.append(name_event("process_name", pid, 0, name))
        ran = graphs.get(name, graph)
        chain = chain_of(ran)
        events += _channels(ran, chain, timeline, pid)
        events += _compute(ran, timeline, pid, len(chain.channels))
    return {
        "displayTimeUnit": "ms",
        "traceEvents": events,
        "otherData": {"graph": graph.name, **other},
    }


def _channels(graph: Graph, chain: Chain, timeline: Timeline, pid: int) -> Iterator[Event]:
    threads = {channel: tid for tid, channel in enumerate(chain.channels)}
    for channel, tid in threads.items():
        yield name_event("thread_name", pid, tid, channel)
    positions = chain.positions.tolist()
    for part in timeline.launches:
        lane = chain.lanes[chain.lane[part.bucket[0]]]
        tensors = [graph.ops[positions[i]].id for i in part.bucket]
        label = tensors[0] if len(tensors) == 1 else f"{tensors[0]} + {len(tensors) - 1} more"
        args = {"tensors": tensors, "offset_bytes": part.offset, "bytes": part.bytes}
        yield span_event(label, lane.kind, pid, threads[lane.channel], part.start, part.end, args)


def _compute(graph: Graph, timeline: Timeline, pid: int, threads: int) -> Iterator[Event]:
    """Compute ops: those of a stream in its thread, others in the first that is free by then."""
    ops = [i for i, op in enumerate(graph.ops) if op.kind == COMPUTE]
    streams = dict.fromkeys(op.stream for op in graph.ops if op.stream is not None)
    of_stream: dict[str | None, int] = {}
    for stream in streams:
        of_stream[stream] = threads
        yield name_event("thread_name", pid, threads, stream)
        threads += 1
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    for i in sorted(ops, key=lambda i: (timeline.starts[i], timeline.ends[i], i)):
        op, start, end = graph.ops[i], timeline.starts[i], timeline.ends[i]
        thread = of_stream.get(op.stream)
        if thread is None:
            while busy and busy[0][0] <= start:
                heappush(free, heappop(busy)[1])
            if not free:
                heappush(free, threads)
                yield name_event("thread_name", pid, threads, "compute")
                threads += 1
            thread = heappop(free)
            heappush(busy, (end, thread))
        yield span_event(op.id, COMPUTE, pid, thread, start, end, {})


def name_event(kind: str, pid: int, tid: int, name: str) -> Event:
    """Name a process or a thread."""
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def span_event(
    name: str, category: str, pid: int, tid: int, start: float, end: float, args: Event
) -> Event:
    """Draw what runs from ``start`` to ``end`` [us]."""
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
