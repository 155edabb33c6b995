"""Tensors grouped for sending: buckets, and the launches that carry them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from solver.chain import Chain
from solver.costs import Cost
from solver.units import FloatArray, IntArray

#: The tensors of a bucket: chain indices, ascending.
Members = tuple[int, ...]


class Launch(NamedTuple):
    """One call of a collective: ``bytes`` of the bucket made of these tensors."""

    bucket: Members
    bytes: int


#: A plan, or that of one channel: its launches in order.
Launches = tuple[Launch, ...]


def union(a: Members, b: Members) -> Members:
    """Return the tensors of two buckets as one."""
    return tuple(sorted((*a, *b)))


def whole_elements(size: int, element: int) -> int:
    """Round bytes down to whole elements of so many bytes."""
    return size - size % element


def largest_part(cost: Cost, budget: float, most: int, element: int) -> int:
    """Return the most bytes, up to ``most``, of whole elements that take no longer than a budget.

    0 when no element does; ``budget`` is in us. Where fewer bytes take longer, as a measured table
    may say, what fits is sought further down.
    """
    size = cost.fits(budget, most)
    while size % element:
        size = cost.fits(budget, whole_elements(size, element))
    return size


@dataclass(frozen=True, slots=True, eq=False)
class ChannelBuckets:
    """Tensors of one lane grouped for sending, ordered by release, then by first member.

    A bucket is released with its last member, and all consumers of any member wait for it
    (MODEL.md section 2.2).

    Attributes
    ----------
    members
        Chain indices of each bucket's tensors, ascending.
    release, tail
        Per bucket [us], shape (m,).
    bytes
        Per bucket, shape (m,).
    element_bytes
        Size of an element, at whose ends buckets may be cut [bytes].
    """

    members: tuple[tuple[int, ...], ...]
    release: FloatArray
    tail: FloatArray
    bytes: IntArray
    element_bytes: int = 1

    def __len__(self) -> int:
        """Count the buckets."""
        return len(self.members)


def contiguous(chain: Chain, cuts: Sequence[int]) -> ChannelBuckets:
    """Cut a chain in buckets that end before each cut; the last cut is the chain's length."""
    bounds = [0, *cuts]
    starts = np.array(bounds[:-1])
    return ChannelBuckets(
        members=tuple(tuple(range(low, high)) for low, high in pairwise(bounds)),
        release=chain.release[np.array(cuts) - 1],
        tail=np.maximum.reduceat(chain.tail, starts),
        bytes=np.add.reduceat(chain.bytes, starts),
        element_bytes=chain.element_bytes(0),
    )


def buckets_of(chain: Chain, groups: Iterable[tuple[int, ...]]) -> ChannelBuckets:
    """Make buckets of any groups of chain indices that partition the chain."""
    members = sorted(groups, key=lambda group: (chain.release[list(group)].max(), group))
    return ChannelBuckets(
        members=tuple(members),
        release=np.array([chain.release[list(group)].max() for group in members]),
        tail=np.array([chain.tail[list(group)].max() for group in members]),
        bytes=np.array([chain.bytes[list(group)].sum() for group in members]),
        element_bytes=chain.element_bytes(0),
    )


def singles(chain: Chain) -> ChannelBuckets:
    """Put each tensor in a bucket of its own."""
    return contiguous(chain, range(1, len(chain) + 1))
