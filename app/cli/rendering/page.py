"""Pages of text: paragraphs of lines and tables, plain, and as wide as the reader's window.

In a window, tables and lines are broken to fit it; figures never are. Elsewhere tables have the
width that they need and lines that of a page, so that a file holds the same wherever it was
written.
"""

import sys
from collections.abc import Iterable
from io import StringIO
from itertools import repeat
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

#: What a paragraph consists of.
Line = str | Table


def page(*paragraphs: Iterable[Line]) -> str:
    """Set paragraphs one below the other, an empty line between them; empty ones are left out."""
    window = get_terminal_size().columns if sys.stdout.isatty() else None
    texts = ("\n".join(_set(line, window) for line in paragraph) for paragraph in paragraphs)
    return "\n\n".join(filter(None, texts))


def _set(line: Line, window: int | None) -> str:
    if isinstance(line, Table):
        text = _columns(line, window or _ENDLESS)
    else:
        text = _prose(line, min(window or _PROSE, _PROSE))
    return untied(text)


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
