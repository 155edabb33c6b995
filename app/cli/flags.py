"""Texts of flags, and the files that they name, as fields of a request."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from app.cli.assignments import value_of
from app.cli.options import present
from app.errors import Refusal
from app.names import COMPRESSIONS
from app.reading.parsing import read_json
from solver.errors import InterlaceError
from solver.wording import meant

if TYPE_CHECKING:
    from solver.calibration.measurements.logs.ddp_logging import DdpTimes

Json = dict[str, Any]

_CHANGES = {"bytes": "bytes_factor", "duration": "duration_factor"}


def policy(text: str, flag: str = "--baseline") -> str | Json:
    """Read NAME or NAME:KEY=VALUE,... as a policy of a request."""
    name, colon, rest = text.partition(":")
    if not colon:
        return name
    pairs = [pair.partition("=") for pair in rest.split(",")]
    if not all(key and equals and key != "policy" for key, equals, _ in pairs):
        raise typer.BadParameter("use NAME:KEY=VALUE,KEY=VALUE", param_hint=flag)
    return {"policy": name} | {key: value_of(value) for key, _, value in pairs}


def fields(text: str | None, flag: str, example: str = "") -> Json | None:
    """Read KEY=VALUE,... as an object; a key may be a path, as in hub.cable_dollars=30.

    ``example`` is what is said of a text that is none, such as ``preset=phub``.
    """
    if text is None:
        return None
    found: Json = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        *path, last = key.split(".")
        if not equals or not all([*path, last]):
            such = f", such as {example}" if example else ""
            raise typer.BadParameter(f"use KEY=VALUE,KEY=VALUE{such}", param_hint=flag)
        place = found
        for step in path:
            place = place.setdefault(step, {})
            if not isinstance(place, dict):
                raise typer.BadParameter(f"{step} is a value and no object", param_hint=flag)
        if last in place:
            raise typer.BadParameter(f"{key} stands there twice", param_hint=flag)
        place[last] = value_of(value)
    return found


def named(text: str, flag: str) -> Json:
    """Read NAME:KEY=VALUE,... or KEY=VALUE,... as an object."""
    name, colon, rest = text.partition(":")
    if not colon:
        return fields(text, flag) or {}
    return {"name": name, **(fields(rest, flag) or {})}


def change(text: str, flag: str = "--what-if") -> Json:
    """Read PATTERN=remove, =bytes*N, =duration*N, =chunks*N or =[KIND*]COMPRESSION as a change."""
    pattern, equals, what = text.rpartition("=")
    field, times, factor = what.partition("*")
    if pattern and equals and what == "remove":
        return {"match": pattern, "remove": True}
    if pattern and equals and (factor or field) in COMPRESSIONS:
        return {"match": pattern, "compression": factor or field} | present(
            kind=field if times else None
        )
    if pattern and times and field == "chunks":
        return {"match": pattern, "chunks": {"count": value_of(factor)}}
    if not pattern or not times or field not in _CHANGES:
        near = meant(factor or field, ("remove", *COMPRESSIONS))
        raise typer.BadParameter(
            "use PATTERN=remove, PATTERN=bytes*FACTOR, PATTERN=duration*FACTOR, "
            "PATTERN=chunks*COUNT, or "
            f"PATTERN=COMPRESSION: {', '.join(COMPRESSIONS)}.{near}",
            param_hint=flag,
        )
    return {"match": pattern, _CHANGES[field]: value_of(factor)}


def jitter(
    spread: float | None, runs: int | None, seed: int | None, rivals: list[str]
) -> Json | None:
    """Put the flags of jitter together; the others mean nothing without --jitter."""
    others = present(runs=runs, seed=seed, rivals=[policy(text, "--rival") for text in rivals])
    if spread is None and others:
        flag = {"rivals": "rival"}.get(name := next(iter(others)), name)
        raise typer.BadParameter("needs --jitter", param_hint=f"--{flag}")
    return None if spread is None else {"spread": spread, **others}


def sized(number: float | None, unit: int) -> int | None:
    """Read a number of a unit as bytes, at least one."""
    return None if number is None else max(1, round(number * unit))


def several_sized(numbers: list[float] | None, unit: int) -> list[int]:
    """Read numbers of a unit as bytes, each at least one."""
    return [max(1, round(number * unit)) for number in numbers or []]


def program_options(
    copy_gbps: float | None,
    max_bucket_mib: float | None,
    max_under_way_mib: float | None,
    inputs_held: str | None,
    margin_ms: float | None = None,
) -> Json:
    """Put what programs are made with into options."""
    return present(
        copy_gbps=copy_gbps,
        max_bucket_bytes=sized(max_bucket_mib, 2**20),
        max_bytes_under_way=sized(max_under_way_mib, 2**20),
        inputs_held=inputs_held,
        margin_us=None if margin_ms is None else 1e3 * margin_ms,
    )


def memory_limits(limits_gib: list[float] | None) -> Json:
    """Put limits of memory into options: one, or a list of several."""
    found = several_sized(limits_gib, 2**30)
    if len(found) > 1:
        return {"memory_limits_bytes": found}
    return {"memory_limit_bytes": found[0]} if found else {}


def network(
    workers: int | None,
    bandwidth_gbps: float | None,
    startup_us: float | None,
    model: Path | None,
    *,
    extrapolate: bool,
    compute_slowdown: float | None,
) -> Json:
    """Put the flags of the cluster together."""
    return present(
        workers=workers,
        bandwidth_gbps=bandwidth_gbps,
        startup_us=startup_us,
        cost_model=cost_model(model),
        extrapolate=extrapolate or None,
        compute_slowdown=compute_slowdown,
    )


#: What is said of a file that is no cost model.
_NO_MODEL = "is no cost model: print one with interlace calibrate --json"


def cost_model(path: Path | None) -> Json | None:
    """Read what calibrate --json printed, a cost model by itself, or a log of launches."""
    if path is None:
        return None
    from solver.traces.foreign import is_log

    content = path.read_bytes()
    try:
        value = read_json(content)
    except Refusal:
        value = None
    model = value.get("model", value) if isinstance(value, dict) else None
    if not isinstance(model, dict) or is_log(content):
        return _fitted(path, content)
    if "graph" in model or "ops" in model:
        raise typer.BadParameter(f"{path} {_NO_MODEL}", param_hint="--cost-model")
    return model


def _fitted(path: Path, content: bytes) -> Json:
    """Fit a cost model to a log of launches, as calibrate does; say what was assumed.

    Raises
    ------
    typer.BadParameter
        When the file is none, or nothing can be fitted to it.
    """
    from app.cli.benchmarks import read_benchmarks, read_contents
    from app.services.cost_models import run

    try:
        logs = read_contents([content], [str(path)])
        answer = run(read_benchmarks(logs.contents, path.name, {}))
    except InterlaceError as error:
        why = " ".join(dict.fromkeys(fault.detail for fault in error.faults))
        detail = f"{path} {_NO_MODEL}, or give a log of launches. {why}"
        raise typer.BadParameter(detail, param_hint="--cost-model") from None
    for said in [*logs.said, *(f"{path}: {note}" for note in answer.notes)]:
        typer.echo(said, err=True)
    model: Json = answer.model.model_dump(mode="json", exclude_none=True)
    return model


def ddp_times(path: Path | None) -> "DdpTimes | None":
    """Read DDP's logging data."""
    if path is None:
        return None
    from solver.calibration.measurements.logs.ddp_logging import times_of

    found = times_of(path.read_text(encoding="utf-8", errors="replace"))
    if not found.buckets and found.communication_us is None:
        raise typer.BadParameter(f"{path} has no logging data of DDP", param_hint="--ddp-log")
    return found


def parameters(path: Path | None) -> str | None:
    """Return the text of a file of names and bytes of gradients."""
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{path} is not UTF-8 text", param_hint="--parameters") from None


def rank(text: str | None) -> int | None:
    """Read N as the place of a file; None for the slowest rank."""
    if text is None or text == "slowest":
        return None
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise typer.BadParameter("use the place of a file, from 0, or slowest", param_hint="--rank")
    return int(text)


def numbers(text: str | None, flag: str) -> list[Any] | None:
    """Read N,N,... as a list of numbers."""
    if text is None:
        return None
    values = [value_of(part) for part in text.split(",")]
    if not all(isinstance(value, int | float) for value in values):
        raise typer.BadParameter("use numbers with commas between them", param_hint=flag)
    return values


def plan(path: Path) -> Json:
    """Read what plan --json printed."""
    try:
        value = read_json(path.read_bytes())
    except Refusal as error:
        raise typer.BadParameter(f"{path}: {error}", param_hint="--plan") from None
    if not isinstance(value, dict) or not {"buckets", "schedule"} <= value.keys():
        detail = f"{path} is no plan: print one with interlace plan --json"
        raise typer.BadParameter(detail, param_hint="--plan")
    return value
