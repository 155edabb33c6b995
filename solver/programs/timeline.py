"""Programs as a Chrome trace, which Perfetto opens: streams, channels and memory."""

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from typing import Any, NamedTuple

from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.execute import bucket_id
from solver.programs.machine import home_of, streams_of
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, WAIT
from solver.programs.result import Executed
from solver.simulation.timeline import Event, name_event, span_event


class _Piece(NamedTuple):
    """What is drawn on a stream."""

    start: float
    end: float
    label: str
    category: str
    stream: int
    args: Event


def program_trace(
    problem: ProgramProblem,
    runs: Mapping[str, Executed],
    other: Mapping[str, Any],
) -> dict[str, Any]:
    """Lay out runs of programs of a graph one below the other.

    Each is a process of its name. Its threads are the channels, then the streams, by name, then as
    many named "compute" as other ops of compute run at once; copies and waits are on the stream of
    their bucket, waits of no length are left out. Its counters are ``memory``, and ``memory limit``
    where there is one [bytes]. Times are microseconds, as the format asks.

    Parameters
    ----------
    runs
        Programs and what the simulator made of them, by name; of the same graph, in which some ops
        may run twice.
    other
        What else to tell, beside the name of the graph and the rule of its memory.
    """
    events: list[Event] = []
    for pid, (name, done) in enumerate(runs.items(), start=1):
        events.append(name_event("process_name", pid, 0, name))
        events += _events(done, pid)
        events += _memory(done, pid)
    return {
        "displayTimeUnit": "ms",
        "traceEvents": events,
        "otherData": {"graph": problem.graph.name, "inputs_held": problem.inputs_held, **other},
    }


def _events(done: Executed, pid: int) -> Iterator[Event]:
    graph, program, run = done.problem.graph, done.program, done.run
    numbers, ops = streams_of(graph), graph.ops
    channels = sorted({ops[i].channel for i in graph.collectives})
    threads = {channel: tid for tid, channel in enumerate(channels)}
    for channel, tid in threads.items():
        yield name_event("thread_name", pid, tid, channel)
    pieces = []
    for (do, what), span in zip(program.steps, run.spans, strict=True):
        if do == COMPUTE:
            pieces.append(_Piece(*span, ops[what].id, COMPUTE_KIND, numbers[what], {}))
            continue
        members = program.buckets[what]
        tensors = [ops[i].id for i in members]
        args = {"tensors": tensors, "bytes": sum(ops[i].bytes or 0 for i in members)}
        if do == LAUNCH:
            first = ops[members[0]]
            tid = threads[first.channel]
            yield span_event(bucket_id(what), first.kind, pid, tid, span.start, span.end, args)
        elif do != WAIT or span.end > span.start:
            home, label = home_of(graph, numbers, members), f"{do} {bucket_id(what)}"
            pieces.append(_Piece(*span, label, do, home, args))
    names: dict[int, str] = {}
    for number, op in zip(numbers, ops, strict=True):
        if op.stream is not None:
            names[number] = op.stream
    yield from _streams(pieces, names, pid, len(threads))


def _streams(
    pieces: list[_Piece], names: Mapping[int, str], pid: int, first: int
) -> Iterator[Event]:
    """Draw each named stream in its thread, the others in the first that is free by then."""
    named = {number: first + k for k, number in enumerate(sorted(names, key=lambda n: names[n]))}
    for number, tid in named.items():
        yield name_event("thread_name", pid, tid, names[number])
    threads = first + len(named)
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    for piece in sorted(pieces, key=lambda each: each[:2]):
        tid = named.get(piece.stream, -1)
        if tid < 0:
            while busy and busy[0][0] <= piece.start:
                heappush(free, heappop(busy)[1])
            if not free:
                heappush(free, threads)
                yield name_event("thread_name", pid, threads, "compute")
                threads += 1
            tid = heappop(free)
            heappush(busy, (piece.end, tid))
        start, end, label, category, _, args = piece
        yield span_event(label, category, pid, tid, start, end, args)


def _memory(done: Executed, pid: int) -> Iterator[Event]:
    """Draw the memory over time; a graph without buffers has none."""
    run = done.run
    if not run.holdings:
        return
    for when, size in run.profile:
        yield _counter("memory", pid, when, size)
    if (limit := done.problem.limits.memory_bytes) is not None:
        for when in (0.0, run.iteration_time):
            yield _counter("memory limit", pid, when, limit)


def _counter(name: str, pid: int, when: float, size: int) -> Event:
    return {"ph": "C", "name": name, "pid": pid, "ts": when, "args": {"bytes": size}}
