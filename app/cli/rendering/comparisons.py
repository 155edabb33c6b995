"""Two plans side by side, for a reader."""

from collections.abc import Iterator

from app.cli.rendering.figures import counted
from app.cli.rendering.page import Line, Said, page
from app.cli.rendering.tables import table
from app.schemas.comparisons import AnswerComparison, ComparedFigure

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
