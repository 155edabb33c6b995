"""Readers of logs of launches, called alike: ``read(text) -> tuple[Measurements, ...]``.

A log is what a benchmark of collectives printed, or what a job recorded of its own launches. Each
reader returns a run for each collective, and for each number of ranks, that the text holds.
"""

from collections.abc import Callable
from dataclasses import replace
from re import Pattern
from typing import NamedTuple

from solver.calibration.measurements import (
    csv_table,
    mpi_tables,
    nccl_runs,
    nccl_tests,
    oneccl_csv,
    osu,
)
from solver.calibration.measurements.cut_rows import without_cut_row
from solver.calibration.measurements.groups import of_one_size, whole
from solver.calibration.measurements.lines import lines_of, untagged
from solver.calibration.measurements.logs import (
    ddp_logging,
    deepspeed,
    flight_recorder,
    horovod_autotune,
    inspector,
    mscclpp_json,
)
from solver.calibration.measurements.pooling import differences, joined
from solver.calibration.measurements.readings import Measurements
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.wording import must_be, one_of


class LogFormat(NamedTuple):
    """A format of logs of launches.

    Attributes
    ----------
    mark
        What a line has by which the format is known; None where nothing else is.
    read
        Its reader.
    what
        What the mark is, for the message that none was found.
    is_json
        Whether the mark is also sought in a text that begins as JSON, whose lines may be long.
    mixes_sizes
        Whether groups of several sizes stand in one file by their nature.
    is_rank_apart
        Whether each rank writes a file of its own, and all of them are read as one text.
    is_recorded
        Whether a job recorded its own launches, which have the sizes that it sends: perhaps one.
    is_table
        Whether all rows are printed alike, so that one which is cut off shows.
    """

    mark: Pattern[str] | None
    read: Callable[[str], tuple[Measurements, ...]]
    what: str
    is_json: bool = False
    mixes_sizes: bool = False
    is_rank_apart: bool = False
    is_recorded: bool = False
    is_table: bool = False


#: The formats by name, in the order in which they are sought in a line; add one here.
READERS: dict[str, LogFormat] = {
    nccl_tests.FORMAT: LogFormat(
        nccl_tests.MARK, nccl_runs.read, "nccl-tests (size count type ...)"
    ),
    nccl_tests.MSCCLPP: LogFormat(
        nccl_tests.MSCCLPP_MARK, nccl_runs.read, "mscclpp-test (size count time ...)"
    ),
    osu.FORMAT: LogFormat(osu.MARK, osu.read, "OSU (Size  Avg Latency(us))", is_table=True),
    mpi_tables.ONECCL: LogFormat(
        mpi_tables.ONECCL_MARK,
        mpi_tables.read,
        "oneCCL's benchmark (# Benchmarking: ...)",
        mixes_sizes=True,
        is_table=True,
    ),
    mpi_tables.IMB: LogFormat(
        mpi_tables.IMB_MARK,
        mpi_tables.read,
        "Intel MPI Benchmarks (#bytes #repetitions ...)",
        mixes_sizes=True,
        is_table=True,
    ),
    oneccl_csv.FORMAT: LogFormat(
        oneccl_csv.MARK,
        oneccl_csv.read,
        "oneCCL's CSV (#ranks,collective,...)",
        mixes_sizes=True,
    ),
    deepspeed.FORMAT: LogFormat(
        deepspeed.MARK,
        deepspeed.read,
        "DeepSpeed's log_summary (Comm. Op  Message Size ...)",
        is_recorded=True,
    ),
    inspector.FORMAT: LogFormat(
        inspector.MARK,
        inspector.read,
        "NCCL Inspector's JSON (coll_perf)",
        is_json=True,
        mixes_sizes=True,
        is_rank_apart=True,
        is_recorded=True,
    ),
    flight_recorder.FORMAT: LogFormat(
        flight_recorder.MARK,
        flight_recorder.read,
        "PyTorch's flight recorder (entries with profiling_name)",
        is_json=True,
        mixes_sizes=True,
        is_rank_apart=True,
        is_recorded=True,
    ),
    mscclpp_json.FORMAT: LogFormat(
        mscclpp_json.MARK,
        mscclpp_json.read,
        "mscclpp-test's JSON (algBw)",
        is_json=True,
        mixes_sizes=True,
    ),
    ddp_logging.FORMAT: LogFormat(
        ddp_logging.MARK, ddp_logging.read, "DDP's logging data", is_json=True
    ),
    horovod_autotune.FORMAT: LogFormat(
        horovod_autotune.MARK, horovod_autotune.read, "Horovod's autotune log"
    ),
    csv_table.FORMAT: LogFormat(None, csv_table.read, "a table"),
}


