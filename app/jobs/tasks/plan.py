"""A plan, made."""

from app.jobs.tasks.report import TaskFollower
from app.jobs.tasks.work import Done, Inputs
from app.reading.requests import problem_of, read_body
from app.schemas.plans import PlanRequest
from app.services import plans


def run(inputs: Inputs, report: TaskFollower) -> Done:
    """Make a plan."""
    problem = problem_of(read_body(inputs.body, PlanRequest, inputs.library))
    report.describe(problem.graph.name, problem.request.asked_s)
    answer = plans.solve(problem, report)
    summary = {
        "status": answer.status,
        "iteration_time_us": answer.iteration_time_us,
        "gap": answer.gap,
    }
    return Done(answer.model_dump_json(), summary)
