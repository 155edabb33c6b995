"""Chakra ``.et`` files: a metadata message, then one message a node, each after its length.

The messages are built from the field numbers of MLCommons' schema (package ``ChakraProtoMsg``)
rather than generated from it; fields that nobody here reads are left out, and the ``protobuf``
library passes over them. Enums are plain integers, so a value that is not known yet is no error.
The library is imported when a message is read or written: it takes time.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from io import BytesIO
from itertools import count
from typing import Any

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER
from solver.traces.cut_files import CutFile

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


_SCALARS = {
    "double": 1,
    "float": 2,
    "int64": 3,
    "uint64": 4,
    "int32": 5,
    "fixed64": 6,
    "fixed32": 7,
    "bool": 8,
    "string": 9,
    "uint32": 13,
    "sfixed32": 15,
    "sfixed64": 16,
    "sint32": 17,
    "sint64": 18,
}


_MESSAGE = 11


_ONE, _MANY = 1, 3


#: How a field is written, by the last bits of its tag: in so many bytes; as a number that so many
#: times itself in bytes follow; or as a group, which nobody writes any more.
_WIDTHS, _NUMBERS, _GROUP = {1: 8, 5: 4}, {0: 0, 2: 1}, 3


#: The bytes of a number but its last are not less, and it has so many bytes at most.
_MORE, _LONGEST = 0x80, 10


#: A message may be so many times as long as all before it, and not be taken for a broken length.
_TIMES_LONGEST = 16


#: Number of each field, by the name of its type; a star marks a repeated one.
_FIELDS: dict[str, dict[str, tuple[int, str]]] = {
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


def _field(name: str, number: int, kind: str) -> dict[str, Any]:
    """Describe a field as descriptor.proto does; the values of an attribute exclude each other."""
    known = kind.removesuffix("*")
    label = _MANY if kind.endswith("*") else _ONE
    scalar = {"type": _SCALARS[known]} if known in _SCALARS else {}
    message = {} if scalar else {"type": _MESSAGE, "type_name": f".{_PACKAGE}.{known}"}
    choice = {"oneof_index": 0} if name.endswith(("_val", "_list")) else {}
    return {"name": name, "number": number, "label": label, **scalar, **message, **choice}


@cache
def _messages() -> dict[str, Any]:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415
    from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415
    from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415

    described = [
        {
            "name": name,
            "field": [_field(field, *rest) for field, rest in fields.items()],
            "oneof_decl": [{"name": "value"}] if name == "AttributeProto" else [],
        }
        for name, fields in _FIELDS.items()
    ]
    pool = DescriptorPool()
    pool.Add(
        FileDescriptorProto(
            name="chakra.proto", package=_PACKAGE, syntax="proto3", message_type=described
        )
    )
    return {
        name: GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _FIELDS
    }


def metadata(**fields: Any) -> Any:
    """Make the message that a file begins with."""
    return _messages()["GlobalMetadata"](**fields)


def node(**fields: Any) -> Any:
    """Make the message of a node."""
    return _messages()["Node"](**fields)


def attributes(message: Any) -> dict[str, Any]:
    """Read the attributes of a message; None for a list, which nobody here reads."""
    values = {}
    for attribute in message.attr:
        which = attribute.WhichOneof("value")
        is_one = which is not None and which.endswith("_val")
        values[attribute.name] = getattr(attribute, which) if is_one else None
    return values


class _Content(BytesIO):
    """Bytes of a file; to the parser a message that is cut short would look like a wrong one."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self._end = len(content)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read so many bytes.

        Raises
        ------
        EOFError
            When fewer are left; none for one, as at the end of the file, is no error.
        """
        left = self._end - self.tell()
        if size is not None and size > max(left, 1):
            raise EOFError(f"should have {size} bytes, and {left} are left")
        return super().read(size)


def may_begin(content: bytes) -> bool:
    """Tell, without the library, whether a file may begin with metadata.

    That is whether the fields of the first message fill its length and one is known; no message has
    less.
    """
    is_known = content[:1] == b"\0"
    try:
        length, at = _number(content, 0)
        end = at + length
        while at < end:
            tag, at = _number(content, at)
            field, wire = divmod(tag, 8)
            if wire == _GROUP:
                return True
            if wire in _WIDTHS:
                at += _WIDTHS[wire]
            elif wire in _NUMBERS:
                number, at = _number(content, at)
                at += _NUMBERS[wire] * number
            else:
                return False
            is_known = is_known or field in _METADATA
    except EOFError:
        return False
    return is_known and at == end <= len(content)


def _number(content: bytes, at: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, the lowest first; return it and where it ends."""
    value = 0
    for place, byte in enumerate(content[at : at + _LONGEST]):
        value |= byte % _MORE << 7 * place
        if byte < _MORE:
            return value, at + place + 1
    raise EOFError


def cut_messages(content: bytes) -> CutFile | None:
    """Return the messages before one that the file ends in; None where that is not what it is.

    A length that is not that of any message, as of a broken file, is more than
    :data:`_TIMES_LONGEST` times that of all before.

    Notes
    -----
    O(messages).
    """
    at = end = messages = longest = 0
    while at < len(content):
        try:
            length, begin = _number(content, at)
        except EOFError:
            length, begin = 0, len(content) + 1
        end = begin + length
        if end > len(content):
            break
        at, messages, longest = end, messages + 1, max(longest, length)
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
    from google.protobuf.proto import parse_length_prefixed  # noqa: PLC0415

    source = _Content(content)
    for place in count():  # pragma: no branch - the file ends it
        kind, name = ("Node", "node") if place else ("GlobalMetadata", "metadata")
        try:
            message = parse_length_prefixed(_messages()[kind], source)
        except EOFError as error:
            detail = f"Message {place} {error}: cut short?"
            raise InvalidTrace([Fault(f"/{place}", FaultCode.TRUNCATED, detail)]) from None
        except ValueError:
            detail = f"Message {place} does not end: cut short?"
            raise InvalidTrace([Fault(f"/{place}", FaultCode.TRUNCATED, detail)]) from None
        except DecodeError:
            detail = f"Message {place} is not a Chakra {name}."
            raise InvalidTrace([Fault(f"/{place}", FaultCode.WRONG_FORMAT, detail)]) from None
        if message is None:
            return
        yield message


def encode(messages: Iterable[Any]) -> bytes:
    """Write messages one after the other, each after its length."""
    from google.protobuf.proto import serialize_length_prefixed  # noqa: PLC0415

    content = BytesIO()
    for message in messages:
        serialize_length_prefixed(message, content)
    return content.getvalue()
