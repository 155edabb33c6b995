"""CSV that a spreadsheet reads as text and numbers, never as formulas."""

import csv
from collections.abc import Iterable, Sequence

#: A text that begins so is a formula to a spreadsheet, or is once it has lost its blanks.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


#: Ends a row while it is written: with "\\n" alone, a "\\r" in a cell would stand without quotes.
_END = "\r\n"


class _CsvLines:
    """The rows as they come, each ended by a newline alone."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, row: str) -> None:
        """Take a row."""
        self.texts.append(f"{row.removesuffix(_END)}\n")


def csv_text(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table as CSV, a line a row; None is empty.

    A text that a spreadsheet would run gets an apostrophe before it, which tells the spreadsheet
    that it is text; a number never does.

    Notes
    -----
    OWASP, CSV injection.
    """
    lines = _CsvLines()
    writer = csv.writer(lines, lineterminator=_END)
    writer.writerow(map(_cell, names))
    writer.writerows(map(_cell, row) for row in rows)
    return "".join(lines.texts)


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
