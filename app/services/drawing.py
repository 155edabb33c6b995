"""Plots as SVG: the size, the colours, the axes and the numbers that all of them have."""

from collections.abc import Callable, Sequence
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from app.errors import NotInstalled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe and Ito's colours, which the colour-blind tell apart, and markers: 35 pairs.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B5B5B")


MARKERS = ("o", "s", "^", "D", "v")


#: What no plan, or no count of workers, can pass.
BOUND: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1, "zorder": 3}


#: What is drawn around a knee.
_RING: dict[str, Any] = {
    "marker": "o",
    "s": 160,
    "facecolors": "none",
    "edgecolors": "black",
    "zorder": 3,
}


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


def drawn(fill: Callable[["Axes"], None]) -> bytes:
    """Draw a plot of 800 x 500 as SVG; the same plot gives the same bytes.

    Importing matplotlib takes longer than the service takes to start, so it is done here.

    Raises
    ------
    NotInstalled
        Without matplotlib.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415
    except ModuleNotFoundError:
        detail = "Plots need the extra 'plots' where this runs: pip install 'interlace[plots]'."
        raise NotInstalled(detail) from None
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415

    with _SETTINGS, mpl.rc_context({"svg.hashsalt": "interlace", "svg.fonttype": "none"}):
        figure = Figure(
            figsize=(_WIDTH / 96, _HEIGHT / 96),
            layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1),
        )
        axes = figure.subplots()
        fill(axes)
        figure.legend(loc="outside right upper", frameon=False, fontsize=9)
        written = BytesIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def line(axes: "Axes", xs: Sequence[float], ys: Sequence[float | None], **style: Any) -> None:
    """Draw a line through what is known."""
    known = [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
    if known:
        axes.plot(*zip(*known, strict=True), **style)


def ring(axes: "Axes", knees: Sequence[tuple[float, float]], label: str) -> None:
    """Draw rings around knees, if there are any."""
    if knees:
        axes.scatter(*zip(*knees, strict=True), **_RING, label=label)


def frame(axes: "Axes", title: str, along: str, up: str, xs: Sequence[float]) -> None:
    """Write what the plot is about, and plain numbers: at ``xs``, and at round values of y.

    The scales of both axes are set before.
    """
    from matplotlib import ticker  # noqa: PLC0415

    axes.set_title(_plain(title), fontsize=11, parse_math=False)
    axes.set_xlabel(along)
    axes.set_ylabel(up)
    plain = ticker.FuncFormatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_major_locator(ticker.FixedLocator(xs[:: -(-len(xs) // _TICKS)]))
    if axes.get_yscale() == "log":
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(plain)
        axis.set_minor_locator(ticker.NullLocator())
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def scale(values: Sequence[float]) -> Literal["linear", "log"]:
    """Return the scale for values: logarithmic when they span more than a factor of 8."""
    return "log" if min(values) > 0 and max(values) / min(values) > _WIDE else "linear"


def _plain(text: str) -> str:
    """Keep what the font can draw."""
    shown = "".join(c if c.isprintable() and c <= _LATIN else "?" for c in text)
    return shown if len(shown) <= _TITLE else f"{shown[: _TITLE - 3]}..."
