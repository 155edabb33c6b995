"""The fewest launches of a layer chain within a time, from both ends towards the last release.

As in :mod:`solver.fusion.chain.nested`, groups of neighbours in chain order are sent before the
core, which carries the last tensor, or after it; X is the least time by which those before can be
done, Y the same of those after, counted back from the end. Here the time is given and launches are
counted: labels (X, Y) of m launches that carry the first k tensors lead to those of m + 1, until
one closes in time.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from solver.buckets import Launch, Launches
from solver.chain import Chain
from solver.costs import Cost
from solver.units import FloatArray, IntArray

#: Most places between groups, and labels kept of each place.
_PLACES, _LABELS = 160, 24

#: Most launches that are looked for: each further one costs as much again.
_LAUNCHES = 12


class _Reached(NamedTuple):
    """Labels of one place, X ascending and Y descending, and the step that led to each."""

    before: FloatArray
    after: FloatArray
    place: IntArray  # the place before the last group
    label: IntArray  # the label there
    is_after: IntArray  # whether the last group is sent after the core


def fewest_groups(chain: Chain, cost: Cost, limit: float, most: int) -> Launches | None:
    """Return the fewest whole launches of neighbours that take no longer than a time.

    Parameters
    ----------
    chain, cost
        The tensors of one channel and lane, whose tails ascend as their releases do.
    limit
        The time [us].
    most
        No more launches than these are of use.

    Returns
    -------
    tuple of Launch, or None
        None where there are none, or none were found: of many tensors only some are parted, and
        few labels are kept.

    Notes
    -----
    O(launches places^2 labels log).
    """
    ends = _TimedEnds(chain, cost, limit)
    start = _Reached(np.zeros(1), np.zeros(1), *(np.zeros(1, dtype=np.int64) for _ in range(3)))
    layers: list[dict[int, _Reached]] = [{0: start}]
    for _ in range(min(most, _LAUNCHES)):
        if closing := ends.closing(layers[-1]):
            return ends.launches(layers, *closing)
        layers.append(ends.next(layers[-1]))
    return None


class _TimedEnds:
    """A chain between its places, and a time that all must end by."""

    def __init__(self, chain: Chain, cost: Cost, limit: float) -> None:
        self.bytes = np.concatenate([[0], np.cumsum(chain.bytes)])
        self.places = _places(self.bytes)
        self.cost, self.limit = cost, limit
        last = self.places[1:] - 1
        self.release = np.concatenate([[0.0], chain.release[last]])
        self.tail = np.concatenate([[0.0], chain.tail[last]])
        sent = self.bytes[self.places]
        low, high = np.triu_indices(len(sent), 1)
        self.time = np.full((len(sent), len(sent)), np.inf)  # of a launch between two places
        self.time[low, high] = cost.times(sent[high] - sent[low])
        least = cost.least(int(sent[-1]))
        self.rest = least(sent[-1] - sent[:-1])  # of what is left at a place, however it is sent

    def closing(self, labels: dict[int, _Reached]) -> tuple[int, int] | None:
        """Return the place and the label from which a core of all that is left ends first."""
        values = {
            (place, int(k)): float(ends[k])
            for place, found in labels.items()
            for ends in [
                np.maximum(found.before, self.release[-1])
                + self.time[place, -1]
                + np.maximum(found.after, self.tail[-1])
            ]
            for k in [ends.argmin()]
        }
        best = min(values, key=values.__getitem__, default=None)
        return best if best is not None and values[best] <= self.limit else None

    def next(self, labels: dict[int, _Reached]) -> dict[int, _Reached]:
        """Return the labels of one launch more."""
        if not labels:
            return {}
        places = sorted(labels)
        counts = [len(labels[at].before) for at in places]
        upto = np.cumsum([0, *counts])  # labels before each of the places
        before = np.concatenate([labels[at].before for at in places])
        after = np.concatenate([labels[at].after for at in places])
        origin = np.repeat(places, counts)
        number = np.arange(upto[-1]) - np.repeat(upto[:-1], counts)
        found = {}
        for place in range(1, len(self.places) - 1):
            till = upto[np.searchsorted(places, place)]
            here = before[:till], after[:till], origin[:till], number[:till]
            if till and len((some := self._at(place, *here)).before):
                found[place] = some
        return found

    def _at(
        self,
        place: int,
        before: FloatArray,
        after: FloatArray,
        origin: IntArray,
        number: IntArray,
    ) -> _Reached:
        """Return the labels of a place whose last group begins at one of those before."""
        time = self.time[origin, place]
        sooner = np.maximum(before, self.release[place]) + time
        later = np.maximum(after, self.tail[place]) + time
        return self._kept(
            place,
            _Reached(
                np.concatenate([sooner, before]),
                np.concatenate([after, later]),
                np.tile(origin, 2),
                np.tile(number, 2),
                np.repeat([0, 1], len(before)),
            ),
        )

    def _kept(self, place: int, some: _Reached) -> _Reached:
        """Keep what may end in time and is not worse than another in both, evenly so many."""
        least = self.rest[-1]  # no core takes less
        core = np.maximum(some.before, self.release[-1]) + np.maximum(some.after, self.tail[-1])
        all_left = some.before + self.rest[place] + some.after
        may = np.flatnonzero((core + least <= self.limit) & (all_left <= self.limit))
        order = may[np.lexsort((some.after[may], some.before[may]))]
        lowest = np.minimum.accumulate(np.concatenate([[np.inf], some.after[order]]))
        order = order[some.after[order] < lowest[:-1]]
        if len(order) > _LABELS:
            order = order[np.linspace(0, len(order) - 1, _LABELS).astype(np.int64)]
        return _Reached(
            some.before[order],
            some.after[order],
            some.place[order],
            some.label[order],
            some.is_after[order],
        )

    def launches(self, layers: Sequence[dict[int, _Reached]], place: int, label: int) -> Launches:
        """Make the launches of a label that closes."""
        first: list[Launch] = []
        last: list[Launch] = []
        core = self._launch(place, len(self.places) - 1)
        for labels in layers[:0:-1]:
            found = labels[place]
            origin = int(found.place[label])
            group = self._launch(origin, place)
            (last if found.is_after[label] else first).append(group)
            place, label = origin, int(found.label[label])
        return (*first[::-1], core, *last)

    def _launch(self, low: int, high: int) -> Launch:
        begin, end = int(self.places[low]), int(self.places[high])
        return Launch(tuple(range(begin, end)), int(self.bytes[end] - self.bytes[begin]))


def _places(sent: IntArray) -> IntArray:
    """Return where chains may be parted: everywhere, or at places even in tensors and bytes."""
    count = len(sent) - 1
    if count <= _PLACES:
        return np.arange(count + 1)
    weight = np.arange(count + 1) / count + sent / max(int(sent[-1]), 1)
    even = np.searchsorted(weight, np.linspace(0, weight[-1], _PLACES - 1))
    return np.unique(np.concatenate([[0], even, [count - 1, count]]))
