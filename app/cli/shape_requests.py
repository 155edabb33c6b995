"""Parts of a request for shapes from what the command is given."""

import csv
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from app.cli.assignments import value_of

#: GPUs of all levels beyond the node: more than any job has, as the request cuts it to its own.
_ALL = 1_048_576

#: How many faults of a file are printed.
_LINES = 10


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
