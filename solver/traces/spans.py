"""Things that ran for a time, in a row by start: kernels of a stream, calls of a thread, ops."""

from bisect import bisect_right
from collections.abc import Sequence
from heapq import heappop
from math import inf
from operator import attrgetter
from typing import Protocol, TypeVar


class Span(Protocol):
    """Something that ran [us]."""

    @property
    def start(self) -> float:
        """When it began."""

    @property
    def end(self) -> float:
        """When it ended."""


S = TypeVar("S", bound=Span)
T = TypeVar("T")

_start = attrgetter("start")


def length_of(spans: Sequence[Span]) -> float:
    """Return the time from the start of the first to the end of the last [us]."""
    return max(span.end for span in spans) - spans[0].start


def line_times(spans: Sequence[Span]) -> list[float]:
    """Return how long each of spans, by start, kept a line busy that runs one at a time [us].

    One that began while another ran counts from its end.
    """
    times = []
    at = -inf
    for span in spans:
        times.append(max(span.end - max(span.start, at), 0.0))
        at = max(at, span.end)
    return times


def last_begun(spans: Sequence[S], at: float) -> S | None:
    """Return the last of spans that began by a time; None when none did. O(log n)."""
    i = bisect_right(spans, at, key=_start)
    return spans[i - 1] if i else None


def enclosing(spans: Sequence[S], at: float) -> S | None:
    """Return the last of spans that began by a time, if it lasts until then. O(log n)."""
    i = bisect_right(spans, at, key=_start)
    return spans[i - 1] if i and spans[i - 1].end >= at else None


def pop_ended(running: list[tuple[float, T]], at: float) -> list[tuple[float, T]]:
    """Take what has ended by a time from a heap of what runs, each with its end, by that."""
    ended = []
    while running and running[0][0] <= at:
        ended.append(heappop(running))
    return ended
