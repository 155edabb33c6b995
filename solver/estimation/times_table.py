"""A table of iteration times: CSV whose header names the columns.

``model`` or ``graph``, ``workers`` and ``policy`` say what ran; ``time_us`` (or ``time_ms``,
``time_s``), or ``throughput`` in samples a second of all workers with ``batch`` of each, how fast:
an empty cell is to be predicted. ``tokens`` is the length of a sequence, of models that have
sequences. ``network`` names the one it ran on, ``bandwidth_gbps`` its
nominal bandwidth, ``barrier`` whether the optimizer waits for all sums. A policy may have
parameters, as in ``horovod:cycle_time_us=5000``.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from solver.calibration.measurements.lines import figure, lines_of
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.graph import first_of
from solver.limits import MAX_BATCH, MAX_RUNS, MAX_TOKENS, MAX_WORKERS, MIN_TIME_US
from solver.policies.choice import Choice, Value

_TIMES = {"time_us": 1.0, "time_ms": 1e3, "time_s": 1e6}
_COLUMNS = (
    "model",
    "graph",
    "workers",
    "policy",
    *_TIMES,
    "throughput",
    "batch",
    "tokens",
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
    tokens
        Length of a sequence; None for the model's.
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
    tokens: int | None = None
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
        tokens=_whole(cells, "tokens", MAX_TOKENS),
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
