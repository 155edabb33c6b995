"""Dumps of the flight recorder that end too early: read to their last whole entry."""

import json
import re
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()
_ENTRIES = re.compile(r'"entries"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
#: What may be there of a word, or of a number after its first digits.
_PARTS = re.compile(r"t(ru?)?|f(a(ls?)?)?|n(ul?)?|[-+.eE\d]*")


class CutDump(NamedTuple):
    """What is left of a dump: its entries with what stands before them, and what is to be said."""

    value: dict[str, Any]
    said: str


def cut_dump(text: str) -> CutDump | None:
    """Return a dump up to its last whole entry; None where it has none, or more is wrong with it.

    Notes
    -----
    O(characters).
    """
    begin = _ENTRIES.search(text)
    if begin is None or not _is_cut(text):
        return None
    entries, at = [], begin.end()
    while True:
        try:
            entry, at = _DECODER.raw_decode(text, _BETWEEN.match(text, at).end())  # type: ignore[union-attr]
        except (ValueError, RecursionError):
            break
        entries.append(entry)
    try:
        top = json.loads(f"{text[: begin.start()].rstrip().removesuffix(',')}}}")
    except (ValueError, RecursionError):
        return None
    if not entries:
        return None
    said = f"A dump was cut off after entry {len(entries):,}: what is before is read."
    return CutDump({**top, "entries": entries}, said)


def _is_cut(text: str) -> bool:
    """Tell whether all that is there is JSON, and its end is missing."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        return error.msg.startswith("Unterminated") or bool(_PARTS.fullmatch(rest))
    except (ValueError, RecursionError):
        pass
    return False
