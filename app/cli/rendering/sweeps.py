"""A sweep for a reader: a row for each cell, then what follows from them."""

from collections.abc import Iterator

from app.cli.rendering.explanations import warnings
from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from app.schemas.sweeps import SweepAnswer, SweepCell


def render(answer: SweepAnswer) -> str:
    """Write a sweep as a page of text."""
    return page(
        [f"{answer.name or 'Unnamed graph'}: time of one iteration [ms], the fastest marked *"],
        [_cells(answer)],
        _legend(answer),
        answer.summary,
        warnings(answer.warnings),
    )


def _cells(answer: SweepAnswer) -> Line:
    labels = [policy.label for policy in answer.policies]
    heads = ["workers", "Gbit/s", "start-up us", *labels, "bound", "speed"]
    return table(heads, map(_cell, answer.cells), keys=3)


def _cell(cell: SweepCell) -> list[str]:
    return [
        f"{cell.workers:,}{'~' if cell.extrapolated else ''}",
        "-" if cell.bandwidth_gbps is None else f"{cell.bandwidth_gbps:g}",
        f"{cell.startup_us:g}",
        *(
            "-" if time is None else f"{'*' if label == cell.best else ''}{time / 1e3:.3f}"
            for label, time in cell.iteration_time_us.items()
        ),
        f"{cell.lower_bound_us / 1e3:.3f}",
        "-" if cell.speed is None else f"{cell.speed:.1f}",
    ]


def _legend(answer: SweepAnswer) -> Iterator[str]:
    yield "speed: of the fastest, in workers that never wait"
    if any(cell.extrapolated for cell in answer.cells):
        yield "~: scaled from measurements with other workers or another bandwidth"
