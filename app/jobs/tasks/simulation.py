"""A simulation, run."""

from app.jobs.tasks.report import TaskFollower
from app.jobs.tasks.work import Done, Inputs
from app.reading.requests import problem_of, read_body
from app.schemas.simulations import SimulationRequest
from app.services import simulations


def run(inputs: Inputs, report: TaskFollower) -> Done:
    """Simulate."""
    problem = problem_of(read_body(inputs.body, SimulationRequest, inputs.library))
    report.describe(problem.graph.name, problem.request.asked_s)
    report.progress("simulation")
    answer = simulations.run(problem)
    policy = answer.policy.policy if answer.policy else simulations.PLAN
    summary = {"policy": policy, "iteration_time_us": answer.iteration_time_us}
    return Done(answer.model_dump_json(), summary)
