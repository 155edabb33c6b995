"""What a reader of traces took from a file, dropped, repaired and assumed."""

from collections.abc import Iterator

from app.cli.rendering.figures import counted
from app.cli.rendering.page import page
from solver.traces import Report


def render(report: Report) -> str:
    """Write the report of an import as a page of text."""
    return page(source(report))


def source(report: Report | None) -> Iterator[str]:
    """Say what was read from a file, dropped, repaired and assumed; nothing of no report."""
    if report is None:
        return
    count = sum(total.count for total in report.collectives.values())
    size = sum(total.bytes for total in report.collectives.values())
    article = "an" if report.format[0] in "aeiou" else "a"
    yield (
        f"Read from {article} {report.format} file: {counted(report.ops, 'op')}, "
        f"{counted(count, 'collective')}, {size / 1e6:.3f} MB"
    )
    for what in ("dropped", "repaired", "assumed", "warnings"):
        yield from (f"  {what}: {line}" for line in getattr(report, what))
