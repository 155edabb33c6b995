"""The page of asynchronous training: predicted from one worker's recording, beside measured."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from solver.parameter_server.fit import EndErrors, TransferFit
from tests.testbed.servers import RUNS, predicted, predicted_runs

_HEAD = """\
# Parameter servers: predicted beside measured

<!-- written by python -m tests.testbed --parts servers -->

Workers pull the parameters of a model from one server, compute, and push its gradients, each on its
own ([how](../how-to/record-a-parameter-server.md)). One worker that is alone records some steps.
From these alone `interlace parameter-server --fit` predicts the steps a second of more workers.

{said}

A layer list is a published model made smaller: 1 MB of parameters, and a step sleeps for 0.3 s.
*computing*, where it was measured, is a network of 8 layers that computes, on the cores that all
workers share. A row counts the whole steps of each worker while all train, the first half of its
time left out. Predicted is what the command says, the mean of a thousand steps. What was measured
is of far fewer: in brackets are the slowest and the fastest of {runs} simulated runs of as many
steps, behind as many that do not count.
"""
_ENDS = """\
## Ends of recorded transfers

Each transfer starts as recorded; under the fitted bandwidth and window it ends so far from where it
did, over that end (counted from the step's beginning). The shaper lets the first 9 KB of a pull
through at once, and where first tensors are small their ends are counted over a few ms: that is
what is far off.
"""
_STEP = """\
## What decides whether workers fall into step

Links that are shared equally keep workers as far apart as they are
([why](../explanation/model.md#section-13)). Three things in the network of earlier runs did not.
They had a part in predictions that were 25 to 36 % off, and none is a parameter of the model:

- The shaper's class of each worker had a rate of its own, and so saved up a burst while it was
  idle. Who pulled later sent its burst before others went on, and was nearer to them by that much,
  at each pull and push: workers drew together until they were in step. Now all classes borrow.
- The link itself saved up 32 KB while it was idle, 5 ms at 50 Mbit/s. Who came first got them, and
  was ahead of the others by that much more: workers drew apart until no two wanted the link at
  once. Two of *vgg16* at 50 Mbit/s trained as fast as if each had been alone. Now a link saves up
  one segment, of 9 KB.
- Packets of less than 128 bytes went first, since most of them confirm. Headers and small tensors
  did, too, and overtook what their connection had sent before. TCP takes that for loss: it sent
  again what had come, and halved its window. Now only packets that carry nothing go first.

Tests on that network hold the first and the last (`tests/testbed/test_server_network.py`). What the
model leaves out: one interpreter serves all workers, and the cores of this machine are those of all
hosts. By how much either slows workers was not measured.
"""


@dataclass(frozen=True)
class ServedRow:
    """So many workers: steps a second, as measured and as predicted.

    ``low`` and ``high`` are of the slowest and the fastest simulated run as long as the measured.
    """

    model: str
    mbit: float
    workers: int
    measured: float
    predicted: float
    low: float
    high: float
    steps: int
    load: float

    @property
    def error(self) -> float:
        """By how much the prediction is off."""
        return self.predicted / self.measured - 1


def rows_of(cell: Mapping[str, Any]) -> tuple[TransferFit, list[ServedRow]]:
    """Predict a cell's rows, that of one worker included."""
    counts = [int(count) for count in cell["measured"]]
    fit, found = predicted(cell["document"], counts)
    rows = []
    for count in counts:
        steps = cell["steps"][str(count)]
        rates = predicted_runs(cell["document"], count, max(1, round(steps / count)))
        rows.append(
            ServedRow(
                cell["model"],
                cell["mbit"],
                count,
                cell["measured"][str(count)],
                found[count].examples_per_s,
                min(rates),
                max(rates),
                steps,
                cell["load"][str(count)],
            )
        )
    return fit, rows


def write(folder: Path, part: Mapping[str, Any]) -> str:
    """Write ``parameter-servers.json``, ``.md`` and ``.svg``; return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    cells = [(cell, *rows_of(cell)) for cell in part["cells"]]
    rows = [row for _, _, own in cells for row in own]
    many = [row for row in rows if row.workers > 1]
    errors = [abs(row.error) for row in many]
    within = sum(error <= 0.1 for error in errors)
    held = sum(row.low <= row.measured <= row.high for row in many)
    text = [
        _HEAD.format(said="\n".join(f"- {each}" for each in part["said"]), runs=RUNS),
        f"Of {len(many)} rows of 2 workers or more predictions are {median(errors):.1%} off in the "
        f"median, {max(errors):.1%} at worst; {within} are within 10 %. {held} were as fast as "
        "simulated runs as long. Where workers wait for links, a run may fall into step or stay "
        "out of it.\n",
        table(
            ("model", "Mbit/s", "workers", "measured", "predicted", "off", "steps", "load"),
            [
                (
                    r.model,
                    f"{r.mbit:g}",
                    str(r.workers),
                    f"{r.measured:.2f}",
                    _rate(r),
                    f"{r.error:+.1%}",
                    str(r.steps),
                    f"{r.load:.1f}",
                )
                for r in rows
            ],
        ),
        "![Steps a second by workers, measured and predicted](parameter-servers.svg)\n",
        _STEP,
        _ENDS,
        table(
            (
                "model",
                "Mbit/s",
                "direction",
                "mean",
                "median",
                "95th percentile",
                "most",
                "fitted Mbit/s",
            ),
            [
                (c["model"], f"{c['mbit']:g}", *_ends(e), f"{fit.bandwidth_gbps * 1e3:.1f}")
                for c, fit, _ in cells
                for e in fit.errors
            ],
        ),
    ]
    summary = {"rows": len(many), "median": median(errors), "worst": max(errors)}
    kept = {
        "said": part["said"],
        "summary": summary,
        "rows": [asdict(row) for row in rows],
        "fits": [{"model": c["model"], "mbit": c["mbit"], **asdict(fit)} for c, fit, _ in cells],
    }
    (folder / "parameter-servers.json").write_text(json.dumps(kept, indent=1) + "\n")
    _draw(folder / "parameter-servers.svg", rows)
    page = "\n".join(text).rstrip() + "\n"
    (folder / "parameter-servers.md").write_text(page)
    return page


def _rate(row: ServedRow) -> str:
    return f"{row.predicted:.2f} ({row.low:.2f} to {row.high:.2f})"


def _ends(errors: EndErrors) -> tuple[str, ...]:
    shares = (errors.mean, errors.median, errors.p95, errors.most)
    return errors.direction, *(f"{share:.1%}" for share in shares)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table, its first column of words."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "| --- " + "| ---: " * (len(head) - 1) + "|", *lines[1:], ""])


def _draw(path: Path, rows: Sequence[ServedRow]) -> None:
    """Draw a panel for each model."""
    models = list(dict.fromkeys(row.model for row in rows))
    rates = sorted({row.mbit for row in rows})
    with mpl.rc_context({"svg.hashsalt": "servers", "font.size": 9}):
        figure = Figure(figsize=(10, 3.2), layout="constrained")
        panels = figure.subplots(1, len(models), squeeze=False)[0]
        for panel, model in zip(panels, models, strict=True):
            for mbit, colour, marker in zip(rates, ("#1f5fa8", "#b0456b"), "os", strict=False):
                own = [row for row in rows if (row.model, row.mbit) == (model, mbit)]
                counts = [row.workers for row in own]
                line = [row.predicted for row in own]
                points = [row.measured for row in own]
                panel.plot(counts, line, color=colour, label=f"{mbit:g} Mbit/s, predicted")
                panel.scatter(counts, points, s=24, marker=marker, color=colour, label="measured")
            panel.set_title(model)
            panel.set_xlabel("workers")
            panel.set_ylim(bottom=0)
        panels[0].set_ylabel("steps/s of all workers")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None})
