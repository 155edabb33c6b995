"""Two plans or two sweeps side by side, for a reader."""

from collections.abc import Iterator

from app.cli.rendering.figures import counted
from app.cli.rendering.page import Line, Said, page
from app.cli.rendering.tables import table
from app.schemas.comparisons import (
    AnswerComparison,
    ComparedCell,
    ComparedFigure,
    SweepComparison,
)
from solver.wording import memory_size

#: How many changed buckets are listed.
_LISTED = 12


def render(found: AnswerComparison, names: tuple[str, str]) -> str:
    """Write a comparison as a page of text."""
    heads = ["", *names, "difference", ""]
    rows = [_row(each) for each in found.figures]
    return page(
        [Said(found.sentence, len(found.sentence), "bold"), *found.notes],
        [table(heads, rows, has_remarks=True)],
        _buckets(found, names),
    )


def render_sweeps(found: SweepComparison) -> str:
    """Write a comparison of sweeps: a row for each cluster of either."""
    limits = any(cell.memory_limit_bytes is not None for cell in found.cells)
    heads = ["workers", "Gbit/s", "start-up us", *(["limit"] if limits else [])]
    keys = len(heads)
    heads += ["A: fastest", "A ms", "A saves", "B: fastest", "B ms", "B saves", "B is"]
    rows = [_cell(cell, limits=limits) for cell in found.cells]
    return page(
        [Said(found.sentence, len(found.sentence), "bold"), *found.notes],
        [table(heads, rows, keys=keys)],
        ["saves: over what you run"],
    )


def _cell(cell: ComparedCell, *, limits: bool) -> list[str]:
    limit = cell.memory_limit_bytes
    return [
        f"{cell.workers:,}",
        "-" if cell.bandwidth_gbps is None else f"{cell.bandwidth_gbps:g}",
        f"{cell.startup_us:g}",
        *(["-" if limit is None else memory_size(limit)] if limits else []),
        *_side(cell.first_fastest, cell.first_us, cell.first_gain),
        *_side(cell.second_fastest, cell.second_us, cell.second_gain),
        _apart(cell),
    ]


def _side(fastest: list[str], time_us: float | None, gain: float | None) -> Iterator[str]:
    yield " = ".join(fastest) or "-"
    yield "-" if time_us is None else f"{time_us / 1e3:,.3f}"
    yield "-" if gain is None else f"{100 * gain:.1f} %"


def _apart(cell: ComparedCell) -> str:
    """Say what the second is beside the first."""
    if cell.held_by != "both" or cell.less is None:
        return "-"
    if cell.is_alike:
        return "equal"
    return f"{100 * abs(cell.less):.1f} % {'faster' if cell.less > 0 else 'slower'}"


def _row(each: ComparedFigure) -> list[str]:
    digits = 3 if each.unit else 0
    values = [each.first, each.second]
    if None not in values and each.first is not None and each.second is not None:
        values.append(each.second - each.first)
    shown = ["-" if value is None else f"{value:,.{digits}f}" for value in values]
    return [each.name, *shown, *["-"] * (3 - len(shown)), each.unit]


def _buckets(found: AnswerComparison, names: tuple[str, str]) -> Iterator[Line]:
    alone = [each for each in found.changed if each.held_by != "both"]
    order = ", sent in another order" if found.is_reordered else ""
    yield f"{counted(found.alike, 'bucket')} in both{order}; {len(alone)} in one alone"
    rows = [
        [
            each.id,
            names[each.held_by == "second"],
            f"{len(each.tensors)}",
            f"{each.bytes / 1e6:.3f}",
        ]
        for each in alone[:_LISTED]
    ]
    if rows:
        yield table(["bucket", "of", "tensors", "MB"], rows)
    if len(alone) > _LISTED:
        yield f"  ... and {len(alone) - _LISTED} more (--json lists them all)"
