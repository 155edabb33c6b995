"""Plots of sweeps as SVG: speed along one axis, a line for each policy, with the bound."""

from collections.abc import Sequence
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe and Ito's colours, which the colour-blind tell apart, and markers: 35 pairs.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B5B5B")


_MARKERS = ("o", "s", "^", "D", "v")


#: Values that span more than this are drawn on a logarithmic axis.
_WIDE = 8


#: CSS pixels, 96 to an inch.
_WIDTH, _HEIGHT = 800, 500


#: Most ticks with a number, and longest title, in characters.
_TICKS, _TITLE = 10, 80


#: The last character that the plot's font is sure to have.
_LATIN = "\u017f"


#: matplotlib's settings are global.
_SETTINGS = Lock()


class Curve(NamedTuple):
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
    curves: Sequence[Curve]
    bound: Sequence[float | None]
    ideal: Sequence[float]


def draw(plot: Plot) -> bytes:
    """Draw a plot of 800 x 500 as SVG; the same plot gives the same bytes.

    Importing matplotlib takes longer than the service takes to start, so it is done here.
    """
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415

    with _SETTINGS, mpl.rc_context({"svg.hashsalt": "interlace", "svg.fonttype": "none"}):
        figure = Figure(
            figsize=(_WIDTH / 96, _HEIGHT / 96),
            layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1),
        )
        axes = figure.subplots()
        _fill(axes, plot)
        figure.legend(loc="outside right upper", frameon=False, fontsize=9)
        written = BytesIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def _fill(axes: "Axes", plot: Plot) -> None:
    axes.plot(plot.xs, plot.ideal, color="#444444", linestyle=":", label="ideal")
    line: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1, "zorder": 3}
    _line(axes, plot.xs, plot.bound, **line, label="bound: no plan does more")
    for place, curve in enumerate(_highest_first(plot.curves)):
        thin = place / len(plot.curves)  # what is drawn later lets the others be seen
        style = {
            "color": _COLOURS[curve.style % len(_COLOURS)],
            "marker": _MARKERS[curve.style % len(_MARKERS)],
            "markersize": 9 - 5 * thin,
            "linewidth": 3.5 - 2.5 * thin,
        }
        words = curve.label.replace(":", "\n").replace(",", "\n")
        _line(axes, plot.xs, curve.speeds, **style, label=words)
    knees = [
        (x, speed)
        for curve in plot.curves
        for x, speed in zip(plot.xs, curve.speeds, strict=True)
        if x == curve.knee and speed is not None
    ]
    if knees:
        ring: dict[str, Any] = {
            "marker": "o",
            "s": 160,
            "facecolors": "none",
            "edgecolors": "black",
            "zorder": 3,
        }
        axes.scatter(*zip(*knees, strict=True), **ring, label="from here on, 1 % or less")
    axes.set_title(_plain(plot.title), fontsize=11, parse_math=False)
    axes.set_xlabel(plot.along)
    axes.set_ylabel("speed [workers that never wait]")
    speeds = [s for c in plot.curves for s in c.speeds if s is not None]
    axes.set_xscale(_scale(plot.xs))
    grows = plot.ideal[0] != plot.ideal[-1]  # then ideal speed is a straight line on equal scales
    axes.set_yscale(_scale(plot.xs if grows else [*speeds, *plot.ideal]))
    _number(axes, plot.xs)
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _highest_first(curves: Sequence[Curve]) -> list[Curve]:
    """Order curves from top to bottom, so that the legend stands as the lines do."""
    return sorted(curves, key=lambda curve: -sum(speed or 0 for speed in curve.speeds))


def _line(axes: "Axes", xs: Sequence[float], ys: Sequence[float | None], **style: Any) -> None:
    known = [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
    if known:
        axes.plot(*zip(*known, strict=True), **style)


def _scale(values: Sequence[float]) -> Literal["linear", "log"]:
    return "log" if min(values) > 0 and max(values) / min(values) > _WIDE else "linear"


def _number(axes: "Axes", xs: Sequence[float]) -> None:
    """Write plain numbers: at the values of x, and at round ones of y."""
    from matplotlib import ticker  # noqa: PLC0415

    plain = ticker.FuncFormatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_major_locator(ticker.FixedLocator(xs[:: -(-len(xs) // _TICKS)]))
    if axes.get_yscale() == "log":
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(plain)
        axis.set_minor_locator(ticker.NullLocator())


def _plain(text: str) -> str:
    """Keep what the font can draw."""
    shown = "".join(c if c.isprintable() and c <= _LATIN else "?" for c in text)
    return shown if len(shown) <= _TITLE else f"{shown[: _TITLE - 3]}..."
