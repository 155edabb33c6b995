"""Which of several measured ways is the fastest, by the size of what is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt


@dataclass(frozen=True, slots=True)
class FastestRange:
    """Sizes at which one way is the fastest.

    Attributes
    ----------
    way
        Its place among the ways.
    least, most
        From which size to which [bytes], both included; ``most`` is None where it has no end.
    """

    way: int
    least: int
    most: int | None


def fastest_ranges(ways: Sequence[Mapping[int, float]]) -> list[FastestRange]:
    r"""Cut all sizes into ranges, each with the way that is the fastest at all its measured sizes.

    Parameters
    ----------
    ways
        The time [us] of each measured size [bytes] of each way.

    Returns
    -------
    list
        Contiguous ranges from 0 on, as few as there can be; none where no size was measured in two
        ways. Only sizes count that were. Of ways that are equally fast in a whole range the first
        one is taken. Between two measured sizes the next range begins where straight lines through
        their times cross, and in their geometric mean where a way was not measured at both.

    Notes
    -----
    Ranges are extended as long as one way is among the fastest of all their sizes, which makes the
    fewest. O(sizes * ways).
    """
    found: list[tuple[int, int, list[int]]] = []
    for size in compared_sizes(ways):
        best = fastest_at(ways, size)
        both = [way for way in found[-1][2] if way in best] if found else []
        if both:
            found[-1] = (found[-1][0], size, both)
        else:
            found.append((size, size, best))
    result: list[FastestRange] = []
    least = 0
    for (_, last, before), (first, _, after) in pairwise(found):
        begin = _crossing(ways[before[0]], ways[after[0]], last, first)
        result.append(FastestRange(before[0], least, begin - 1))
        least = begin
    return [*result, *(FastestRange(best[0], least, None) for _, _, best in found[-1:])]


def compared_sizes(ways: Sequence[Mapping[int, float]]) -> list[int]:
    """Return the sizes that were measured in two ways or more, ascending."""
    count: dict[int, int] = {}
    for times in ways:
        for size in times:
            count[size] = count.get(size, 0) + 1
    return sorted(size for size, many in count.items() if many > 1)


def fastest_at(ways: Sequence[Mapping[int, float]], size: int) -> list[int]:
    """Return the ways that take the least time at a size, by their places."""
    least = min(times[size] for times in ways if size in times)
    return [i for i, times in enumerate(ways) if times.get(size) == least]


def _crossing(
    before: Mapping[int, float], after: Mapping[int, float], last: int, first: int
) -> int:
    """Return the first size of the way ``after``, beyond ``last`` and at most ``first``."""
    if not all(size in times for size in (last, first) for times in (before, after)):
        return max(isqrt(last * first), last + 1)
    lead, behind = after[last] - before[last], before[first] - after[first]
    share = lead / (lead + behind) if lead + behind > 0 else 1.0
    return min(max(last + 1, last + int(share * (first - last))), first)
