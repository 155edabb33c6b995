"""How much compute was done until a time: without waits, and as if nothing were sent beside it."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace_client.torch.drift.channel import BusyChannel

Clock = Callable[[float], float]


def work_clock(
    waits: Sequence[tuple[float, float]], busy: Sequence[BusyChannel], slowdown: float
) -> Clock:
    """Return a clock that stands while the step waits, and goes slower beside communication.

    Parameters
    ----------
    waits
        Stretches in which buckets were waited for, in order [us].
    busy
        When launches had the channel, in order.
    slowdown
        How many times as long compute takes beside communication; it is the share of time in which
        the clock goes on then.
    """
    waited = _total(waits)
    if slowdown == 1:
        return lambda at: at - waited(at)
    sent = [(each.begin, each.end) for each in busy]
    both = [(max(a, c), min(b, d)) for a, b in waits for c, d in sent if max(a, c) < min(b, d)]
    beside, idle, lost = _total(sent), _total(both), 1 - 1 / slowdown
    return lambda at: at - waited(at) - lost * (beside(at) - idle(at))


def _total(spans: Sequence[tuple[float, float]]) -> Clock:
    """Return the clock that goes within spans only, which are in order."""
    begins = [begin for begin, _ in spans]
    done = [0.0, *accumulate(end - begin for begin, end in spans)]

    def clock(at: float) -> float:
        k = bisect_left(begins, at)
        return done[k] - max(0.0, spans[k - 1][1] - at) if k else 0.0

    return clock
