"""What comes before what in a graph, as the windows of its launches need it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from solver.bounds.windows.time_windows import ChannelWork, TimeDirection, forget, paths
from solver.chain import Chain
from solver.graph import Graph
from solver.graph.links import Positions

#: Of how many tensors next before one, and next after one, it is known.
_NEAREST = 8


@dataclass(frozen=True)
class Precedence:
    """One direction of a graph.

    Attributes
    ----------
    order, preds
        Of the nodes; backwards the reversed order, and the successors.
    before
        Of each tensor the set of those that precede it, as a bit mask.
    rows
        Of each node such a set as bytes, or None where a predecessor's says as much: that of the
        only one, of a compute op, and of a compute op with the same set.
    is_forward
        Whether the last tensor of a set, in the chain's order, is one that precedes no other of it.
    """

    order: Sequence[int]
    preds: Positions
    before: tuple[int, ...]
    rows: tuple[bytes | None, ...]
    is_forward: bool

    def nearest(self, among: Sequence[int]) -> list[list[int]]:
        """List of each tensor i those of the set ``among[i]`` that precede it with none between.

        Of more than :data:`_NEAREST` the last of them.
        """
        return [self._last(mask & others) for mask, others in zip(self.before, among, strict=True)]

    def _last(self, mask: int) -> list[int]:
        found: list[int] = []
        while mask and len(found) < _NEAREST:
            i = (mask if self.is_forward else mask & -mask).bit_length() - 1
            found.append(i)
            mask &= ~(self.before[i] | 1 << i)
        return found


def precedence(
    chain: Chain, order: Sequence[int], preds: Positions, *, is_forward: bool
) -> Precedence:
    """Collect what precedes each node. O(n) for each edge and each tensor, n bits at a time."""
    index = {position: i for i, position in enumerate(chain.positions.tolist())}
    width = (len(chain) + 7) // 8
    masks = [0] * len(order)
    rows: list[bytes | None] = [None] * len(order)
    for v in order:
        mask, said = 0, False
        for j in preds[v]:
            mask |= masks[j] | (1 << index[j] if j in index else 0)
        said = any(j not in index and masks[j] == mask for j in preds[v])
        masks[v] = mask
        if mask & (mask - 1) and not said:
            rows[v] = mask.to_bytes(width, "little")
    before = tuple(masks[position] for position in index)
    return Precedence(order, preds, before, tuple(rows), is_forward)


def sides(graph: Graph, chain: Chain, work: ChannelWork) -> tuple[TimeDirection, TimeDirection]:
    """Return both directions of a graph."""
    forward = precedence(chain, graph.order, graph.preds, is_forward=True)
    backward = precedence(chain, graph.order[::-1], graph.succs, is_forward=False)
    lanes, channels = _sets(chain.lane), _sets(chain.channel)
    alike = _pairs(forward, backward, [lanes[k] for k in chain.lane])
    linked = _pairs(forward, backward, [channels[c] for c in chain.channel])
    tolls = _tolls(graph, chain, work, forward, backward, linked[1])
    toll_of = {
        (i, j): t for i, js in enumerate(linked[1]) for j, t in zip(js, tolls[i], strict=True)
    }
    reverse = [[toll_of[j, i] for j in found] for i, found in enumerate(linked[0])]
    return (
        TimeDirection(
            work, forward.order, forward.preds, forward.rows, alike[0], linked[0], reverse
        ),
        TimeDirection(
            work, backward.order, backward.preds, backward.rows, alike[1], linked[1], tolls
        ),
    )


def _pairs(
    forward: Precedence, backward: Precedence, among: Sequence[int]
) -> tuple[list[list[int]], list[list[int]]]:
    """List of each tensor those next before it, and those next after it, of a set."""
    pairs = {(j, i) for i, found in enumerate(forward.nearest(among)) for j in found}
    pairs |= {(i, j) for i, found in enumerate(backward.nearest(among)) for j in found}
    before: list[list[int]] = [[] for _ in among]
    after: list[list[int]] = [[] for _ in among]
    for i, j in sorted(pairs):
        before[j].append(i)
        after[i].append(j)
    return before, after


def _sets(numbers: Sequence[int]) -> list[int]:
    """Return of each number the set of places where it is, as a bit mask."""
    found = [0] * (max(numbers) + 1)
    for i, number in enumerate(numbers):
        found[number] |= 1 << i
    return found


def _tolls(
    graph: Graph,
    chain: Chain,
    work: ChannelWork,
    forward: Precedence,
    backward: Precedence,
    after: Sequence[Sequence[int]],
) -> list[list[float]]:
    """Return what a channel loses between a tensor and each of those next after it [us].

    From the end of the one to the start of the other is the longest path at least. No launch is
    under way when it begins nor when it ends: either none comes in between, and all of it is lost,
    or one does, and its start-up is.
    """
    side = TimeDirection(
        work, graph.order, graph.preds, [None] * work.nodes, *[[[]] * work.tensors] * 3
    )
    place = {v: k for k, v in enumerate(graph.order)}
    positions = chain.positions.tolist()
    channel = chain.channel
    lanes, channels = _sets(chain.lane), _sets(channel)
    startup = [work.startup[(mask & -mask).bit_length() - 1] for mask in lanes]
    found = []
    for i, others in enumerate(after):
        tolls = []
        if others:
            begin = place[positions[i]]
            last = max(place[positions[j]] for j in others)
            paths(work, side, begin, last, i)
            free = channels[channel[i]] & ~forward.before[i] & ~(1 << i)
            for j in others:
                mask = free & ~backward.before[j] & ~(1 << j)
                least = min(
                    (a for a, lane in zip(startup, lanes, strict=True) if lane & mask), default=inf
                )
                tolls.append(min(least, work.far[positions[j]]))
            forget(work, side, begin, last)
        found.append(tolls)
    return found
