"""A run for a reader: its plans, and its last steps as predicted and as measured."""

from collections.abc import Iterator

from app.cli.rendering.figures import counted, percent
from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from app.schemas.runs import RunOut
from solver.wording import ms


def render(run: RunOut, steps: int) -> str:
    """Write a run as a page of text, with so many of its last steps."""
    return page(_head(run), _plans(run), _trials(run), _steps(run, steps))


def _head(run: RunOut) -> Iterator[str]:
    barrier = ", with a barrier" if run.barrier else ""
    runtime = f", {run.runtime}" if run.runtime else ""
    yield f"{run.name or run.id}: {counted(run.workers, 'worker')}{barrier}{runtime}"
    state = f"ended: {run.ended_why}" if run.ended_at else "running"
    yield f"{state}; {counted(run.steps, 'step')}, last heard of {run.reported_at:%Y-%m-%d %H:%M}"
    if run.error:
        far = f"{percent(run.error.median)} in the median, {percent(run.error.p95)} at 95 %"
        yield f"predictions off by {far}"


def _plans(run: RunOut) -> Iterator[Line]:
    yield table(
        ["from step", "steps", "predicted", "measured", "off by", "why"],
        [
            [
                f"{plan.from_step:,}",
                f"{plan.steps:,}",
                _time(plan.predicted_us),
                _time(plan.measured_us),
                percent(plan.error.median if plan.error else None),
                plan.why,
            ]
            for plan in run.plans
        ],
        has_remarks=True,
    )


def _trials(run: RunOut) -> Iterator[Line]:
    for trial in run.trials:
        kept = trial.arms[trial.kept].name
        yield f"tried before step {trial.before_step:,}, {kept} kept: {trial.why}"


def _steps(run: RunOut, count: int) -> Iterator[Line]:
    shown = run.history[-count:] if count else []
    if not shown:
        return
    if run.every > 1:
        yield f"One of {run.every:,} steps"
    yield table(
        ["step", "predicted", "measured", "off by", "note"],
        [
            [
                f"{step.step:,}",
                _time(step.predicted_us),
                _time(step.measured_us),
                f"{100 * (step.predicted_us / step.measured_us - 1):+.2f} %",
                step.note or "",
            ]
            for step in shown
        ],
        has_remarks=True,
    )


def _time(time_us: float | None) -> str:
    return "-" if time_us is None else ms(time_us)
