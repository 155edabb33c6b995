"""A sweep for a reader: a row for each cell, then what follows from them."""

from collections.abc import Iterator, Sequence

from app.cli.rendering.explanations import rests_on, warnings
from app.cli.rendering.page import Line, page
from app.cli.rendering.programs import HELD_TO
from app.cli.rendering.tables import table
from app.schemas.sweeps import SweepAnswer, SweepCell
from app.services.sweeps.views import fastest, kept_time
from solver.evidence.gain import WHAT_RUNS
from solver.glossary import PROVEN
from solver.programs.problem import TO_WAIT
from solver.wording import memory_size


def render(answer: SweepAnswer) -> str:
    """Write a sweep as a page of text."""
    return page(
        answer.summary,
        [f"{answer.name or 'Unnamed graph'}: time of one iteration [ms], the fastest marked *"],
        rests_on(answer.evidence),
        [_cells(answer)],
        _legend(answer),
        warnings(answer.warnings),
    )


def _cells(answer: SweepAnswer) -> Line:
    labels = [policy.label for policy in answer.policies]
    if any(cell.peak_bytes is not None for cell in answer.cells):
        return _program_cells(answer, labels)
    heads = ["workers", "Gbit/s", "start-up us", *labels, "bound", "speed", "saves"]
    return table(heads, map(_cell, answer.cells), keys=3)


def _cell(cell: SweepCell) -> list[str]:
    return [
        f"{cell.workers:,}{'~' if cell.extrapolated else ''}",
        "-" if cell.bandwidth_gbps is None else f"{cell.bandwidth_gbps:g}",
        f"{cell.startup_us:g}",
        *(
            "-" if time is None else f"{'*' if label in fastest(cell) else ''}{time / 1e3:.3f}"
            for label, time in cell.iteration_time_us.items()
        ),
        f"{cell.lower_bound_us / 1e3:.3f}",
        "-" if cell.speed is None else f"{cell.speed:.1f}",
        _saved(cell),
    ]


def _saved(cell: SweepCell) -> str:
    """Write the shares that the fastest saves over each of what you run."""
    gains = [gain.gain for gain in cell.gains]
    return ", ".join("-" if gain is None else f"{100 * gain:.1f} %" for gain in gains) or "-"


def _program_cells(answer: SweepAnswer, labels: list[str]) -> Line:
    """Tell cells of programs apart by what is swept of the cluster and of memory."""
    axes = answer.axes
    shown: dict[str, Sequence[object]] = {
        "workers": axes.workers,
        "Gbit/s": axes.bandwidths_gbps,
        "start-up us": axes.startups_us,
        "limit": axes.memory_limits_bytes or (),
    }
    heads = [head for head, values in shown.items() if len(values) > 1]
    heads = heads or ["limit" if shown["limit"] else "workers"]
    rest = [*labels, "bound", "peak", "saves", "status"]
    return table([*heads, *rest], [_program_cell(cell, heads) for cell in answer.cells], keys=1)


def _program_cell(cell: SweepCell, heads: list[str]) -> list[str]:
    workers, bandwidth, startup, *_ = _cell(cell)
    limit, best = cell.memory_limit_bytes, cell.best
    at = {"workers": workers, "Gbit/s": bandwidth, "start-up us": startup}
    at["limit"] = "-" if limit is None else memory_size(limit)
    peak = None if best is None else (cell.peak_bytes or {}).get(best)
    times = (
        "-" if time is None else f"{_mark(cell, label)}{time / 1e3:.3f}"
        for label, time in cell.iteration_time_us.items()
    )
    return [
        *(at[head] for head in heads),
        *times,
        f"{cell.lower_bound_us / 1e3:.3f}",
        "-" if peak is None else memory_size(peak),
        _saved(cell),
        PROVEN.get(cell.status, "none within the limit") if cell.status else "-",
    ]


def _mark(cell: SweepCell, label: str) -> str:
    if cell.iteration_time_us[label] is not None and kept_time(cell, label) is None:
        return "!"
    return "*" if label in fastest(cell) else ""


def _legend(answer: SweepAnswer) -> Iterator[str]:
    over = dict.fromkeys(WHAT_RUNS[gain.over] for cell in answer.cells for gain in cell.gains)
    if over:
        yield f"saves: the fastest, over {', over '.join(over)}"
    if not any(cell.peak_bytes is not None for cell in answer.cells):
        yield "speed: of the fastest, in workers that never wait"
    else:
        yield f"peak: of the fastest, {HELD_TO[answer.inputs_held or TO_WAIT]}; status: of plan"
        labels = [policy.label for policy in answer.policies]
        if any(_mark(cell, label) == "!" for cell in answer.cells for label in labels):
            yield "!: takes more memory than the limit"
    if any(cell.extrapolated for cell in answer.cells):
        yield "~: scaled from measurements with other workers or another bandwidth"
