"""The last row of a table that a benchmark was printing when it was killed."""

import re

_ROW = re.compile(r"\s*\d+\s")

#: Said where a row was left out.
CUT = "The file was cut off in its last row, which is left out."


def without_cut_row(text: str) -> tuple[str, str]:
    """Return a text without a last row that is there in part, and what is to be said; else empty.

    Such a row has no end of line, and fewer columns than the row before it or fewer decimals in the
    last one: benchmarks print all rows alike. Of a table of one row nothing tells.
    """
    if text.endswith(("\n", "\r")):
        return text, ""
    *before, last = text.splitlines() or [""]
    if not before or not _ROW.match(before[-1]) or not _ROW.match(f"{last} "):
        return text, ""
    fields, whole = last.split(), before[-1].split()
    is_short = len(fields) < len(whole) or _decimals(fields[-1]) < _decimals(whole[-1])
    return (text[: -len(last)], CUT) if is_short else (text, "")


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])
