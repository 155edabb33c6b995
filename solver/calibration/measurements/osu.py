"""OSU micro-benchmarks: ``osu_allreduce`` and its siblings of latency.

``# OSU MPI Allreduce Latency Test v7.1``, then ``# Size  Avg Latency(us)`` and rows of a size, the
mean time and, with ``-f``, least and most time, percentiles and iterations. Of what does not block,
as ``osu_iallreduce``, the time is that of ``Pure Comm.(us)``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from solver.calibration.measurements.lines import (
    figure,
    is_count,
    lines_of,
    without_prefix,
)
from solver.calibration.measurements.mpi_tables import PER_RANK
from solver.calibration.measurements.readings import Measurements, Reading, garbled_row, samples_of
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER
from solver.limits import MAX_WORKERS
from solver.units import TIME_UNITS

FORMAT = "osu"


TITLE = re.compile(r"\bOSU\b(.{1,80}) Test\b")


MARK = re.compile(
    r"\bSize\s.{0,20}Latency\s?\((ns|us|ms)\)"
    r"|\bSize\s+(?:Overall|Compute)\(us\).{0,200}Pure Comm\."
)


#: A column of what does not block: its name ends with its unit.
_COLUMN = re.compile(r"\((?:us|%)\)")


_RANKS = re.compile(r"(?:^|\s)(?:-np|-n|--np|--ntasks)[ =]?(\d{1,9})(?=\s)", re.ASCII)


_VERDICTS = {"pass", "fail"}


#: Collectives by the word of the title.
KINDS = {
    "allreduce": ALL_REDUCE,
    "allgather": ALL_GATHER,
    "reduce_scatter": REDUCE_SCATTER,
    "broadcast": BROADCAST,
    "bcast": BROADCAST,
    "all-to-all": ALL_TO_ALL,
    "alltoall": ALL_TO_ALL,
}


@dataclass(slots=True)
class _OsuLog:
    """What the lines between the rows say."""

    unit: float | None = None
    column: int = 1
    title: str = ""
    workers: int | None = None

    def readings(self, text: str) -> Iterator[Reading]:
        """List the mean time of each row.

        Raises
        ------
        InvalidMeasurements
            At the end, when no header was there.
        """
        for number, line in lines_of(text):
            row = _row(line) if self.unit is not None else None
            if row and self.unit is not None:
                time = figure(row[self.column], self.unit) if len(row) > self.column else None
                failed = row[-1].lower() == "fail"
                yield Reading(number, float(row[0]), time, left_out="not valid" if failed else None)
            else:
                self._note(line)
                if self.unit is not None:
                    yield from garbled_row(number, line)
        if self.unit is None:
            detail = "No header of OSU found: a line with Size and Avg Latency(us)."
            raise InvalidMeasurements([Fault("", FaultCode.WRONG_FORMAT, detail)])

    def _note(self, line: str) -> None:
        """Keep what a line between the rows says."""
        if header := MARK.search(line):
            self.unit = TIME_UNITS[header[1] or "us"]
            self.column = 1 if header[1] else 1 + len(_COLUMN.findall(header[0]))
        elif title := TITLE.search(line):
            self.title = title[1].strip()
        launcher, program, _ = line.partition("osu_")
        if program and (ranks := _RANKS.search(launcher)):
            workers = int(ranks[1])
            self.workers = workers if 1 <= workers <= MAX_WORKERS else None


def read(text: str) -> tuple[Measurements, ...]:
    """Read the output of one run; the number of ranks comes from the command line, if it is there.

    Rows of 0 bytes, without a time, garbled or that failed validation are left out and noted.

    Raises
    ------
    InvalidMeasurements
        When there is no header or no row, and with every row whose figures are out of range.

    Notes
    -----
    O(characters).
    """
    log = _OsuLog()
    selection = samples_of(log.readings(text))
    notes = selection.notes
    words = log.title.lower().split()
    kind = next((KINDS[word] for word in words if word in KINDS), None)
    if log.title and kind is None:
        notes += (f"The benchmark is OSU {log.title}, which is no collective of graphs.",)
    run = Measurements(
        format=FORMAT,
        samples=selection.samples,
        workers=log.workers,
        kind=kind,
        notes=notes,
        is_per_rank=kind in PER_RANK,
    )
    return (run,)


def _row(line: str) -> list[str] | None:
    """Return the cells of a row without the launcher's prefix; None for another line.

    A row is a whole number and numbers, perhaps with ``Pass`` or ``Fail`` at the end.
    """
    for cells in without_prefix(line):
        if is_count(cells[0]):
            figures = cells[1:-1] if cells[-1].lower() in _VERDICTS else cells[1:]
            return cells if all(map(figure, figures)) else None
    return None
