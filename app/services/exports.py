"""Plans and simulated policies as files of other tools."""

from base64 import b64encode
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from app.errors import NotFound
from app.reading.program_faults import is_program
from app.schemas.exports import ExportedFile, ExportOut
from app.schemas.plans import PlanRequest
from app.schemas.problem import CheckedRequest
from app.schemas.schedules import PlanBody, Schedule
from app.schemas.simulations import SimulationRequest
from app.services.graphs import lightened
from app.services.program_exports import (
    exported_program,
    not_of_a_program,
    only_of_programs,
    program_of_chain,
)
from app.services.simulations import simulated_graph
from solver.codes import FaultCode
from solver.costs import network_of
from solver.errors import Fault, InvalidPlan
from solver.exports import EXPORTS, ExplicitPlan, Export, write
from solver.exports.programs import PROGRAM_EXPORTS
from solver.graph import Graph, with_barrier
from solver.planning.result import SlottedSchedule
from solver.units import same


def exported(
    problem: CheckedRequest[PlanRequest] | CheckedRequest[SimulationRequest], answer: Any, form: str
) -> Export:
    """Write a plan, or what a policy launches, in a format of :data:`solver.exports.EXPORTS`.

    Parameters
    ----------
    problem
        What was planned or simulated.
    answer
        The plan, as ``POST /v1/plans`` gives it, or the simulation, as ``POST /v1/simulations``.
    form
        The format; of a program a key of :data:`solver.exports.programs.PROGRAM_EXPORTS`.

    Raises
    ------
    InvalidPlan
        When it is no plan of that graph, or when the format has no form for it.
    """
    check_format(problem, form)
    if _is_program(problem):
        return exported_program(problem, answer, form)
    if isinstance(answer, dict) and answer.get("program") is not None:
        raise InvalidPlan([program_of_chain()])
    cluster = problem.request.cluster.to_cluster()
    is_policy = isinstance(problem.request, SimulationRequest)
    try:
        buckets, parts = PlanBody.model_validate(answer).by_name()
        slotted = None if is_policy else _slotted(Schedule.model_validate(answer["schedule"]))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"/{step}" for step in first["loc"])
        detail = f"This is no plan as plan --json prints it: at {place}, {first['msg']}."
        raise InvalidPlan([Fault("", FaultCode.WRONG_TYPE, detail)]) from None
    channels = tuple((name, own.workers) for name, own in cluster.channels)
    planned = ExplicitPlan(tuple(buckets), tuple(parts), slotted, cluster.workers, channels)
    written = write(form, _graph_of(problem), network_of(cluster), planned)
    if not is_policy or same(answer["iteration_time_us"], written.plan_time_us):
        return written
    waits = answer["iteration_time_us"] > written.plan_time_us  # else waiting spares its compute
    note = (
        f"The policy takes {answer['iteration_time_us']:,.1f} us"
        f"{', since it waits where it need not' if waits else ''}; its launches in the same "
        f"order, each as early as it can go, take {written.plan_time_us:,.1f} us."
    )
    return replace(written, notes=(note, *written.notes))


def check_format(
    problem: CheckedRequest[PlanRequest] | CheckedRequest[SimulationRequest], form: str
) -> None:
    """Check that a format is written of programs, where a program is planned, or of other plans.

    Raises
    ------
    InvalidPlan
        When it is not (``not_supported``).
    """
    is_ordered = _is_program(problem)
    if is_ordered and form not in PROGRAM_EXPORTS:
        raise InvalidPlan([not_of_a_program(form)])
    if not is_ordered and form not in EXPORTS:
        raise InvalidPlan([only_of_programs(form)])


def with_usual_barrier(problem: CheckedRequest[PlanRequest]) -> CheckedRequest[PlanRequest]:
    """Plan with a barrier, as an optimizer's step is one; a program has none."""
    if _is_program(problem):
        return problem
    options = problem.request.options.model_copy(update={"barrier": True})
    return replace(problem, request=problem.request.model_copy(update={"options": options}))


def _is_program(problem: CheckedRequest[PlanRequest] | CheckedRequest[SimulationRequest]) -> bool:
    return is_program(problem.graph, problem.request)


def _graph_of(problem: CheckedRequest[PlanRequest] | CheckedRequest[SimulationRequest]) -> Graph:
    """Return the graph as it was planned or simulated."""
    if isinstance(problem.request, SimulationRequest):
        return simulated_graph(problem.graph, problem.request)
    graph = lightened(problem.graph)
    return with_barrier(graph) if problem.request.has_barrier else graph


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
        runs=tuple(schedule.slots),
        iteration_time_us=schedule.slots_iteration_time_us or 0.0,
    )
