"""Bytes to JSON values: NaN is told, a key may stand once in its object."""

import json
import math
import re
from codecs import BOM_UTF8
from collections import Counter
from typing import Any

from app.errors import DuplicateKey, NotJson
from solver.wording import LongInteger, shown

#: Longer integers count as infinite: no limit of ours is near, and digits cost time.
_DIGITS = 300


#: A larger number stays what it is: no limit of ours is near.
_WHOLE = 2.0**63


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(body: bytes | bytearray) -> Any:
    """Parse a body as JSON, NaN and Infinity included so that their place can be named.

    A byte order mark before it is passed over. A number without a fraction is an integer, however
    it is written: ``4000000.0`` bytes are 4,000,000.

    Raises
    ------
    NotJson
        When it is not UTF-8, not JSON, nested too deeply or holds half a surrogate pair.
    DuplicateKey
        When an object has a key twice: readers of JSON differ in which value counts.
    """
    try:
        text = body.removeprefix(BOM_UTF8).decode("utf-8")
        value = json.loads(text, parse_int=_integer, parse_float=_number, object_pairs_hook=_object)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"The body is not UTF-8: bad byte at {error.start}.") from None
    except UnicodeEncodeError:
        raise NotJson("The body holds half of a UTF-16 surrogate pair.") from None
    except json.JSONDecodeError as error:
        raise NotJson(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise NotJson("The body is nested too deeply.") from None
    return value


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else LongInteger(digits)


def _number(digits: str) -> int | float:
    return whole(float(digits))


def whole(value: float) -> int | float:
    """Return a number as an integer where it is one, is no -0 and not beyond all limits."""
    is_minus_0 = value == 0 and math.copysign(1, value) < 0
    is_whole = value.is_integer() and abs(value) <= _WHOLE and not is_minus_0
    return int(value) if is_whole else value


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
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


def repeats_key(body: bytes | bytearray) -> bool:
    """Tell whether some object of JSON in UTF-8 has a key twice, or that cannot be told.

    Fast readers keep the last one and say nothing, and readers differ in which one counts.
    """
    try:
        json.loads(body, object_pairs_hook=_refuse_repeats)
    except (DuplicateKey, ValueError, RecursionError):
        return True
    return False


def _refuse_repeats(members: list[tuple[str, Any]]) -> None:
    """Look at the keys of an object, and keep nothing of it."""
    if len(members) > 1 and len(dict(members)) < len(members):
        raise DuplicateKey
