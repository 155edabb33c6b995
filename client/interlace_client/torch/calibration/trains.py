"""Trains: launches that follow each other without a pause, and what their ends tell.

Single launches through a token bucket look cheaper than they are in training, where one follows
the other. So the launches of a round are queued at once, and a cost is the time between two ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Round:
    """Launches in their order, and which of them count.

    Attributes
    ----------
    sizes
        What each carries [bytes].
    timed
        Whether the time from the end before it to its own end is a cost of its size.
    """

    sizes: tuple[int, ...]
    timed: tuple[bool, ...]


def round_of(lead: Sequence[int], counts: Mapping[int, int], launches: Sequence[int] = ()) -> Round:
    """Put trains one behind the other: the lead, a train for each size, the launches of a plan.

    Parameters
    ----------
    lead
        Launches that empty a token bucket and count for nothing [bytes].
    counts
        How many launches of a size count. The largest go first: while they need all bandwidth no
        tokens gather, and where smaller ones do not need it, tokens change nothing.
    launches
        Sizes in the order of use [bytes]. The lead goes before them once more.
    """
    sizes, timed = list(lead), [False] * len(lead)
    for size in sorted(counts, reverse=True):
        sizes += [size] * (counts[size] + 1)
        timed += [False] + [True] * counts[size]  # the first still has a share of another size
    if launches:
        sizes += [*lead, *launches]
        timed += [False] * len(lead) + [True] * len(launches)
    return Round(tuple(sizes), tuple(timed))


def costs(done: Round, ends: Sequence[float]) -> dict[int, float]:
    """Return the mean cost of each size [us], the sizes ascending.

    ``ends`` are when the launches of the round ended [us].
    """
    found: dict[int, list[float]] = {}
    before = 0.0
    for size, counts, end in zip(done.sizes, done.timed, ends):
        if counts:
            found.setdefault(size, []).append(end - before)
        before = end
    return {size: fmean(found[size]) for size in sorted(found)}


def steady_from(ends: Sequence[float]) -> int:
    r"""Tell how many launches of a train are over before its steady part begins.

    The steady cost :math:`c` is the median of the second half. What a full token bucket lets
    through early is time gained, :math:`g_i = c\,i - e_i`; it grows until the bucket is empty and
    then stays, but for noise, of which there is taken to be as much as in the second half. The
    steady part begins behind the first launch that has gained as much as the second half has.

    Parameters
    ----------
    ends
        When each of two or more launches of one size ended [us], counted from the start.

    Returns
    -------
    int
        At least 1: the first launch also starts the traffic.
    """
    half = len(ends) // 2
    cost = median(after - before for before, after in zip(ends[half - 1 :], ends[half:]))
    gained = [cost * (i + 1) - end for i, end in enumerate(ends)]
    settled = gained[half:]
    enough = min(settled) - (max(settled) - min(settled)) - 1e-9 * ends[-1]
    return 1 + next(i for i, gain in enumerate(gained) if gain >= enough)
