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


def choose_step(step: int | None, lengths: Sequence[float | None]) -> int:
    """Return the step asked for, or the one of median length, the earlier when there are two.

    A step whose length is None is read only where it is asked for, or is the first of none better.

    Raises
    ------
    InvalidTrace
        When the trace has no such step.
    """
    if step is not None:
        check_number(step, len(lengths), "Steps", "step")
        return step
    known = sorted((length, i) for i, length in enumerate(lengths) if length is not None)
    return known[(len(known) - 1) // 2][1] if known else 0


def choose_rank(rank: int | None, communicated: Sequence[float], things: str) -> int:
    """Return the rank asked for, or the slowest: the first of those least in their collectives.

    The others waited for it there.

    Parameters
    ----------
    rank
        The one asked for; None for the slowest.
    communicated
        How long each was in its collectives [us].
    things
        What the format calls ranks.

    Raises
    ------
    InvalidTrace
        When the trace has no such rank.
    """
    if rank is None:
        return min(range(len(communicated)), key=lambda i: communicated[i])
    check_number(rank, len(communicated), things)
    return rank


def check_number(
    asked: int, count: int, things: str, thing: str = "rank", are: str = "are there"
) -> None:
    """Refuse the number of a step or of a rank that is not among so many things.

    Raises
    ------
    InvalidTrace
        When it is not.
    """
    if not 0 <= asked < count:
        detail = f"{things} 0 to {count - 1} {are}, not {thing} {asked}."
        raise InvalidTrace([Fault("", FaultCode.OUT_OF_RANGE, detail)])
