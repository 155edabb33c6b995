"""A lower bound on the iteration time of any graph, over all fusions, partitions and orders.

However a collective is fused and cut, launches that carry its bytes run after its release and
before its end, on one channel, so its end follows its release by h(bytes) at least, the least
total time of launches that carry so many bytes (MODEL.md section 7). Hence longest paths with each
collective at h are heads (r) and tails (q) that every schedule respects, and on these each channel
is a one-machine problem. The same holds before any op: all collectives of one channel that
precede it have been carried by then, which raises heads, and in reverse tails.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from solver.bounds import chain as one_lane
from solver.bounds.chain import LowerBound, settle, thresholds_of
from solver.bounds.kinds import PACKING, PATH
from solver.chain import Chain, by_channel, lane_bytes, subchain
from solver.costs import Cost
from solver.graph import Graph
from solver.graph.links import Positions
from solver.limits import MAX_JOINT_CHANNELS
from solver.units import FloatArray, IntArray

Least = Callable[[IntArray], FloatArray]


#: How many of the collectives before an op, the last in the order of release, are counted as work
#: of their channel that comes first; those before them are counted before these.
_LATEST = 4_096


def lower_bound(graph: Graph, chain: Chain, costs: Sequence[Cost]) -> LowerBound:
    """Return the best of the path bound and the bounds of each channel.

    A channel of one lane has the chain, packing and nested bounds of
    :func:`solver.bounds.chain.lower_bound`; one of several lanes that bound for each lane, and the
    packing bound of all its lanes together.

    Notes
    -----
    O(ops + edges) for the paths, O(n) for each op that comes after a collective, of which
    :data:`_LATEST` are counted on each channel, and O(n^2) for each channel of n tensors.
    """
    least = [cost.least(total) for cost, total in zip(costs, lane_bytes(chain), strict=True)]
    head, tail, best = _paths(graph, chain, least)
    raised = replace(chain, release=head, tail=tail, compute_time=best.value)
    for tensors in by_channel(chain):
        lanes = sorted({chain.lane[i] for i in tensors})
        for lane in lanes:
            members = [i for i in tensors if chain.lane[i] == lane]
            best = _better(best, _sorted_bound(raised, members, costs[lane]))
        if len(lanes) > 1:
            best = _better(best, _packing(raised, tensors, least))
    return best


def _better(best: LowerBound, bound: LowerBound) -> LowerBound:
    return bound if bound.value > best.value and bound.kind != "compute" else best


def _sorted_bound(chain: Chain, members: Sequence[int], cost: Cost) -> LowerBound:
    """Bound one lane; the tensors in the order of their heads."""
    order = sorted(members, key=lambda i: (chain.release[i], i))
    found = one_lane.lower_bound(subchain(chain, order), cost)
    return replace(found, members=tuple(sorted(order[i] for i in found.members)))


def _packing(chain: Chain, tensors: Sequence[int], least: Sequence[Least]) -> LowerBound:
    """Rho + h(bytes of each lane with r >= rho and q >= Q, summed) + Q over all rho and Q."""
    best = LowerBound(0.0, PACKING)
    members = np.array(tensors)
    members = members[np.argsort(-chain.release[members], kind="stable")]
    release, tail, sizes = chain.release[members], chain.tail[members], chain.bytes[members]
    lanes = np.array(chain.lane)[members]
    thresholds, by_tail, at, hope = thresholds_of(tail, release)
    hope += _carried(sizes[by_tail], lanes[by_tail], least)[at]
    while hope[k := int(hope.argmax())] > best.value:
        q = float(thresholds[k])
        some = tail >= q
        values = release[some] + _carried(sizes[some], lanes[some], least)
        i = int(values.argmax())
        start, end = float(release[some][i]), float(values[i])
        if end + q > best.value:
            after = members[some & (release >= start)]
            best = LowerBound(end + q, PACKING, tuple(sorted(after.tolist())), start, q)
        settle(hope, thresholds, k, end)
    return best


def _carried(sizes: IntArray, lanes: IntArray, least: Sequence[Least]) -> FloatArray:
    """Least time [us] of the bytes up to each place, all lanes summed."""
    total = np.zeros(len(sizes))
    for lane in np.flatnonzero(np.bincount(lanes)).tolist():
        total += least[lane](np.cumsum(np.where(lanes == lane, sizes, 0)))
    return total


def _packed(
    release: FloatArray, sizes: IntArray, lanes: IntArray, least: Sequence[Least]
) -> tuple[float, IntArray]:
    """Return the largest rho + the least time [us] of what is released at rho or later, and that.

    What is released by then has no place in it.
    """
    order = np.argsort(-release, kind="stable")
    ends = release[order] + _carried(sizes[order], lanes[order], least)
    last = int(ends.argmax())
    return float(ends[last]), order[: last + 1]


def _paths(
    graph: Graph, chain: Chain, least: Sequence[Least]
) -> tuple[FloatArray, FloatArray, LowerBound]:
    """Heads and tails [us] by chain index, and the longest path with its collectives."""
    positions = chain.positions.tolist()
    weights = _weights(graph, chain, least)
    heads = _heads(graph.order, graph.preds, weights, chain, least)
    tails = _heads(graph.order[::-1], graph.succs, weights, chain, least)
    value, last = max((heads[i] + weights[i], -i) for i in graph.order)
    members = _on_path(graph, heads, weights, -last)
    index = {position: i for i, position in enumerate(positions)}
    tensors = tuple(sorted(index[i] for i in members if i in index))
    at = chain.positions
    return np.array(heads)[at], np.array(tails)[at], LowerBound(value, PATH, tensors)


def _weights(graph: Graph, chain: Chain, least: Sequence[Least]) -> list[float]:
    """Least time of each op [us]."""
    weights = list(graph.durations)
    for i, position in enumerate(chain.positions.tolist()):
        weights[position] = float(least[chain.lane[i]](chain.bytes[i : i + 1])[0])
    return weights


class Ends(NamedTuple):
    """One direction of a graph: the least start of each op [us], and why.

    ``facts`` names, for an op that starts later than its longest path, the tensors whose bytes are
    carried before it, by chain index; ``preds`` are those of this direction.
    """

    starts: list[float]
    facts: dict[int, list[int]]
    preds: Positions
    weights: list[float]


def both_ends(graph: Graph, chain: Chain, costs: Sequence[Cost]) -> tuple[Ends, Ends]:
    """Return the heads and the tails that :func:`lower_bound` rests on, with what raised them."""
    least = [cost.least(total) for cost, total in zip(costs, lane_bytes(chain), strict=True)]
    weights = _weights(graph, chain, least)
    forward: dict[int, list[int]] = {}
    backward: dict[int, list[int]] = {}
    heads = _heads(graph.order, graph.preds, weights, chain, least, forward)
    tails = _heads(graph.order[::-1], graph.succs, weights, chain, least, backward)
    return Ends(heads, forward, graph.preds, weights), Ends(tails, backward, graph.succs, weights)


def _heads(
    order: Sequence[int],
    preds: Positions,
    weights: Sequence[float],
    chain: Chain,
    least: Sequence[Least],
    facts: dict[int, list[int]] | None = None,
) -> list[float]:
    """Least start of each op [us]: longest path, and the channels' work that comes before it.

    ``facts`` is told of each op that comes later than its path the tensors that make it so.

    On the reversed graph these are the tails. Where one predecessor comes after all the
    collectives, or is the last of them, its head has their work. Of more than
    :data:`MAX_JOINT_CHANNELS` channels only the work of those counts that carry a predecessor.
    """
    facts = {} if facts is None else facts
    channels: Collection[int] = range(len(chain.channels))
    are_many = len(channels) > MAX_JOINT_CHANNELS
    index = {position: i for i, position in enumerate(chain.positions.tolist())}
    heads = [0.0] * len(weights)
    release = np.zeros(len(chain))
    lanes = np.array(chain.lane)
    chain_channel = chain.channel
    channel = np.array(chain_channel)
    masks: dict[int, int] = {}
    for op in order:
        head, follows = 0.0, False
        ways = []
        for j in preds[op]:
            head = max(head, heads[j] + weights[j])
            ways.append(masks[j] | 1 << index[j] if j in index else masks[j])
            follows = follows or j in index
        mask = reduce(or_, ways, 0)
        if follows and mask not in ways:
            above = _bits(mask, len(chain))
            if are_many:
                channels = {chain_channel[index[j]] for j in preds[op] if j in index}
            for c in channels:
                some = above[channel[above] == c][-_LATEST:]
                if len(some) > 1:
                    end, these = _packed(release[some], chain.bytes[some], lanes[some], least)
                    if end > head:
                        head, facts[op] = end, some[these].tolist()
        heads[op] = head
        masks[op] = mask
        if op in index:
            release[index[op]] = head
    return heads


def _bits(mask: int, count: int) -> IntArray:
    """Return the places of the bits that are set."""
    found = np.frombuffer(mask.to_bytes(count // 8 + 1, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(found, bitorder="little"))


def _on_path(
    graph: Graph, heads: Sequence[float], weights: Sequence[float], last: int
) -> list[int]:
    """Walk back along the ops whose end is the next one's head."""
    path = [last]
    while graph.preds[path[-1]]:
        i = path[-1]
        j = max(graph.preds[i], key=lambda j: (heads[j] + weights[j], -j))
        if heads[j] + weights[j] < heads[i]:  # a channel's work, not this path, decides
            break
        path.append(j)
    return path
