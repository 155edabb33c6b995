"""CSV: a table of sizes and times whose header names the columns and their units.

``size(B),time(ns)``, ``bytes;time_us``, ``size_kb``, ``latency(us)``, ``t(ms)``, ``algbw(GB/s)``;
separated by comma, semicolon (then a comma may be the decimal point) or tab. Each column of times
is a sample of its own; busbw stands beside the time or algbw before it; ``workers``, ``ranks`` or
``np`` is the same in all rows. Without a header two columns are bytes and us.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, zip_longest

from solver.calibration.measurements.lines import SPEED_UNITS, Figure, figure, lines_of
from solver.calibration.measurements.ranks import ranks_of
from solver.calibration.measurements.readings import Measurements, Reading, samples_of
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.limits import MAX_COLUMNS, MAX_HEADER_LINES, MAX_WORKERS
from solver.units import TIME_UNITS

FORMAT = "csv"


SEPARATORS = ",;\t"


_WORDS = re.compile(r"[A-Za-zµμ]+(?:/s)?")


_NONE = {"", "n/a", "na", "none", "null", "-"}


_SIZE_UNITS: dict[str, float] = {
    "b": 1,
    "byte": 1,
    "bytes": 1,
    "nbytes": 1,
    **{f"{k}b": 1000**i for i, k in enumerate("kmgt", start=1)},
    **{f"{k}ib": 1024**i for i, k in enumerate("kmgt", start=1)},
}


_TIME_UNITS = TIME_UNITS | {"µs": 1.0, "μs": 1.0, "usec": 1.0, "msec": 1e3, "sec": 1e6}


_SPEED_UNITS = SPEED_UNITS | {"Gb/s": 125.0, "Gbit/s": 125.0, "Gbps": 125.0, "gbps": 125.0}


_SIZE_NAMES = {"size", "sizes", "bytes", "nbytes"}


_TIME_NAMES = {"time", "times", "latency", "duration", "t"}


_RANK_NAMES = {"workers", "nworkers", "ranks", "nranks", "np", "worldsize"}


#: Columns that are about the time but are not the mean of one row.
_ASIDE = {"min", "max", "std", "stddev", "stdev", "cpu", "p", "count", "iterations"}


@dataclass(frozen=True, slots=True)
class _Column:
    """What a column holds: size, time, algbw, busbw, ranks or other; what one of it is worth."""

    place: int
    name: str
    role: str
    unit: float
    assumed: str | None = None


def read(text: str) -> tuple[Measurements, ...]:
    """Read a table; a GB is 10^9 bytes and a GiB 2^30, a kB 1000 and a KiB 1024.

    Rows of 0 bytes or without a time are left out and noted; the time is size / algbw when the
    table has only that.

    Raises
    ------
    InvalidMeasurements
        When the columns cannot be told or are more than :data:`MAX_COLUMNS`, and with every row
        whose figures are no numbers, are out of range, or are of other workers than those before.

    Notes
    -----
    O(characters).
    """
    workers: list[int] = []
    header, separator, lines = _header(lines_of(text))
    selection = samples_of(_readings(header, separator, lines, workers))
    ranks = ranks_of(selection.readings, workers[0] if workers else None, None)
    assumed = tuple(column.assumed for column in header if column.assumed)
    run = Measurements(
        format=FORMAT,
        samples=selection.samples,
        workers=ranks.workers,
        kind=ranks.kind,
        notes=(*assumed, *selection.notes, *ranks.notes),
        possible=ranks.possible,
    )
    return (run,)


def _header(
    numbered: Iterator[tuple[int, str]],
) -> tuple[list[_Column], str, Iterator[tuple[int, str]]]:
    """Return the columns, the separator, and the lines of data.

    Raises
    ------
    InvalidMeasurements
        When the first line that is no comment is neither a header nor a pair of numbers.
    """
    for number, line in islice(numbered, MAX_HEADER_LINES):
        content = line.strip().lstrip("#").strip()
        separator = max(SEPARATORS, key=content.count)
        cells = next(csv.reader([content], delimiter=separator), [])
        if len(cells) > MAX_COLUMNS:
            detail = f"Line {number}: {len(cells):,} columns; at most {MAX_COLUMNS} are read."
            raise InvalidMeasurements([Fault(f"/{number}", FaultCode.OUT_OF_RANGE, detail)])
        columns = [_column(at, cell) for at, cell in enumerate(cells)]
        roles = [column.role for column in columns]
        if "size" in roles and ("time" in roles or "algbw" in roles):
            return columns, separator, numbered
        if line.lstrip().startswith("#"):
            continue
        if len(cells) == 2 and all(_figure(cell, separator) for cell in cells):  # noqa: PLR2004
            note = "There is no header: the columns are taken as bytes and us."
            columns = [_Column(0, "", "size", 1, note), _Column(1, "", "time", 1)]
            return columns, separator, chain([(number, line)], numbered)
        detail = (
            f"Line {number}: neither a header with a size, such as size(B), and a time, such as "
            "time(us), or algbw(GB/s), nor two numbers."
        )
        if not {"time", "throughput"}.isdisjoint([*roles, *map(str.strip, cells)]):
            detail += " Iteration times need the columns workers, policy, and model or graph."
        raise InvalidMeasurements([Fault(f"/{number}", FaultCode.WRONG_FORMAT, detail)])
    detail = f"No table in the first {MAX_HEADER_LINES:,} lines that are not blank."
    raise InvalidMeasurements([Fault("", FaultCode.WRONG_FORMAT, detail)])


def _readings(
    header: list[_Column],
    separator: str,
    lines: Iterator[tuple[int, str]],
    workers: list[int],
) -> Iterator[Reading | Fault]:
    """List the readings of each row, one for each of its times; ``workers`` takes their number."""
    size = next(column for column in header if column.role == "size")
    ranks = next((column for column in header if column.role == "ranks"), None)
    sets = _sets(header)
    for at, line in lines:
        if line.lstrip(' \t"').startswith("#"):
            continue
        try:
            row = next(csv.reader([line], delimiter=separator, strict=True))
            if not any(map(str.strip, row)) or row[size.place : size.place + 1] == [size.name]:
                continue  # an empty row, or the header again
            _same_workers(_cell(row, ranks, separator), workers)
            count = _cell(row, size, separator)
            width = max(len(row), sets[0][0] + 1)  # the first time is missed where it is not there
            for first, columns in sets:
                if first >= width:
                    break
                time, algbw, busbw = (_cell(row, column, separator) for column in columns)
                if count is None:
                    yield Reading(at, 0, None, left_out="no size")
                else:
                    yield Reading(at, count.value, time, algbw, busbw)
        except (csv.Error, ValueError) as error:
            yield Fault(f"/{at}", FaultCode.OUT_OF_RANGE, f"Line {at}: {error}")


def _sets(header: list[_Column]) -> list[tuple[int, tuple[_Column | None, ...]]]:
    """Join each column of times with its algbw and busbw; their first place ascends."""
    times, *speeds = (
        [column for column in header if column.role == role] for role in ("time", "algbw", "busbw")
    )
    sets = list(zip_longest(times, *speeds))[: len(times) or len(speeds[0])]
    return [(min(column.place for column in found[:2] if column), found) for found in sets]


def _same_workers(counts: Figure | None, workers: list[int]) -> None:
    """Put the number of workers of a row into ``workers``, where it is the only one.

    Raises
    ------
    ValueError
        When it is no whole number, or not that of the rows before.
    """
    if counts is None:
        return
    if not (1 <= counts.value <= MAX_WORKERS and counts.value.is_integer()):
        raise ValueError(f"workers must be 1 to {MAX_WORKERS:,}, got {counts.value:.15g}.")
    if not workers:
        workers.append(int(counts.value))
    if counts.value != workers[0]:
        raise ValueError(
            f"{counts.value:.15g} workers, {workers[0]} before; a cost is that of one number."
        )


def _cell(row: list[str], column: _Column | None, separator: str) -> Figure | None:
    """Read a cell; None when it is not given.

    Raises
    ------
    ValueError
        When it is not a number.
    """
    if column is None or column.place >= len(row) or row[column.place].strip().lower() in _NONE:
        return None
    found = _figure(row[column.place], separator, column.unit)
    if found is None:
        raise ValueError(f"{row[column.place][:40]!r} is not a number.")
    return found


def _figure(cell: str, separator: str, unit: float = 1.0) -> Figure | None:
    """Read a number whose decimal point may be a comma."""
    cell = cell.strip()
    return figure(cell.replace(",", ".") if separator == ";" else cell, unit)


def _column(place: int, name: str) -> _Column:
    """Tell what a column holds from its name."""
    words = _WORDS.findall(name)
    lower = [word.lower() for word in words]
    joined = "".join(lower)
    if not words or not _ASIDE.isdisjoint(lower):
        return _Column(place, name, "other", 1)
    for role in ("algbw", "busbw"):
        if role in joined:
            return _Column(place, name, role, *_unit(name, words, _SPEED_UNITS, "GB/s"))
    if joined in _RANK_NAMES:
        return _Column(place, name, "ranks", 1)
    if not _SIZE_NAMES.isdisjoint(lower):
        return _Column(place, name, "size", *_unit(name, lower, _SIZE_UNITS, "bytes"))
    if not _TIME_NAMES.isdisjoint(lower) or lower[-1] in _TIME_UNITS:
        return _Column(place, name, "time", *_unit(name, lower, _TIME_UNITS, "us"))
    return _Column(place, name, "other", 1)


def _unit(
    name: str, words: list[str], units: Mapping[str, float], default: str
) -> tuple[float, str | None]:
    """Return what one of a column is worth, and the note when its name has no unit."""
    for word in reversed(words):
        if word in units:
            return units[word], None
    return units[default], f"Column {name.strip()[:40]!r} names no unit: taken as {default}."
