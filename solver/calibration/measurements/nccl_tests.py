"""nccl-tests: the table that ``all_reduce_perf`` and its siblings print.

``size count type redop [root] time algbw busbw error|#wrong`` with the last four twice, out of
place and in place, both of which are samples. Newer versions add columns, which the header names.
Sizes are those of the whole tensor, of an all-gather as of a reduce-scatter. rccl-tests prints the
same. mscclpp-test leaves type, redop and root out, and fills one of the two halves; its elements
are int.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from solver.calibration.measurements.lines import (
    SPEED_UNITS,
    figure,
    is_count,
    lines_of,
    untagged,
    without_prefix,
)
from solver.calibration.measurements.ranks import ranks_of
from solver.calibration.measurements.readings import Measurements, Reading, garbled_row, samples_of
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    REDUCE_SCATTER,
    SEND_RECV,
)
from solver.units import TIME_UNITS

FORMAT, MSCCLPP = "nccl_tests", "mscclpp"


HEADER = re.compile(r"\bsize\s+count\s+(?:type\b.{0,80}?\b)?(?:cpu)?time\s+algbw\b.*")


#: A header of nccl-tests, and one of mscclpp-test.
MARK = re.compile(r"\bsize\s+count\s+type\b.{0,80}?\b(?:cpu)?time\s+algbw\b")
MSCCLPP_MARK = re.compile(r"\bsize\s+count\s+time\s+algbw\b")


_UNIT = re.compile(r"\((ns|us|ms|s|GB/s|GiB/s|MB/s)\)")


_RANK = re.compile(
    r"\bRank\s+(\d{1,9})\s+(?:Group\s+(\d{1,9})\s+)?Pid\b"
    r"(?:\s+\d+\s+on\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s+(\S.*\S))?",
    re.ASCII,
)


#: Cells of the shortest row without a type: size, count, time, algbw, busbw.
_UNTYPED = 5


_PROGRAM = re.compile(r"\b([a-z_]+)_perf\b")


_TYPE = re.compile(r"[a-z]\w*", re.ASCII)


#: Collectives by program, in the words of the graph where it has them.
KINDS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "broadcast": "broadcast",
    "alltoall": "all_to_all",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "sendrecv": SEND_RECV,
    "hypercube": "hypercube",
    "allreduce_test": ALL_REDUCE,
    "allgather_test": ALL_GATHER,
    "alltoall_test": ALL_TO_ALL,
    "sendrecv_test": SEND_RECV,
}


#: Bytes of an element, by type.
_WIDTHS = {
    **dict.fromkeys(("int8", "uint8", "char", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16"), 2),
    **dict.fromkeys(("float", "int32", "uint32", "int"), 4),
    **dict.fromkeys(("double", "int64", "uint64"), 8),
}


def run_of(text: str) -> Measurements:
    """Read the output of one run.

    Rows of 0 bytes, without a time, cut short, garbled, or with wrong elements are left out and
    noted. With ``-C`` the printed time is that of the CPU: then the times come from algbw.

    Raises
    ------
    InvalidMeasurements
        When there is no header or no row, and with every row whose figures are out of range.

    Notes
    -----
    O(characters).
    """
    log = _NcclLog()
    selection = samples_of(log.readings(text))
    workers, kind, log_notes = log.header()
    shares = log.shares.pop() if len(log.shares) == 1 else None
    possible = _POSSIBLE[log.has_op, log.has_root] if "redop" in log.names else ()
    ranks = ranks_of(selection.readings, workers, kind, possible, shares)
    return Measurements(
        format=FORMAT if log.is_typed else MSCCLPP,
        samples=selection.samples,
        workers=ranks.workers,
        kind=ranks.kind,
        notes=(*selection.notes, *log_notes, *ranks.notes),
        hosts=tuple(sorted(log.hosts)),
        devices=tuple(sorted(log.devices)),
        possible=ranks.possible,
    )


#: Collectives with and without an operation, and a root.
_POSSIBLE = {
    (True, False): (ALL_REDUCE, REDUCE_SCATTER),
    (False, False): (ALL_GATHER, ALL_TO_ALL, SEND_RECV, "hypercube"),
    (False, True): (BROADCAST, "gather", "scatter"),
    (True, True): ("reduce",),
}


@dataclass(slots=True)
class _NcclLog:
    """What has been read so far: the header in force, and what the lines between rows say."""

    names: list[str] = field(default_factory=list)
    time_unit: float = 1.0
    speed_unit: float = 1e3
    ranks: list[tuple[int, int]] = field(default_factory=list)
    programs: dict[str, None] = field(default_factory=dict)
    has_cpu_times: bool = False
    has_op: bool = False
    has_root: bool = False
    shares: set[int | None] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    devices: set[str] = field(default_factory=set)

    def readings(self, text: str) -> Iterator[Reading]:
        """List the two readings of each row.

        Raises
        ------
        InvalidMeasurements
            At the end, when no header was there.
        """
        for number, tagged in lines_of(text):
            line = untagged(tagged)
            row = row_of(line, is_typed=self.is_typed)
            if row and self.names:
                yield from self._row(number, row)
            elif header := HEADER.search(line):
                self.names = header[0].split()
                self.has_cpu_times |= "cputime" in self.names
            else:
                self._note(line)
                if self.names:
                    yield from garbled_row(number, line)
        if not self.names:
            detail = "No header of nccl-tests found: a line with size, count, type, ..., time."
            raise InvalidMeasurements([Fault("", FaultCode.WRONG_FORMAT, detail)])

    @property
    def is_typed(self) -> bool:
        """Whether rows name a type, as those of all but mscclpp-test."""
        return not self.names or "type" in self.names

    def header(self) -> tuple[int | None, str | None, tuple[str, ...]]:
        """Ranks and collective that the lines name, and notes."""
        notes = []
        workers: int | None = None
        if self.ranks:
            groups = {group for group, _ in self.ranks}
            if len(groups) == 1 and sorted(self.ranks) == [
                (group, rank) for group in groups for rank in range(len(self.ranks))
            ]:
                workers = len(self.ranks)
            else:
                notes.append("The ranks listed are not those of one communicator.")
        kinds = list(dict.fromkeys(KINDS[name] for name in self.programs))
        if len(kinds) > 1:
            notes.append(f"The file names several benchmarks: {', '.join(kinds)}.")
        if self.has_cpu_times:
            notes.append("cputime is the time of the launching CPU; times come from algbw.")
        return workers, kinds[0] if len(kinds) == 1 else None, tuple(notes)

    def _row(self, number: int, row: list[str]) -> Iterator[Reading]:
        size = float(row[0])
        width = len(self.names) if self.is_typed else _UNTYPED
        if len(row) < width:
            yield Reading(number, size, None, left_out="cut short")
            return
        cells = dict(zip(self.names, row, strict=False))
        self.has_op = cells.get("redop", "none") != "none"
        self.has_root = cells.get("root", "-1") != "-1"
        if size:
            self.shares.add(_shares(int(row[0]), int(row[1]), cells.get("type", "int")))
        for at, name in enumerate(self.names):
            if name in {"time", "cputime"} and at < len(row):
                yield self._reading(
                    number, size, dict(zip(self.names[at : at + 4], row[at : at + 4], strict=False))
                )

    def _reading(self, number: int, size: float, cells: dict[str, str]) -> Reading:
        wrong = cells.get("#wrong", "0")
        is_wrong = wrong != "0" and (count := figure(wrong)) is not None and count.value != 0
        time = figure(cells.get("time", ""), self.time_unit)
        return Reading(
            number,
            size,
            time,
            figure(cells.get("algbw", ""), self.speed_unit),
            figure(cells.get("busbw", ""), self.speed_unit),
            "wrong elements" if is_wrong else None,
        )

    def _note(self, line: str) -> None:
        """Keep what a line between the rows says."""
        units = _UNIT.findall(line) if "(B)" in line else []
        for unit in units:
            self.speed_unit = SPEED_UNITS.get(unit, self.speed_unit)
            self.time_unit = TIME_UNITS.get(unit, self.time_unit)
        if rank := _RANK.search(line):
            self.ranks.append((int(rank[2] or 0), int(rank[1])))
            if rank[3]:
                self.hosts.add(rank[3])
                self.devices.add(rank[4])
        for program in _PROGRAM.findall(line):
            if program in KINDS:
                self.programs[program] = None


def _shares(size: int, count: int, type_: str) -> int | None:
    """Return in how many shares a row counts its bytes; None when that is no whole number."""
    width = _WIDTHS.get(type_)
    if width is None or not count or size % (count * width):
        return None
    return size // (count * width)


def row_of(line: str, *, is_typed: bool) -> list[str] | None:
    """Return the cells of a row without the launcher's prefix; None for another line.

    A row starts with two whole numbers and the name of a type, or a number where there are none.
    """
    for cells in without_prefix(line):
        if (
            len(cells) > 2  # noqa: PLR2004 - as said above
            and is_count(cells[0])
            and is_count(cells[1])
            and (_TYPE.fullmatch(cells[2]) if is_typed else figure(cells[2]))
        ):
            return cells
    return None
