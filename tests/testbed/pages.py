"""The page of what was measured, where and how: as JSON, tables and a plot."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from tests.testbed.halving import AFTER, STEPS
from tests.testbed.jobs import REAL
from tests.testbed.outcome import Cell, Summary, Time, cell_of, summary_of
from tests.testbed.plot import draw
from tests.testbed.sessions import CELLS, HALVING, OVERHEAD, TRIALS
from tests.testbed.trials import ROUNDS

#: What the page calls the runtimes, in this order.
TITLES = {
    "ddp": "DDP",
    "export": "export",
    "barrier": "PlannedDDP, barrier",
    "planned": "PlannedDDP",
    "fifo": "FIFO",
    "ddp_one": "DDP, one bucket",
    "barrier_one": "PlannedDDP, barrier, one bucket",
}

_HEAD = """\
# Predicted beside measured

<!-- written by python -m tests.testbed -->

Four workers train over links that carry so little that communication takes as long as compute.
"""

_CELLS = """\
## Runtimes

{said}

Five runtimes train the same model in turn, some steps each, round after round:

- **DDP**: DistributedDataParallel. A layer list is a published model made smaller; DDP's caps of 1
  and 25 MiB are made smaller with it.
- **export**: the file of `interlace export --format ddp`, with a plan for its barrier;
- **PlannedDDP, barrier**: the same plan, run by `interlace_client.torch`;
- **PlannedDDP**: a plan without a barrier; each parameter waits for its own bucket;
- **FIFO**: each tensor alone in the order of release; each parameter waits for its own.

Before, the costs of launches are calibrated under traffic that does not pause, the model is
captured without communication, and it is measured how much communication slows its compute. From
these alone the simulator predicts each time. Measured is the median of {rounds} rounds of {steps}
steps [ms]; in brackets is by how much the prediction is off. *Alone* is a step without
communication; no plan takes less than the *bound*, proven on the captured graph.
"""

_REAL = """\
### A model that computes

A Transformer of 3.3 million parameters. All workers share the machine's cores: compute and
communication are in each other's way, and so are the workers.
"""

_OVERHEAD = """\
## What the hooks take

{said}

Both send the same one bucket when the backward pass ends, so nothing can be gained.
"""

_HALVING = f"""\
## A link that becomes half as fast

{{said}}

`Steering` watches the run. The medians [ms] of {STEPS} steps before the change, of the last {STEPS}
of {AFTER} after it, and of {STEPS} with the plan that is made for the new link when its costs have
been calibrated.
"""


_TRIALS = f"""\
## A plan on trial

{{said}}

The window is measured, a step is recorded, overlap and costs are measured, and a plan is made; a
trial decides. Afterwards each arm makes steps in {ROUNDS} rounds: *later* are their medians [ms]
of DistributedDataParallel (the best of its arms) and of the plan (the best of its windows). *Above
the best* is by how much the kept arm then takes longer than the best of all.
"""


def write(folder: Path, kept: Mapping[str, Any]) -> str:
    """Write ``testbed.json``, ``testbed.md`` and ``testbed.svg``; return the page.

    Parameters
    ----------
    folder
        Where; made when it is not there.
    kept
        What was measured, by part.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [part for part in _PARTS if part in kept]
    page, content = [_HEAD], {}
    for part in parts:
        text, content[part] = _PARTS[part](folder, kept[part])
        page.append(text)
    (folder / "testbed.json").write_text(json.dumps(content, indent=1) + "\n")
    text = "\n".join(page).rstrip() + "\n"
    (folder / "testbed.md").write_text(text)
    return text


def _cells(folder: Path, part: Mapping[str, Any]) -> tuple[str, Any]:
    """Write the cells of all runtimes."""
    cells = [cell_of(event) for event in part["cells"]]
    listed = [cell for cell in cells if cell.model != REAL]
    real = [cell for cell in cells if cell.model == REAL]
    text = [_CELLS.format(said=_list(part["said"]), rounds=part["rounds"], steps=part["steps"])]
    if listed:
        draw(folder / "testbed.svg", listed, TITLES)
        text += [_sentences(summary_of(listed)), _table(listed)]
        text += ["![Measured times as bars, predictions as marks on them](testbed.svg)\n"]
    if real:
        text += [_REAL, _table(real)]
    summary = _plain(summary_of(listed)) if listed else None
    return "\n".join(text), _json(part, cells, summary)


def _overhead(folder: Path, part: Mapping[str, Any]) -> tuple[str, Any]:
    """Write what hooks take."""
    cells = [cell_of(event) for event in part["cells"]]
    rows = [["model", TITLES["ddp_one"], TITLES["barrier_one"], "more"]]
    for cell in cells:
        stock, ours = (cell.times[name].measured for name in ("ddp_one", "barrier_one"))
        rows.append(
            [cell.model, f"{stock / 1e3:.1f}", f"{ours / 1e3:.1f}", f"{ours / stock - 1:+.1%}"]
        )
    text = [_OVERHEAD.format(said=_list(part["said"])), _rows(rows)]
    return "\n".join(text), _json(part, cells, None)


