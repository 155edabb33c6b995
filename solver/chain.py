"""The channel's view of a graph: its tensors in release order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from solver.codes import FaultCode
from solver.costs import ChannelCost, lane_of_op
from solver.errors import Fault, InvalidGraph
from solver.graph import ALL_REDUCE, COMPUTE, NETWORK, Graph
from solver.graph.links import Positions
from solver.units import FloatArray, IntArray


class Predecessors(Sequence[int]):
    """Of each tensor the set of tensors that precede it, directly or not, as a bit mask.

    The masks of n tensors take up to n^2 bits, and an iteration is simulated without them, so they
    are collected at the first look at one; how many there are is known before.

    Parameters
    ----------
    graph
        Whose edges are followed.
    positions
        Position in the graph of each tensor, in the chain's order.

    Notes
    -----
    The first look merges a set of n bits along each edge.
    """

    __slots__ = ("_links", "_masks", "_positions")

    def __init__(self, graph: Graph, positions: Sequence[int]) -> None:
        # of the graph only what is used: its memo holds the chain
        self._links = graph.order, graph.preds, graph.succs
        self._positions = positions
        self._masks: tuple[int, ...] | None = None

    def __len__(self) -> int:
        """Count the tensors."""
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        """Return the mask of a tensor."""
        if self._masks is None:
            self._masks = _before(*self._links, self._positions)
        return self._masks[index]


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """The tensors of a graph, ordered by release, then position.

    Attributes
    ----------
    positions
        Position in the graph of each tensor, shape (n,).
    release
        End of the longest compute path into each [us], ascending, shape (n,).
    tail
        Longest compute path that starts with one of its consumers [us], shape (n,).
    bytes
        Sizes, shape (n,).
    compute_time
        Longest path of the graph with collectives at 0 [us].
    lanes
        The lanes in use, in the order of their first tensor in the graph.
    lane
        Index in ``lanes`` of each tensor.
    before
        Of each tensor the set of tensors that precede it, directly or not, as a bit mask, which
        is made when it is first looked at; empty when no collective precedes another (the PACE
        class).
    """

    positions: IntArray
    release: FloatArray
    tail: FloatArray
    bytes: IntArray
    compute_time: float
    lanes: tuple[ChannelCost, ...] = (ChannelCost(NETWORK, ALL_REDUCE),)
    lane: tuple[int, ...] = ()
    before: Sequence[int] = ()

    def __post_init__(self) -> None:
        """Put all tensors in the first lane when nothing else is said."""
        if not self.lane:
            object.__setattr__(self, "lane", (0,) * len(self.positions))

    def __len__(self) -> int:
        """Count the tensors."""
        return len(self.positions)

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels in use."""
        return tuple(dict.fromkeys(lane.channel for lane in self.lanes))

    @property
    def channel(self) -> tuple[int, ...]:
        """Index in ``channels`` of each tensor."""
        number = {name: c for c, name in enumerate(self.channels)}
        of_lane = [number[lane.channel] for lane in self.lanes]
        return tuple(of_lane[lane] for lane in self.lane)

    @property
    def is_layered(self) -> bool:
        """Whether each channel is a problem of its own, of tensors that may all be fused.

        Then no collective precedes another, and what follows from PACE's Theorem 1 holds.
        """
        return not self.before and len(self.lanes) == len(self.channels)

    @property
    def is_separable(self) -> bool:
        """Whether each channel is a problem of its own, at one cost: lanes differ by key alone."""
        kinds = {(lane.channel, lane.kind) for lane in self.lanes}
        return not self.before and len(kinds) == len(self.channels)

    def element_bytes(self, tensor: int) -> int:
        """Size of an element of a tensor, which is that of all its lane [bytes]."""
        return self.lanes[self.lane[tensor]].element_bytes


def chain_of(graph: Graph) -> Chain:
    """Compute releases and tails with collectives at 0, and which tensor precedes which.

    In the PACE class no schedule changes releases and tails (PACE Lemma 1, Theorem 1). The order
    is that of releases, then of what comes after fewer collectives, then of positions; so a tensor
    never stands before one that precedes it.

    O(ops + edges + n log n); outside the PACE class the first look at :attr:`Chain.before` merges
    a set of n bits along each edge. Computed once for a graph.

    Raises
    ------
    InvalidGraph
        When the order of a stream is free: its ops would be taken to run side by side.
    """
    chain: Chain | None = graph.memo.get("chain")
    if chain is None and graph.free:
        detail = f"The order of stream {graph.free[0]!r} is free: plan it with plan_program."
        raise InvalidGraph([Fault("/streams", FaultCode.FREE_ORDER, detail)])
    if chain is None:
        chain = graph.memo["chain"] = _chain_of(graph)
    return chain


