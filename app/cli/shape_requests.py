"""Parts of a request for shapes from what the command is given."""

import csv
from pathlib import Path
from typing import Any

import typer

from app.cli.assignments import value_of

#: GPUs of all levels beyond the node: more than any job has, as the request cuts it to its own.
_ALL = 1_048_576

#: Columns of a table of steps that are true or false, and how a table may say so.
_YES_OR_NO = ("sequence_parallel", "flash_attention", "reshard")
_SAID = {"true": True, "1": True, "false": False, "0": False}


def levels_of(
    node_gpus: int | None, node_gbps: float | None, network_gbps: float | None
) -> list[dict[str, Any]] | None:
    """Return the levels that flags tell; None without them."""
    levels: list[dict[str, Any]] = []
    if node_gbps is not None:
        levels.append({"name": "node", "gpus": node_gpus or 8, "bandwidth_gbps": node_gbps})
    elif node_gpus is not None:
        raise typer.BadParameter("needs --node-gbps", param_hint="--node-gpus")
    if network_gbps is not None:
        levels.append({"name": "network", "gpus": _ALL, "bandwidth_gbps": network_gbps})
    return levels or None


def rows_of(path: Path | None) -> list[dict[str, Any]] | None:
    """Read a CSV of measured steps, a column a field of its shape besides ``time_us``.

    It may be as spreadsheets write it: a byte order mark, spaces around names, 1 or TRUE for true.

    Raises
    ------
    typer.BadParameter
        Without rows, for a column that is there twice, or a row with more cells than columns.
    """
    if path is None:
        return None
    rows = []
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file)
        names = [name.strip() for name in next(lines, [])]
        if twice := [name for i, name in enumerate(names) if name and name in names[:i]]:
            raise _unfit(f"{path}: column {twice[0]} is there twice")
        for cells in lines:
            if len(cells) > len(names):
                detail = f"at most {len(names)} cells, one a column, got {len(cells)}"
                raise _unfit(f"{path}, line {lines.line_num}: {detail}")
            told = {name: _cell(name, text) for name, text in zip(names, cells, strict=False)}
            shape = {name: value for name, value in told.items() if name and value is not None}
            if shape:
                rows.append({"time_us": shape.pop("time_us", None), "shape": shape})
    if not rows:
        raise _unfit(f"{path}: no rows")
    return rows


def _cell(name: str, text: str) -> Any:
    """Return what a cell says; None where it is empty."""
    text = text.strip()
    if name in _YES_OR_NO:
        return _SAID.get(text.lower(), text or None)
    return value_of(text) if text else None


def _unfit(detail: str) -> typer.BadParameter:
    return typer.BadParameter(detail, param_hint="--rows")
