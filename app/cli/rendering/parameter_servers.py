"""Training through parameter servers for a reader: rows, the knees, what was assumed."""

from collections.abc import Iterator

from app.cli.rendering.explanations import rests_on, warnings
from app.cli.rendering.figures import counted
from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from app.schemas.parameter_servers import ParameterServerAnswer
from solver.parameter_server.rows import ThroughputRow

_LEGEND = (
    "Examples a second of all workers, simulated, with the 95 % interval; then the use of each "
    "resource, the formulas of Lin et al. and Cynthia, and the simple bound."
)

_LIMITS = "limited by: what gains most when it is {factor:g} times as fast, and how much."


def render(answer: ParameterServerAnswer) -> str:
    """Write a prediction as a page of text."""
    request = answer.request
    how = "in step" if request.synchronous else "asynchronous"
    steps = counted(answer.profiled_steps, "profiled step")
    title = f"examples/s, batches of {request.batch_size:,}, {how}, from {steps}"
    return page(
        [f"{answer.name or 'Parameter servers'}: {title}"],
        rests_on(answer.evidence),
        [_rows(answer)],
        [_LEGEND, *_limits(answer)],
        [knee.text for knee in answer.knees],
        answer.notes,
        warnings(answer.warnings),
    )


def _rows(answer: ParameterServerAnswer) -> Line:
    has_several = len(answer.request.bandwidths_gbps) > 1
    uses = [use.resource for use in answer.rows[0].utilisation]
    heads = ["workers", "examples/s", "from", "to", "step ms", *uses, "Lin", "Cynthia", "bound"]
    return table(
        [*(["Gbit/s"] if has_several else []), *heads, "limited by"],
        (
            [*([f"{row.bandwidth_gbps:g}"] if has_several else []), *_row(row)]
            for row in answer.rows
        ),
        keys=2 if has_several else 1,
        has_remarks=True,
    )


def _limits(answer: ParameterServerAnswer) -> Iterator[str]:
    """Explain the last column, where it says anything."""
    factors = {faster.factor for row in answer.rows for faster in row.what_if}
    yield from (_LIMITS.format(factor=factor) for factor in sorted(factors))


def _row(row: ThroughputRow) -> Iterator[str]:
    yield f"{row.workers:,}"
    yield from map(_speed, (row.examples_per_s, row.low_examples_per_s, row.high_examples_per_s))
    yield f"{row.step_us / 1e3:.3f}"
    yield from (f"{100 * use.share:.1f} %" for use in row.utilisation)
    yield from map(
        _speed, (row.lin_examples_per_s, row.cynthia_examples_per_s, row.bound_examples_per_s)
    )
    yield _limit(row)


def _speed(examples_per_s: float | None) -> str:
    return "-" if examples_per_s is None else f"{examples_per_s:,.1f}"


def _limit(row: ThroughputRow) -> str:
    """Name what limits a row, and what it gains when it is faster."""
    for faster in row.what_if:
        if faster.resource == row.limited_by:
            return f"{row.limited_by} {100 * faster.gain:+.1f} %"
    return "-"
