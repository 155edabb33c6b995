"""Parts of a request for shapes from what the command is given."""

import csv
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from app.cli.assignments import value_of
from app.cli.progress import Stage, stage_of
from solver.shapes.ranking.ranked import ShapeRanking

#: GPUs of all levels beyond the node: more than any job has, as the request cuts it to its own.
_ALL = 1_048_576

#: How many faults of a file are printed.
_LINES = 10
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


def kernels_of(path: Path | None) -> Any:
    """Read a JSON file of measured kernels: a request's ``kernels``, or a SimuMax system file."""
    from app.errors import Refusal
    from app.reading.parsing import read_json
    from solver.errors import InvalidMeasurements
    from solver.shapes import simumax

    if path is None:
        return None
    try:
        found = read_json(path.read_bytes())
        if not simumax.is_system(found):
            return found
        kernels = simumax.kernels_of(found)
    except Refusal as error:
        raise typer.BadParameter(f"{path}: {error}", param_hint="--kernels") from None
    except InvalidMeasurements as error:
        lines = "\n".join(f"{path}: {fault.detail}" for fault in error.faults[:_LINES])
        raise typer.BadParameter(lines, param_hint="--kernels") from None
    return {
        "matmuls": [asdict(each) for each in kernels.matmuls],
        "attention": [asdict(each) for each in kernels.attention],
        "precision": kernels.precision,
    }


def _cell(name: str, text: str) -> Any:
    """Return what a cell says; None where it is empty."""
    text = text.strip()
    if name in _YES_OR_NO:
        return _SAID.get(text.lower(), text or None)
    return value_of(text) if text else None


def _unfit(detail: str) -> typer.BadParameter:
    return typer.BadParameter(detail, param_hint="--rows")


def shape_stage(
    phase: str, done: int, total: int | None, so_far: ShapeRanking, *_answer: object
) -> Stage:
    """Return how far a ranking is."""
    best = so_far.best[0].step.time_us if so_far.best else None
    return stage_of(phase, done, total, best, so_far.lower_bound_us)