def _chain_of(graph: Graph) -> Chain:
    durations, preds, succs = graph.durations, graph.preds, graph.succs
    sending = [op.kind != COMPUTE for op in graph.ops]
    ends = [0.0] * len(preds)
    starts = [0.0] * len(preds)
    depths = [0] * len(preds)
    for i in graph.order:
        start = 0.0
        depth = 0
        for j in preds[i]:
            start = max(start, ends[j])
            depth = max(depth, depths[j])
        starts[i] = start
        ends[i] = start + durations[i]
        depths[i] = depth + sending[i]
    tails = [0.0] * len(preds)
    for i in reversed(graph.order):
        tail = 0.0
        for j in succs[i]:
            path = durations[j] + tails[j]
            tail = max(tail, path)
        tails[i] = tail
    positions = sorted(graph.collectives, key=lambda i: (starts[i], depths[i], i))
    of_op = [lane_of_op(graph.ops[i]) for i in positions]
    lanes = tuple(dict.fromkeys(lane for _, lane in sorted(zip(positions, of_op, strict=True))))
    number = {lane: k for k, lane in enumerate(lanes)}
    nested = any(depths[i] > 1 for i in positions)
    return Chain(
        positions=np.array(positions, dtype=np.int64),
        release=np.array([starts[i] for i in positions]),
        tail=np.array([tails[i] for i in positions]),
        bytes=np.array([graph.ops[i].bytes for i in positions], dtype=np.int64),
        compute_time=max(ends, default=0.0),
        lanes=lanes,
        lane=tuple(number[lane] for lane in of_op),
        before=Predecessors(graph, positions) if nested else (),
    )


def _before(
    order: Sequence[int], preds: Positions, succs: Positions, positions: Sequence[int]
) -> tuple[int, ...]:
    """Collect the tensors that precede each, as a bit mask; masks are dropped once used."""
    bit = {position: 1 << i for i, position in enumerate(positions)}
    left = [len(found) for found in succs]
    masks: dict[int, int] = {}
    before: dict[int, int] = {}
    for i in order:
        mask = 0
        for j in preds[i]:
            mask = mask | masks[j] if mask else masks[j]
            if j in bit:
                mask |= bit[j]
            left[j] -= 1
            if not left[j]:
                del masks[j]
        if left[i]:
            masks[i] = mask
        if i in bit:
            before[i] = mask
    return tuple(before[i] for i in positions)


def stretched(chain: Chain, compute: float) -> Chain:
    """Return a chain whose compute takes so many times as long; its order stays. O(n)."""
    if compute == 1.0:
        return chain
    return replace(
        chain,
        release=chain.release * compute,
        tail=chain.tail * compute,
        compute_time=chain.compute_time * compute,
    )


def on_channel(chain: Chain, channel: str) -> tuple[int, ...]:
    """Return the indices of the tensors of one channel, ascending."""
    number = chain.channels.index(channel)
    return tuple(i for i, c in enumerate(chain.channel) if c == number)


def by_channel(chain: Chain) -> tuple[tuple[int, ...], ...]:
    """Return the indices of the tensors of each channel, ascending; O(tensors + lanes)."""
    found: list[list[int]] = [[] for _ in chain.channels]
    for tensor, channel in enumerate(chain.channel):
        found[channel].append(tensor)
    return tuple(map(tuple, found))


def lane_bytes(chain: Chain) -> tuple[int, ...]:
    """Sum the bytes of each lane."""
    sums = [0] * len(chain.lanes)
    for lane, size in zip(chain.lane, chain.bytes.tolist(), strict=True):
        sums[lane] += size
    return tuple(sums)


def without_keys(chain: Chain) -> Chain:
    """Return the chain with the lanes of a kind on a channel as one, of any elements."""
    lanes = [ChannelCost(lane.channel, lane.kind) for lane in chain.lanes]
    merged = tuple(dict.fromkeys(lanes))
    return replace(chain, lanes=merged, lane=tuple(merged.index(lanes[k]) for k in chain.lane))


def subchain(chain: Chain, tensors: Sequence[int]) -> Chain:
    """Return some tensors of a chain as a chain that knows nothing of what precedes what."""
    if len(tensors) == len(chain) and not chain.before:
        return chain
    at = np.array(tensors, dtype=np.int64)
    used = sorted({chain.lane[i] for i in tensors})
    return Chain(
        positions=chain.positions[at],
        release=chain.release[at],
        tail=chain.tail[at],
        bytes=chain.bytes[at],
        compute_time=chain.compute_time,
        lanes=tuple(chain.lanes[k] for k in used),
        lane=tuple(used.index(chain.lane[i]) for i in tensors),
    )
