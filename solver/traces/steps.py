"""Steps of a trace of several iterations, where nodes are numbered in the order they began."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace

_STEP = re.compile(r"ProfilerStep#\d+")
_NO_NODE = 2**64


def step_windows(nodes: Iterable[tuple[int, str]]) -> list[range]:
    """Return the ids of each step, given the id and name of each node.

    A step begins where ``torch.profiler`` says ``ProfilerStep#4`` and ends where the next does;
    what comes before the first is left out. A trace that names no step is one.
    """
    starts = sorted({number for number, name in nodes if _STEP.fullmatch(name)}) or [0]
    ends = [*starts[1:], _NO_NODE]
    return [range(start, end) for start, end in zip(starts, ends, strict=True)]


def step_lengths(steps: Sequence[range], times: Iterable[tuple[int, float]]) -> list[float]:
    """Sum the times [us] of each step, given the id and time of each node. O(n log steps)."""
    starts = [step.start for step in steps]
    sums = [0.0] * len(steps)
    for number, time in times:
        place = bisect_right(starts, number) - 1
        if place >= 0:
            sums[place] += time
    return sums


def choose_step(step: int | None, times: Sequence[float]) -> int:
    """Return the step asked for, or the one of median time [us], the earlier when there are two.

    Raises
    ------
    InvalidTrace
        When the trace has no such step.
    """
    if step is None:
        by_length = sorted(range(len(times)), key=lambda i: times[i])
        return by_length[(len(times) - 1) // 2]
    if not 0 <= step < len(times):
        detail = f"Steps 0 to {len(times) - 1} are there, not step {step}."
        raise InvalidTrace([Fault("", FaultCode.OUT_OF_RANGE, detail)])
    return step
