"""What NCCL says of a call in the payload of its NVTX range: bytes, communicator, ranks.

A payload is bytes after a header of 32, which has the number of its domain, that of its schema and
how long the payload is. A schema has the name, the type and the place of each field.

References
----------
.. [1] NCCL, ``nvtx_payload_schemas.h``: the names of the fields.
.. [2] NVTX, ``nvToolsExtPayload.h``: the numbers of the types.
"""

import struct
from typing import Any, ClassVar, NamedTuple

import msgspec

from solver.traces.nsys.database import Database

_SCHEMAS = "NVTX_PAYLOAD_SCHEMA_ENTRIES"
_HEADER = struct.Struct("<IIIIQQ")
#: How numbers are written, by the number of their type.
_FORMATS = {
    **dict.fromkeys((5, 15), struct.Struct("<i")),
    **dict.fromkeys((6, 16), struct.Struct("<I")),
    **dict.fromkeys((7, 9, 17), struct.Struct("<q")),
    **dict.fromkeys((8, 10, 18, 22), struct.Struct("<Q")),
}
_FIELDS = {
    "Message size [bytes]": "bytes",
    "NCCL communicator ID": "communicator",
    "No. of ranks": "workers",
    "Rank": "rank",
}


class Payload(NamedTuple):
    """What is said of a call; None where it is not.

    Attributes
    ----------
    bytes
        Of the message: of an all-gather and of a reduce-scatter a rank's share.
    communicator
        Its number.
    workers, rank
        How many share the communicator, and which of them this is: where it is made.
    """

    bytes: int | None = None
    communicator: int | None = None
    workers: int | None = None
    rank: int | None = None


class Payloads:
    """The schemas of an export."""

    TABLES: ClassVar = (_SCHEMAS,)

    def __init__(self, database: Database) -> None:
        columns = ("domainId", "schemaId", "name", "type", "offset")
        self._fields: dict[tuple[int, int], list[tuple[str, struct.Struct, int]]] = {}
        for domain, schema, name, kind, offset in database.rows(_SCHEMAS, columns):
            place = offset or 0
            if name in _FIELDS and kind in _FORMATS and isinstance(place, int) and place >= 0:
                some = self._fields.setdefault((domain, schema), [])
                some.append((_FIELDS[name], _FORMATS[kind], place))

    def read(self, written: Any, packed: Any) -> Payload | None:
        """Read a payload from JSON, where the export has it, or as it was packed."""
        values = _written(written) if isinstance(written, str) else {}
        if not values and isinstance(packed, bytes) and len(packed) >= _HEADER.size:
            domain, _, schema, _, _, _ = _HEADER.unpack_from(packed)
            for name, form, offset in self._fields.get((domain, schema), ()):
                at = _HEADER.size + offset
                if at + form.size <= len(packed):
                    (values[name],) = form.unpack_from(packed, at)
        return Payload(**values) if values else None


def _written(text: str) -> dict[str, int]:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    values = found.items() if isinstance(found, dict) else ()
    return {_FIELDS[key]: value for key, value in values if key in _FIELDS and type(value) is int}
