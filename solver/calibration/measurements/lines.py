"""The lines of a benchmark's output, and the numbers in them as they are printed."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.limits import MAX_COLUMNS, MAX_LINE_CHARACTERS, MAX_TEXT_LINES

#: Longest number [characters].
_LONGEST_NUMBER = 50


#: Worth of units of bandwidth [bytes/us].
SPEED_UNITS = {"GB/s": 1e3, "MB/s": 1.0, "KB/s": 1e-3, "GiB/s": 1073.741824, "MiB/s": 1.048576}


#: Tokens at the start of a line that may come from a launcher.
_PREFIX_TOKENS = 4


_PREFIX = re.compile(r"[:>\]]")


#: What a launcher writes before a line, wherever its lines were glued together: ``[0]``,
#: ``[1,0]<stdout>:``.
_LAUNCHER = re.compile(r"\[\d{1,6}(?:,\d{1,6})?\](?:<std(?:out|err)>)?:?|<std(?:out|err)>:?")


#: The same inside a row, which has no brackets and no colons of its own: also ``node3:``, ``0:``
#: and a time of day, which is a column where nothing follows it.
_IN_ROW = re.compile(
    r"\[[^\[\]]{1,60}\]:?"
    r"|(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?:?(?=\s*\S)"
    r"|(?<=[\d\s])[A-Za-z][\w.-]{0,63}:(?=\s)|(?<=\s)\d{1,6}:(?=\s)",
    re.ASCII,
)


_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?", re.ASCII)


_NOT_FINITE = frozenset({"inf", "-inf", "+inf", "infinity", "nan", "-nan", "+nan"})


_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


_INK = re.compile(r"\S")


class Figure(NamedTuple):
    """A number as printed.

    Attributes
    ----------
    value
        The number, in the unit the reader works in.
    half
        Half a unit of its last digit, so that what was measured lies within value +- half.
    """

    value: float
    half: float


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    r"""List the lines that are not blank, without colours, with their numbers from 1.

    \n, \r\n and \r end a line. O(characters).

    Raises
    ------
    InvalidMeasurements
        At a line that is longer than :data:`MAX_LINE_CHARACTERS`, or after :data:`MAX_TEXT_LINES`.
    """
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    plain = _ANSI.sub("", plain) if "\x1b" in plain else plain
    listed, number, end = 0, 1, 0
    while ink := _INK.search(plain, end):
        start = plain.rfind("\n", end, ink.start()) + 1
        number += plain.count("\n", end, start)
        end = plain.find("\n", start) % (len(plain) + 1)
        listed += 1
        if listed > MAX_TEXT_LINES or end - start > MAX_LINE_CHARACTERS:
            detail = (
                f"Line {number}: too long; at most {MAX_TEXT_LINES:,} lines that are not blank, of "
                f"at most {MAX_LINE_CHARACTERS:,} characters, are read."
            )
            raise InvalidMeasurements([Fault(f"/{number}", FaultCode.OUT_OF_RANGE, detail)])
        yield number, plain[start:end]


def figure(token: str, unit: float = 1.0) -> Figure | None:
    """Read a number and its rounding; None when it is not a number.

    ``unit`` is what one of it is worth. Zeros at the end of a whole number may be padding, so
    they do not count as digits; inf and nan are numbers here, for the checks to find.
    """
    if len(token) > _LONGEST_NUMBER:
        return None
    if not _NUMBER.fullmatch(token):
        return Figure(float(token), 0.0) if token.lower() in _NOT_FINITE else None
    digits, _, power = token.lower().partition("e")
    whole, point, decimals = digits.partition(".")
    last = -len(decimals) if point else len(whole) - len(whole.rstrip("0"))
    half = 0.5 * 10.0 ** min(last + int(power or 0), 300)
    return Figure(float(token) * unit, half * unit)


def is_count(token: str) -> bool:
    """Tell whether a token is a whole number >= 0 of a sane length."""
    return token.isascii() and token.isdigit() and len(token) <= 25  # noqa: PLR2004


def untagged(line: str) -> str:
    """Return a line without ``[0]`` and ``[1,0]<stdout>:``, wherever a launcher put them."""
    return _LAUNCHER.sub(" ", line) if "[" in line or "<std" in line else line


def without_prefix(line: str) -> Iterator[list[str]]:
    """List what the tokens of a line may be without ``0:``, ``[1,0]<stdout>:``, ``host:``, a date.

    The prefix is up to three tokens, or stands before the first one without a space. Tags of a
    launcher are left out wherever they are. A line of more than :data:`MAX_COLUMNS` tokens is
    nothing.
    """
    line = untagged(line)
    line = _IN_ROW.sub(" ", line) if "[" in line or ":" in line else line
    tokens = line.split(maxsplit=MAX_COLUMNS)
    if len(tokens) > MAX_COLUMNS:
        return
    for at in range(min(_PREFIX_TOKENS, len(tokens))):
        yield [_PREFIX.split(tokens[0])[-1], *tokens[1:]] if at == 0 else tokens[at:]
