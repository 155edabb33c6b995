"""Times of instructions that are given: XLA's ``costs`` text, or JSON of names and times."""

import json
import math
import re
from collections.abc import Iterator, Mapping

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.limits import MAX_DURATION_US
from solver.traces.files import beginning, single_text

_LOOKS_TEXT = re.compile(rb"(?:\s|#[^\n]*\n)*(?:costs|latencies)\s*:?\s*[{<]")
_TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<word>[A-Za-z_][\w.]*|[-+]?(?:\d[\d.]*|\.\d+)(?:[eE][-+]?\d+)?f?)"""
    r"""|(?P<mark>[{}<>:,;])"""
)
_CLOSES = {"{": "}", "<": ">"}
#: What XLA puts before a name: the fingerprint of the module that a cost is of.
_OF_MODULE = "::"


def is_costs(content: bytes) -> bool:
    """Tell whether a file has times of instructions."""
    head = beginning(content)
    if _LOOKS_TEXT.match(head):
        return True
    return head.startswith(b"{") and _json_times(content) is not None


def _json_times(content: bytes) -> dict[str, float] | None:
    """Read a JSON object of names and numbers; None for anything else."""
    try:
        found = json.loads(content)
    except ValueError:
        return None
    if not isinstance(found, dict) or not found:
        return None
    is_time = (
        isinstance(each, int | float) and not isinstance(each, bool) for each in found.values()
    )
    return {name: float(each) for name, each in found.items()} if all(is_time) else None


def read_costs(content: bytes, place: str) -> dict[str, float]:
    """Read times by name [us]: of an instruction, of a collective in two parts of its start.

    The text is that of profile-guided latency estimation: ``costs { name: "fusion.3" cost_us: 4.5
    }``, and ``latencies { source: "a-start" target: "a-done" latency_us: 9 }``, which count for the
    start where it has no cost of its own. Of several costs of a name the mean counts, as of the
    copies that rematerialization makes.

    Raises
    ------
    InvalidTrace
        When a field is missing or unknown, or a time is none.

    Notes
    -----
    O(characters).

    References
    ----------
    .. [1] OpenXLA, xla/service/profile_guided_latency_estimator.cc; gpu/gpu_hlo_schedule.cc,
           ``FilterWithFingerprint``; tensorflow/core/profiler's ProfiledInstructionsProto.
    """
    plain = _json_times(content)
    if plain is None:
        rows = list(_rows(single_text([content]), place))
    else:
        rows = [("costs", {"name": name, "cost_us": str(time)}) for name, time in plain.items()]
    times: dict[str, list[float]] = {}
    latencies: dict[str, list[float]] = {}
    faults: list[Fault] = []
    for kind, fields in rows:
        wanted = ("name", "cost_us") if kind == "costs" else ("source", "latency_us")
        missing = [name for name in wanted if name not in fields]
        if missing:
            detail = f"Costs: {kind} need {' and '.join(wanted)}; {missing[0]} is missing."
            faults.append(Fault(place, FaultCode.MISSING_FIELD, detail))
            continue
        name, text = fields[wanted[0]], fields[wanted[1]]
        time = _number(text)
        if time is None:
            detail = f"Costs: {name!r}: a time must be 0 to {MAX_DURATION_US:g} us, got {text!r}."
            faults.append(Fault(place, FaultCode.OUT_OF_RANGE, detail))
            continue
        own = times if kind == "costs" else latencies
        own.setdefault(name.rpartition(_OF_MODULE)[2], []).append(time)
    if faults:
        raise InvalidTrace(faults)
    return {name: math.fsum(some) / len(some) for name, some in (latencies | times).items()}


def _number(text: str) -> float | None:
    try:
        value = float(text.removesuffix("f"))
    except ValueError:
        return None
    return value if 0 <= value <= MAX_DURATION_US else None


def _rows(text: str, place: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the messages of a text: the field that they are, and their fields."""
    tokens = list(_tokens(text, place))
    at = 0
    while at < len(tokens):
        kind, line = tokens[at]
        at += 1
        if kind not in ("costs", "latencies"):
            raise _wrong(place, line, f"{kind!r} is no field, costs and latencies are")
        at += at < len(tokens) and tokens[at][0] == ":"
        opened = tokens[at][0] if at < len(tokens) else ""
        if opened not in _CLOSES:
            raise _wrong(place, line, f"{kind} has no brace")
        at += 1
        fields: dict[str, str] = {}
        while at < len(tokens) and tokens[at][0] != _CLOSES[opened]:
            name, line = tokens[at]
            if name in ",;":
                at += 1
                continue
            if at + 2 >= len(tokens) or tokens[at + 1][0] != ":" or name in fields:
                raise _wrong(place, line, f"{name!r} is no field with a value")
            value = tokens[at + 2][0]
            fields[name] = value[1:-1] if value[0] in "\"'" else value
            at += 3
        if at == len(tokens):
            detail = f"Costs: the text ends within {kind}."
            raise InvalidTrace([Fault(place, FaultCode.TRUNCATED, detail)])
        at += 1
        at += at < len(tokens) and tokens[at][0] in ",;"
        yield kind, fields


def _tokens(text: str, place: str) -> Iterator[tuple[str, int]]:
    """Yield words, texts and marks, each with its line."""
    at, line = 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _wrong(place, line, f"{text[at : at + 20]!r} is nothing of this format")
        if found.lastgroup:
            yield found[0], line
        line += found[0].count("\n")
        at = found.end()


def _wrong(place: str, line: int, why: str) -> InvalidTrace:
    return InvalidTrace([Fault(place, FaultCode.WRONG_FORMAT, f"Costs, line {line:,}: {why}.")])


def costs_text(times: Mapping[str, float]) -> str:
    """Write times by name as XLA's profile-guided latency estimation reads them [us]."""
    return "".join(
        f"costs {{ name: {json.dumps(n)} cost_us: {t:.6g} }}\n" for n, t in times.items()
    )
