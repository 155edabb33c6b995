"""Gradient compression as a what-if: fewer bytes, for work before and after each collective."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from heapq import heapify, heappop, heappush

from solver.graph import COMPUTE, Graph, Op, build

#: Memory of an H100 [bytes/us], 3.35 TB/s: what encoding and decoding by name are limited by.
MEMORY_BYTES_PER_US = 3.35e6

#: Elements of a collective that does not say how large they are [bytes].
_ELEMENT_BYTES = 4

#: Share of the elements that ``topk`` sends, and bytes of the index beside each.
_KEPT, _INDEX_BYTES = Fraction(1, 100), 4


@dataclass(frozen=True, slots=True)
class Compression:
    """What a compression does to a collective; accuracy is not modelled.

    Attributes
    ----------
    bytes_factor
        The collective has so many times the bytes, above 0 and at most 1.
    encode_us_per_byte, decode_us_per_byte
        What encoding before it and decoding after it take on the compute stream, for each byte of
        the tensor as it was [us].
    """

    bytes_factor: float
    encode_us_per_byte: float = 0.0
    decode_us_per_byte: float = 0.0


def _narrowed(passes: int, to_bytes: int, element_bytes: int) -> Compression:
    """Elements as narrower ones: so many reads to encode, and what is written each time."""
    factor = min(1.0, to_bytes / element_bytes)
    if factor == 1:
        return Compression(1.0)
    return Compression(
        factor, (passes + factor) / MEMORY_BYTES_PER_US, (1 + factor) / MEMORY_BYTES_PER_US
    )


def _top_k(element_bytes: int) -> Compression:
    factor = float(_KEPT * (element_bytes + _INDEX_BYTES) / element_bytes)
    return Compression(
        factor, (5 + factor) / MEMORY_BYTES_PER_US, (1 + factor) / MEMORY_BYTES_PER_US
    )


#: Compressions by name, for elements of so many bytes. All assume that encoding and decoding are
#: limited by the memory of an H100, and that the network sums what is sent as it does all else.
#: ``fp16`` and ``bf16`` read once and write 2 bytes an element; ``fp8`` and ``int8`` read twice,
#: for a scale, and write 1. ``topk`` finds the largest hundredth of the elements in five reads and
#: sends each with an index of 4 bytes; all ranks choose the same ones, so that sums stay as sparse.
#: Libraries may be many times slower: give the rates that you measured.
COMPRESSIONS: dict[str, Callable[[int], Compression]] = {
    "fp16": partial(_narrowed, 1, 2),
    "bf16": partial(_narrowed, 1, 2),
    "fp8": partial(_narrowed, 2, 1),
    "int8": partial(_narrowed, 2, 1),
    "topk": _top_k,
}


_NOTHING = Compression(1.0)


def compressed(graph: Graph, positions: Iterable[int], by: str | Compression) -> Graph:
    """Compress collectives of a graph.

    Each gets fewer bytes, in whole elements, an op ``encode:ID`` before it and ``decode:ID`` after
    it. Encoding comes right after the last compute op that the collective waits for, on its stream,
    so that what follows there waits for it; decoding right before the first op on a stream that
    waits for the collective. In a graph whose ops name no stream the same is said by edges. Between
    two collectives coding runs beside compute, as nothing says when. Compressed tensors are fused
    with their like alone. An element that is as narrow already is left alone.

    Parameters
    ----------
    graph
        The graph.
    positions
        Of the collectives.
    by
        A name of :data:`COMPRESSIONS`, or figures.

    Raises
    ------
    InvalidGraph
        When coding takes longer than an op may, or one of its ids is taken.

    Notes
    -----
    O(ops + edges), and a search for the first op on a stream for each collective.
    """
    inserted = _Inserted(graph)
    for position in sorted(positions, key=inserted.rank.__getitem__):
        op = graph.ops[position]
        how = by if isinstance(by, Compression) else COMPRESSIONS[by](_element_bytes(op))
        if how != _NOTHING:
            inserted.code(position, how, by if isinstance(by, str) else "compressed")
    return build(graph.name, inserted.ops(), graph.buffers, graph.free)


def _element_bytes(op: Op) -> int:
    return op.element_bytes if op.element_bytes > 1 else _ELEMENT_BYTES


class _Inserted:
    """A graph's ops with what has been put between them."""

    def __init__(self, graph: Graph) -> None:
        self.rank = {position: place for place, position in enumerate(graph.order)}
        self._graph = graph
        self._has_streams = any(op.stream is not None for op in graph.ops)
        self._changed: dict[int, Op] = {}
        self._decoded: dict[str, str] = {}
        self._ahead: dict[int, list[Op]] = defaultdict(list)
        self._behind: dict[int, list[Op]] = defaultdict(list)
        self._last: list[Op] = []
        self._waits: dict[int, list[str]] = defaultdict(list)

    def code(self, position: int, how: Compression, name: str) -> None:
        """Encode a collective, and decode it."""
        op = self._graph.ops[position]
        size = op.bytes or 0
        elements = max(1, round(Fraction(size, op.element_bytes) * Fraction(how.bytes_factor)))
        encode, decode = f"encode:{op.id}", f"decode:{op.id}"
        self._changed[position] = op._replace(
            bytes=elements * op.element_bytes,
            after=(encode,),
            fuse_key=name if op.fuse_key is None else f"{op.fuse_key} {name}",
        )
        self._decoded[op.id] = decode
        made = Op(encode, COMPUTE, size * how.encode_us_per_byte, None, op.after)
        opened = Op(decode, COMPUTE, size * how.decode_us_per_byte, None, (op.id,))
        stream = self._encode(position, made)
        self._decode(position, opened, stream)

    def _encode(self, position: int, made: Op) -> str | None:
        """Put encoding behind the last compute op before it; return that op's stream."""
        graph = self._graph
        preds = graph.preds[position]
        if not preds or any(graph.ops[i].kind != COMPUTE for i in preds):
            self._ahead[position].append(made)
            return None
        producer = max(preds, key=self.rank.__getitem__)
        stream, row = graph.ops[producer].stream, self._behind[producer]
        if stream is None:
            made = made._replace(after=(*made.after, *(each.id for each in row[-1:])))
            for i in graph.succs[producer]:
                if graph.ops[i].kind == COMPUTE:
                    self._waits[i].append(made.id)
        row.append(made._replace(stream=stream))
        return stream

    def _decode(self, position: int, opened: Op, stream: str | None) -> None:
        """Put decoding before the first op on a stream that comes after it, else at the end."""
        graph = self._graph
        if any(graph.ops[i].kind != COMPUTE for i in graph.succs[position]):
            self._behind[position].append(opened)
            return
        seen, consumer = self._first_consumer(position)
        if consumer is None:
            if stream is None:
                opened = opened._replace(after=(*opened.after, *(e.id for e in self._last[-1:])))
            self._last.append(opened._replace(stream=stream))
            return
        row = self._ahead[consumer]
        if graph.ops[consumer].stream is None:
            others = (i for i in graph.preds[consumer] if i not in seen)
            earlier = (graph.ops[i].id for i in others if graph.ops[i].kind == COMPUTE)
            opened = opened._replace(after=(*opened.after, *earlier, *(e.id for e in row[-1:])))
        row.append(opened._replace(stream=graph.ops[consumer].stream))

    def _first_consumer(self, position: int) -> tuple[set[int], int | None]:
        """Return the first op on a stream that a collective precedes, and what comes before it."""
        graph, seen = self._graph, {position}
        heap = [(self.rank[i], i) for i in graph.succs[position]]
        heapify(heap)
        while heap:
            _, i = heappop(heap)
            if i in seen:
                continue
            op = graph.ops[i]
            if op.kind == COMPUTE and (op.stream is not None or not self._has_streams):
                return seen, i
            seen.add(i)
            for j in graph.succs[i]:
                heappush(heap, (self.rank[j], j))
        return seen, None

    def ops(self) -> Iterator[Op]:
        """List all ops; what waited for a collective waits for its decoding."""
        for i, op in enumerate(self._graph.ops):
            yield from map(self._linked, self._ahead.get(i, ()))
            own = self._changed.get(i)
            yield own or self._linked(op._replace(after=(*op.after, *self._waits.get(i, ()))))
            yield from map(self._linked, self._behind.get(i, ()))
        yield from self._last

    def _linked(self, op: Op) -> Op:
        """Have an op wait for decoding, where that is not the op itself."""
        decoded = ((each, self._decoded.get(each, each)) for each in op.after)
        return op._replace(after=tuple(was if own == op.id else own for was, own in decoded))
