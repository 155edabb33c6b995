"""Parts of a request for shapes from what the command is given."""

import csv
from pathlib import Path
from typing import Any

import typer

from app.cli.assignments import value_of
from app.cli.progress import Stage, stage_of
from solver.shapes.ranking.ranked import ShapeRanking

#: GPUs of all levels beyond the node: more than any job has, as the request cuts it to its own.
_ALL = 1_048_576


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
    """Read a CSV of measured steps, a column a field of its shape besides ``time_us``."""
    if path is None:
        return None
    with path.open(newline="", encoding="utf-8") as file:
        table = csv.DictReader(file)
        rows = []
        for line in table:
            cells = {name: value_of(text) for name, text in line.items() if name and text}
            time_us = cells.pop("time_us", None)
            rows.append({"shape": cells, "time_us": time_us})
    if not rows:
        raise typer.BadParameter(f"{path}: no rows", param_hint="--rows")
    return rows


def shape_stage(
    phase: str, done: int, total: int | None, so_far: ShapeRanking, *_answer: object
) -> Stage:
    """Return how far a ranking is."""
    best = so_far.best[0].step.time_us if so_far.best else None
    return stage_of(phase, done, total, best, so_far.lower_bound_us)
