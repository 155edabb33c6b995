"""How long recorded launches held their channel, where their spans hold waiting as well.

The span of an op that communicates begins when it was asked for, so it may hold the launches that
went before it: spans overlap, and those of launches that were fused end together. A channel carries
one launch at a time, in the order in which they ended, so a launch held it from its own start or
from the end of the one before, whichever was later.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from operator import attrgetter
from typing import NamedTuple

from solver.traces.sentences import counted
from solver.traces.spans import Span

#: Times are told to the us.
RESOLUTION_US = 1.0
#: Kernels of a stream that launch each other early overlap by a few us: no more than so much.
_ENDING = 0.03


class HeldChannel(NamedTuple):
    """What a launch held of its channel.

    Attributes
    ----------
    place
        Of the launch, among the spans.
    time
        How long it held its channel [us].
    is_alone
        Whether no other ran while it did: only then its time tells what it costs. One that began
        while another ran waited for it or shared with it. The other shared with it, too, but for
        one that was over within 3 % of its time or a microsecond after that.
    """

    place: int
    time: float
    is_alone: bool


def held_times(spans: Sequence[Span]) -> list[HeldChannel]:
    """Return how long the launches of one channel held it, in the order in which they ended.

    Of those that ended together the first to begin goes first, and the others take no time.

    Notes
    -----
    O(n log n) for n launches.
    """
    by_start = sorted(range(len(spans)), key=lambda i: (spans[i].start, spans[i].end))
    alone = [False] * len(spans)
    busy = -inf
    for i in by_start:
        alone[i] = spans[i].start >= busy
        busy = max(busy, spans[i].end)
    following = over = inf  # when the next begins, and when the first of those that follow ends
    for i in reversed(by_start):
        start, end = spans[i].start, spans[i].end
        beside, most = end - following, max(RESOLUTION_US, _ENDING * (end - start))
        is_late = beside <= 0 or (following > start and beside <= most)
        alone[i] = alone[i] and is_late and end <= over
        following, over = start, min(over, end)
    ended = -inf
    held = []
    for i in sorted(range(len(spans)), key=lambda i: (spans[i].end, spans[i].start)):
        begun = max(spans[i].start, ended)
        held.append(HeldChannel(i, max(spans[i].end - begun, 0.0), alone[i]))
        ended = spans[i].end
    return held


def own_times(spans: Sequence[Span]) -> list[float | None]:
    """Return how long each launch of one channel ran [us]; None of one that tells no cost.

    Notes
    -----
    O(n log n) for n launches.
    """
    times: list[float | None] = [None] * len(spans)
    for each in held_times(spans):
        if each.is_alone and each.time > 0:
            times[each.place] = each.time
    return times


def overlaps_of(spans: Iterable[Span]) -> Iterator[float]:
    """Yield for how long each span runs at once with those that began before it [us]."""
    ended = float("-inf")
    for span in sorted(spans, key=attrgetter("start")):
        time = min(ended, span.end) - span.start
        if time > RESOLUTION_US:
            yield time
        ended = max(ended, span.end)


def overlapping_said(channels: Mapping[str, Iterable[Span]]) -> Iterator[str]:
    """Say which channels carry several launches at once, by the times at which these ran.

    Notes
    -----
    O(n log n) for n launches.
    """
    for channel, works in channels.items():
        if overlaps := list(overlaps_of(works)):
            yield (
                f"{counted(len(overlaps), 'launch', 'launches')} on channel {channel} "
                f"{'begins' if len(overlaps) == 1 else 'begin'} while another of it runs, by up to "
                f"{max(overlaps):,.3f} us: a channel carries one at a time, so they count one "
                "after the other, and tell no cost."
            )


def waiting_said(held: Sequence[HeldChannel]) -> tuple[str, ...]:
    """Say how many spans overlap, and what was taken for their times; nothing of none."""
    count = sum(not each.is_alone for each in held)
    said = (
        f"{count:,} launches overlap: their spans hold waiting for the channel, so one counts from "
        "the end of the one before, and tells no cost."
    )
    return (said,) if count else ()
