"""oneCCL's benchmark with ``--csv_filepath``: a row of each size, type and collective.

``#ranks,collective,reduction,dtype,dtype_size,#elements/buffer,#buffers,...,t_max[usec]``; older
ones have ``type,typesize`` and a ``time``, the mean. Bytes are elements times their size; what
they mean by collective is as in :mod:`solver.calibration.measurements.mpi_tables`.

References
----------
.. [1] oneCCL 2021, examples/benchmark/src/benchmark.cpp and include/benchmark.hpp, store_to_csv.
"""

import csv
import re
from collections.abc import Mapping

from solver.calibration.measurements.lines import figure, is_count, lines_of
from solver.calibration.measurements.mpi_tables import KINDS, PER_RANK
from solver.calibration.measurements.readings import Measurements, Reading, samples_of
from solver.codes import FaultCode
from solver.errors import Fault
from solver.limits import MAX_WORKERS

FORMAT = "oneccl_csv"


MARK = re.compile(r"#ranks,collective,")


#: Columns that hold the time of a launch, the best first.
_TIMES = ("t_max[usec]", "t_avg[usec]", "time")


_WIDTHS = ("dtype_size", "typesize")


def read(text: str) -> tuple[Measurements, ...]:
    """Read the rows of each collective and number of ranks as a run.

    Raises
    ------
    InvalidMeasurements
        When there is no header or no row of a collective, and with every row whose figures are no
        numbers or out of range.
    """
    names: list[str] = []
    runs: dict[tuple[str, int], list[Reading | Fault]] = {}
    others: dict[str, None] = {}
    broken: list[Reading | Fault] = []
    for number, line in lines_of(text):
        cells = next(csv.reader([line]), [])
        if MARK.search(line):
            names = [cell.strip() for cell in cells]
        elif names:
            row = dict(zip(names, map(str.strip, cells), strict=False))
            kind = KINDS.get(row.get("collective", ""))
            if kind is None and len(cells) == len(names):
                others[row["collective"][:40]] = None
                continue
            reading = _reading(number, row)
            ranks = row.get("#ranks", "")
            if isinstance(reading, Fault) or kind is None or not _is_ranks(ranks):
                broken.append(_fault(number))
            else:
                runs.setdefault((kind, int(ranks)), []).append(reading)
    if broken or not runs:
        samples_of(broken)
    left = (f"Left out: {', '.join(others)}, no collectives of graphs.",) if others else ()
    found = []
    for (kind, workers), readings in runs.items():
        selection = samples_of(readings)
        notes = (*selection.notes, *left)
        found.append(
            Measurements(
                FORMAT, selection.samples, workers, kind, notes, is_per_rank=kind in PER_RANK
            )
        )
    return tuple(found)


def _reading(number: int, row: Mapping[str, str]) -> Reading | Fault:
    """Read a row; a fault where its bytes or its time are no numbers."""
    width = next((row[name] for name in _WIDTHS if name in row), "")
    count = row.get("#elements/buffer", "")
    time = next((figure(row[name]) for name in _TIMES if name in row), None)
    if not is_count(width) or not is_count(count) or time is None:
        return _fault(number)
    many = row.get("#buffers", "1") != "1"
    why = "several buffers are one launch, run it with --buf_count 1" if many else None
    return Reading(number, float(int(width) * int(count)), time, left_out=why)


def _is_ranks(cell: str) -> bool:
    return is_count(cell) and 1 <= int(cell) <= MAX_WORKERS


def _fault(number: int) -> Fault:
    detail = f"Line {number}: not a row of oneCCL's CSV, whose figures are numbers."
    return Fault(f"/{number}", FaultCode.OUT_OF_RANGE, detail)
