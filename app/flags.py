"""Flags of the command as fields of a request."""

from typing import Any

import typer

from app.door import read_json
from app.errors import Refusal

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
    return {"policy": name} | {key: _value(value) for key, _, value in pairs}


def _value(text: str) -> Any:
    """Read a number, true or false; anything else is a word."""
    try:
        return read_json(text.encode())
    except Refusal:
        return text


def change(text: str) -> Json:
    """Read PATTERN=remove, PATTERN=bytes*FACTOR or PATTERN=duration*FACTOR as a change."""
    pattern, equals, what = text.rpartition("=")
    field, times, factor = what.partition("*")
    if pattern and equals and what == "remove":
        return {"match": pattern, "remove": True}
    if not pattern or not times or field not in _CHANGES:
        raise typer.BadParameter(
            "use PATTERN=remove, PATTERN=bytes*FACTOR or PATTERN=duration*FACTOR",
            param_hint="--what-if",
        )
    return {"match": pattern, _CHANGES[field]: _value(factor)}


def spreading(
    spread: float | None, runs: int | None, seed: int | None, rivals: list[str]
) -> Json | None:
    """Put the flags of jitter together; the others mean nothing without --jitter."""
    others = given(runs=runs, seed=seed, rivals=[policy(text, "--rival") for text in rivals])
    if spread is None and others:
        flag = {"rivals": "rival"}.get(name := next(iter(others)), name)
        raise typer.BadParameter("needs --jitter", param_hint=f"--{flag}")
    return None if spread is None else {"spread": spread, **others}


def given(**fields: Any) -> Json:
    """Keep the flags that were given."""
    return {name: value for name, value in fields.items() if value not in (None, [])}
