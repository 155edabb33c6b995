"""What the child of each kind of job does: a request in, an answer out."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from app.jobs.kinds import IMPORT, PARAMETER_SERVER, PLAN, SIMULATION, SWEEP
from app.jobs.progress import ProgressWriter
from app.limits import JOB_TIME_LIMIT_S
from app.reading.requests import problem_of, read_body
from app.reading.traces import parameters_of, read_files
from app.schemas.graphs import GraphRequest
from app.schemas.parameter_servers import ParameterServerRequest
from app.schemas.plans import PlanRequest
from app.schemas.simulations import SimulationRequest
from app.schemas.sweeps import SweepRequest
from app.services import plans, simulations
from app.services.graphs import import_answer
from app.services.parameter_servers import run as parameter_servers
from app.services.sweeps import run as sweeps
from app.storage import graphs
from app.storage.database import Store
from app.storage.library import library_of
from solver.graph import Graph
from solver.traces import TraceOptions


class Done(NamedTuple):
    """The answer of a job as JSON text, and what a list shows of it."""

    answer: str
    summary: dict[str, Any]


Work = Callable[[Store, bytes, list[bytes], ProgressWriter], Done]


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


def _plan(store: Store, body: bytes, _files: list[bytes], report: ProgressWriter) -> Done:
    problem = problem_of(read_body(body, PlanRequest, library_of(store)))
    report.describe(problem.graph.name, limit_of(problem.request))
    answer = plans.solve(problem, report)
    summary = {"status": answer.status, "iteration_time_us": answer.iteration_time_us}
    return Done(answer.model_dump_json(), summary)


def _simulation(store: Store, body: bytes, _files: list[bytes], report: ProgressWriter) -> Done:
    problem = problem_of(read_body(body, SimulationRequest, library_of(store)))
    report.describe(problem.graph.name, limit_of(problem.request))
    report.progress("simulation")
    answer = simulations.run(problem)
    policy = answer.policy.policy if answer.policy else simulations.PLAN
    summary = {"policy": policy, "iteration_time_us": answer.iteration_time_us}
    return Done(answer.model_dump_json(), summary)


def _sweep(store: Store, body: bytes, _files: list[bytes], report: ProgressWriter) -> Done:
    problem = problem_of(read_body(body, SweepRequest, library_of(store)))
    report.describe(problem.graph.name, limit_of(problem.request))
    answer = sweeps.run(problem, lambda done, many: report.progress("cells", done, many))
    return Done(answer.model_dump_json(), {"cells": len(answer.cells)})


def _parameter_server(
    store: Store, body: bytes, _files: list[bytes], report: ProgressWriter
) -> Done:
    graph, request = read_body(body, ParameterServerRequest, library_of(store))
    report.describe(name_of(graph, request), limit_of(request))
    answer = parameter_servers.run(
        graph, request, lambda done, many: report.progress("rows", done, many)
    )
    return Done(answer.model_dump_json(), {"rows": len(answer.rows)})


def _import(store: Store, body: bytes, files: list[bytes], report: ProgressWriter) -> Done:
    options = json.loads(body)
    report.progress("import")
    parameters = parameters_of(options["parameters"])
    what = TraceOptions(options["name"], options["step"], parameters, options.get("rank"))
    trace = read_files(files, options["format"], what)
    answer = import_answer(trace, what)
    if trace.graph is not None and answer.graph_id is not None:
        own = graphs.id_of(answer.graph_id, store.caller)
        answer = answer.model_copy(update={"graph_id": own})
        graphs.create(store, trace.graph, answer)
    name = trace.graph.name if trace.graph else options["name"]
    report.describe(name, JOB_TIME_LIMIT_S)
    return Done(answer.model_dump_json(), {"graph_id": answer.graph_id})


WORK: dict[str, Work] = {
    PLAN: _plan,
    SIMULATION: _simulation,
    SWEEP: _sweep,
    PARAMETER_SERVER: _parameter_server,
    IMPORT: _import,
}
