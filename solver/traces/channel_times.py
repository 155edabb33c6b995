"""How long recorded launches held their channel, where their spans hold waiting as well.

The span of an op that communicates begins when it was asked for, so it may hold the launches that
went before it: spans overlap, and those of launches that were fused end together. A channel carries
one launch at a time, in the order in which they ended, so a launch held it from its own start or
from the end of the one before, whichever was later.
"""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from solver.traces.spans import Span


class HeldChannel(NamedTuple):
    """What a launch held of its channel.

    Attributes
    ----------
    place
        Of the launch, among the spans.
    time
        How long it held its channel [us].
    is_alone
        Whether no other ran while it did: only then its time tells what it costs.
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
    for place, i in enumerate(by_start):
        after = by_start[place + 1 : place + 2]
        is_last = all(spans[j].start >= spans[i].end for j in after)
        alone[i] = spans[i].start >= busy and is_last
        busy = max(busy, spans[i].end)
    ended = -inf
    held = []
    for i in sorted(range(len(spans)), key=lambda i: (spans[i].end, spans[i].start)):
        begun = max(spans[i].start, ended)
        held.append(HeldChannel(i, max(spans[i].end - begun, 0.0), alone[i]))
        ended = spans[i].end
    return held


def overlapping_said(held: Sequence[HeldChannel]) -> tuple[str, ...]:
    """Say how many launches overlap, and what was taken for their times; nothing of none."""
    count = sum(not each.is_alone for each in held)
    said = (
        f"{count:,} launches overlap: their spans hold waiting for the channel, so one counts from "
        "the end of the one before, and tells no cost."
    )
    return (said,) if count else ()
