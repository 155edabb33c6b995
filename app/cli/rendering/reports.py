"""What a reader of traces took from a file, dropped, repaired and assumed."""

from collections.abc import Iterator

from app.cli.rendering.figures import counted
from app.cli.rendering.page import page
from solver.traces import Report
from solver.traces.communication import Communication


def render(report: Report) -> str:
    """Write the report of an import as a page of text."""
    return page(source(report))


def source(report: Report | None) -> Iterator[str]:
    """Say what was read from a file, dropped, repaired and assumed; nothing of no report."""
    if report is None:
        return
    count = sum(total.count for total in report.collectives.values())
    size = sum(total.bytes for total in report.collectives.values())
    unsized = sum(each.launches for each in report.unsized)
    more = f", {counted(unsized, 'launch', 'launches')} of unknown bytes" if unsized else ""
    # x is said "ex", hlo letter by letter
    article = "an" if report.format[0] in "aeioux" or report.format == "hlo" else "a"
    yield (
        f"Read from {article} {report.format} file: {counted(report.ops, 'op')}, "
        f"{counted(count, 'collective')}, {size / 1e6:.3f} MB{more}"
    )
    if report.communication is not None:
        yield from _communication(report.communication)
    if report.arrivals is not None:
        yield from (f"  ranks: {line}" for line in report.arrivals.sentences)
    for what in ("dropped", "repaired", "assumed", "warnings"):
        yield from (f"  {what}: {line}" for line in getattr(report, what))


def _communication(found: Communication) -> Iterator[str]:
    """Say where the time of a tensor went from its release to its result."""
    parts = ", ".join(
        f"{name.replace('_', '-')} {100 * part.share:.1f} %"
        for name, part in found.shares.items()
        if part.share is not None
    )
    yield (
        f"  {counted(found.tensors, 'tensor')} in {counted(len(found.buffers), 'buffer')}"
        + (f"; of their time: {parts}" if parts else "")
    )
