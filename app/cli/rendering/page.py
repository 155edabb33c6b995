"""Pages of text: paragraphs of lines and tables, plain, and as wide as the reader's window.

In a window, tables and lines are broken to fit it; figures never are. Elsewhere tables have the
width that they need and lines that of a page, so that a file holds the same wherever it was
written.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from itertools import groupby, repeat
from shutil import get_terminal_size
from textwrap import wrap

from rich.console import Console
from rich.table import Table as Drawn

from app.cli.rendering.figures import tied, untied
from app.cli.rendering.tables import Table

#: Most columns of a line of prose.
_PROSE = 100

#: More columns than any table needs.
_ENDLESS = 100_000

#: A picture in a line is at most so wide [columns].
_STRIP = 60


@dataclass(frozen=True)
class Said:
    """A line of prose whose first characters have a colour where a terminal shows colours.

    Attributes
    ----------
    text
        The line.
    length, style
        How many characters, and how, as rich says it.
    """

    text: str
    length: int
    style: str


@dataclass(frozen=True)
class Strip:
    """Spans of time beside each other, drawn in one line; nothing where no terminal shows it.

    Attributes
    ----------
    name
        What stands before it.
    spans
        What ran, and how long [us], in order.
    drawn
        Of what may run its character, the same for a terminal of ASCII alone, and its colour.
    """

    name: str
    spans: tuple[tuple[str, float], ...]
    drawn: Mapping[str, tuple[str, str, str]]


#: What a paragraph consists of.
Line = str | Table | Said | Strip


def page(*paragraphs: Iterable[Line]) -> str:
    """Set paragraphs one below the other, an empty line between them; empty ones are left out."""
    window = get_terminal_size().columns if sys.stdout.isatty() else None
    texts = (
        "\n".join(filter(None, (_set(line, window) for line in paragraph)))
        for paragraph in paragraphs
    )
    return "\n\n".join(filter(None, texts))


def _set(line: Line, window: int | None) -> str:
    if isinstance(line, Table):
        text = _columns(line, window or _ENDLESS)
    elif isinstance(line, Strip):
        return _strip(line, window) if window else ""
    elif isinstance(line, Said):
        text = _prose(line.text, min(window or _PROSE, _PROSE))
        text = _coloured(text[: line.length], line.style) + text[line.length :]
    else:
        text = _prose(line, min(window or _PROSE, _PROSE))
    return untied(text)


def _strip(strip: Strip, window: int) -> str:
    """Draw each column as what takes most of its time; a legend says how much all of it takes."""
    width = min(window - len(strip.name) - 1, _STRIP)
    total = sum(us for _, us in strip.spans)
    if width < 1 or total <= 0:
        return ""
    is_plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    taken = [dict.fromkeys(strip.drawn, 0.0) for _ in range(width)]
    at = 0.0
    for what, us in strip.spans:
        begin, end = at * width / total, (at + us) * width / total
        for column in range(int(begin), min(int(end) + 1, width)):
            taken[column][what] += max(0.0, min(end, column + 1) - max(begin, column))
        at += us
    most = (max(each, key=each.__getitem__) for each in taken)
    picture = "".join(
        _coloured(strip.drawn[what][is_plain] * len([*alike]), strip.drawn[what][2])
        for what, alike in groupby(most)
    )
    sums = {name: sum(us for what, us in strip.spans if what == name) for name in strip.drawn}
    legend = ", ".join(
        f"{strip.drawn[name][is_plain]} {name} {100 * us / total:.0f} %"
        for name, us in sums.items()
        if us > 0
    )
    return f"{strip.name} {picture}\n{' ' * len(strip.name)} {legend}"


def _coloured(text: str, style: str) -> str:
    """Colour a text where standard output is a terminal that shows colours."""
    is_shown = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if not (text and style and is_shown) or os.environ.get("NO_COLOR"):
        return text
    from rich.style import Style

    return Style.parse(style).render(text)


def _prose(line: str, width: int) -> str:
    """Break a line at spaces; what is indented stays so."""
    indent = " " * (len(line) - len(line.lstrip()))
    lines = wrap(tied(line), width, subsequent_indent=2 * indent, break_long_words=False)
    return "\n".join(lines)


def _columns(table: Table, width: int) -> str:
    """Write a table, an empty line between its parts; no figure is broken, however narrow."""
    return "\n\n".join(map(_drawn, table.drawn(width), repeat(width)))


def _drawn(part: Drawn, width: int) -> str:
    least = sum((column.width or 0) + part.padding[3] for column in part.columns)
    out = StringIO()
    Console(
        file=out,
        width=max(width, least),
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    ).print(part)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
