"""How times, sizes and faults are said: values, rules in words, and which name may be meant."""

import json
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Self

#: A value is shown up to so many characters, and names of more are not compared.
_LONGEST = 60

#: Names are near of which so much agrees, as difflib counts it. Of shorter ones less does with one
#: wrong letter.
_NEAR, _SHORT = 0.75, 3

#: So many names are looked at of which less agrees.
_LIKELY = 5

#: So many of the known names are listed beside one that is unknown.
_LISTED = 20

#: The units of memory, the greatest first.
_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))

#: From here on, powers of two are written as such.
_PLAIN = 2**31


class LongInteger(float):
    """An integer of more digits than are read: infinite to every limit, shown as it was written."""

    def __new__(cls, digits: str) -> Self:
        """Make it of its digits, of which a message has the first."""
        found = super().__new__(cls, "-inf" if digits.startswith("-") else "inf")
        found.digits = digits[: _LONGEST + 1]
        return found

    digits: str

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy it with its digits."""
        return LongInteger, (self.digits,)


def shown(value: Any) -> str:
    """Write a value for a message, briefly and as JSON has it."""
    if isinstance(value, list | tuple | dict):
        return f"{len(value):,} {'fields' if isinstance(value, dict) else 'items'}"
    try:
        plain = value[:_LONGEST] if isinstance(value, str) else value
        text = value.digits if isinstance(value, LongInteger) else json.dumps(plain)
    except (TypeError, ValueError):  # what JSON has not
        text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def number(value: float) -> str:
    """Write a limit."""
    if isinstance(value, int) and value >= _PLAIN and value & (value - 1) == 0:
        return f"2^{value.bit_length() - 1}"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def ms(time_us: float) -> str:
    """Write a time in milliseconds, to the microsecond."""
    return f"{time_us / 1e3:,.3f} ms"


def memory_size(size: float, digits: int = 3) -> str:
    """Write bytes of memory in units of 1,024, as what it holds is counted."""
    for unit, worth in _UNITS:
        if size >= worth:
            return f"{size / worth:,.{digits}f} {unit}"
    return f"{size:,.0f} B"


def exact_size(size: int) -> str:
    """Write bytes with a unit of 1,024 where that is exact, else as they are."""
    for unit, worth in _UNITS:
        if size >= worth and size % worth == 0:
            return f"{size // worth:,} {unit}"
    return f"{size:,} B"


def ranged(least: float, most: float) -> str:
    """Say which numbers are right."""
    return f"{number(least)} to {number(most)}"


def one_of(names: Iterable[str]) -> str:
    """Say which words are right."""
    return f"one of {', '.join(names)}"


def some_of(names: Collection[str]) -> str:
    """List names that are known, the first of many: messages stay short however many there are."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, islice(names, _LISTED))) + more


def nearest(name: Any, known: Iterable[str]) -> str | None:
    """Return the known name that a wrong one is near to, in whatever case; None for none.

    Three letters of four agree, or one is a part of the other, or the name is of three letters:
    names of fields share words and units, as ``time_limit_s`` and ``memory_limit_bytes`` do.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - takes time

    if not isinstance(name, str) or len(name) > _LONGEST:
        return None
    names, given = {each.lower(): each for each in known}, name.lower()
    close = get_close_matches(given, names, 1, _NEAR)
    if not close:
        likely = get_close_matches(given, names, _LIKELY)
        close = [each for each in likely if given in each or each in given or len(given) <= _SHORT]
    return names[close[0]] if close else None


def meant(name: Any, known: Iterable[str]) -> str:
    """Say which known name may be meant, as a sentence behind another; "" for none."""
    near = nearest(name, known)
    return f" Did you mean {near}?" if near else ""


def must_be(what: str, rule: str, value: Any, known: Iterable[str] = ()) -> str:
    """Say that something is not as a rule wants it; of a name also which of the known is near."""
    return f"{what} must be {rule}, got {shown(value)}.{meant(value, known)}"


def larger_than_the_job(groups: Iterable[tuple[str, int]], world: int | None) -> Iterator[str]:
    """Say which groups, of so many ranks, have more than their job.

    ``world`` are the ranks of the job; None where nobody knows.
    """
    for name, ranks in dict.fromkeys(groups):
        if world is not None and ranks > world:
            yield (
                f"Process group {name} has {ranks} ranks, its job {world} (world_size): one of the "
                "two is wrong. The group's are taken."
            )
