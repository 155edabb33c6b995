"""A graph in flat arrays, as what changes plans sees it.

The .pxd beside each module of this package has its types: compiled, some hundred thousand plans
are executed a second. Without a compiler the same lines run as Python, some fifty times as long,
and give the same figures.
"""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from solver.costs import Affine, Cost

#: Whether these lines were compiled.
IS_COMPILED = not __file__.endswith(".py")

#: No tensor, launch or bucket.
NONE = -1


class Shape(NamedTuple):
    """A graph as the search sees it.

    Attributes
    ----------
    durations, preds, succs
        Of each node; a collective takes 0.
    behind
        Least time from the end of each node to the end of the iteration [us].
    node, channel, lane, bytes, element
        Of each tensor: its node, where it is sent, its size and that of its elements [bytes].
    costs
        Of a launch in each lane.
    head, after
        Of each node: the earliest it may start, and what follows it at least that is not part of
        the shape [us].
    free, rest
        Of each channel: from when it may launch, and what follows its last launch [us].
    """

    durations: Sequence[float]
    preds: Sequence[Sequence[int]]
    succs: Sequence[Sequence[int]]
    behind: Sequence[float]
    node: Sequence[int]
    channel: Sequence[int]
    lane: Sequence[int]
    bytes: Sequence[int]
    element: Sequence[int]
    costs: Sequence[Cost]
    head: Sequence[float]
    after: Sequence[float]
    free: Sequence[float]
    rest: Sequence[float]


class AnnealingProblem:
    """What all plans of a graph share, in flat arrays.

    Attributes
    ----------
    is_apart
        Whether no node waits for another one: heads and what follows say all.
    alone
        What the nodes that are no collectives take then, at least [us].
    """

    def __init__(self, shape: Shape) -> None:
        self.nodes = len(shape.durations)
        self.tensors = len(shape.node)
        self.channels = len(shape.free)
        self.duration = array("d", shape.durations)
        self.behind = array("d", shape.behind)
        self.head = array("d", shape.head)
        self.after = array("d", shape.after)
        self.free = array("d", shape.free)
        self.rest_after = array("d", shape.rest)
        self.waiting = array("i", map(len, shape.preds))
        self.succ_from, self.succ = _rows(shape.succs)
        self.pred_from, self.pred = _rows(shape.preds)
        self.node = array("i", shape.node)
        self.channel = array("i", shape.channel)
        self.lane = array("i", shape.lane)
        self.size = array("q", shape.bytes)
        self.element = array("q", shape.element)
        self.tensor = array("i", [NONE]) * self.nodes
        for i, k in enumerate(shape.node):
            self.tensor[k] = i
        self.roots = array("i", [k for k in range(self.nodes) if not self.waiting[k]])
        self.is_apart = not any(shape.succs)
        compute = [k for k in range(self.nodes) if self.tensor[k] < 0]
        self.alone = max(
            (self.head[k] + self.duration[k] + self.after[k] for k in compute), default=0.0
        )
        self.costs = list(shape.costs)
        lines = [cost if isinstance(cost, Affine) else Affine(0.0, 0.0) for cost in shape.costs]
        self.is_line = array("i", [isinstance(cost, Affine) for cost in shape.costs])
        self.startup = array("d", [line.startup for line in lines])
        self.per_byte = array("d", [line.per_byte for line in lines])
        # what an execution works on
        self.left = array("i", [0]) * self.nodes
        self.ready = array("i", [0]) * self.nodes
        self.asked = array("i", [0]) * (self.tensors + 1)
        self.at = array("i", [0]) * self.channels
        self.now = array("d", [0.0]) * self.channels
        self.rest = array("d", [0.0]) * self.channels
        self.missing = array("i", [0]) * self.tensors
        self.unsent = array("i", [0]) * self.tensors

    def time(self, lane: int, size: int) -> float:
        """Time of a launch [us]."""
        if self.is_line[lane]:
            return self.startup[lane] + self.per_byte[lane] * size
        return self._other_time(lane, size)

    def _other_time(self, lane: int, size: int) -> float:
        return self.costs[lane].time(size)


def _rows(rows: Sequence[Sequence[int]]) -> "tuple[array[int], array[int]]":
    """Put rows one behind another: where each begins, and what is in them."""
    begins, flat = array("i", [0]), array("i")
    for row in rows:
        flat.extend(row)
        begins.append(len(flat))
    flat.append(NONE)  # none is empty
    return begins, flat
