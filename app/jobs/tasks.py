"""What the child of each kind of job does: a request in, an answer out."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

from app.jobs.kinds import IMPORT, PARAMETER_SERVER, PLAN, SIMULATION, SWEEP
from app.limits import JOB_TIME_LIMIT_S
from app.operations.callers import Caller
from app.reading.references import Library
from app.reading.requests import problem_of, read_body
from app.reading.traces import FORMAT, own_cluster, parameters_of, read_files
from app.schemas.graphs import GraphRequest
from app.schemas.parameter_servers import ParameterServerRequest
from app.schemas.plans import PlanRequest
from app.schemas.simulations import SimulationRequest
from app.schemas.sweeps import SweepRequest
from app.services import plans, simulations
from app.services.drafts import Follower
from app.services.graphs import import_answer
from app.services.parameter_servers import run as parameter_servers
from app.services.sweeps import run as sweeps
from app.services.sweeps.parallel import Each, each
from app.storage.graphs import NewGraph, id_of, new_graph
from solver.graph import Graph
from solver.traces import TraceOptions


class Report(Follower, Protocol):
    """Hears of a job from whoever does it."""

    def describe(self, name: str, limit_s: float) -> None:
        """Take note of what the request says of the job: its name, its time limit [s]."""

    def progress(
        self,
        phase: str,
        completed: int | None = None,
        total: int | None = None,
        incumbent_us: float | None = None,
        lower_bound_us: float | None = None,
    ) -> None:
        """Take note of how far it is, as a :class:`Follower` does."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a job is done with: no more, so that it can be done on another machine.

    Attributes
    ----------
    body
        Its request: JSON text.
    files
        Uploads.
    library
        What may be named by an id.
    each
        Does the cells of a sweep.
    caller
        Who it is done for.
    """

    body: bytes
    files: Sequence[bytes]
    library: Library
    each: Each = each
    caller: Caller | None = None


class Done(NamedTuple):
    """The answer of a job as JSON text, what a list shows of it, and a graph that is to be kept."""

    answer: str
    summary: dict[str, Any]
    graph: NewGraph | None = None


Work = Callable[[Inputs, Report], Done]


def limit_of(request: GraphRequest) -> float:
    """Return the time that a request asks for [s]."""
    match request:
        case PlanRequest():
            plans = len(request.options.memory_limits_bytes or [0]) + bool(request.what_if)
            return request.options.time_limit_s * plans
        case SweepRequest():
            return request.sweep_limit_s
    return JOB_TIME_LIMIT_S


def name_of(graph: Graph | None, request: GraphRequest) -> str:
    """Return what a job is called: the name that its request gives it, else its graph's."""
    named = request.name if isinstance(request, ParameterServerRequest) else ""
    return named or (graph.name if graph else "")


def _plan(inputs: Inputs, report: Report) -> Done:
    problem = problem_of(read_body(inputs.body, PlanRequest, inputs.library))
    report.describe(problem.graph.name, limit_of(problem.request))
    answer = plans.solve(problem, report)
    summary = {
        "status": answer.status,
        "iteration_time_us": answer.iteration_time_us,
        "gap": answer.gap,
    }
    return Done(answer.model_dump_json(), summary)


def _simulation(inputs: Inputs, report: Report) -> Done:
    problem = problem_of(read_body(inputs.body, SimulationRequest, inputs.library))
    report.describe(problem.graph.name, limit_of(problem.request))
    report.progress("simulation")
    answer = simulations.run(problem)
    policy = answer.policy.policy if answer.policy else simulations.PLAN
    summary = {"policy": policy, "iteration_time_us": answer.iteration_time_us}
    return Done(answer.model_dump_json(), summary)


def _sweep(inputs: Inputs, report: Report) -> Done:
    problem = problem_of(read_body(inputs.body, SweepRequest, inputs.library))
    report.describe(problem.graph.name, limit_of(problem.request))
    tell = partial(report.progress, "cells")
    answer = sweeps.run(problem, tell, inputs.each, report.draft)
    return Done(answer.model_dump_json(), {"cells": len(answer.cells)})


def _parameter_server(inputs: Inputs, report: Report) -> Done:
    graph, request = read_body(inputs.body, ParameterServerRequest, inputs.library)
    report.describe(name_of(graph, request), limit_of(request))
    answer = parameter_servers.run(
        graph, request, lambda done, many: report.progress("rows", done, many)
    )
    return Done(answer.model_dump_json(), {"rows": len(answer.rows)})


def _import(inputs: Inputs, report: Report) -> Done:
    options = json.loads(inputs.body)
    report.progress("import")
    parameters = parameters_of(options["parameters"])
    what = TraceOptions(options["name"], options["step"], parameters, options.get("rank"))
    trace = read_files(inputs.files, options["format"], what)
    own = own_cluster(inputs.files[0]) if trace.report.format == FORMAT else None
    answer = import_answer(trace, what, own)
    graph = None
    if trace.graph is not None and answer.graph_id is not None:
        graph_id = id_of(answer.graph_id, inputs.caller)
        answer = answer.model_copy(update={"graph_id": graph_id})
        graph = new_graph(trace.graph, answer)
    name = trace.graph.name if trace.graph else options["name"]
    report.describe(name, JOB_TIME_LIMIT_S)
    return Done(answer.model_dump_json(), {"graph_id": answer.graph_id}, graph)


WORK: dict[str, Work] = {
    PLAN: _plan,
    SIMULATION: _simulation,
    SWEEP: _sweep,
    PARAMETER_SERVER: _parameter_server,
    IMPORT: _import,
}
