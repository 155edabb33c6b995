"""Buffers: the memory that ops write and read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault
from solver.limits import MAX_BYTES


class Buffer(NamedTuple):
    """Memory, live from the start of its writer to the end of its last reader.

    Attributes
    ----------
    id
        Name, unique among the buffers of a graph.
    bytes
        Size [bytes], 0 or more.
    written_by
        Id of the op that writes it; None for an input, which is there from the start.
    read_by
        Ids of the ops that read it, each after the writer; the writer may be among them.
    kept
        Whether it is live to the end of the iteration: a parameter, or a result.
    """

    id: str
    bytes: int
    written_by: str | None = None
    read_by: tuple[str, ...] = ()
    kept: bool = False


def buffer_faults(
    buffers: Sequence[Buffer],
    index: Mapping[str, int],
    preds: Sequence[Sequence[int]],
    order: Sequence[int],
) -> Iterator[Fault]:
    """List what is wrong with buffers; ``index`` has the position of each op.

    Where the ops have a cycle (``order`` lacks some) readers are not compared with writers.
    O(buffers + edges * ops / 64).
    """
    taken: dict[str, int] = {}
    if (total := sum(max(0, buffer.bytes) for buffer in buffers)) > MAX_BYTES:
        yield Fault("", FaultCode.OUT_OF_RANGE, f"All buffers: 2^60 bytes at most, got {total}.")
    before = _before(preds, order) if len(order) == len(preds) else None
    for i, buffer in enumerate(buffers):
        if buffer.id in taken:
            detail = f"Buffer id {buffer.id!r} is taken by /buffers/{taken[buffer.id]}."
            yield Fault(f"/buffers/{i}/id", FaultCode.DUPLICATE_ID, detail)
        taken.setdefault(buffer.id, i)
        if not 0 <= buffer.bytes <= MAX_BYTES:
            detail = f"Buffer {buffer.id!r}: bytes must be 0 to 2^60, got {buffer.bytes!r}."
            yield Fault(f"/buffers/{i}/bytes", FaultCode.OUT_OF_RANGE, detail)
        writer = buffer.written_by
        if writer is not None and writer not in index:
            detail = f"Buffer {buffer.id!r} is written by {writer!r}: no such op."
            yield Fault(f"/buffers/{i}/written_by", FaultCode.UNKNOWN_OP, detail)
        for place, reader in enumerate(buffer.read_by):
            pointer = f"/buffers/{i}/read_by/{place}"
            if reader not in index:
                detail = f"Buffer {buffer.id!r} is read by {reader!r}: no such op."
                yield Fault(pointer, FaultCode.UNKNOWN_OP, detail)
            elif writer in index and writer is not None and before is not None:
                at, from_ = index[reader], index[writer]
                if at != from_ and not before[at] >> from_ & 1:
                    detail = (
                        f"Buffer {buffer.id!r} is read by {reader!r}, which does not come after "
                        f"its writer {writer!r}."
                    )
                    yield Fault(pointer, FaultCode.OUT_OF_RANGE, detail)


def _before(preds: Sequence[Sequence[int]], order: Sequence[int]) -> list[int]:
    """Set of all ops before each, as a bit mask."""
    before = [0] * len(preds)
    for i in order:
        mask = 0
        for j in preds[i]:
            mask |= before[j] | 1 << j
        before[i] = mask
    return before