def _halving(folder: Path, part: Mapping[str, Any]) -> tuple[str, Any]:
    """Write what a slower link does."""
    rows, said = [["model", "before", "after", "planned for it"]], []
    for event in part["cells"]:
        phases = event["phases_us"]
        figures = (median(phases[phase][-STEPS:]) for phase in ("before", "after", "anew"))
        rows.append([event["model"], *(f"{us / 1e3:.0f}" for us in figures)])
        said += [
            f"{event['model']}: another plan {each['after']} steps after the change: "
            f"{each['sentence']}."
            for each in event["taken"]
        ] or [f"{event['model']}: no other plan would have won."]
    text = [_HALVING.format(said=_list(part["said"])), _rows(rows), _list(said)]
    return "\n".join(text), part


def _trials(folder: Path, part: Mapping[str, Any]) -> tuple[str, Any]:
    """Write what trials kept, and what came of it."""
    head = [
        "model",
        "link",
        "promised",
        "tried: low, middle, high",
        "kept",
        "DDP later",
        "plan later",
    ]
    rows = [[*head, "above the best"]]
    for event in part["cells"]:
        for each in event["trials"]:
            low, middle, high = ((gain - 1) * 100 for gain in each["gains"])
            arms = list(zip(each["arms"], each["later_us"], strict=True))
            ddp, plan = (
                min(us for arm, us in arms if arm["is_plan"] is is_plan)
                for is_plan in (False, True)
            )
            rows.append(
                [
                    event["model"],
                    f"{event['mbit']:g} Mbit/s",
                    "" if each["promised"] is None else f"{each['promised'] * 100 - 100:+.1f} %",
                    f"{low:+.1f}, {middle:+.1f}, {high:+.1f} %",
                    each["arms"][each["kept"]]["name"],
                    f"{ddp / 1e3:.0f}",
                    f"{plan / 1e3:.0f}",
                    f"{each['above_best']:.1%}",
                ]
            )
    return "\n".join([_TRIALS.format(said=_list(part["said"])), _rows(rows)]), part


#: The parts of the page in their order: from what was measured to text and JSON.
_PARTS: dict[str, Callable[[Path, Mapping[str, Any]], tuple[str, Any]]] = {
    CELLS: _cells,
    OVERHEAD: _overhead,
    HALVING: _halving,
    TRIALS: _trials,
}


def _table(cells: Sequence[Cell]) -> str:
    """Write a row for each cell, a column for each runtime."""
    names = [name for name in TITLES if any(name in cell.times for cell in cells)]
    titles = ["model", "communication / computation", "alone"]
    rows = [[*titles, *(TITLES[name] for name in names), "saved", "bound", "load"]]
    gains = summary_of(cells).gains
    for cell in cells:
        gain = gains.get((cell.model, cell.ratio))
        rows.append(
            [
                cell.model,
                "" if cell.ratio is None else f"{cell.ratio:g}",
                f"{cell.alone / 1e3:.0f}",
                *(_figure(cell.times.get(name)) for name in names),
                "" if gain is None else f"{gain:.1%}",
                f"{cell.bound / 1e3:.0f}",
                f"{cell.load:.1f}",
            ]
        )
    return _rows(rows)


def _rows(rows: Sequence[Sequence[str]]) -> str:
    """Write a table, its head first."""
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([head, "| --- " + "| ---: " * (len(rows[0]) - 1) + "|", *body, ""])


def _list(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _figure(time: Time | None) -> str:
    return "" if time is None else f"{time.measured / 1e3:.0f} ({time.error:+.1%})"


def _sentences(summary: Summary) -> str:
    lines = [
        f"Predictions are {summary.median_error:.1%} off in the median, "
        f"{summary.worst_error:.1%} at worst.",
        f"Of {summary.pairs} pairs of runtimes that differ by more than 2 %, "
        f"{summary.pairs_right} are predicted in the right order.",
    ]
    if summary.gains:
        least, most = min(summary.gains.values()), max(summary.gains.values())
        lines.append(f"PlannedDDP saves {least:.1%} to {most:.1%} of DDP's time.")
    return _list(lines) + "\n"


def _json(part: Mapping[str, Any], cells: Sequence[Cell], summary: Any) -> dict[str, Any]:
    """Return a part without its graphs and launches."""
    return {**part, "summary": summary, "cells": [asdict(cell) for cell in cells]}


def _plain(summary: Summary) -> dict[str, Any]:
    gains = [
        {"model": model, "ratio": ratio, "saved": gain}
        for (model, ratio), gain in summary.gains.items()
    ]
    return {**asdict(summary), "gains": gains}
