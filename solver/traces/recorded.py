"""A trace run again as it was recorded: a check of the graph that a reader built."""

from solver.graph import COMPUTE, Op
from solver.graph.links import link, topological_order
from solver.traces.trace import Trace


def recorded_ops(trace: Trace) -> tuple[Op, ...]:
    """Return a trace's ops with its collectives as compute ops of their recorded time.

    Those of one channel are one stream, in the order in which they ran. Nothing else changes, so
    what they wait for and what waits for them is the graph's own.
    """
    if trace.graph is None:
        return ()
    known = {op.id: op for op in trace.graph.ops if op.kind != COMPUTE}
    compute = [op for op in trace.graph.ops if op.kind == COMPUTE]
    ran = [
        Op(name, COMPUTE, time, None, known[name].after, stream=f"channel {known[name].channel}")
        for name, time in trace.measured
    ]
    return (*compute, *ran)


def recorded_time(trace: Trace) -> float:
    """Return how long the iteration of a trace takes with the recorded times [us].

    Raises
    ------
    ValueError
        When the recorded order of the collectives contradicts the graph.

    Notes
    -----
    The longest path; O(ops + edges).
    """
    ops = recorded_ops(trace)
    links = link(ops)
    order = topological_order(links.preds, links.succs)
    if len(order) < len(ops):
        raise ValueError("The recorded order of the collectives contradicts the graph.")
    ends = [0.0] * len(ops)
    for i in order:
        start = max((ends[j] for j in links.preds[i]), default=0.0)
        ends[i] = start + (ops[i].duration_us or 0.0)
    return max(ends, default=0.0)