__all__ = ["READERS", "Measurements", "detect", "read_measurements", "read_runs"]


def detect(text: str) -> str:
    """Tell the format of a file by its headers: a key of :data:`READERS`.

    Raises
    ------
    InvalidMeasurements
        When no line is one that a format has.
    """
    marks = [(name, form.mark) for name, form in READERS.items() if form.mark]
    if text.lstrip("\ufeff \t\r\n")[:1] in {"{", "["} or text.startswith(flight_recorder.PACKED):
        for name, mark in marks:
            if READERS[name].is_json and mark.search(text):
                return name
    is_table = False
    for _, tagged in lines_of(text):
        line = untagged(tagged)
        for name, mark in marks:
            if mark.search(line):
                return name
        is_table = is_table or any(separator in line for separator in csv_table.SEPARATORS)
    if is_table:
        return csv_table.FORMAT
    known = ", ".join(form.what for form in READERS.values() if form.mark)
    detail = (
        f"Not a log of launches: nothing of {known}, and no table separated by comma, semicolon or "
        "tab."
    )
    raise InvalidMeasurements([Fault("", FaultCode.WRONG_FORMAT, detail)])


def read_measurements(
    text: str, form: str | None = None, workers: int | None = None
) -> Measurements:
    """Read a log of launches in a format of :data:`READERS`; None detects it.

    ``workers`` is as for :func:`read_runs`.

    Raises
    ------
    InvalidMeasurements
        When the format is unknown, cannot be told, or the reader rejects the file, and when it
        holds runs of several collectives or clusters: :func:`read_runs` keeps them apart.
    """
    runs = read_runs(text, form, workers)
    kinds = list(dict.fromkeys(str(run.kind) for run in runs))
    if len(kinds) > 1:
        detail = f"The file holds benchmarks of {', '.join(kinds)}: read its runs one by one."
        raise InvalidMeasurements([Fault("", FaultCode.MIXED_CLUSTERS, detail)])
    if several := differences(runs):
        raise InvalidMeasurements([Fault("", FaultCode.MIXED_CLUSTERS, several)])
    return joined(runs)


def read_runs(
    text: str, form: str | None = None, workers: int | None = None
) -> tuple[Measurements, ...]:
    """Read the output of several runs, each by itself.

    ``workers`` chooses among groups of several sizes, and says how many ranks took part where a
    file has the bytes of one and does not say it.

    Raises
    ------
    InvalidMeasurements
        When the format is unknown, cannot be told, or the reader rejects a run.
    """
    form = detect(text) if form is None else form
    if form not in READERS:
        detail = must_be("Format", one_of(READERS), form, READERS)
        raise InvalidMeasurements([Fault("/format", FaultCode.UNKNOWN_FORMAT, detail)])
    text, cut = without_cut_row(text) if READERS[form].is_table else (text, "")
    runs = READERS[form].read(text)
    if cut:
        runs = tuple(replace(run, notes=(*run.notes, cut)) for run in runs)
    if READERS[form].mixes_sizes:
        runs = of_one_size(runs, workers)
    return tuple(whole(run, workers) for run in runs)
