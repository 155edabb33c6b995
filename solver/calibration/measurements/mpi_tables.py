"""Intel MPI Benchmarks and oneCCL's benchmark: tables of t_min, t_max and t_avg.

``# Benchmarking Allreduce`` (``# Benchmarking: allreduce``), ``# #processes = 4`` and the header
``#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]``. A launch takes t_max, the time of the
slowest process; of an operation that does not block, t_pure. The bytes of an all-gather and an
all-to-all are those that a process gives, of the latter to one other; those of a reduce-scatter
are the whole input.

References
----------
.. [1] Intel MPI Benchmarks 2021, IMB_output.c and the user guide's MPI-1 benchmarks.
.. [2] oneCCL 2021, examples/benchmark/include/benchmark.hpp, print_timings.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from solver.calibration.measurements.lines import (
    figure,
    is_count,
    lines_of,
    untagged,
    without_prefix,
)
from solver.calibration.measurements.readings import (
    Measurements,
    Reading,
    garbled_row,
    samples_of,
)
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER
from solver.limits import MAX_WORKERS

IMB, ONECCL = "imb", "oneccl"


#: oneCCL writes a colon behind the word.
ONECCL_MARK = re.compile(r"#\s*Benchmarking:")


IMB_MARK = re.compile(r"#\s*Benchmarking [A-Z]|#bytes\s+#repetitions\s|Intel ?\(R\) MPI Benchmark")


_HEADER = re.compile(r"#bytes\s+#repetitions\s.*")


_SECTION = re.compile(r"#\s*Benchmarking:?\s+(\S.*)")


_PROCESSES = re.compile(r"#processes\s*[=:]\s*(\d{1,9})(?!\d)", re.ASCII)


_BUFFERS = re.compile(r"\bbuf_count:\s*(\d{1,9})(?!\d)", re.ASCII)


#: Rows that IMB gave up, or left out: ``4194304  20  time-out.; Time limit ...``.
_STOPPED = re.compile(
    r"(?:^|\s)(\d{1,25})\s.*?\b(time-?_?out|out-of-mem|int-overflow)\b", re.IGNORECASE | re.ASCII
)


#: Columns that hold the time of a launch, the best first.
_TIMES = ("t_max[usec]", "t_pure[usec]", "t_avg[usec]", "t[usec]")


#: Collectives by name; a process of those of :data:`PER_RANK` gives the bytes that are printed.
KINDS = {
    "allreduce": ALL_REDUCE,
    "iallreduce": ALL_REDUCE,
    "allgather": ALL_GATHER,
    "iallgather": ALL_GATHER,
    "allgatherv": ALL_GATHER,
    "iallgatherv": ALL_GATHER,
    "reduce_scatter": REDUCE_SCATTER,
    "ireduce_scatter": REDUCE_SCATTER,
    "alltoall": ALL_TO_ALL,
    "ialltoall": ALL_TO_ALL,
    "alltoallv": ALL_TO_ALL,
    "bcast": BROADCAST,
    "ibcast": BROADCAST,
    "broadcast": BROADCAST,
}


#: Those whose printed size is what one rank sends, or sends to one other.
PER_RANK = (ALL_GATHER, ALL_TO_ALL)


@dataclass(slots=True)
class _Section:
    """One benchmark of one number of processes: its title, and its rows as they come."""

    form: str
    title: str | None
    workers: int | None = None
    names: list[str] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)

    @property
    def kind(self) -> str | None:
        """The collective; None for what is none, or is not named."""
        return KINDS.get((self.title or "").lower())


def read(text: str) -> tuple[Measurements, ...]:
    """Read the tables of several benchmarks, each with its number of processes.

    Rows of 0 bytes or without a time, as after a time-out, are left out and noted, and benchmarks
    that are no collective of graphs, or ran in several groups at once (``Multi-``).

    Raises
    ------
    InvalidMeasurements
        When no table of a collective is there, with every row whose figures are out of range, and
        where several buffers, or collectives, are one launch (``--buf_count``).

    Notes
    -----
    O(characters).
    """
    sections = list(_sections(text))
    told = [section for section in sections if section.kind or section.title is None]
    others = dict.fromkeys(section.title for section in sections if section not in told)
    if not told:
        detail = (
            f"No collective of graphs was measured, but {', '.join(map(str, others))}."
            if others
            else "No table found: a line #bytes #repetitions t_min[usec] ..., and rows."
        )
        code = FaultCode.NOT_SUPPORTED if others else FaultCode.WRONG_FORMAT
        raise InvalidMeasurements([Fault("", code, detail)])
    runs: list[Measurements] = []
    for section in told:
        selection = samples_of(section.readings)
        notes = selection.notes
        if others and not runs:
            notes += (f"Left out: {', '.join(map(str, others))}, no collectives of graphs.",)
        runs.append(
            Measurements(
                format=section.form,
                samples=selection.samples,
                workers=section.workers,
                kind=section.kind,
                notes=notes,
                is_per_rank=section.kind in PER_RANK,
            )
        )
    return tuple(runs)


def _sections(text: str) -> Iterator[_Section]:
    """List the benchmarks that have rows.

    Raises
    ------
    InvalidMeasurements
        Where a row is the time of several launches.
    """
    section = _Section(IMB, None)
    for number, line in lines_of(text):
        if title := _SECTION.search(line):
            if section.readings:
                yield section
            section = _Section(ONECCL if ONECCL_MARK.search(line) else IMB, title[1].strip())
            if section.form == ONECCL and len(re.split(r"[\s,]+", title[1].strip())) > 1:
                raise _several(number, f"of {title[1].strip()}")
        elif (buffers := _BUFFERS.search(line)) and int(buffers[1]) > 1:
            raise _several(number, f"of {buffers[1]} buffers, run it with --buf_count 1")
        elif processes := _PROCESSES.search(line):
            workers = int(processes[1])
            section.workers = workers if 1 <= workers <= MAX_WORKERS else None
        elif header := _HEADER.search(line):
            section.names = header[0].split()
        elif section.names:
            section.readings += _readings(number, line, section.names)
    if section.readings:
        yield section


def _readings(number: int, line: str, names: list[str]) -> Iterator[Reading]:
    """List the time of a row, or why it has none; nothing of a line that is none."""
    if stopped := _STOPPED.search(untagged(line)):
        what = f"not measured, {stopped[2].lower()}"
        yield Reading(number, float(stopped[1]), None, left_out=what)
        return
    for cells in without_prefix(line):
        if len(cells) > 1 and is_count(cells[0]) and is_count(cells[1]):
            row = dict(zip(names, cells, strict=False))
            times = (figure(row[name]) for name in _TIMES if name in row)
            defects = row.get("defects", "0")
            failed = defects.strip("0.") != ""
            why = "defects" if failed else None
            yield Reading(number, float(cells[0]), next(times, None), left_out=why)
            return
    yield from garbled_row(number, line)


def _several(number: int, what: str) -> InvalidMeasurements:
    detail = f"Line {number}: a row is the time of several launches, {what}."
    return InvalidMeasurements([Fault(f"/{number}", FaultCode.NOT_SUPPORTED, detail)])
