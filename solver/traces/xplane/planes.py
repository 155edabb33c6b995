"""The planes of an ``XSpace``, by the numbers of its schema's fields.

References
----------
.. [1] ``xplane.proto`` of the TSL profiler (``tensorflow.profiler.XSpace``).
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.traces.cut_files import CutFile
from solver.traces.protobuf import Schema, field_at, messages

_SCHEMA: Schema = {
    "XPlane": {
        "name": (2, "string"),
        "event_metadata": (4, "EventEntry*"),
        "stat_metadata": (5, "StatEntry*"),
    },
    "EventEntry": {"key": (1, "int64"), "value": (2, "XEventMetadata")},
    "StatEntry": {"key": (1, "int64"), "value": (2, "XStatMetadata")},
    "XLine": {
        "id": (1, "int64"),
        "name": (2, "string"),
        "timestamp_ns": (3, "int64"),
        "events": (4, "XEvent*"),
        "display_id": (10, "int64"),
        "display_name": (11, "string"),
    },
    "XEvent": {
        "metadata_id": (1, "int64"),
        "offset_ps": (2, "int64"),
        "duration_ps": (3, "int64"),
        "stats": (4, "XStat*"),
    },
    "XStat": {
        "metadata_id": (1, "int64"),
        "double_value": (2, "double"),
        "uint64_value": (3, "uint64"),
        "int64_value": (4, "int64"),
        "str_value": (5, "string"),
        "bytes_value": (6, "bytes"),
        "ref_value": (7, "uint64"),
    },
    "XEventMetadata": {
        "name": (2, "string"),
        "display_name": (4, "string"),
        "stats": (5, "XStat*"),
    },
    "XStatMetadata": {"name": (2, "string")},
}
_CHOICES = {"XStat": tuple(name for name in _SCHEMA["XStat"] if name != "metadata_id")}
#: Number of the field of an XSpace that is a plane; those of a plane's number, name and lines.
_PLANE, _ID, _NAME, _LINE = 1, 1, 2, 3
#: How the names of planes begin.
_NAMES = (b"/host:", b"/device:", b"/custom:", b"Task Environment")


def is_planes(content: bytes) -> bool:
    """Tell, without the library, whether a file begins with a plane of a known name."""
    try:
        field, at, end = field_at(content, 0)
        if field != _PLANE or content[:1] != b"\n" or end is None:
            return False
        field, at, after = field_at(content, at)
        if field == _ID and after is not None:
            field, at, after = field_at(content, after)
    except EOFError:
        return False
    return field == _NAME and content.startswith(_NAMES, at)


@cache
def _schema() -> Any:
    """Return the classes of the messages, by name."""
    return messages("XPlaneProto", _SCHEMA, _CHOICES)


class Plane(NamedTuple):
    """A plane.

    Attributes
    ----------
    tables
        Its name, and the names of its events and fields.
    lines
        Each read when it is asked for: together they are large.
    """

    tables: Any
    lines: Iterator[Any]


def planes(content: bytes, place: str) -> Iterator[Plane | CutFile]:
    """Yield the planes one after the other, and how the file was cut off where it ends in one.

    Of such a plane there may be the lines, and never the names: it is left out.

    Parameters
    ----------
    content
        The file.
    place
        The pointer to it.

    Raises
    ------
    InvalidTrace
        At a plane, or a line of one, that is none.

    Notes
    -----
    O(bytes).
    """
    at = number = 0
    while at < len(content):
        try:
            field, begin, end = field_at(content, at)
        except EOFError:
            end = None
        if end is None or end > len(content):
            yield CutFile(content[:at], number, len(content) - at, "plane")
            return
        at = end
        if field == _PLANE:
            yield _plane(content, (begin, end), f"{place}/planes/{number}")
            number += 1


def _plane(content: bytes, span: tuple[int, int], place: str) -> Plane:
    """Read a plane but for its lines."""
    at, end = span
    tables: list[bytes] = []
    lines: list[tuple[int, int]] = []
    while at < end:
        begin = at
        try:
            field, inner, after = field_at(content, at)
        except EOFError:
            after = None
        if after is None or after > end:
            raise _none(place)
        at = after
        if field == _LINE:
            lines.append((inner, after))
        else:
            tables.append(content[begin:after])
    whole = _message("XPlane", b"".join(tables), place)
    return Plane(whole, (_message("XLine", content[slice(*line)], place) for line in lines))


def _message(name: str, content: bytes, place: str) -> Any:
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        return _schema()[name].FromString(content)
    except DecodeError:
        raise _none(place) from None


def _none(place: str) -> InvalidTrace:
    number = place.rpartition("/")[2]
    detail = f"Plane {number} of the profile is no XPlane."
    return InvalidTrace([Fault(place, FaultCode.WRONG_FORMAT, detail)])
