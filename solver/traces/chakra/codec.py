"""Chakra ``.et`` files: a metadata message, then one message a node, each after its length.

The messages are built from the field numbers of MLCommons' schema (package ``ChakraProtoMsg``)
rather than generated from it; fields that nobody here reads are left out, and the ``protobuf``
library passes over them. Enums are plain integers, so a value that is not known yet is no error.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER

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
        "string_val": (29, "string"),
    },
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


_LONGEST_VARINT = 10


def _field(name: str, number: int, kind: str) -> dict[str, Any]:
    """Describe a field as descriptor.proto does; the values of an attribute exclude each other."""
    known = kind.removesuffix("*")
    label = _MANY if kind.endswith("*") else _ONE
    scalar = {"type": _SCALARS[known]} if known in _SCALARS else {}
    message = {} if scalar else {"type": _MESSAGE, "type_name": f".{_PACKAGE}.{known}"}
    choice = {"oneof_index": 0} if name.endswith("_val") else {}
    return {"name": name, "number": number, "label": label, **scalar, **message, **choice}


def _messages() -> dict[str, Any]:
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


_CLASSES = _messages()


GlobalMetadata = _CLASSES["GlobalMetadata"]


Node = _CLASSES["Node"]


def attributes(message: Any) -> dict[str, Any]:
    """Read the attributes of a message; None for a list, which nobody here reads."""
    found = {}
    for attribute in message.attr:
        which = attribute.WhichOneof("value")
        found[attribute.name] = getattr(attribute, which) if which else None
    return found


def decode(content: bytes) -> Iterator[Any]:
    """Read the metadata, then one node after the other.

    Raises
    ------
    InvalidTrace
        At the first message that is cut short or is none; the pointer is its place in the file,
        from 0.
    """
    at = place = 0
    while at < len(content):
        kind, name = (Node, "node") if place else (GlobalMetadata, "metadata")
        start, size = _varint(content, at, place)
        at = start + size
        if at > len(content):
            left = len(content) - start
            detail = f"Message {place} should have {size} bytes, and {left} are left: cut short?"
            raise InvalidTrace([Fault(f"/{place}", FaultCode.TRUNCATED, detail)])
        try:
            yield kind.FromString(content[start:at])
        except DecodeError:
            detail = f"Message {place} is not a Chakra {name}."
            raise InvalidTrace([Fault(f"/{place}", FaultCode.WRONG_FORMAT, detail)]) from None
        place += 1


def _varint(content: bytes, at: int, place: int) -> tuple[int, int]:
    """Read a number of 7 bits a byte, least first; return where it ends, and it."""
    value = 0
    for i, byte in enumerate(content[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follow
            return at + i + 1, value
    detail = f"The length of message {place} does not end."
    raise InvalidTrace([Fault(f"/{place}", FaultCode.TRUNCATED, detail)])


def encode(messages: Iterable[Any]) -> bytes:
    """Write messages one after the other, each after its length."""
    found = bytearray()
    for message in messages:
        content = message.SerializeToString(deterministic=True)
        size = len(content)
        while size > 0x7F:  # noqa: PLR2004 - what fits a byte
            found.append(size & 0x7F | 0x80)
            size >>= 7
        found.append(size)
        found += content
    return bytes(found)
