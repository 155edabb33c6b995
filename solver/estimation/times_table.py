"""A table of iteration times: CSV whose header names the columns.

``model`` or ``graph``, ``workers`` and ``policy`` say what ran; ``time_us`` (or ``time_ms``,
``time_s``), or ``throughput`` in samples a second of all workers with ``batch`` of each, how fast:
an empty cell is to be predicted. ``network`` names the one it ran on, ``bandwidth_gbps`` its
nominal bandwidth, ``barrier`` whether the optimizer waits for all sums. A policy may have
parameters, as in ``horovod:cycle_time_us=5000``.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import islice

from solver.calibration.measurements.lines import figure, lines_of
from solver.chain import chain_of
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.estimation.runs import MeasuredRun, waits
from solver.graph import Graph, first_of
from solver.limits import MAX_BATCH, MAX_RUNS, MAX_WORKERS, MIN_TIME_US
from solver.models import MODELS
from solver.policies.choice import Choice, Value, choice_faults

_TIMES = {"time_us": 1.0, "time_ms": 1e3, "time_s": 1e6}
_COLUMNS = (
    "model",
    "graph",
    "workers",
    "policy",
    *_TIMES,
    "throughput",
    "batch",
    "network",
    "bandwidth_gbps",
    "barrier",
)
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

#: Lines before the header that may say anything.
_PREFACE = 20


@dataclass(frozen=True, slots=True)
class TimesRow:
    """A row of the table; None where a cell is empty.

    Attributes
    ----------
    model, graph
        A generated model, or the name of a graph; one of them.
    workers, policy
        What ran; the policy has its parameters, its barrier is ``barrier``.
    time_us
        Time of an iteration [us].
    throughput, batch
        Samples a second of all workers, samples of one worker in an iteration.
    network, bandwidth_gbps
        Where: rows of one network share its costs; the nominal bandwidth [Gbit/s].
    barrier
        Whether the optimizer waits for all sums; None for what the policy does.
    """

    model: str | None
    graph: str | None
    workers: int
    policy: Choice
    time_us: float | None = None
    throughput: float | None = None
    batch: int | None = None
    network: str = ""
    bandwidth_gbps: float | None = None
    barrier: bool | None = None


def is_times(text: str) -> bool:
    """Tell whether a text is such a table."""
    return _header(text) is not None


def read_times(text: str) -> tuple[TimesRow, ...]:
    """Read a table of iteration times.

    Raises
    ------
    InvalidMeasurements
        When there is no header with model or graph, workers and policy, a column is unknown or
        there twice, or there are more than :data:`MAX_RUNS` rows; and with every cell that is not
        what its column says, and every row of too many.
    """
    header = _header(text)
    if header is None:
        detail = "No header found with the columns policy, workers, and model or graph."
        raise InvalidMeasurements([Fault("", FaultCode.WRONG_FORMAT, detail)])
    at, names = header
    unknown = [name for name in names if name not in _COLUMNS]
    if unknown:
        detail = f"Unknown column {unknown[0]!r}; known are {', '.join(_COLUMNS)}."
        raise InvalidMeasurements([Fault(f"/{at}", FaultCode.EXTRA_FIELD, detail)])
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        detail = f"The column {twice[0]!r} is there twice."
        raise InvalidMeasurements([Fault(f"/{at}", FaultCode.EXTRA_FIELD, detail)])
    rows: list[TimesRow] = []

    def faults() -> Iterator[Fault]:
        for number, line in lines_of(text):
            if number <= at or line.lstrip().startswith("#"):
                continue
            if len(rows) == MAX_RUNS:
                detail = f"Line {number}: at most {MAX_RUNS:,} rows are read."
                yield Fault(f"/{number}", FaultCode.OUT_OF_RANGE, detail)
                return
            try:
                cells = next(csv.reader([line], strict=True))
                rows.append(_row(_by_name(names, [cell.strip() for cell in cells])))
            except (csv.Error, ValueError) as error:
                yield Fault(f"/{number}", FaultCode.OUT_OF_RANGE, f"Line {number}: {error}")

    if found := first_of(faults()):
        raise InvalidMeasurements(found)
    return tuple(rows)


def runs_of(rows: Sequence[TimesRow], graphs: Mapping[str, Graph]) -> tuple[MeasuredRun, ...]:
    """Put graphs and models in the place of their names.

    Raises
    ------
    InvalidMeasurements
        With every row that names an unknown model or graph, gives both or neither, gives a
        throughput without a batch or beside a time, or whose policy is wrong.
    """
    runs: list[MeasuredRun] = []
    made: dict[tuple[str, int | None], Graph] = {}

    def faults() -> Iterator[Fault]:
        for i, row in enumerate(rows):
            found = list(_row_faults(row, graphs))
            if not found:
                key = row.model or row.graph or "", row.batch
                if key not in made:
                    made[key] = _graph(row, graphs)
                chain = chain_of(made[key])
                found = [
                    Fault(f"/policy{f.pointer}", f.code, f.detail)
                    for f in choice_faults(row.policy, chain)
                ]
            if not found:
                runs.append(_run(row, made[key]))
            for fault in found:
                yield Fault(f"/rows/{i}{fault.pointer}", fault.code, fault.detail)

    if found := first_of(faults(), "/rows"):
        raise InvalidMeasurements(found)
    return tuple(runs)


def _row_faults(row: TimesRow, graphs: Mapping[str, Graph]) -> Iterator[Fault]:
    if (row.model is None) == (row.graph is None):
        yield Fault("/model", FaultCode.MISSING_FIELD, "Row: give a model or a graph, one of both.")
    elif row.model is not None and row.model not in MODELS:
        detail = f"Row: no model is called {row.model!r}; there are {', '.join(MODELS)}."
        yield Fault("/model", FaultCode.OUT_OF_RANGE, detail)
    elif row.graph is not None and row.graph not in graphs:
        yield Fault("/graph", FaultCode.OUT_OF_RANGE, f"Row: no graph is called {row.graph!r}.")
    if row.throughput is not None and row.time_us is not None:
        yield Fault("/throughput", FaultCode.EXTRA_FIELD, "Row: give a time or a throughput.")
    if row.throughput is not None and row.batch is None:
        yield Fault("/batch", FaultCode.MISSING_FIELD, "Row: a throughput needs batch.")


def _graph(row: TimesRow, graphs: Mapping[str, Graph]) -> Graph:
    if row.graph is not None:
        return graphs[row.graph]
    make: Callable[..., Graph] = MODELS[row.model or ""]
    takes_batch = "batch" in signature(make).parameters
    return make(batch=row.batch) if row.batch and takes_batch else make()


def _run(row: TimesRow, graph: Graph) -> MeasuredRun:
    """Return a run; what one worker's batch takes at a throughput is its time."""
    time = row.time_us
    if row.throughput is not None and row.batch is not None:
        time = row.workers * row.batch / row.throughput * 1e6
    barrier = waits(row.policy.policy) if row.barrier is None else row.barrier
    return MeasuredRun(
        model=row.model or row.graph or "",
        graph=graph,
        is_timed=row.graph is not None,
        workers=row.workers,
        choice=Choice(row.policy.policy, barrier, row.policy.parameters),
        time_us=time,
        network=row.network,
        bandwidth_gbps=row.bandwidth_gbps,
    )


