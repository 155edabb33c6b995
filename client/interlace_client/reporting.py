"""What the methods of both clients about runs do, as steps."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Union
from urllib.parse import quote

from interlace_client.answers import Run, RunPage, RunPlan, RunTrial, Step
from interlace_client.asking import deleted, page_of, posted
from interlace_client.bodies import Graph, PlanOrId, graph_field, json_content, plan_field
from interlace_client.options import How
from interlace_client.sending import Deadline, ServiceCall, Steps, Tries, shaped
from interlace_client.waiting import answered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace_client.answers import Json

#: A run, or its id.
RunOrId = Union[Run, str]
_PATH = "/v1/runs"
_NEVER = Deadline(None)


def start(
    graph: Graph,
    cluster: Mapping[str, Any],
    plan: PlanOrId,
    keywords: Mapping[str, Any],
    tries: Tries,
) -> Steps[Run]:
    """Begin a run; sent again with its key it is the same one."""
    fields = {k: v for k, v in keywords.items() if v is not None}
    how = How(idempotency_key=fields.pop("idempotency_key", None))
    request = {**graph_field(graph), "cluster": cluster, **plan_field(plan), **fields}
    call = posted(_PATH, json_content(request), how, None)
    return shaped(Run.of, (yield from answered(call, tries, _NEVER)))


def report_steps(run: RunOrId, steps: Sequence[Step], tries: Tries) -> Steps[int]:
    """Report steps; return how many of them were new."""
    if not steps:
        return 0
    told = [{k: v for k, v in asdict(each).items() if v is not None} for each in steps]
    raw = yield from _post(run, "steps", {"steps": told}, tries)
    return shaped(lambda found: int(found["stored"]), raw)


def report_plan(
    run: RunOrId,
    plan: PlanOrId,
    fields: Mapping[str, Any],
    tries: Tries,
) -> Steps[RunPlan]:
    """Report that a run takes over another plan."""
    given = {k: v for k, v in fields.items() if v is not None}
    graph = graph_field(given.pop("graph")) if "graph" in given else {}
    raw = yield from _post(run, "plans", {**plan_field(plan), **graph, **given}, tries)
    return shaped(RunPlan.of, raw)


def report_trial(run: RunOrId, trial: Mapping[str, Any], tries: Tries) -> Steps[RunTrial]:
    """Report what a trial of a plan came to."""
    return shaped(RunTrial.of, (yield from _post(run, "trials", trial, tries)))


def end(run: RunOrId, why: str, tries: Tries) -> Steps[Run]:
    """End a run; return what it is then."""
    return shaped(Run.of, (yield from _post(run, "end", {"why": why}, tries)))


def read(run: RunOrId, tries: Tries) -> Steps[Run]:
    """Get a run."""
    return shaped(Run.of, (yield from answered(ServiceCall("GET", _path(run)), tries, _NEVER)))


def delete(run: RunOrId, tries: Tries) -> Steps[None]:
    """Delete a run with its plans and steps."""
    return (yield from deleted(_path(run), tries))


def page(
    limit: int | None, cursor: str | None, states: Sequence[str], tries: Tries
) -> Steps[RunPage]:
    """List runs."""
    params = {"limit": limit, "cursor": cursor, "state": list(states)}
    return shaped(RunPage.of, (yield from page_of(_PATH, params, tries)))


def _path(run: RunOrId) -> str:
    return f"{_PATH}/{quote(run.id if isinstance(run, Run) else run, safe='')}"


def _post(run: RunOrId, what: str, request: Mapping[str, Any], tries: Tries) -> Steps[Json]:
    call = posted(f"{_path(run)}/{what}", json_content(request), How(), None)
    return (yield from answered(call, tries, _NEVER))
