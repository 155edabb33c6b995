"""Measured times as bars, and what was predicted as marks on them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from tests.testbed.outcome import Cell

#: A colour for each runtime; in grey they can be told apart, too.
_COLOURS = {
    "ddp": "#777777",
    "export": "#c8a050",
    "barrier": "#8fb8de",
    "planned": "#1f5fa8",
    "fifo": "#b0456b",
}


def draw(path: Path, cells: Sequence[Cell], titles: Mapping[str, str]) -> None:
    """Draw a panel for each model as SVG; ``titles`` by runtime, in their order."""
    models = list(dict.fromkeys(cell.model for cell in cells))
    names = [name for name in titles if any(name in cell.times for cell in cells)]
    width = 0.85 / len(names)
    with mpl.rc_context({"svg.hashsalt": "testbed", "font.size": 9}):
        figure = Figure(figsize=(10, 3.6), layout="constrained")
        panels = figure.subplots(1, len(models), squeeze=False)[0]
        for panel, model in zip(panels, models, strict=True):
            shown = [cell for cell in cells if cell.model == model]
            for k, name in enumerate(names):
                pairs = [(x, c.times[name]) for x, c in enumerate(shown) if name in c.times]
                places = [x + (k - (len(names) - 1) / 2) * width for x, _ in pairs]
                measured = [time.measured / 1e3 for _, time in pairs]
                panel.bar(places, measured, 0.92 * width, color=_COLOURS[name], label=titles[name])
                marks = [time.predicted / 1e3 for _, time in pairs]
                label = "predicted" if k == len(names) - 1 else None
                panel.scatter(places, marks, s=26, marker="_", color="black", label=label)
            panel.set_title(model)
            panel.set_xticks(range(len(shown)), [f"{cell.ratio:g}" for cell in shown])
            panel.set_xlabel("communication / computation")
        panels[0].set_ylabel("training step [ms]")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None})
