"""Answers as files of HTML, by what their pages ask for: for the command, and for calls."""

from typing import Any

from app.pages.one_file import page_file
from app.schemas.plans import PlanRequest
from app.schemas.problem import CheckedRequest
from app.services.plans import timeline

Json = dict[str, Any]


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
