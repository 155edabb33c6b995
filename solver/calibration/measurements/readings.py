"""What a reader finds in a file, and the samples that come of it."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.graph import first_of
from solver.limits import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_DURATION_US,
    MAX_LINE_CHARACTERS,
    MAX_MEASURED_TIMES,
    MAX_SAMPLES,
    MAX_TEXT_LINES,
    MIN_TIME_US,
)

#: A time that follows from a bandwidth is a sample when its rounding is at most this share.
ROUNDING = 0.01


#: Longest number [characters].
_LONGEST_NUMBER = 50


#: Lines that a note names one by one.
_NAMED = 5


#: Worth of units of time [us] and of bandwidth [bytes/us].
TIME_UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


SPEED_UNITS = {"GB/s": 1e3, "MB/s": 1.0, "KB/s": 1e-3, "GiB/s": 1073.741824, "MiB/s": 1.048576}


#: Tokens at the start of a line that may come from a launcher.
_PREFIX_TOKENS = 4


_PREFIX = re.compile(r"[:>\]]")


_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?", re.ASCII)


_NOT_FINITE = frozenset({"inf", "-inf", "+inf", "infinity", "nan", "-nan", "+nan"})


_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


_INK = re.compile(r"\S")


_COUNT_FIRST = re.compile(r"\s*(?:\S*[:>\]]\s+|\S*>:?)?(\d{1,25})(?=\s|$)", re.ASCII)


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


class Reading(NamedTuple):
    """One time of one row.

    Attributes
    ----------
    line
        Line of the file, from 1.
    size
        Bytes.
    time
        Time [us]; None when the row gives none.
    algbw, busbw
        Bytes over time, and that times the collective's factor [bytes/us]; None when not given.
    left_out
        Why it is no sample; None when it is one.
    """

    line: int
    size: float
    time: Figure | None
    algbw: Figure | None = None
    busbw: Figure | None = None
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Measurements:
    """Samples of a collective, as a benchmark printed them.

    Attributes
    ----------
    format
        Name of the format.
    samples
        Pairs of bytes and time [us] in the order of the file; a size may be there many times.
    workers
        Ranks that took part; None when the file does not tell.
    kind
        Collective, such as ``all_reduce``; ``other`` for one that is no all-reduce; None when the
        file does not tell.
    notes
        One sentence for each thing that was left out, assumed or found odd.
    """

    format: str
    samples: tuple[tuple[int, float], ...]
    workers: int | None
    kind: str | None
    notes: tuple[str, ...]


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


def without_prefix(line: str) -> Iterator[list[str]]:
    """List what the tokens of a line may be without ``0:``, ``[1,0]<stdout>:``, ``host:``, a date.

    The prefix is up to three tokens, or stands before the first one without a space. A line of
    more than :data:`MAX_COLUMNS` tokens is nothing.
    """
    tokens = line.split(maxsplit=MAX_COLUMNS)
    if len(tokens) > MAX_COLUMNS:
        return
    for at in range(min(_PREFIX_TOKENS, len(tokens))):
        yield [_PREFIX.split(tokens[0])[-1], *tokens[1:]] if at == 0 else tokens[at:]


def garbled(number: int, line: str) -> Iterator[Reading]:
    """Note a line that starts like a row, with a whole number, but was not read as one."""
    if count := _COUNT_FIRST.match(line):
        yield Reading(number, float(count[1]), None, left_out="garbled")


class Kept(NamedTuple):
    """What is left of a file.

    Attributes
    ----------
    samples
        Pairs of bytes and time [us].
    readings
        Where they come from, each with its time.
    notes
        What was left out.
    """

    samples: tuple[tuple[int, float], ...]
    readings: tuple[Reading, ...]
    notes: tuple[str, ...]


def samples_of(readings: Iterable[Reading | Fault]) -> Kept:
    """Keep the readings that are samples, each with its time; the rest becomes notes.

    A reader puts a fault in place of a row that is broken.

    Raises
    ------
    InvalidMeasurements
        With every time that is not positive or not finite and every size out of range, at
        ``/line``; when there are more than :data:`MAX_SAMPLES` samples or
        :data:`MAX_MEASURED_TIMES` times, of which no more is read; or when no sample is left.
    """
    samples: list[tuple[int, float]] = []
    kept: list[Reading] = []
    left_out: dict[str, dict[int, None]] = {}

    def faults() -> Iterator[Fault]:
        for many, found in enumerate(readings, start=1):
            if isinstance(found, Fault):
                yield found
                continue
            reading = _timed(found)
            left = reading.left_out or (None if reading.time else "no time")
            if many > MAX_MEASURED_TIMES or (left is None and len(samples) == MAX_SAMPLES):
                detail = (
                    f"Line {reading.line}: too many; at most {MAX_SAMPLES:,} samples, and "
                    f"{MAX_MEASURED_TIMES:,} times with those that are left out, are read."
                )
                yield Fault(f"/{reading.line}", FaultCode.OUT_OF_RANGE, detail)
                return
            if reading.time is None or left is not None:
                left_out.setdefault(left or "no time", {})[reading.line] = None
            elif rule := broken_rule(reading.size, reading.time.value):
                detail = f"Line {reading.line}: {rule}"
                yield Fault(f"/{reading.line}", FaultCode.OUT_OF_RANGE, detail)
            else:
                samples.append((round(reading.size), reading.time.value))
                kept.append(reading)

    found = first_of(faults())
    notes = tuple(f"{_named(list(lines))} left out: {why}." for why, lines in left_out.items())
    if not found and not kept:
        detail = " ".join(["No row with a size and a time was found.", *notes])
        found = [Fault("", FaultCode.WRONG_FORMAT, detail)]
    if found:
        raise InvalidMeasurements(found)
    return Kept(tuple(samples), tuple(kept), notes)


def broken_rule(size: float, time: float) -> str | None:
    """Say which rule a sample breaks, if any; size in bytes, time in us."""
    if not 1 <= size <= MAX_BYTES:
        return f"bytes must be 1 to 2^60, got {size:.15g}."
    if not MIN_TIME_US <= time <= MAX_DURATION_US:
        return f"the time must be {MIN_TIME_US:g} to {MAX_DURATION_US:g} us, got {time:.15g}."
    return None


def _timed(reading: Reading) -> Reading:
    """Give a reading without a time that of its bandwidth, or the reason to leave it out."""
    speed = reading.algbw
    if reading.size == 0:
        return reading._replace(left_out=reading.left_out or "0 bytes")
    if reading.time is not None or speed is None:
        return reading
    if not speed.half <= ROUNDING * speed.value:
        return reading._replace(left_out="no time, and the bandwidth has too few digits for one")
    time = reading.size / speed.value if speed.value else math.inf
    return reading._replace(time=Figure(time, ROUNDING * time))


def _named(lines: list[int]) -> str:
    first = ", ".join(str(line) for line in lines[:_NAMED])
    more = f" and {len(lines) - _NAMED:,} more" if len(lines) > _NAMED else ""
    return f"Line{'s' if len(lines) > 1 else ''} {first}{more}"
