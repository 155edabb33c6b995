"""Chakra ``.et`` files: a metadata message, then one message a node, each after its length.

The field numbers are those of MLCommons' schema (package ``ChakraProtoMsg``).
"""

from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from functools import cache
from io import BytesIO
from itertools import islice
from typing import Any

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER
from solver.traces.cut_files import CutFile
from solver.traces.protobuf import LONGEST, MORE, Schema, field_at, messages, number_at

#: Types of node.
COMPUTE_NODE = 4


COLLECTIVE_NODE = 7


NODE_TYPES = {
    0: "invalid",
    1: "metadata",
    2: "memory load",
    3: "memory store",
    COMPUTE_NODE: "compute",
    5: "send",
    6: "receive",
    COLLECTIVE_NODE: "collective",
}


#: Types of collective; those that the graph does not know are named, not planned.
COMM_TYPES = {
    0: ALL_REDUCE,
    1: "reduce",
    2: ALL_GATHER,
    3: "gather",
    4: "scatter",
    5: BROADCAST,
    6: ALL_TO_ALL,
    7: REDUCE_SCATTER,
    8: REDUCE_SCATTER,
    9: "barrier",
}


_PACKAGE = "ChakraProtoMsg"


#: A message may be so many times as long as all before it, and not be taken for a broken length.
_TIMES_LONGEST = 16

_FIELDS: Schema = {
    "AttributeProto": {
        "name": (1, "string"),
        "double_val": (3, "double"),
        "float_val": (5, "float"),
        "int32_val": (7, "int32"),
        "int64_val": (9, "int64"),
        "uint32_val": (11, "uint32"),
        "uint64_val": (13, "uint64"),
        "sint32_val": (15, "sint32"),
        "sint64_val": (17, "sint64"),
        "fixed32_val": (19, "fixed32"),
        "fixed64_val": (21, "fixed64"),
        "sfixed32_val": (23, "sfixed32"),
        "sfixed64_val": (25, "sfixed64"),
        "bool_val": (27, "bool"),
        "bool_list": (28, "BoolList"),
        "string_val": (29, "string"),
    },
    "BoolList": {"values": (1, "bool*")},
    "GlobalMetadata": {"version": (1, "string"), "attr": (2, "AttributeProto*")},
    "Node": {
        "id": (1, "uint64"),
        "name": (2, "string"),
        "type": (3, "int32"),
        "ctrl_deps": (4, "uint64*"),
        "data_deps": (5, "uint64*"),
        "duration_micros": (7, "uint64"),
        "attr": (10, "AttributeProto*"),
    },
}


#: Numbers of the fields of the metadata.
_METADATA = {number for number, _ in _FIELDS["GlobalMetadata"].values()}


@cache
def _messages() -> Any:
    """Make the messages; the values of an attribute exclude each other."""
    values = tuple(f for f in _FIELDS["AttributeProto"] if f.endswith(("_val", "_list")))
    return messages(_PACKAGE, _FIELDS, {"AttributeProto": values})


def metadata(**fields: Any) -> Any:
    """Make the message that a file begins with."""
    return _messages()["GlobalMetadata"](**fields)


def node(**fields: Any) -> Any:
    """Make the message of a node."""
    return _messages()["Node"](**fields)


def attributes(message: Any, names: Container[str]) -> dict[str, Any]:
    """Read attributes of a message by name; None for a list, which nobody here reads."""
    values = {}
    for attribute in message.attr:
        name = attribute.name
        if name in names:
            which = attribute.WhichOneof("value")
            is_one = which is not None and which.endswith("_val")
            values[name] = getattr(attribute, which) if is_one else None
    return values


def has_more(content: bytes, most: int) -> bool:
    """Tell whether a file has more than so many nodes; O(most), no message is looked into."""
    with suppress(EOFError, ValueError):
        return next(islice(spans(content), most + 1, None), None) is not None
    return False


def spans(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each message begins and ends, without its length.

    Raises
    ------
    EOFError
        At one that is cut short.
    ValueError
        At a length that is none.

    Notes
    -----
    O(messages).
    """
    at, size = 0, len(content)
    while at < size:
        length, begin = content[at], at + 1
        if length >= MORE:
            try:
                length, begin = number_at(content, at)
            except EOFError:
                if at + LONGEST <= size:
                    raise ValueError from None
                raise EOFError("does not end") from None
        at = begin + length
        if at > size:
            raise EOFError(f"should have {length} bytes, and {size - begin} are left")
        yield begin, at


def may_begin(content: bytes) -> bool:
    """Tell, without the library, whether a file may begin with metadata.

    That is whether the fields of the first message fill its length and one is known; no message has
    less.
    """
    is_known = content[:1] == b"\0"
    try:
        length, at = number_at(content, 0)
        end = at + length
        while at < end:
            field, _, after = field_at(content, at)
            if after is None:
                return True
            at = after
            is_known = is_known or field in _METADATA
    except EOFError:
        return False
    return is_known and at == end <= len(content)


def cut_messages(content: bytes) -> CutFile | None:
    """Return the messages before one that the file ends in; None where that is not what it is.

    A length that is not that of any message, as of a broken file, is more than
    :data:`_TIMES_LONGEST` times that of all before.

    Notes
    -----
    O(messages).
    """
    at = messages = longest = length = 0
    try:
        for begin, end in spans(content):
            at, messages, longest = end, messages + 1, max(longest, end - begin)
    except EOFError:
        with suppress(EOFError):
            length, _ = number_at(content, at)
    except ValueError:
        return None
    is_cut = messages > 1 and at < len(content) and length <= _TIMES_LONGEST * longest
    return CutFile(content[:at], messages - 1, len(content) - at, "node") if is_cut else None


def decode(content: bytes) -> Iterator[Any]:
    """Read the metadata, then one node after the other.

    Raises
    ------
    InvalidTrace
        At the first message that is cut short or is none; the pointer is its place in the file,
        from 0.
    """
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    kinds = _messages()
    parse, place = kinds["GlobalMetadata"].FromString, 0
    try:
        for begin, end in spans(content):
            yield parse(content[begin:end])
            parse, place = kinds["Node"].FromString, place + 1
    except EOFError as error:
        detail = f"Message {place} {error}: cut short?"
        raise InvalidTrace([Fault(f"/{place}", FaultCode.TRUNCATED, detail)]) from None
    except (DecodeError, ValueError):
        detail = f"Message {place} is not a Chakra {'node' if place else 'metadata'}."
        raise InvalidTrace([Fault(f"/{place}", FaultCode.WRONG_FORMAT, detail)]) from None


def encode(messages: Iterable[Any]) -> bytes:
    """Write messages one after the other, each after its length."""
    from google.protobuf.proto import serialize_length_prefixed  # noqa: PLC0415

    content = BytesIO()
    for message in messages:
        serialize_length_prefixed(message, content)
    return content.getvalue()
