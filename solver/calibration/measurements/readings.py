"""What a reader finds in a file, and the samples that come of it."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from solver.calibration.measurements.lines import Figure
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.graph import first_of
from solver.limits import (
    MAX_BYTES,
    MAX_DURATION_US,
    MAX_MEASURED_TIMES,
    MAX_SAMPLES,
    MIN_TIME_US,
)

#: A time that follows from a bandwidth is a sample when its rounding is at most this share.
ROUNDING = 0.01


_COUNT_FIRST = re.compile(r"\s*(?:\S*[:>\]]\s+|\S*>:?)?(\d{1,25})(?=\s|$)", re.ASCII)


#: Lines that a note names one by one.
_NAMED = 5


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
        Collective, such as ``all_reduce``; ``other`` for one that must be named, as the file tells
        that it is one of ``possible``; None when the file does not tell.
    notes
        One sentence for each thing that was left out, assumed or found odd.
    hosts, devices
        Machines and kinds of devices that the file names, sorted.
    possible
        Collectives that the columns allow, and busbw / algbw where no program is named; empty when
        they tell nothing.
    is_per_rank
        Whether the bytes of samples are those that one rank gives, and not those of all together.
    """

    format: str
    samples: tuple[tuple[int, float], ...]
    workers: int | None
    kind: str | None
    notes: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()
    is_per_rank: bool = False


def garbled_row(number: int, line: str) -> Iterator[Reading]:
    """Note a line that starts like a row, with a whole number, but was not read as one."""
    if count := _COUNT_FIRST.match(line):
        yield Reading(number, float(count[1]), None, left_out="garbled")


class Selection(NamedTuple):
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


def samples_of(readings: Iterable[Reading | Fault], row: str = "Line") -> Selection:
    """Keep the readings that are samples, each with its time; the rest becomes notes.

    A reader puts a fault in place of a row that is broken. ``row`` is what one is called.

    Raises
    ------
    InvalidMeasurements
        With every time that is not positive or not finite and every size out of range, at
        ``/line``; when there are more than :data:`MAX_SAMPLES` samples or
        :data:`MAX_MEASURED_TIMES` times, of which no more is read; or when no sample is left.
    """
    samples: list[tuple[int, float]] = []
    used: list[Reading] = []
    left_out: dict[str, dict[int, None]] = {}

    def faults() -> Iterator[Fault]:
        for many, reading_or_fault in enumerate(readings, start=1):
            if isinstance(reading_or_fault, Fault):
                yield reading_or_fault
                continue
            reading = _with_time(reading_or_fault)
            left = reading.left_out or (None if reading.time else "no time")
            if many > MAX_MEASURED_TIMES or (left is None and len(samples) == MAX_SAMPLES):
                detail = (
                    f"{row} {reading.line}: too many; at most {MAX_SAMPLES:,} samples, and "
                    f"{MAX_MEASURED_TIMES:,} times with those that are left out, are read."
                )
                yield Fault(f"/{reading.line}", FaultCode.OUT_OF_RANGE, detail)
                return
            if reading.time is None or left is not None:
                left_out.setdefault(left or "no time", {})[reading.line] = None
            elif rule := broken_rule(reading.size, reading.time.value):
                detail = f"{row} {reading.line}: {rule}"
                yield Fault(f"/{reading.line}", FaultCode.OUT_OF_RANGE, detail)
            else:
                samples.append((round(reading.size), reading.time.value))
                used.append(reading)

    found_faults = first_of(faults())
    notes = tuple(
        f"{_row_numbers(row, list(lines))} left out: {why}." for why, lines in left_out.items()
    )
    if not found_faults and not used:
        detail = " ".join(["No row with a size and a time was found.", *notes])
        found_faults = [Fault("", FaultCode.WRONG_FORMAT, detail)]
    if found_faults:
        raise InvalidMeasurements(found_faults)
    return Selection(tuple(samples), tuple(used), notes)


def broken_rule(size: float, time: float) -> str | None:
    """Say which rule a sample breaks, if any; size in bytes, time in us."""
    if not 1 <= size <= MAX_BYTES:
        return f"bytes must be 1 to 2^60, got {size:.15g}."
    if not MIN_TIME_US <= time <= MAX_DURATION_US:
        return f"the time must be {MIN_TIME_US:g} to {MAX_DURATION_US:g} us, got {time:.15g}."
    return None


def _with_time(reading: Reading) -> Reading:
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


def _row_numbers(row: str, lines: list[int]) -> str:
    first = ", ".join(str(line) for line in lines[:_NAMED])
    more = f" and {len(lines) - _NAMED:,} more" if len(lines) > _NAMED else ""
    return f"{row}{'s' if len(lines) > 1 else ''} {first}{more}"
