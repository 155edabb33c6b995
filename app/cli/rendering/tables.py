"""Tables of figures, and of times; a table too wide for the window goes on below."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len, chop_cells
from rich.table import Table as Drawn

from app.cli.rendering.figures import tied

#: Longest name of a tensor in a table [columns]: with its figures it fits a window of 80.
_NAME = 48

#: How much is kept of the beginning of a longer one: more of its end is, where names differ, and
#: more yet where they are alike otherwise [columns].
_HEADS = (15, 5)

#: A word of a head that is longer may be broken [columns].
_HEAD = 12

#: Least width of a column of remarks [columns].
_REMARK = 16

#: Least widths of what a row of times is about, of the number and of its unit, so that the times of
#: a page stand below each other.
_SUBJECT, _NUMBER, _UNIT = 26, 11, 3


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    head
        What stands above it.
    cells
        What stands in it.
    justify
        ``left`` or ``right``.
    least
        Least width; where there is no room for more, heads and words are broken.
    """

    head: str
    cells: tuple[str, ...]
    justify: Literal["left", "right"]
    least: int

    @property
    def most(self) -> int:
        """The width in which nothing is broken."""
        return max(self.least, *map(cell_len, (self.head, *self.cells)))


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    columns
        From left to right.
    keys
        So many columns say what a row is about; they are repeated where the table goes on below.
    gap
        Blanks before each column.
    has_heads
        Whether the heads are shown.
    """

    columns: tuple[Column, ...]
    keys: int
    gap: int = 2
    has_heads: bool = True

    def drawn(self, width: int) -> Iterator[Drawn]:
        """Yield the table in as many parts as the width takes."""
        keys, others = self.columns[: self.keys], [*self.columns[self.keys :]]
        while True:
            part = [*keys, *others[:1]]
            del others[:1]
            while others and self._width([c.least for c in [*part, others[0]]]) <= width:
                part.append(others.pop(0))
            yield self._part(part, width)
            if not others:
                return

    def _part(self, columns: Sequence[Column], width: int) -> Drawn:
        """Draw columns as wide as they are; where there is no room, the last ones first."""
        widths = [column.least for column in columns]
        for i, column in reversed([*enumerate(columns)]):
            room = max(width - self._width(widths), 0)
            widths[i] = min(column.most, column.least + room)
        drawn = Drawn(
            box=None, padding=(0, 0, 0, self.gap), show_header=self.has_heads, header_style=""
        )
        for column, wide in zip(columns, widths, strict=True):
            drawn.add_column(column.head, justify=column.justify, width=wide, overflow="fold")
        for cells in zip(*(column.cells for column in columns), strict=True):
            drawn.add_row(*map(tied, cells))
        return drawn

    def _width(self, widths: Sequence[int]) -> int:
        return sum(self.gap + width for width in widths)


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    keys: int = 1,
    widths: Sequence[int] = (),
    has_remarks: bool = False,
) -> Table:
    """Return a table: the first column to the left, figures to the right, none ever broken.

    Parameters
    ----------
    heads
        What stands above each column; too long a word may be broken.
    rows
        A cell for each column.
    keys
        So many columns say what a row is about.
    widths
        Least widths of the first columns.
    has_remarks
        Whether the last column holds words, which may be broken.
    """
    cells = [*zip(*rows, strict=True)]
    columns = []
    for i, (head, column) in enumerate(zip(heads, cells, strict=True)):
        is_remark = has_remarks and i == len(heads) - 1
        word = min(max(map(cell_len, head.split()), default=0), _HEAD)
        figure = max(map(cell_len, column))
        columns.append(
            Column(
                head,
                column,
                "left" if i == 0 or is_remark else "right",
                max(word, min(figure, _REMARK) if is_remark else figure, *widths[i : i + 1]),
            )
        )
    return Table(tuple(columns), keys)


def times(rows: Iterable[tuple[str, str, str, str]]) -> Table:
    """Return a table without heads: what, a number, its unit, and a remark that may be broken."""
    subjects, numbers, units, remarks = zip(*rows, strict=True)
    columns = (
        Column("", ("",) * len(subjects), "left", 0),
        Column("", subjects, "left", _SUBJECT),
        Column("", numbers, "right", max(_NUMBER, *map(len, numbers))),
        Column("", units, "left", _UNIT),
        Column("", remarks, "left", min(_REMARK, max(map(cell_len, remarks)))),
    )
    return Table(columns, keys=len(columns), gap=1, has_heads=False)


def time(what: str, time_us: float, remark: str = "") -> tuple[str, str, str, str]:
    """Return a row of :func:`times`: a time in milliseconds."""
    return what, f"{time_us / 1e3:.3f}", "ms", remark


def shortened(names: Sequence[str]) -> list[str]:
    """Cut long names in the middle; those that would then be alike stay whole."""
    for head in _HEADS:
        cut = {name: _cut(name, head) for name in names}
        alike = Counter(cut.values())
        if len(alike) == len(cut):
            break
    return [cut[name] if alike[cut[name]] == 1 else name for name in names]


def _cut(name: str, head: int) -> str:
    if cell_len(name) <= _NAME:
        return name
    tail = chop_cells(name[::-1], _NAME - head - 3)[0][::-1]
    return f"{chop_cells(name, head)[0]}...{tail}"
