"""Steps where nothing marks them: the shortest pattern of launches that comes again."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

#: The pattern is looked for in the last share of the launches: what comes first may be setting up.
_LAST = 2 / 3
#: A pattern comes so often at least.
_TIMES = 2


class SeriesLaunch(NamedTuple):
    """A launch of one rank: of what series, the how manieth of it, and what it looks like."""

    series: str
    number: int
    looks: Hashable


class _Series(NamedTuple):
    """Launches of a series in a step, and the number of the first one of step 0."""

    in_step: int
    base: int


def steps_of(ranks: Sequence[Sequence[SeriesLaunch]]) -> tuple[list[list[tuple[int, int]]], bool]:
    """Return step and place in it of each launch of each rank; whether a pattern comes again.

    Launches of a series have the same numbers on all ranks, as the sequence numbers of process
    groups that do the same have. So the pattern of one rank gives the steps of all: a step has the
    same numbers of a series everywhere. Where no pattern comes again each launch of a series is a
    step.

    Parameters
    ----------
    ranks
        The launches of each, in order.

    Notes
    -----
    O(n) for n launches, times the length of the pattern.
    """
    known: dict[str, _Series] = {}
    is_found = True
    for launches in ranks:
        if all(one.series in known for one in launches):
            continue
        length = _pattern([(one.series, one.looks) for one in launches])
        is_found &= length is not None
        begin, step = _anchor(launches, known)
        counts = Counter(one.series for one in launches[begin : begin + (length or 0)])
        for one in launches[begin:]:
            if one.series not in known:
                count = counts.get(one.series, 1)
                known[one.series] = _Series(count, one.number - step * count)
        for one in launches:
            known.setdefault(one.series, _Series(1, one.number - step))
    places = [[_place(one, known[one.series]) for one in launches] for launches in ranks]
    return places, is_found


def _place(one: SeriesLaunch, series: _Series) -> tuple[int, int]:
    return divmod(one.number - series.base, series.in_step)


def _anchor(launches: Sequence[SeriesLaunch], known: dict[str, _Series]) -> tuple[int, int]:
    """Return a launch that begins a step by what is known, and which step; the first else."""
    for i, one in enumerate(launches):
        if one.series in known:
            step, place = _place(one, known[one.series])
            if place == 0:
                return i, step
    return 0, 0


def _pattern(looks: Sequence[Hashable]) -> int | None:
    """Return the length of the shortest pattern that the last launches repeat; None of none.

    The failure function of Knuth, Morris and Pratt, over the launches from the last on.
    """
    last = looks[::-1][: max(int(len(looks) * _LAST), _TIMES)]
    borders = [0] * len(last)
    at = 0
    for i in range(1, len(last)):
        while at and last[i] != last[at]:
            at = borders[at - 1]
        at += last[i] == last[at]
        borders[i] = at
    length = len(last) - borders[-1] if last else 0
    return length if length and len(last) >= _TIMES * length else None
