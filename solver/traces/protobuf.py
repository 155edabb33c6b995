"""Messages of a published schema, made of a table of its field numbers rather than generated.

Fields that nobody here reads are left out of a table, and the ``protobuf`` library passes over
them. Enums are plain integers, so a value that is not known yet is no error; a map is a repeated
message of ``key`` and ``value``. The library is imported when a message is read or written: it
takes time.
"""

from collections.abc import Mapping
from typing import Any

#: Name of each message, and in it number and type of each field by name; a star marks a repeated
#: one.
Schema = Mapping[str, Mapping[str, tuple[int, str]]]

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
    "bytes": 12,
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
MORE, LONGEST = 0x80, 10


def messages(package: str, schema: Schema, choices: Mapping[str, tuple[str, ...]]) -> Any:
    """Make the classes of a schema's messages, by name.

    Parameters
    ----------
    package
        That the messages are of; no other schema may have it.
    schema
        Their fields.
    choices
        Fields of a message that exclude each other (``oneof value``), by the message.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415
    from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415
    from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415

    described = [
        {
            "name": name,
            "field": [
                _field(package, field, *rest, is_choice=field in choices.get(name, ()))
                for field, rest in fields.items()
            ],
            "oneof_decl": [{"name": "value"}] if name in choices else [],
        }
        for name, fields in schema.items()
    ]
    pool = DescriptorPool()
    pool.Add(
        FileDescriptorProto(
            name=f"{package}.proto", package=package, syntax="proto3", message_type=described
        )
    )
    return {
        name: GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in schema
    }


def _field(package: str, name: str, number: int, kind: str, *, is_choice: bool) -> dict[str, Any]:
    """Describe a field as descriptor.proto does."""
    known = kind.removesuffix("*")
    label = _MANY if kind.endswith("*") else _ONE
    scalar = {"type": _SCALARS[known]} if known in _SCALARS else {}
    message = {} if scalar else {"type": _MESSAGE, "type_name": f".{package}.{known}"}
    choice = {"oneof_index": 0} if is_choice else {}
    return {"name": name, "number": number, "label": label, **scalar, **message, **choice}


def number_at(content: bytes, at: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, the lowest first; return it and where it ends.

    Raises
    ------
    EOFError
        When it does not end.
    """
    value = 0
    for place, byte in enumerate(content[at : at + LONGEST]):
        value |= byte % MORE << 7 * place
        if byte < MORE:
            return value, at + place + 1
    raise EOFError


def field_at(content: bytes, at: int) -> tuple[int, int, int | None]:
    """Read the tag of a field: its number, and where its value begins and ends.

    The end is past the content where the content is cut, and None of a group, whose fields alone
    tell where it ends.

    Raises
    ------
    EOFError
        When there is no tag, or its value is written in no known way.
    """
    tag, at = number_at(content, at)
    field, wire = divmod(tag, 8)
    if wire == _GROUP:
        return field, at, None
    if wire in _WIDTHS:
        return field, at, at + _WIDTHS[wire]
    if wire not in _NUMBERS:
        raise EOFError
    length, end = number_at(content, at)
    return field, end if _NUMBERS[wire] else at, end + _NUMBERS[wire] * length
