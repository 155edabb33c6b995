"""Pages of stored jobs as files: what a call has a child make."""

import json

from app.calls.messages import Answered
from app.jobs import table as jobs
from app.jobs.kinds import PLAN
from app.jobs.results import problem_and_answer
from app.pages.answer_files import plan_file
from app.storage.database import Store

#: It is saved, not shown: a page with answers inside is nothing of the service's own.
_HEADERS = (("Content-Disposition", 'attachment; filename="plan.html"'),)


def plan_page(store: Store, plan_id: str) -> Answered:
    """Write a plan's page as one file."""
    problem, answer = problem_and_answer(store, PLAN, plan_id)
    job = jobs.get(store, PLAN, plan_id)
    told = {"id": job.id, "state": job.state, "error": job.error}
    text = plan_file(problem, json.loads(answer), told)
    return Answered(text.encode(), "text/html", headers=_HEADERS)
