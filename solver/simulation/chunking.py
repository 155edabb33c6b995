"""Micro-batch chunking of experts as a what-if: blocks between two all-to-alls cut in chunks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions
from solver.graph import COMPUTE, Buffer, Graph, Op, build
from solver.limits import MAX_CHUNKED_EDGES, MAX_CHUNKED_OPS

#: What a chunk of an op takes beyond its share where nothing is said: a kernel more is launched.
OVERHEAD_US = 5.0

#: Collectives of fewer bytes are sent whole where nothing is said: counts of tokens.
LEAST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Chunking:
    """In how many chunks blocks are cut, and what that costs.

    Attributes
    ----------
    count
        Chunks of each block; 1 leaves the graph as it is.
    overhead_us
        What each chunk of an op that takes time takes beyond its share [us].
    least_bytes
        Collectives of fewer bytes are sent whole, and no block begins or ends with one.
    """

    count: int
    overhead_us: float = OVERHEAD_US
    least_bytes: int = LEAST_BYTES


def chunked(graph: Graph, positions: Iterable[int], by: Chunking) -> Graph:
    """Cut blocks of a graph in chunks that follow each other independently.

    A block is a collective that dispatches, the next of ``positions`` after it, which combines, and
    all ops between. Each of its ops becomes c, ``ID:1`` to ``ID:c``: an op of t us takes t / c and
    the overhead, a collective sends a c-th of its elements, what it writes is c buffers. Chunk k
    comes after chunk k of what is in the block, and after the whole of what is not; what is outside
    comes after all chunks, and reads them all.

    Parameters
    ----------
    positions
        Of the collectives that dispatch and combine, in any order.

    Raises
    ------
    InvalidOptions
        When a collective has no partner, or an op stands in two blocks (``/match``); when a
        collective has fewer elements than chunks, or there were too many ops or edges
        (``/chunks/count``).
    InvalidGraph
        When an id is taken.

    Notes
    -----
    Assumed: tokens are spread evenly over the chunks, chunks of an op compute at the rate of the
    whole, and what is cut, or read in pieces, needs no copy. O(blocks * (ops + edges)).

    References
    ----------
    .. [1] pytorch/torchtitan, issue 3434, "Graph-Based EP Overlap For GraphTrainer", the chunks of
           MoE roots. .. [2] Tutel, pull request 68, all-to-all beside the experts' compute.
    """
    if by.count == 1:
        return graph
    cut = _CutGraph(graph, _blocks(graph, positions, by), by)
    if (edges := cut.edges()) > MAX_CHUNKED_EDGES:
        detail = (
            f"{by.count} chunks make {edges:,} edges and reads, more than {MAX_CHUNKED_EDGES:,}."
        )
        raise InvalidOptions([Fault("/chunks/count", FaultCode.OUT_OF_RANGE, detail)])
    return build(graph.name, cut.ops(), cut.buffers(), graph.free)


def assumption(by: Chunking) -> str:
    """Say what is assumed of chunks, in a sentence."""
    return (
        f"{by.count} chunks: each takes its share of an op and {by.overhead_us:g} us more; tokens "
        "are spread evenly, and cutting copies nothing."
    )


def _blocks(graph: Graph, positions: Iterable[int], by: Chunking) -> list[frozenset[int]]:
    """Return the ops of each block."""
    rank = {i: place for place, i in enumerate(graph.order)}
    preds, succs = _data_links(graph)
    large = (i for i in positions if (graph.ops[i].bytes or 0) >= by.least_bytes)
    open_: dict[int, frozenset[int]] = {}
    blocks: list[frozenset[int]] = []
    for i in sorted(large, key=rank.__getitem__):
        first = next((a for a, below in open_.items() if i in below), None)
        if first is None:
            open_[i] = _reached(i, succs)
            continue
        blocks.append(open_.pop(first) & _reached(i, preds))
    faults = [
        Fault(
            "/match",
            FaultCode.NOT_SUPPORTED,
            f"Collective {graph.ops[i].id!r}: none of those that match comes after it, so that it "
            "begins no block.",
        )
        for i in open_
    ]
    taken: set[int] = set()
    for block in blocks:
        faults += [
            Fault("/match", FaultCode.NOT_SUPPORTED, f"Op {graph.ops[i].id!r} is in two blocks.")
            for i in sorted(block & taken)
        ]
        taken |= block
    faults += _faults_of_size(graph, sorted(taken), by)
    if not blocks and not faults:
        detail = f"No collective that matches has {by.least_bytes:,} bytes or more."
        faults = [Fault("/match", FaultCode.NOT_SUPPORTED, detail)]
    if faults:
        raise InvalidOptions(faults)
    return blocks


def _faults_of_size(graph: Graph, cut: Sequence[int], by: Chunking) -> list[Fault]:
    ops = len(graph.ops) + (by.count - 1) * len(cut)
    if ops > MAX_CHUNKED_OPS:
        detail = f"{by.count} chunks make {ops:,} ops of the graph, more than {MAX_CHUNKED_OPS:,}."
        return [Fault("/chunks/count", FaultCode.OUT_OF_RANGE, detail)]
    return [
        Fault(
            "/chunks/count",
            FaultCode.OUT_OF_RANGE,
            f"Collective {op.id!r} has fewer elements than {by.count} chunks.",
        )
        for op in (graph.ops[i] for i in cut)
        if op.kind != COMPUTE and (op.bytes or 0) // op.element_bytes < by.count
    ]


def _data_links(graph: Graph) -> tuple[list[list[int]], list[list[int]]]:
    """Return what each op is said to come after, and before; streams say nothing of data."""
    index = {op.id: i for i, op in enumerate(graph.ops)}
    preds = [[index[name] for name in op.after] for op in graph.ops]
    succs: list[list[int]] = [[] for _ in graph.ops]
    for i, before in enumerate(preds):
        for j in before:
            succs[j].append(i)
    return preds, succs


def _reached(start: int, links: Sequence[Sequence[int]]) -> frozenset[int]:
    """Return what an op leads to, and the op."""
    seen, stack = {start}, [start]
    while stack:
        for j in links[stack.pop()]:
            if j not in seen:
                seen.add(j)
                stack.append(j)
    return frozenset(seen)


class _CutGraph:
    """A graph's ops and buffers, those of blocks in chunks."""

    def __init__(self, graph: Graph, blocks: Sequence[frozenset[int]], by: Chunking) -> None:
        self._graph, self._by = graph, by
        self._block = {graph.ops[i].id: b for b, block in enumerate(blocks) for i in block}

    def edges(self) -> int:
        """Count what ops and buffers will name: whole blocks after each other by count squared."""
        named = [(before, op.id) for op in self._graph.ops for before in op.after]
        for buffer in self._graph.buffers:
            named += [(reader, buffer.written_by or "") for reader in buffer.read_by]
        blocks = ((self._block.get(one), self._block.get(other)) for one, other in named)
        many = self._by.count
        return sum(
            many if one == other is not None else many ** ((one is not None) + (other is not None))
            for one, other in blocks
        )

    def ops(self) -> Iterator[Op]:
        """Yield all ops, chunks in the place of what is cut."""
        for op in self._graph.ops:
            if op.id not in self._block:
                yield op._replace(
                    after=tuple(name for each in op.after for name in self._all(each))
                )
                continue
            for k in range(self._by.count):
                after = tuple(name for each in op.after for name in self._seen(each, op.id, k))
                yield self._chunk(op, k)._replace(after=after)

    def buffers(self) -> Iterator[Buffer]:
        """Yield all buffers, those that blocks write in chunks."""
        for buffer in self._graph.buffers:
            own = buffer.written_by
            if own is None or own not in self._block:
                readers = tuple(name for each in buffer.read_by for name in self._all(each))
                yield Buffer(buffer.id, buffer.bytes, own, readers, buffer.kept)
                continue
            for k, size in enumerate(_shares(buffer.bytes, self._by.count)):
                readers = tuple(
                    name for each in buffer.read_by for name in self._seen(each, own, k)
                )
                name = _chunk_id(buffer.id, k)
                yield Buffer(name, size, _chunk_id(own, k), readers, buffer.kept)

    def _chunk(self, op: Op, k: int) -> Op:
        name, count = _chunk_id(op.id, k), self._by.count
        if op.kind != COMPUTE:
            elements, rest = divmod(op.bytes or 0, op.element_bytes)
            size = _shares(elements, count)[k] * op.element_bytes
            return op._replace(id=name, bytes=size + (rest if k == count - 1 else 0))
        own = op.duration_us or 0.0
        return op._replace(id=name, duration_us=own and own / count + self._by.overhead_us)

    def _all(self, name: str) -> list[str]:
        """Name an op, or all its chunks."""
        if name not in self._block:
            return [name]
        return [_chunk_id(name, k) for k in range(self._by.count)]

    def _seen(self, name: str, by: str, k: int) -> list[str]:
        """Name what of an op belongs to chunk k of another."""
        if name in self._block and self._block[name] == self._block[by]:
            return [_chunk_id(name, k)]
        return self._all(name)


def chunks_in(index: Mapping[str, int], name: str) -> list[int]:
    """Return where the chunks of an op are by id, or the op that was not cut."""
    if name in index:
        return [index[name]]
    found: list[int] = []
    while (place := index.get(_chunk_id(name, len(found)))) is not None:
        found.append(place)
    return found


def _chunk_id(name: str, k: int) -> str:
    return f"{name}:{k + 1}"


def _shares(whole: int, count: int) -> list[int]:
    """Cut a whole number in so many as equal as may be, the larger ones last."""
    return [whole * (k + 1) // count - whole * k // count for k in range(count)]
