"""Tables of figures, and of times; long names are cut in the middle."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, chop_cells
from rich.table import Table

from app.cli.rendering.page import tied

#: Longest name of a tensor in a table [columns]: with its figures it fits a window of 80.
_NAME = 48


#: A word of a head that is longer may be broken [columns].
_HEAD = 12


#: Least width of a column of remarks [columns].
_REMARK = 20


#: Least width of what a row of times is about, so that the times of a page stand below each other.
_SUBJECT = 26


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    widths: Sequence[int] = (),
    remarks: bool = False,
) -> Table:
    """Return a table: the first column to the left, figures to the right, none ever broken.

    Parameters
    ----------
    heads
        What stands above each column; too long a word may be broken.
    rows
        A cell for each column.
    widths
        Least widths of the first columns.
    remarks
        Whether the last column holds words, which may be broken.
    """
    lines = [list(row) for row in rows]
    least = [*widths, *[0] * (len(heads) - len(widths))]
    drawn = Table(box=None, padding=(0, 0, 0, 2), header_style="")
    for i, head in enumerate(heads):
        words = max(map(cell_len, head.split()), default=0)
        figures = max((cell_len(line[i]) for line in lines), default=0)
        if remarks and i == len(heads) - 1:
            figures = min(figures, _REMARK)
        drawn.add_column(
            head,
            justify="left" if i == 0 or (remarks and i == len(heads) - 1) else "right",
            min_width=max(least[i], figures, min(words, _HEAD)),
            overflow="fold",
        )
    for line in lines:
        drawn.add_row(*map(tied, line))
    return drawn


def times(rows: Iterable[tuple[str, str, str, str]]) -> Table:
    """Return a table without heads: what, a number, its unit, and a remark that may be broken."""
    drawn = Table(box=None, padding=(0, 0, 0, 1), show_header=False)
    lines = list(rows)
    drawn.add_column(width=0)
    drawn.add_column(min_width=_SUBJECT, overflow="fold")
    drawn.add_column(justify="right", min_width=max([11, *(len(line[1]) for line in lines)]))
    drawn.add_column(min_width=3)
    remark = max((cell_len(line[3]) for line in lines), default=0)
    drawn.add_column(min_width=min(remark, _REMARK), overflow="fold")
    for line in lines:
        drawn.add_row("", *map(tied, line))
    return drawn


def time(what: str, time_us: float, remark: str = "") -> tuple[str, str, str, str]:
    """Return a row of :func:`times`: a time in milliseconds."""
    return what, f"{time_us / 1e3:.3f}", "ms", remark


def shortened(name: str) -> str:
    """Cut a long name in the middle; more of its end is kept, where names differ."""
    if cell_len(name) <= _NAME:
        return name
    head = (_NAME - 3) // 3
    tail = _NAME - 3 - head
    return f"{chop_cells(name, head)[0]}...{chop_cells(name[::-1], tail)[0][::-1]}"
