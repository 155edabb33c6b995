"""DeepSpeed's communication logger: the table that ``deepspeed.comm.log_summary()`` prints.

``Comm. Op  Message Size  Count  Total Latency(ms)  Avg Latency(ms)  tput_avg (Gbps)  busbw_avg
(Gbps)``: a line with the name of an operation, then a row of each size. A row is one sample, the
mean of its launches without the tenth at either end; sizes are printed with two decimals of a
power of 1024. The lines that ``verbose`` logs, ``comm op: all_reduce | time (ms): ...``, are single
launches, and count in place of the summary of them. With ``show_straggler`` a second table has the
times without the wait for late ranks; these count then. The ranks follow from busbw / tput, and are
those of the whole job.

What tput counts differs by version, so it is told by tput times the mean over the size: 2 is
an all-reduce that is counted twice, the number of ranks an all-gather of which one rank's share is
printed. A reduce-scatter's size is its whole input.

References
----------
.. [1] DeepSpeed 0.8 to 0.18, deepspeed/utils/comms_logging.py: calc_bw_log, convert_size, log_all.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from solver.calibration.measurements.cut_rows import CUT
from solver.calibration.measurements.lines import Figure, figure, lines_of, untagged
from solver.calibration.measurements.ranks import ranks_of
from solver.calibration.measurements.readings import Measurements, Reading, samples_of
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER

FORMAT = "deepspeed"


MARK = re.compile(r"\bComm\. Op\s+Message Size\s+Count\b|\bcomm op: [a-z_]{1,60} \|")


_LAUNCH = re.compile(
    r"\bcomm op: ([a-z_]{1,60}) \|.{0,200}?\btime \(ms\): ([\d.]{1,30}) \| msg size: "
    r"([\d.]{1,20}) ?([KMGTPE]?B) \| algbw \(Gbps\): ([\d.]{1,30}) {0,3}\| busbw \(Gbps\): "
    r"([\d.]{1,30})",
    re.ASCII,
)


_STRAGGLER = re.compile(r"straggler\(ms\)")


_ROW = re.compile(
    r"(?:^|\s)(\d{1,9}(?:\.\d{1,9})?) ?([KMGTPE]?B)\s+(\d{1,12})((?:\s+[\d.eE+-]{1,30}){2,4})\s*$",
    re.ASCII,
)


#: The name of an operation alone on its line, perhaps with who called it.
_NAME = re.compile(r"(?:^|\s|:)([a-z][a-z0-9_]{2,60})(?:\s*\|.{0,200})?\s*$", re.ASCII)


_UNITS = {f"{prefix}B": 1024.0**power for power, prefix in enumerate(("", *"KMGTPE"))}


_KINDS = {
    "all_reduce": ALL_REDUCE,
    "all_reduce_coalesced": ALL_REDUCE,
    "inference_all_reduce": ALL_REDUCE,
    "all_gather": ALL_GATHER,
    "all_gather_base": ALL_GATHER,
    "all_gather_into_tensor": ALL_GATHER,
    "reduce_scatter": REDUCE_SCATTER,
    "reduce_scatter_base": REDUCE_SCATTER,
    "reduce_scatter_tensor": REDUCE_SCATTER,
    "all_to_all": ALL_TO_ALL,
    "all_to_all_single": ALL_TO_ALL,
    "broadcast": BROADCAST,
}


#: Kinds whose busbw / tput tells the ranks.
_RINGS = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)


#: Latencies, total and mean, and two more of a row.
_CELLS = 4


#: bytes/us of a Gbit/s.
_GBPS = 125.0


class _SummaryRow(NamedTuple):
    """A row of the table; bytes, us and bytes/us."""

    line: int
    size: float
    time: Figure
    tput: Figure
    busbw: Figure

    @property
    def counted(self) -> float:
        """How many times tput counts the bytes that are printed."""
        return self.tput.value * self.time.value / self.size if self.size else 0.0


@dataclass(slots=True)
class _Summary:
    """The rows of each operation, and the times of them without waiting."""

    rows: dict[str, list[_SummaryRow]] = field(default_factory=dict)
    launches: dict[str, list[_SummaryRow]] = field(default_factory=dict)
    alone: dict[tuple[str, float], Figure] = field(default_factory=dict)
    others: dict[str, None] = field(default_factory=dict)
    garbled: list[Reading | Fault] = field(default_factory=list)

    def take(self, text: str) -> None:
        """Read the lines of a text."""
        name = ""
        is_headed = is_alone = False
        for number, tagged in lines_of(text):
            line = untagged(tagged)
            if launch := _LAUNCH.search(line):
                self._launch(number, launch)
            elif MARK.search(line):
                is_headed, is_alone, name = True, bool(_STRAGGLER.search(line)), ""
            elif not is_headed:
                continue
            elif row := _ROW.search(line):
                self._row(number, name, row, is_alone=is_alone)
            elif named := _NAME.search(line):
                name = named[1]

    def _launch(self, number: int, told: re.Match[str]) -> None:
        size, time, tput, busbw = (figure(told[group]) for group in (3, 2, 5, 6))
        if told[1] not in _KINDS:
            self.others[told[1]] = None
        elif size is None or time is None or tput is None or busbw is None:
            detail = f"Line {number}: the figures of a launch must be numbers."
            self.garbled.append(Fault(f"/{number}", FaultCode.OUT_OF_RANGE, detail))
        else:
            speeds = _scaled(tput, _GBPS), _scaled(busbw, _GBPS)
            whole = float(round(size.value * _UNITS[told[4]]))
            row = _SummaryRow(number, whole, _scaled(time, 1e3), *speeds)
            self.launches.setdefault(told[1], []).append(row)

    def _row(self, number: int, name: str, row: re.Match[str], *, is_alone: bool) -> None:
        size = round(float(row[1]) * _UNITS[row[2]])
        cells = [figure(cell) for cell in row[4].split()]
        if name not in _KINDS:
            self.others[name or "no name"] = None
        elif len(cells) < _CELLS or None in cells:
            detail = f"Line {number}: a row has total and average latency and two more numbers."
            self.garbled.append(Fault(f"/{number}", FaultCode.OUT_OF_RANGE, detail))
        else:
            _, time, third, fourth = (cell for cell in cells if cell is not None)
            if is_alone:  # total without waiting, total of waiting, then their means
                self.alone[name, size] = _scaled(third, 1e3)
            else:
                tput, busbw = _scaled(third, _GBPS), _scaled(fourth, _GBPS)
                entry = _SummaryRow(number, size, _scaled(time, 1e3), tput, busbw)
                self.rows.setdefault(name, []).append(entry)


def read(text: str) -> tuple[Measurements, ...]:
    """Read the rows of each kind of collective as a run, each row or launch as one sample.

    Operations that are no collective of graphs are left out and noted.

    Raises
    ------
    InvalidMeasurements
        When there is no header or no row of a collective, and with every row whose figures are out
        of range.

    Notes
    -----
    O(characters).
    """
    summary = _Summary()
    text, cut = _without_cut_row(text)
    summary.take(text)
    if summary.garbled or not (summary.rows or summary.launches):
        samples_of(summary.garbled)
    both = summary.rows and summary.launches
    if summary.launches:
        summary.rows, summary.alone = summary.launches, {}
    workers, notes = _workers(summary)
    if both:
        notes.append("Single launches are read, and not the summary of them.")
    if summary.others:
        named = ", ".join(summary.others)
        notes.append(f"Left out: {named}, no collectives of graphs.")
    if summary.alone:
        notes.append("Times are those without the wait for late ranks, of the second table.")
    notes += [CUT] if cut else []
    kinds = dict.fromkeys(_KINDS[name] for name in summary.rows)
    return tuple(_run(summary, kind, workers, notes) for kind in kinds)


def _without_cut_row(text: str) -> tuple[str, bool]:
    """Leave out a last row without an end of line that has fewer cells than rows have."""
    *_, last = text.splitlines() or [""]
    row = _ROW.search(untagged(last))
    is_cut = row is not None and len(row[4].split()) < _CELLS and not text.endswith(("\n", "\r"))
    return (text[: -len(last)], True) if is_cut else (text, False)


def _run(summary: _Summary, kind: str, workers: int | None, notes: list[str]) -> Measurements:
    """Make the rows of a kind a run."""
    readings = []
    is_per_rank = kind == ALL_GATHER and _is_share(summary, workers)
    for name, rows in summary.rows.items():
        if _KINDS[name] == kind:
            for row in rows:
                time = summary.alone.get((name, row.size), row.time)
                readings.append(Reading(row.line, row.size, time))
    selection = samples_of(readings)
    return Measurements(
        format=FORMAT,
        samples=selection.samples,
        workers=workers,
        kind=kind,
        notes=(*selection.notes, *notes),
        is_per_rank=is_per_rank,
    )


def _is_share(summary: _Summary, workers: int | None) -> bool:
    """Tell whether an all-gather's size is one rank's share: tput counts it for each rank."""
    counted = [row.counted for row in _rows_of(summary, ALL_GATHER) if row.counted > 0]
    if not counted or not workers:
        return False
    middle = sorted(counted)[len(counted) // 2]
    return middle * middle > workers  # nearer to their number than to 1, as a factor


def _workers(summary: _Summary) -> tuple[int | None, list[str]]:
    """Tell the ranks by busbw / tput of all rows; what does not fit is a note."""
    told: dict[int, None] = {}
    notes: dict[str, None] = {}
    for kind in _RINGS:
        if readings := [_halved(row, kind) for row in _rows_of(summary, kind) if row.tput.value]:
            found = ranks_of(readings, None, kind)
            if found.workers is not None:
                told[found.workers] = None
            notes |= dict.fromkeys(found.notes)
    if len(told) == 1:
        return next(iter(told)), []
    if told:
        numbers = ", ".join(map(str, told))
        return None, [f"busbw / tput tells several numbers of ranks: {numbers}."]
    return None, list(notes)


def _halved(row: _SummaryRow, kind: str) -> Reading:
    """Give what the ranks are told by: tput and busbw, as if a launch took one us.

    An all-reduce whose tput counts its bytes twice is halved.
    """
    tput = row.tput
    # a busbw above tput is one of bytes that are counted once; else the mean decides
    is_twice = row.counted * row.counted > 2  # noqa: PLR2004 - nearer to 2 than to 1, as a factor
    if kind == ALL_REDUCE and row.busbw.value - row.busbw.half <= tput.value and is_twice:
        tput = _scaled(tput, 0.5)
    return Reading(row.line, tput.value, Figure(1.0, tput.half / tput.value), tput, row.busbw)


def _rows_of(summary: _Summary, kind: str) -> Iterator[_SummaryRow]:
    return (row for name, rows in summary.rows.items() if _KINDS[name] == kind for row in rows)


def _scaled(value: Figure, unit: float) -> Figure:
    return Figure(value.value * unit, value.half * unit)
