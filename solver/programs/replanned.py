"""Programs planned again: with more memory, and of a graph with some ops changed."""

from collections.abc import Sequence
from dataclasses import replace

from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph, InvalidOptions
from solver.graph import COMPUTE, Graph, build
from solver.programs.carried import carried
from solver.programs.plan import ProgramOptions, plan
from solver.programs.result import ProgramPlan, RoomierPlan
from solver.simulation.what_if import Change, apply_changes
from solver.units import same


def with_more_memory(
    planned: ProgramPlan, extras: Sequence[int], options: ProgramOptions
) -> tuple[RoomierPlan, ...]:
    """Plan again with a limit that is higher by each of these, ascending.

    A program of a lower limit keeps a higher one, so none is slower than the one before.

    Parameters
    ----------
    planned
        With a limit of memory.
    extras
        Bytes more, each positive.
    options
        How to plan; the time limit is that of one plan.
    """
    limit = planned.problem.limits.memory_bytes
    assert limit is not None, "the plan has a limit"
    best, found = planned, []
    alone = replace(options, baselines=(), robust=None)
    for extra in sorted(set(extras)):
        limits = replace(planned.problem.limits, memory_bytes=limit + extra)
        roomier = replace(planned.problem, limits=limits)
        other = plan(roomier, alone, known=(best.program,))
        is_slower = other.run.iteration_time > best.run.iteration_time  # within the tolerance
        best = replace(best, problem=roomier) if is_slower else other
        total, before = best.run.iteration_time, planned.run.iteration_time
        gain = 0.0 if same(total, before) else before - total
        found.append(RoomierPlan(extra, total, gain, best.run.peak_bytes, best.cut))
    return tuple(found)


def with_changes(
    planned: ProgramPlan, changes: Sequence[Change], options: ProgramOptions
) -> ProgramPlan:
    """Plan the graph with some ops changed, within the same limits.

    Buffers stay as they are: an op that is removed takes no time and sends nothing, and what it
    wrote is written. Where the program of the graph carries over to the changed graph
    (:func:`solver.programs.carried.carried`), what is found is not slower than that by more than
    the tolerance.

    Raises
    ------
    InvalidOptions
        When a change cannot be made, with pointers that begin with ``/changes``; when no program
        of the changed graph keeps the limits.
    """
    problem = replace(planned.problem, graph=changed_graph(planned.problem.graph, changes))
    known = carried(planned.program, planned.problem, problem)
    return plan(problem, replace(options, baselines=()), known=() if known is None else (known,))


def changed_graph(graph: Graph, changes: Sequence[Change]) -> Graph:
    """Change ops and keep buffers and streams.

    A collective that is removed becomes an op of no time on the stream of all compute, if that is
    one, so that the search has one stream as before; so does what codes between collectives.

    Raises
    ------
    InvalidOptions
        As of :func:`solver.simulation.what_if.apply_changes`.
    """
    after = apply_changes(graph, changes)
    streams = {op.stream for op in graph.ops if op.kind == COMPUTE}
    only = streams.pop() if len(streams) == 1 else None
    was = {op.id: op.kind for op in graph.ops}
    ops = [
        op._replace(stream=only)
        if op.kind == COMPUTE and op.stream is None and was.get(op.id) != COMPUTE
        else op
        for op in after.ops
    ]
    if len(ops) == len(graph.ops):
        return replace(after, ops=tuple(ops))
    try:
        return build(after.name, ops, after.buffers, after.free)
    except InvalidGraph as error:  # coding stands on a stream whose order is not free
        detail = f"The ops that code cannot be on stream {only!r}: {error.faults[0].detail}"
        fault = Fault("/changes", FaultCode.NOT_SUPPORTED, detail)
        raise InvalidOptions([fault]) from error
