"""Tables for a terminal: the first column to the left, figures to the right."""

from collections.abc import Iterable, Iterator, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table line by line, two spaces in front and between columns."""
    lines = [list(heads), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *others in lines:
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        yield "  ".join(["", f"{first:{widths[0]}}", *cells]).rstrip()


def size(count: int) -> str:
    """Write a number of bytes with a unit of 1,024 where that is exact, else as it is."""
    for unit, worth in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= worth and count % worth == 0:
            return f"{count // worth:,} {unit}"
    return f"{count:,} B"


def factor(share: float | None) -> str:
    """Write a scaling factor; a dash when it is unknown."""
    return "-" if share is None else f"{share:.3f}"


def percent(share: float | None) -> str:
    """Write a share as a percentage; a dash when it is unknown."""
    return "-" if share is None else f"{100 * share:.2f} %"
