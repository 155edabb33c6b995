"""How the sizes of a graph's tensors are distributed: how many are small, where the bytes are."""

from dataclasses import dataclass

from solver.graph import Graph


@dataclass(frozen=True, slots=True)
class SizeShare:
    """All tensors that are no larger than a size.

    Attributes
    ----------
    size
        A size that some tensor has [bytes].
    tensors
        How many are no larger.
    bytes
        What these are together [bytes].
    """

    size: int
    tensors: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TensorSizes:
    """The distribution of the tensors of one kind of collective on one channel.

    Attributes
    ----------
    channel, kind
        Where they are sent, and by which collective.
    tensors, bytes
        How many there are, and what they are together [bytes].
    median_bytes
        Half of them, rounded up, are no larger [bytes].
    shares
        By size, ascending, a row a size that occurs; the last row is of all.
    """

    channel: str
    kind: str
    tensors: int
    bytes: int
    median_bytes: int
    shares: tuple[SizeShare, ...]

    def up_to(self, size: int) -> SizeShare:
        """Return how many tensors are no larger than any size, and their bytes. O(sizes)."""
        below = [share for share in self.shares if share.size <= size]
        return (
            SizeShare(size, below[-1].tensors, below[-1].bytes) if below else SizeShare(size, 0, 0)
        )


def tensor_sizes(graph: Graph) -> tuple[TensorSizes, ...]:
    """Count tensors by size, of each channel and kind in the order of their names.

    Notes
    -----
    O(n log n) for n collectives. An operation that is sent in parts, or fused, counts as the graph
    has it.

    References
    ----------
    .. [1] PACE, Fig. 4: half of the tensors of a model may be less than 1 MB.
    """
    sizes: dict[tuple[str, str], list[int]] = {}
    for op in (graph.ops[i] for i in graph.collectives):
        sizes.setdefault((op.channel, op.kind), []).append(op.bytes or 0)
    return tuple(_sizes(*where, sorted(found)) for where, found in sorted(sizes.items()))


def _sizes(channel: str, kind: str, ascending: list[int]) -> TensorSizes:
    shares: dict[int, SizeShare] = {}
    total = 0
    for count, size in enumerate(ascending, 1):
        total += size
        shares[size] = SizeShare(size, count, total)
    median = ascending[(len(ascending) - 1) // 2]
    return TensorSizes(channel, kind, len(ascending), total, median, tuple(shares.values()))
