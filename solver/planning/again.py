"""The same iteration with each op as long as it took in a timeline, for another search."""

from collections.abc import Sequence
from dataclasses import replace

from solver.buckets import Launch
from solver.chain import Chain
from solver.graph import COMPUTE, Graph
from solver.simulation.engine import Timeline


def as_it_ran(graph: Graph, timeline: Timeline) -> Graph:
    """Return a graph whose compute ops take the time that they took [us]."""
    times = tuple(
        end - start if op.kind == COMPUTE else 0.0
        for op, start, end in zip(graph.ops, timeline.starts, timeline.ends, strict=True)
    )
    ops = tuple(
        op._replace(duration_us=time) if op.kind == COMPUTE else op
        for op, time in zip(graph.ops, times, strict=True)
    )
    return replace(graph, ops=ops, durations=times)


def renumbered(launches: Sequence[Launch], chain: Chain, other: Chain) -> tuple[Launch, ...]:
    """Turn indices of one chain into those of another chain of the same collectives."""
    index = {position: i for i, position in enumerate(other.positions.tolist())}
    positions = chain.positions.tolist()
    return tuple(
        Launch(tuple(sorted(index[positions[i]] for i in bucket)), size)
        for bucket, size in launches
    )
