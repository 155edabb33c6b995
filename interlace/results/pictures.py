"""Tracks as pictures: a small SVG without any package, and a figure of matplotlib."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from app.errors import NotInstalled
from interlace.results.tracks import Track
from solver.wording import ms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's blue and orange, which the colour-blind tell apart.
_COMPUTE, _SENT = "#0072B2", "#D55E00"

#: Pixels: of a row and its bar, of the names, of the picture's width.
_ROW, _BAR, _NAMES, _WIDTH = 20, 14, 150, 720

#: Pixels of the least span that is seen.
_LEAST = 0.5


def svg(tracks: Sequence[Track], bound_us: float | None = None) -> str:
    """Draw tracks below each other as SVG, the lower bound as a dashed line."""
    end = max([bound_us or 0.0, *(track.spans[-1][1] for track in tracks if track.spans)])
    scale = (_WIDTH - _NAMES) / end if end > 0 else 0.0
    rows = []
    for i, track in enumerate(tracks):
        y = i * _ROW
        colour = _COMPUTE if track.computes else _SENT
        rows.append(f'<text x="0" y="{y + _BAR - 2}">{escape(track.name)}</text>')
        rows += [
            f'<rect x="{_NAMES + begin * scale:.1f}" y="{y}" '
            f'width="{max((until - begin) * scale - _LEAST, _LEAST):.1f}" height="{_BAR}" '
            f'fill="{colour}"><title>{ms(until - begin)}</title></rect>'
            for begin, until in track.spans
        ]
    height = len(tracks) * _ROW
    if bound_us is not None:
        x = _NAMES + bound_us * scale
        rows.append(
            f'<path d="M{x:.1f} 0V{height}" stroke="currentColor" stroke-dasharray="3 3">'
            f"<title>lower bound {ms(bound_us)}</title></path>"
        )
    rows.append(f'<text x="{_NAMES}" y="{height + _BAR}">0</text>')
    rows.append(f'<text x="{_WIDTH}" y="{height + _BAR}" text-anchor="end">{ms(end)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Timeline" '
        f'viewBox="0 0 {_WIDTH} {height + _ROW}" width="{_WIDTH}" font-size="11" '
        f'font-family="sans-serif" fill="currentColor">{"".join(rows)}</svg>'
    )


def figure() -> "tuple[Figure, Axes]":
    """Make an empty figure of matplotlib.

    Raises
    ------
    NotInstalled
        Without matplotlib.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - takes a second
    except ModuleNotFoundError:
        raise NotInstalled(
            "Plots need the extra 'plots' where this runs: pip install 'interlace[plots]'."
        ) from None
    made = Figure(figsize=(9, 4), layout="constrained")
    return made, made.subplots()


def plotted(tracks: Sequence[Track], title: str, bound_us: float | None = None) -> "Figure":
    """Draw tracks with matplotlib.

    Raises
    ------
    NotInstalled
        Without matplotlib.
    """
    made, axes = figure()
    for i, track in enumerate(tracks):
        bars = [(begin / 1e3, (end - begin) / 1e3) for begin, end in track.spans]
        colour = _COMPUTE if track.computes else _SENT
        axes.broken_barh(
            bars, (i - 0.35, 0.7), facecolors=colour, edgecolors="white", linewidth=0.4
        )
    if bound_us is not None:
        axes.axvline(bound_us / 1e3, color="black", linestyle="--", label="lower bound")
        axes.legend(frameon=False)
    axes.set_yticks(range(len(tracks)), [track.name for track in tracks])
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    axes.set_title(title, parse_math=False)
    return made
