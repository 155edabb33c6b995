"""The channel's view of a graph: its tensors in release order, and the buckets made of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from solver.graph import Graph
from solver.units import FloatArray, IntArray


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
    """

    positions: IntArray
    release: FloatArray
    tail: FloatArray
    bytes: IntArray
    compute_time: float

    def __len__(self) -> int:
        """Count the tensors."""
        return len(self.positions)


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Tensors grouped for sending, ordered by release, then by first member.

    A bucket is released with its last member, and all consumers of any member wait for it
    (model.md section 5).

    Attributes
    ----------
    members
        Chain indices of each bucket's tensors, ascending.
    release, tail
        Per bucket [us], shape (m,).
    bytes
        Per bucket, shape (m,).
    """

    members: tuple[tuple[int, ...], ...]
    release: FloatArray
    tail: FloatArray
    bytes: IntArray

    def __len__(self) -> int:
        """Count the buckets."""
        return len(self.members)


def chain_of(graph: Graph) -> Chain:
    """Compute releases and tails, which no schedule changes (PACE Lemma 1, Theorem 1).

    O(ops + edges + n log n).
    """
    ends = [0.0] * len(graph.ops)
    starts = [0.0] * len(graph.ops)
    for i in graph.order:
        starts[i] = max((ends[j] for j in graph.preds[i]), default=0.0)
        ends[i] = starts[i] + graph.durations[i]
    tails = [0.0] * len(graph.ops)
    for i in reversed(graph.order):
        tails[i] = max((graph.durations[j] + tails[j] for j in graph.succs[i]), default=0.0)
    positions = sorted(graph.collectives, key=lambda i: (starts[i], i))
    return Chain(
        positions=np.array(positions, dtype=np.int64),
        release=np.array([starts[i] for i in positions]),
        tail=np.array([tails[i] for i in positions]),
        bytes=np.array([graph.ops[i].bytes for i in positions], dtype=np.int64),
        compute_time=max(ends),
    )


def runs(chain: Chain, cuts: Sequence[int]) -> Buckets:
    """Group a chain in runs that end before each cut; the last cut is the chain's length."""
    bounds = [0, *cuts]
    starts = np.array(bounds[:-1])
    return Buckets(
        members=tuple(tuple(range(low, high)) for low, high in pairwise(bounds)),
        release=chain.release[np.array(cuts) - 1],
        tail=np.maximum.reduceat(chain.tail, starts),
        bytes=np.add.reduceat(chain.bytes, starts),
    )


def bucketed(chain: Chain, groups: Iterable[tuple[int, ...]]) -> Buckets:
    """Make buckets of any groups of chain indices that partition the chain."""
    members = sorted(groups, key=lambda group: (chain.release[list(group)].max(), group))
    return Buckets(
        members=tuple(members),
        release=np.array([chain.release[list(group)].max() for group in members]),
        tail=np.array([chain.tail[list(group)].max() for group in members]),
        bytes=np.array([chain.bytes[list(group)].sum() for group in members]),
    )


def singles(chain: Chain) -> Buckets:
    """Put each tensor in a bucket of its own."""
    return runs(chain, range(1, len(chain) + 1))
