"""Readers of benchmarks of a collective, called alike: ``read(text) -> Measurements``."""

from collections.abc import Callable
from dataclasses import replace

from solver.calibration.measurements import csv_table, nccl_tests, osu
from solver.calibration.measurements.lines import lines_of
from solver.calibration.measurements.pooling import differences, joined
from solver.calibration.measurements.ranks import OTHER
from solver.calibration.measurements.readings import Measurements
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.wording import must_be, one_of

#: The readers by format name; add one here.
READERS: dict[str, Callable[[str], Measurements]] = {
    nccl_tests.FORMAT: nccl_tests.read,
    osu.FORMAT: osu.read,
    csv_table.FORMAT: csv_table.read,
}


__all__ = ["READERS", "Measurements", "detect", "read_measurements", "read_runs"]


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
        When the format is unknown, cannot be told, or the reader rejects the file, and when it
        holds runs of several collectives or clusters: :func:`read_runs` keeps them apart.
    """
    runs = read_runs(text, form)
    kinds = list(dict.fromkeys(str(run.kind) for run in runs))
    if len(kinds) > 1:
        detail = f"The file holds benchmarks of {', '.join(kinds)}: read its runs one by one."
        raise InvalidMeasurements([Fault("", FaultCode.MIXED_CLUSTERS, detail)])
    if several := differences(runs):
        raise InvalidMeasurements([Fault("", FaultCode.MIXED_CLUSTERS, several)])
    return joined(runs)


def read_runs(text: str, form: str | None = None) -> tuple[Measurements, ...]:
    """Read the output of several runs, each by itself; only nccl-tests' tell where one begins.

    Raises
    ------
    InvalidMeasurements
        When the format is unknown, cannot be told, or the reader rejects a run.
    """
    form = detect(text) if form is None else form
    if form not in READERS:
        detail = must_be("Format", one_of(READERS), form, READERS)
        raise InvalidMeasurements([Fault("/format", FaultCode.UNKNOWN_FORMAT, detail)])
    if form != nccl_tests.FORMAT:
        return (READERS[form](text),)
    runs: list[Measurements] = []
    for piece in nccl_tests.pieces(text):
        run = nccl_tests.read(piece.text)
        if not piece.is_headed and run.kind in {None, OTHER}:  # the program is named before
            run = replace(run, kind=runs[-1].kind, notes=())
        runs.append(run)
    return tuple(runs)
