"""Readers of benchmarks of a collective, called alike: ``read(text) -> Measurements``."""

from collections.abc import Callable

from solver.calibration.measurements import csv_table, nccl_tests, osu
from solver.calibration.measurements.lines import lines_of
from solver.calibration.measurements.readings import Measurements
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements

#: The readers by format name; add one here.
READERS: dict[str, Callable[[str], Measurements]] = {
    nccl_tests.FORMAT: nccl_tests.read,
    osu.FORMAT: osu.read,
    csv_table.FORMAT: csv_table.read,
}


__all__ = ["READERS", "Measurements", "detect", "read_measurements"]


def detect(text: str) -> str:
    """Tell the format of a file by its headers: a key of :data:`READERS`.

    Raises
    ------
    InvalidMeasurements
        When no line is one that a format has.
    """
    is_table = False
    for _, line in lines_of(text):
        if nccl_tests.HEADER.search(line):
            return nccl_tests.FORMAT
        if osu.HEADER.search(line):
            return osu.FORMAT
        is_table = is_table or any(mark in line for mark in csv_table.SEPARATORS)
    if is_table:
        return csv_table.FORMAT
    detail = (
        "Not a benchmark's output: no header of nccl-tests (size count type ...), none of OSU "
        "(Size  Avg Latency(us)), and no table separated by comma, semicolon or tab."
    )
    raise InvalidMeasurements([Fault("", FaultCode.WRONG_FORMAT, detail)])


def read_measurements(text: str, form: str | None = None) -> Measurements:
    """Read a benchmark's output in a format of :data:`READERS`; None detects it.

    Raises
    ------
    InvalidMeasurements
        When the format is unknown, cannot be told, or the reader rejects the file.
    """
    form = detect(text) if form is None else form
    if form not in READERS:
        detail = f"Unknown format {form!r}: one of {', '.join(READERS)}."
        raise InvalidMeasurements([Fault("/format", FaultCode.UNKNOWN_FORMAT, detail)])
    return READERS[form](text)
