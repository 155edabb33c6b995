"""One run of a program on a device as a graph: a line of compute, and collectives beside it."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from heapq import heappush

from solver.graph import COMPUTE, Op
from solver.traces.spans import pop_ended
from solver.traces.step_ops import StepOps, numbered
from solver.traces.unsized_spans import SpanLaunch, step_of
from solver.traces.xla.hlo import KINDS
from solver.traces.xla.runs import DeviceRun

#: An op that begins so soon before a collective ends waited for it all the same [us].
_SLACK = 0.01


def iteration(run: DeviceRun, sizes: Mapping[str, int]) -> StepOps:
    """Build the graph of a run.

    Ops that compute are one line, by start; one that began while another ran counts from its end.
    A collective is released by the last op that had ended when it began, holds its channel from
    then or from the end of the one before, and the first op that begins when it is over waits for
    it. Time in which nothing ran and nothing was waited for is an op of the host, before a
    collective too.

    Parameters
    ----------
    run
        Its parts by start.
    sizes
        Bytes of its collectives, by name; one without keeps its time.

    Notes
    -----
    O(parts log parts).
    """
    ops: list[Op] = []
    sent: list[SpanLaunch] = []
    waiting: list[tuple[float, str]] = []
    line: list[tuple[float, str]] = []
    seen: dict[str, int] = {}
    at = run.parts[0].start
    for part in run.parts:
        name = numbered(part.name, seen)
        if part.opcode is not None:
            # it comes after no collective that is over, so that both can still be sent as one
            idle = part.start - max([at, *(end for end, _ in waiting)])
            if idle > _SLACK:
                host = numbered("host", seen)
                ops.append(Op(host, COMPUTE, round(idle, 3), None, tuple(n for _, n in line[-1:])))
                at = part.start
                line.append((at, host))
            before = _ended(line, part.start)
            size = sizes.get(part.name)
            sent.append(SpanLaunch(name, part.name, KINDS[part.opcode], size, part))
            ops.append(sent[-1].op(before))
            heappush(waiting, (part.end, name))
            continue
        over = pop_ended(waiting, part.start + _SLACK)
        after = (*(one for _, one in line[-1:]), *(one for _, one in over))
        idle = part.start - max([at, *(end for end, _ in over)])
        if idle > _SLACK:
            host = numbered("host", seen)
            ops.append(Op(host, COMPUTE, round(idle, 3), None, after))
            line.append((part.start, host))
            after = (host,)
        took = max(part.end - max(part.start, at), 0.0)
        ops.append(Op(name, COMPUTE, round(took, 3), None, after))
        at = max(at, part.end)
        line.append((at, name))
    return step_of(ops, sent)[0]


def _ended(line: Sequence[tuple[float, str]], start: float) -> tuple[str, ...]:
    """Return the last op of the line that had ended when a collective began; ends only grow."""
    i = bisect_right(line, start + _SLACK, key=lambda one: one[0])
    return (line[i - 1][1],) if i else ()
