"""JSON objects one after another, a line each or over several lines, as a process appends them."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault
from solver.limits import MAX_FAULTS_SOUGHT

_DECODER = json.JSONDecoder()


class JsonRecord(NamedTuple):
    """An object, and the line that it begins in, from 1."""

    line: int
    value: dict[str, Any]


def records_of(text: str) -> Iterator[JsonRecord | Fault | None]:
    """List the objects of a text; a fault for each that is broken, None for a cut last one.

    What stands between objects is passed over, as the tags of a launcher; after
    :data:`MAX_FAULTS_SOUGHT` broken ones no more is read. O(characters).
    """
    line, at, broken = 1, 0, 0
    while at < len(text) and broken <= MAX_FAULTS_SOUGHT:
        begin = text.find("{", at)
        if begin < 0:
            return
        line += text.count("\n", at, begin)
        try:
            value, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            end = text.find("\n{", begin) % (len(text) + 1)
            if end == len(text):
                yield None
            else:
                broken += 1
                detail = f"Line {line}: the object is not whole JSON."
                yield Fault(f"/{line}", FaultCode.WRONG_FORMAT, detail)
        else:
            yield JsonRecord(line, value)
        line += text.count("\n", begin, end)
        at = end


def whole_number(value: Any, most: int) -> int | None:
    """Return a JSON value that is a whole number from 0 to ``most``; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= most and value == int(value) else None


def number(value: Any) -> float | None:
    """Return a JSON value that is a number; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")
