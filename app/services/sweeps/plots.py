"""Plots of sweeps as SVG: speed along one axis, a line for each policy, with the bound."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from app.services.drawing import BOUND, COLOURS, MARKERS, drawn, frame, line, ring, scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SpeedCurve(NamedTuple):
    """Speed of a policy at each x, None where it is not defined; ``knee`` is an x or None.

    ``style`` chooses colour and marker, the same in every plot.
    """

    label: str
    style: int
    speeds: Sequence[float | None]
    knee: float | None


class Plot(NamedTuple):
    """What is drawn: curves over ``xs``, the bound and the ideal above them."""

    title: str
    along: str
    xs: Sequence[float]
    curves: Sequence[SpeedCurve]
    bound: Sequence[float | None]
    ideal: Sequence[float]


def draw(plot: Plot) -> bytes:
    """Draw a plot of 800 x 500 as SVG; the same plot gives the same bytes."""
    return drawn(partial(_fill, plot=plot))


def _fill(axes: "Axes", plot: Plot) -> None:
    axes.plot(plot.xs, plot.ideal, color="#444444", linestyle=":", label="ideal")
    line(axes, plot.xs, plot.bound, **BOUND, label="bound: no plan does more")
    for place, curve in enumerate(_highest_first(plot.curves)):
        thin = place / len(plot.curves)  # what is drawn later lets the others be seen
        style = {
            "color": COLOURS[curve.style % len(COLOURS)],
            "marker": MARKERS[curve.style % len(MARKERS)],
            "markersize": 9 - 5 * thin,
            "linewidth": 3.5 - 2.5 * thin,
        }
        words = curve.label.replace(":", "\n").replace(",", "\n")
        line(axes, plot.xs, curve.speeds, **style, label=words)
    knees = [
        (x, speed)
        for curve in plot.curves
        for x, speed in zip(plot.xs, curve.speeds, strict=True)
        if x == curve.knee and speed is not None
    ]
    ring(axes, knees, "from here on, 1 % or less")
    speeds = [s for c in plot.curves for s in c.speeds if s is not None]
    axes.set_xscale(scale(plot.xs))
    grows = plot.ideal[0] != plot.ideal[-1]  # then ideal speed is a straight line on equal scales
    axes.set_yscale(scale(plot.xs if grows else [*speeds, *plot.ideal]))
    frame(axes, plot.title, plot.along, "speed [workers that never wait]", plot.xs)


def _highest_first(curves: Sequence[SpeedCurve]) -> list[SpeedCurve]:
    """Order curves from top to bottom, so that the legend stands as the lines do."""
    return sorted(curves, key=lambda curve: -sum(speed or 0 for speed in curve.speeds))
