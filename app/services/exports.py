"""Plans as files of other tools."""

from base64 import b64encode
from typing import Any

from pydantic import ValidationError

from app.errors import NotFound
from app.schemas.exports import ExportedFile, ExportOut
from app.schemas.plans import PlanRequest
from app.schemas.problem import Problem
from app.schemas.schedules import PlanBody, Schedule
from app.services.graphs import lightened
from solver.codes import FaultCode
from solver.costs import network_of
from solver.errors import Fault, InvalidPlan
from solver.exports import EXPORTS, ExplicitPlan, Export
from solver.graph import with_barrier
from solver.planning.result import SlotRun, SlottedSchedule


def exported(problem: Problem[PlanRequest], answer: Any, form: str) -> Export:
    """Write a plan in a format of :data:`solver.exports.EXPORTS`.

    Parameters
    ----------
    problem
        What was planned.
    answer
        The plan, as ``POST /v1/plans`` gives it.
    form
        The format.

    Raises
    ------
    InvalidPlan
        When it is no plan of that graph.
    """
    graph, cluster = lightened(problem.graph), problem.request.cluster
    graph = with_barrier(graph) if problem.request.has_barrier else graph
    try:
        buckets, parts = PlanBody.model_validate(answer).by_name()
        slotted = _slotted(Schedule.model_validate(answer["schedule"]))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"/{step}" for step in first["loc"])
        detail = f"This is no plan as plan --json prints it: at {place}, {first['msg']}."
        raise InvalidPlan([Fault("", FaultCode.WRONG_TYPE, detail)]) from None
    planned = ExplicitPlan(tuple(buckets), tuple(parts), slotted, cluster.workers)
    return EXPORTS[form](graph, network_of(cluster.to_cluster()), planned)


def answer_of(export: Export) -> ExportOut:
    """Write an export as an answer."""
    return ExportOut(
        format=export.format,
        files=[
            ExportedFile(
                name=name,
                text=content if isinstance(content, str) else None,
                base64=None if isinstance(content, str) else b64encode(content).decode(),
            )
            for name, content in export.files.items()
        ],
        notes=list(export.notes),
        iteration_time_us=export.iteration_time_us,
        plan_time_us=export.plan_time_us,
    )


def file_of(export: Export, name: str) -> bytes:
    """Return one file of an export, or raise NotFound."""
    if name not in export.files:
        raise NotFound(f"This export has the files {', '.join(export.files)}.")
    content = export.files[name]
    return content.encode() if isinstance(content, str) else content


def _slotted(schedule: Schedule) -> SlottedSchedule | None:
    if schedule.slot_us is None:
        return None
    return SlottedSchedule(
        slot_us=schedule.slot_us,
        runs=tuple(SlotRun(run.slot, run.count, run.bucket) for run in schedule.slots),
        iteration_time_us=schedule.slots_iteration_time_us or 0.0,
    )
