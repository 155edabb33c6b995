"""The steps that a request is about: profiled ones, or what a graph becomes; and their work."""

import hashlib
import json
from collections.abc import Sequence

from app.errors import InvalidRequest, within
from app.limits import MAX_SERVICES, STEP_SERVICES
from app.schemas.parameter_servers import ParameterServerRequest
from app.services.graphs import lightened
from solver.codes import FaultCode
from solver.errors import Fault, InvalidSteps
from solver.graph import Graph
from solver.parameter_server.of_graph import step_of
from solver.parameter_server.prepared import prepare, steps_of_row
from solver.parameter_server.steps import ServerStep, build_step, servers_of

#: From so many servers on each connection has a share of its own.
_OWN_SHARES = 3


def steps_of(graph: Graph | None, request: ParameterServerRequest) -> tuple[ServerStep, ...]:
    """Return the profiled steps of a request, or the one step of its graph.

    Raises
    ------
    InvalidRequest
        When the graph is no step through parameter servers.
    """
    if graph is None:
        return tuple(build_step(body.ops_of()) for body in request.steps or ())
    try:
        return (step_of(lightened(graph), request.servers, request.update_us_per_byte),)
    except InvalidSteps as error:
        raise InvalidRequest(within("graph", error.faults)) from error


def prepared_of(
    steps: Sequence[ServerStep], request: ParameterServerRequest
) -> tuple[ServerStep, ...]:
    """Return steps as they are run: with what receivers compute, in the order asked for.

    Raises
    ------
    InvalidRequest
        When parsing a transfer takes too long.
    """
    try:
        return prepare(steps, request.to_options())
    except InvalidSteps as error:
        raise InvalidRequest(of_steps(error.faults, request)) from error


def of_steps(faults: Sequence[Fault], request: ParameterServerRequest) -> list[Fault]:
    """Point at the steps of a request; the ops of a graph's step are not those of the graph."""
    if request.steps is not None:
        return within("steps", faults)
    return [Fault("/graph", fault.code, fault.detail) for fault in faults]


def services_of(steps: Sequence[ServerStep], win_bytes: int | None) -> float:
    """Count the services of a prepared step, in the mean: two for what exceeds the window."""
    return sum(_services(step, win_bytes) for step in steps) / len(steps)


def work_faults(steps: Sequence[ServerStep], request: ParameterServerRequest) -> list[Fault]:
    """Refuse more services than are simulated, before any is."""
    options = request.to_options()
    each = services_of(steps, options.win_bytes) + STEP_SERVICES
    of_row = steps_of_row(steps, options)
    servers = len(servers_of(steps))
    loads = sum(workers * _sharing(servers, workers) for workers in options.workers)
    count = len(options.bandwidths_gbps) * loads * of_row * each
    if count <= MAX_SERVICES:
        return []
    rows = len(options.bandwidths_gbps) * len(options.workers)
    rest = ", or set explain to false" if options.explain else ""
    detail = (
        f"{rows:,} rows of {sum(options.workers):,} workers a bandwidth, {options.steps:,} steps "
        f"of {each:,.0f} services each, take about {count:,.0f} services"
        f"{' with their what-ifs' if options.explain else ''}"
        f"{' and the shares of connections' if servers >= _OWN_SHARES else ''}; at "
        f"most {MAX_SERVICES:,} are simulated. Lower simulated_steps or the counts of workers, ask "
        f"for fewer rows{rest}."
    )
    return [Fault("/simulated_steps", FaultCode.OUT_OF_RANGE, detail)]


def steps_sha256(steps: Sequence[ServerStep]) -> str:
    """Hash steps: SHA-256 of their ops as JSON."""
    ops = [[[*op[:-1], list(op.after)] for op in step.ops] for step in steps]
    return hashlib.sha256(json.dumps(ops, separators=(",", ":")).encode()).hexdigest()


def _sharing(servers: int, workers: int) -> int:
    """Tell how many services' time one takes: with three servers or more, shares of connections."""
    return 1 if servers < _OWN_SHARES else 1 + 2 * servers * workers


def _services(step: ServerStep, win_bytes: int | None) -> int:
    window = float("inf") if win_bytes is None else win_bytes
    return len(step.ops) + sum((op.bytes or 0) > window for op in step.ops)
