"""Branch and bound over the beginnings of plans of a layer chain, from the core outwards.

A run of the labels (:mod:`solver.fusion.chain.two_sided.labels`) bounds all plans with a beginning.
As far as none of its labels stood for another one that was not as good, the labels of a place are
beginnings that are longer, one of which has a best plan. So the beginning of the least bound is
taken apart, until the least bound is that of a whole plan, or none is below the time to beat.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from solver.fusion.chain.two_sided.labels import Labels

if TYPE_CHECKING:
    from solver.fusion.chain.two_sided.beginning import Beginning

#: What a run of the labels and a beginning cost besides, as so many looks.
_RUN, _BEGINNING = 3_000, 2_000


class Branching(NamedTuple):
    """How often labels are compared, about, what tells whether to stop before, and hears of bounds.

    Each bound [us] is above the one before, of one order of the tensors and one line.
    """

    looks: int
    is_over: Callable[[], bool]
    raise_bound: Callable[[float], None]


class Branched(NamedTuple):
    """No plan is below the bound [us]; where tensors go in whole plans that may take less."""

    bound: float
    ways: tuple[tuple[str, ...], ...]


def branched(labels: Labels, to_beat: float, branching: Branching) -> Branched:
    """Take beginnings apart, the least bound first.

    Parameters
    ----------
    labels
        Of the chain.
    to_beat
        The time of a plan that is known [us].
    branching
        How long.

    Notes
    -----
    The bound ascends with the looks. A million take some 10 ms.
    """
    first = labels.first()
    queue: list[tuple[float, int, int, Beginning]] = [(0.0, first.left, 0, first)]
    ways: list[tuple[str, ...]] = []
    number, known, least = 0, 0.0, inf
    left = branching.looks
    while queue and queue[0][0] < to_beat and left > 0 and not branching.is_over():
        bound, _, _, beginning = heappop(queue)
        if min(bound, least) > known:
            known = min(bound, least)
            branching.raise_bound(known)
        looks = labels.looks
        bound = max(bound, labels.run(to_beat, beginning))
        left -= labels.looks - looks + _RUN
        if bound >= to_beat:
            continue
        if labels.exact_from == beginning.left:  # there is nothing to take apart
            least = min(least, bound)
        for longer in labels.beginnings(beginning):
            number += 1
            left -= _BEGINNING
            if longer.left:
                heappush(queue, (max(bound, longer.bound), longer.left, number, longer))
            elif longer.bound < to_beat:
                to_beat = longer.bound
                ways.insert(0, longer.choices)
    return Branched(min([to_beat, least, *(entry[0] for entry in queue)]), tuple(ways))