def _header(text: str) -> tuple[int, list[str]] | None:
    """Return the number of the header's line and the names of its columns."""
    for number, line in islice(lines_of(text), _PREFACE):
        cells = [cell.strip().lower() for cell in line.lstrip("# ").split(",")]
        names = [cell.replace("(", "_").replace(")", "") for cell in cells]
        if {"policy", "workers"} <= set(names) and {"model", "graph"} & set(names):
            return number, names
    return None


def _by_name(names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """Give cells their columns; empty ones may be missing, or too many, at the end.

    Raises
    ------
    ValueError
        When there are more cells than columns, as after a comma inside a number.
    """
    if any(cells[len(names) :]):
        raise ValueError(f"{len(cells)} cells, and the header names {len(names)} columns.")
    return dict(zip(names, cells, strict=False))


def _row(cells: Mapping[str, str]) -> TimesRow:
    """Read the cells of a row.

    Raises
    ------
    ValueError
        When a cell is not what its column says.
    """
    given = [name for name in _TIMES if cells.get(name)]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} are given: one time is enough.")
    times = [_number(cells, name, MIN_TIME_US, 1e13, _TIMES[name]) for name in given]
    return TimesRow(
        model=cells.get("model") or None,
        graph=cells.get("graph") or None,
        workers=_whole(cells, "workers", MAX_WORKERS) or _missing("workers"),
        policy=_policy(cells.get("policy") or _missing("policy")),
        time_us=times[0] if times else None,
        throughput=_number(cells, "throughput", 1e-9, 1e15),
        batch=_whole(cells, "batch", MAX_BATCH),
        network=cells.get("network", ""),
        bandwidth_gbps=_number(cells, "bandwidth_gbps", 1e-6, 1e6),
        barrier=_word(cells.get("barrier", "")),
    )


def _missing(name: str) -> int:
    raise ValueError(f"{name} is empty.")


def _number(
    cells: Mapping[str, str], name: str, least: float, most: float, unit: float = 1.0
) -> float | None:
    text = cells.get(name, "")
    if not text:
        return None
    found = figure(text, unit)
    if found is None or not least <= found.value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}, got {text[:40]!r}.")
    return found.value


def _whole(cells: Mapping[str, str], name: str, most: int) -> int | None:
    found = _number(cells, name, 1, most)
    if found is not None and not found.is_integer():
        raise ValueError(f"{name} must be a whole number, got {found:g}.")
    return None if found is None else int(found)


def _word(text: str) -> bool | None:
    if text and text.lower() not in _WORDS:
        raise ValueError(f"barrier must be true or false, got {text[:40]!r}.")
    return _WORDS[text.lower()] if text else None


def _policy(text: int | str) -> Choice:
    """Read NAME or NAME:KEY=VALUE;KEY=VALUE; in quotes a comma will do."""
    name, colon, rest = str(text).partition(":")
    pairs = [pair.partition("=") for pair in rest.replace(",", ";").split(";")] if colon else []
    if not all(key and equals for key, equals, _ in pairs):
        raise ValueError(f"policy must be NAME or NAME:KEY=VALUE;..., got {str(text)[:60]!r}.")
    parameters = tuple((key.strip(), _value(value.strip())) for key, _, value in pairs)
    return Choice(name.strip().lower(), parameters=parameters)


def _value(text: str) -> Value:
    """Read a number, a whole one as such; anything else is a word."""
    found = figure(text)
    if found is None:
        return text
    return int(found.value) if text.isdecimal() else found.value
