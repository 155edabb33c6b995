"""Answers as files of HTML, by what their pages ask for: for the command, and for calls."""

from typing import Any

from pydantic import BaseModel

from app.pages.one_file import page_file
from app.schemas.base import AnswerModel
from app.schemas.plans import PlanRequest
from app.schemas.problem import CheckedRequest
from app.schemas.simulations import SimulationRequest
from app.services.plans import timeline
from app.services.simulations import timeline as simulation_timeline

Json = dict[str, Any]

#: A job as its page has it, of an answer that none made.
_DONE = {"state": "succeeded", "error": None}

#: What pages of calls that keep nothing are called.
_TITLES = {
    "allocations": "Where to put a job",
    "mixes": "Jobs that share links",
    "shapes": "Shapes of a job",
}


def plan_file(problem: CheckedRequest[PlanRequest], answer: Json, job: Json) -> str:
    """Write a plan's page as one file.

    ``answer`` is what planning gave, as JSON, and ``job`` has id, state and error of what made it.
    The file's timeline has the plan and what you run.
    """
    place = f"/v1/plans/{job['id']}"
    inside = {place: {**job, **answer}, f"{place}/timeline.json": timeline(problem, answer)}
    name = problem.graph.name
    title = f"Plan of {name}" if name else "Plan"
    return page_file("plan", title, inside, saved=job["id"], summary=answer["summary"])


def simulation_file(problem: CheckedRequest[SimulationRequest], answer: AnswerModel) -> str:
    """Write a simulation's page as one file, its timeline inside."""
    body = {"id": "simulation", **_DONE, **answer.model_dump(mode="json")}
    place = "/v1/simulations/simulation"
    inside = {place: body, f"{place}/timeline.json": simulation_timeline(problem)}
    title = f"Simulation of {problem.graph.name}" if problem.graph.name else "Simulation"
    return page_file("simulation", title, inside, saved=body["id"], summary=body["summary"])


def sweep_file(answer: AnswerModel) -> str:
    """Write a sweep's page as one file."""
    body = {"id": "sweep", **_DONE, **answer.model_dump(mode="json")}
    title = f"Sweep of {body['name'] or 'a graph'}"
    summary = " ".join(body["summary"])
    return page_file("sweep", title, {"/v1/sweeps/sweep": body}, saved="sweep", summary=summary)


def asked_file(page: str, request: BaseModel, answer: AnswerModel, said: str) -> str:
    """Write the page of a call that keeps nothing, such as shapes, as one file.

    ``said`` is what is read where no script runs.
    """
    path = f"/v1/{page}"
    inside = {
        f"{path}/request": request.model_dump(mode="json", exclude_unset=True),
        path: answer.model_dump(mode="json"),
    }
    return page_file(page, _TITLES[page], inside, summary=said)
