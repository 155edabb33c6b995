"""A ranking of shapes, made."""

from collections.abc import Callable

from app.jobs.drafts import gap_of
from app.jobs.tasks.report import TaskFollower
from app.jobs.tasks.work import Done, Inputs
from app.reading.requests import read_plain
from app.schemas.shapes import ShapeAnswer, ShapeRequest
from app.services import shapes
from solver.shapes.ranking.ranked import ShapeRanking


def run(inputs: Inputs, report: TaskFollower) -> Done:
    """Rank."""
    request = read_plain(inputs.body, ShapeRequest)
    report.describe(request.own_name, request.asked_s)

    def tell(
        phase: str,
        done: int,
        total: int | None,
        so_far: ShapeRanking,
        answer: Callable[[], ShapeAnswer],
    ) -> None:
        if not so_far.best:
            report.progress(phase, done, total)
            return
        best = so_far.best[0]
        report.draft(lambda: answer().model_dump_json())
        report.progress(
            phase, done, total, best.step.time_us, so_far.lower_bound_us, str(best.shape)
        )

    found = shapes.answer_of(request, tell)
    name, time_us = (found.best[0].name, found.best[0].time_us) if found.best else (None, None)
    summary = {
        "shape": name,
        "iteration_time_us": time_us,
        "gap": gap_of(time_us, found.lower_bound_us),
    }
    return Done(found.model_dump_json(), summary)
