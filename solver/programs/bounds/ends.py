"""Heads and tails: how early an op can start, and how long the iteration goes on after its end.

The head of an op is the longest path into it, and for each resource and each Q the time by which
its ops that come before it, by Q or more, can be done: rho + their work + Q, over all rho, for the
ops with heads of rho or more from which a path of Q or more leads to it (MODEL.md section 16.3).
Tails are the heads of the reversed graph.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from solver.graph.links import Positions
from solver.programs.bounds.work import Resource
from solver.units import FloatArray, IntArray

#: Most values of Q that are tried for one op and resource.
_STEPS = 8


@dataclass(slots=True)
class _ResourceOrder:
    """The ops of a resource that have their heads, in the order of these."""

    resource: Resource
    places: IntArray
    heads: FloatArray
    count: int = 0

    @classmethod
    def empty(cls, resource: Resource) -> "_ResourceOrder":
        size = len(resource.members)
        return cls(resource, np.zeros(size, dtype=np.int64), np.zeros(size))

    def add(self, place: int, head: float) -> None:
        end = self.count
        at = int(np.searchsorted(self.heads[:end], head, side="right"))
        for values, value in ((self.places, place), (self.heads, head)):
            values[at + 1 : end + 1] = values[at:end]
            values[at] = value
        self.count = end + 1


def heads_of(
    order: Sequence[int], preds: Positions, weights: Sequence[float], resources: Sequence[Resource]
) -> FloatArray:
    """Least start of each op [us].

    Parameters
    ----------
    order, preds
        Positions in topological order, and of the predecessors of each op.
    weights
        Least time of each op [us].

    Notes
    -----
    O(edges * ops) and O(ops^2) in numpy. Where one predecessor has the longest paths of all ops
    of a resource, these are done no later than by its head and time: they are not looked at again.
    """
    count = len(weights)
    heads = np.zeros(count)
    after = [0] * count
    for found in preds:
        for j in found:
            after[j] += 1
    lines = [_ResourceOrder.empty(resource) for resource in resources]
    line_of = {
        i: (line, place) for line in lines for place, i in enumerate(line.resource.members.tolist())
    }
    paths: dict[int, FloatArray] = {}
    for i in order:
        heads[i] = max((float(heads[j]) + weights[j] for j in preds[i]), default=0.0)
        path = np.full(count, -np.inf)
        for j in preds[i]:
            np.maximum(path, _longer(paths[j], j, weights[j]), out=path)
        if len(preds[i]) > 1:
            ways = (_longer(paths[j], j, weights[j]) for j in preds[i])
            heads[i] = max(heads[i], _all_done(lines, path, ways))
        for j in preds[i]:
            after[j] -= 1
            if not after[j]:
                del paths[j]
        if after[i]:
            paths[i] = path
        if i in line_of:
            line, place = line_of[i]
            line.add(place, float(heads[i]))
    return heads


def _longer(path: FloatArray, op: int, weight: float) -> FloatArray:
    """Return longest paths that go on through an op."""
    way = path + weight
    way[op] = max(float(way[op]), 0.0)
    return way


def _all_done(
    lines: Sequence[_ResourceOrder], path: FloatArray, ways: Iterable[FloatArray]
) -> float:
    """Return when the ops of resources that come before an op can be done.

    Of those that no predecessor has all longest paths of, ``path``; ``ways`` are theirs.
    """
    left = list(lines)
    for way in ways:
        is_longest = way >= path
        left = [line for line in left if not is_longest[line.resource.members].all()]
        if not left:
            break
    return max((_done(line, path) for line in left), default=0.0)


def _done(line: _ResourceOrder, path: FloatArray) -> float:
    """Return when the ops of a resource that come before an op can be done, with their paths."""
    places = line.places[: line.count]
    far = path[line.resource.members[places]]
    some = np.flatnonzero(far >= 0.0)
    if not len(some):
        return 0.0
    far = far[some]
    least = np.unique(far)
    if len(least) > _STEPS:
        least = least[np.linspace(0, len(least) - 1, _STEPS).astype(np.int64)]
    masks = (far >= least[:, None]).astype(np.float64)
    work = line.resource.work(places[some], masks)
    return float((line.heads[some] + work + np.where(work > 0.0, least[:, None], 0.0)).max())
