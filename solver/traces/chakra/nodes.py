"""The nodes of a Chakra file: what the reader needs of each message, checked."""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import NETWORK, first_of
from solver.limits import MAX_BYTES, MAX_CHAKRA_NODES, MAX_DURATION_US
from solver.traces.chakra.codec import COMPUTE_NODE, attributes, cut_messages, decode, has_more
from solver.traces.cut_files import CutFile

_LONGEST_NAME = 100
#: The attributes that are read.
_READ = {"is_cpu_op", "stream", "tid", "comm_type", "comm_size", "whole_size", "channel"}


class ChakraNode(msgspec.Struct, frozen=True, gc=False):
    """One node.

    Attributes
    ----------
    place
        Of its message in the file, from 1.
    id, name, type
        As in the file; the name without control characters, and not too long.
    us
        Duration [us].
    after, outer
        Ids in ``data_deps`` and ``ctrl_deps``.
    on_cpu
        Whether it ran on the CPU.
    stream
        What runs one node at a time, where the file says so.
    comm_type, bytes
        Of a collective; bytes are 0 where the file gives none.
    is_share
        Whether the bytes of an all-gather are one worker's: so the format has it.
    channel
        What carries a collective.
    """

    place: int
    id: int
    name: str
    type: int
    us: int
    after: Sequence[int]
    outer: Sequence[int]
    on_cpu: bool
    stream: str | None
    comm_type: int
    bytes: int
    is_share: bool
    channel: str


def nodes_of(content: bytes) -> tuple[list[ChakraNode], CutFile | None]:
    """Read a file's nodes, by id, and how it was cut off, if it was.

    Raises
    ------
    InvalidTrace
        More than :data:`solver.limits.MAX_CHAKRA_NODES`, before any is read; a message of another
        format or cut short before the end, an id twice, a value out of range; pointers are
        ``/message``, the metadata being 0.
    """
    if has_more(content, MAX_CHAKRA_NODES):
        detail = f"The file has more than {MAX_CHAKRA_NODES:,} nodes."
        raise InvalidTrace([Fault("", FaultCode.TOO_LARGE, detail)])
    try:
        return _nodes(content), None
    except InvalidTrace as error:
        is_short = error.faults[0].code == FaultCode.TRUNCATED
        cut = cut_messages(content) if is_short else None
        if cut is None:
            raise
        return _nodes(cut.content), cut


def _nodes(content: bytes) -> list[ChakraNode]:
    messages = decode(content)
    if next(messages, None) is None:
        raise InvalidTrace([Fault("", FaultCode.EMPTY, "The file is empty.")])
    nodes: list[ChakraNode] = []
    read = (_node(place, message) for place, message in enumerate(messages, start=1))
    if faults := first_of(_faults(read, nodes)):
        raise InvalidTrace(faults)
    return sorted(nodes, key=lambda node: node.id)


def _node(place: int, message: Any) -> ChakraNode:
    attrs = attributes(message, _READ)
    on_cpu = attrs.get("is_cpu_op") is True
    thread = attrs.get("stream", attrs.get("tid"))
    number, after, outer = message.id, message.data_deps, message.ctrl_deps
    return ChakraNode(
        place,
        number,
        _plain(message.name) or f"node {number}",
        message.type,
        message.duration_micros,
        array("Q", after) if after else (),
        array("Q", outer) if outer else (),
        on_cpu,
        None if thread is None else f"{'thread' if on_cpu else 'stream'} {thread}",
        _count(attrs.get("comm_type", 0)),
        _count(attrs.get("whole_size", attrs.get("comm_size", 0))),
        "whole_size" not in attrs,
        (_plain(str(attrs["channel"])) or NETWORK) if "channel" in attrs else NETWORK,
    )


def _plain(text: str) -> str:
    text = text[:_LONGEST_NAME]
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def _count(value: Any) -> int:
    """Return a whole number, or -1 for what is none."""
    return value if isinstance(value, int) else -1


def _faults(read: Iterator[ChakraNode], nodes: list[ChakraNode]) -> Iterator[Fault]:
    """Check nodes as they are read, and keep them: a file of faults is not read to its end."""
    places: dict[int, int] = {}
    for node in read:
        nodes.append(node)
        pointer, called = f"/{node.place}", f"Node {node.id}"
        if node.id in places:
            detail = f"{called} is there twice: messages {places[node.id]} and {node.place}."
            yield Fault(pointer, FaultCode.DUPLICATE_ID, detail)
        places[node.id] = node.place
        if node.type == COMPUTE_NODE and node.us > MAX_DURATION_US:
            detail = f"{called}: duration_micros must be 0 to {MAX_DURATION_US:g}, got {node.us}."
            yield Fault(pointer, FaultCode.OUT_OF_RANGE, detail)
        if not 0 <= node.bytes <= MAX_BYTES:
            yield Fault(
                pointer, FaultCode.OUT_OF_RANGE, f"{called}: comm_size must be 0 to 2^60 bytes."
            )
