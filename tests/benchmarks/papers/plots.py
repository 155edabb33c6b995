"""A paper's plots as one SVG, in the axes of its figures."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.benchmarks.papers.tables import Plot

#: Told apart in grey, too, by their marks.
_COLOURS = ("#1f5fa8", "#777777", "#c8a050", "#b0456b", "#2f8f6b", "#6a52b3", "#8fb8de")
_MARKS = ("o", "s", "^", "v", "D", "P", "X")
_COLUMNS = 3
#: So many letters fit below a panel.
_LABELS = 36


def draw(path: Path, plots: Sequence[Plot]) -> None:
    """Draw a panel for each plot: lines are ours, stars are what the paper prints."""
    columns = min(_COLUMNS, len(plots))
    rows = -(-len(plots) // columns)
    with mpl.rc_context({"svg.hashsalt": "papers", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(3.6 * columns, 2.9 * rows), layout="constrained")
        panels = list(figure.subplots(rows, columns, squeeze=False).flat)
        for panel, plot in zip(panels, plots, strict=False):
            (_bars if plot.names else _lines)(panel, plot)
            panel.set_title(plot.title, fontsize=8)
            panel.set_xlabel(plot.x_label)
            panel.set_ylabel(plot.y_label)
            if len(plot.curves) > 1:
                panel.legend(frameon=False, fontsize=7)
        for panel in panels[len(plots) :]:
            panel.set_axis_off()
        figure.savefig(path, format="svg", metadata={"Date": None})


def _lines(panel: Axes, plot: Plot) -> None:
    for at, curve in enumerate(plot.curves):
        if curve.is_printed:
            panel.plot(curve.x, curve.y, "*", color="black", markersize=9, label=curve.label)
        else:
            panel.plot(
                curve.x,
                curve.y,
                color=_COLOURS[at % len(_COLOURS)],
                marker=_MARKS[at % len(_MARKS)] if len(curve.x) <= 20 else None,
                markersize=3,
                linewidth=1.2,
                drawstyle="steps-post" if plot.is_stepped else "default",
                label=curve.label,
            )
    if plot.log_x:
        panel.set_xscale("log")
    if plot.log_y:
        panel.set_yscale("log")
    elif not plot.is_signed:
        panel.set_ylim(bottom=0)


def _bars(panel: Axes, plot: Plot) -> None:
    width = 0.85 / len(plot.curves)
    for at, curve in enumerate(plot.curves):
        shift = (at - (len(plot.curves) - 1) / 2) * width
        places = [x + shift for x in curve.x]
        colour = "black" if curve.is_printed else _COLOURS[at % len(_COLOURS)]
        panel.bar(places, curve.y, 0.92 * width, color=colour, label=curve.label)
    is_crowded = sum(map(len, plot.names)) > _LABELS
    panel.set_xticks(range(len(plot.names)), plot.names, rotation=25 if is_crowded else 0)
    if plot.log_y:
        panel.set_yscale("log")
