"""Heads and tails: how early an op can start, and how long the iteration goes on after its end.

The head of an op is the longest path into it, and for each resource and each Q the time by which
its ops that come before it, by Q or more, can be done: rho + their work + Q, over all rho, for the
ops with heads of rho or more from which a path of Q or more leads to it (MODEL.md section 16.3).
Tails are the heads of the reversed graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solver.graph.links import Positions
from solver.programs.bounds.work import Resource
from solver.units import FloatArray, IntArray

#: Most values of Q that are tried for one op and resource.
_STEPS = 8


@dataclass(slots=True)
class _Line:
    """The ops of a resource that have their heads, in the order of these."""

    resource: Resource
    places: IntArray
    heads: FloatArray

    def add(self, place: int, head: float) -> None:
        at = int(np.searchsorted(self.heads, head, side="right"))
        self.places = np.insert(self.places, at, place)
        self.heads = np.insert(self.heads, at, head)


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
    O(edges * ops) and O(ops^2) in numpy.
    """
    count = len(weights)
    heads = np.zeros(count)
    after = [0] * count
    for found in preds:
        for j in found:
            after[j] += 1
    empty = np.zeros(0)
    lines = [_Line(resource, empty.astype(np.int64), empty) for resource in resources]
    line_of = {
        i: (line, place) for line in lines for place, i in enumerate(line.resource.members.tolist())
    }
    paths: dict[int, FloatArray] = {}
    for i in order:
        path = np.full(count, -np.inf)
        head = 0.0
        for j in preds[i]:
            np.maximum(path, paths[j] + weights[j], out=path)
            path[j] = max(path[j], 0.0)
            head = max(head, float(heads[j]) + weights[j])
            after[j] -= 1
            if not after[j]:
                del paths[j]
        if len(preds[i]) > 1:
            for line in lines:
                head = max(head, _done(line, path))
        heads[i] = head
        if after[i]:
            paths[i] = path
        if i in line_of:
            line, place = line_of[i]
            line.add(place, head)
    return heads


def _done(line: _Line, path: FloatArray) -> float:
    """Return when the ops of a resource that come before an op can be done, with their paths."""
    if not len(line.places):
        return 0.0
    far = path[line.resource.members[line.places]]
    some = np.flatnonzero(far >= 0.0)
    if not len(some):
        return 0.0
    far = far[some]
    least = np.unique(far)
    if len(least) > _STEPS:
        least = least[np.linspace(0, len(least) - 1, _STEPS).astype(np.int64)]
    masks = (far >= least[:, None]).astype(np.float64)
    work = line.resource.work(line.places[some], masks)
    return float((line.heads[some] + work + np.where(work > 0.0, least[:, None], 0.0)).max())
