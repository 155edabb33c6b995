"""Keys of JSON objects: each may stand once in its object, for readers differ in which one counts.

Fast readers keep the last one and say nothing. But each text stands between two quotation marks, so
where there are more of them than texts that were read, one was dropped.
"""

from collections import Counter
from typing import Any

import numpy as np

from app.errors import DuplicateKey
from app.faults import shown

_QUOTE, _ESCAPE = b'"\\'
#: So many bytes are looked at together.
_AT_ONCE = 2**16


def object_of(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its members, for :func:`json.loads`.

    Raises
    ------
    DuplicateKey
        When two have one key.
    """
    found = dict(members)
    if len(found) < len(members):
        key, _ = Counter(key for key, _ in members).most_common(1)[0]
        raise DuplicateKey(f"An object of the body has the key {shown(key)} twice.")
    return found


def texts_of(value: Any) -> int:
    """Count the texts in a JSON value, keys of objects included."""
    if isinstance(value, dict):
        return len(value) + sum(map(texts_of, value.values()))
    if isinstance(value, list):
        return sum(map(texts_of, value))
    return isinstance(value, str)


def may_repeat(body: bytes | bytearray, texts: int) -> bool:
    """Tell whether JSON may repeat a key, when so many texts were read of it.

    True also when that cannot be told so fast: when a text has a quotation mark, or ends with a
    backslash. O(bytes), at some gigabytes a second.
    """
    found, codes = 0, np.frombuffer(body, np.uint8)
    has_escapes = b"\\" in body
    for i in range(1, len(codes), _AT_ONCE):  # an object does not begin with a quotation mark
        marks = codes[i : i + _AT_ONCE] == _QUOTE
        if has_escapes and np.any(marks & (codes[i - 1 : i - 1 + len(marks)] == _ESCAPE)):
            return True
        found += int(np.count_nonzero(marks))
    return found != 2 * texts
