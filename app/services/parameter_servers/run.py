"""Predictions of training through parameter servers: checked, computed, written as an answer."""

import time
from collections.abc import Callable

from app import VERSION
from app.errors import InvalidRequest
from app.schemas.parameter_servers import (
    ParameterServerAnswer,
    ParameterServerRequest,
    ParameterServerRequestOut,
)
from app.schemas.problem import graph_sha256
from app.services.parameter_servers.fits import with_fit
from app.services.parameter_servers.steps import (
    of_steps,
    prepared_of,
    steps_of,
    steps_sha256,
    work_faults,
)
from app.services.warnings import units_of
from solver.errors import InvalidSteps
from solver.evidence.evidence import stated_evidence
from solver.graph import Graph
from solver.parameter_server.throughput import predict

#: What stands beside the simulation.
_FORMULAS = [
    " ".join(note.split())
    for note in (
        """Lin et al.: a closed queueing network of the phases of one worker's step, downlink,
        compute, uplink and update; those on links are shared equally, so waits within a phase
        count as transfers.""",
        """Cynthia (Zheng et al.): one worker's step beside its use of the network, both directions
        as one link.""",
        """The simple bound: as many workers as if each were alone, or a server's busiest link
        direction full, whichever is less.""",
        """Not in the model: losses and retransmissions, competing traffic, computing that
        transfers slow down, and workers that differ.""",
    )
]


def run(
    graph: Graph | None,
    request: ParameterServerRequest,
    progress: Callable[[int, int], None] | None = None,
) -> ParameterServerAnswer:
    """Predict a row for each bandwidth and count of workers.

    Parameters
    ----------
    graph
        The graph of the request, checked; None when it has steps.
    request
        Free of own faults.
    progress
        Is told how many rows are done, and how many there are; it may raise to give up.

    Raises
    ------
    InvalidRequest
        When the graph is no step through parameter servers, the work is too much, or no recorded
        transfer can be fitted to.
    """
    began = time.perf_counter()
    request, fitted = with_fit(request)
    steps = steps_of(graph, request)
    if faults := work_faults(prepared_of(steps, request), request):
        raise InvalidRequest(faults)
    try:
        predicted = predict(steps, request.to_options(), progress)
    except InvalidSteps as error:
        raise InvalidRequest(of_steps(error.faults, request)) from error
    return ParameterServerAnswer(
        runtime_s=round(time.perf_counter() - began, 6),
        name=request.name or (graph.name if graph else ""),
        profiled_steps=len(steps),
        rows=list(predicted.rows),
        knees=list(predicted.knees),
        notes=[*fitted, *predicted.notes, *_of_graph(graph, request), *_FORMULAS],
        evidence=stated_evidence(graph, "the speeds of links and servers"),
        warnings=[] if graph is None else units_of(graph),
        request=ParameterServerRequestOut.of(
            request,
            steps_sha256=steps_sha256(steps),
            graph_sha256=None if graph is None else graph_sha256(graph),
            servers=None if graph is None else request.servers,
            update_us_per_byte=None if graph is None else request.update_us_per_byte,
            win_bytes=request.win_bytes if request.flow_control else None,
        ),
        version=VERSION,
    )


def _of_graph(graph: Graph | None, request: ParameterServerRequest) -> list[str]:
    """Say what a step made of a graph does not know."""
    if graph is None:
        return []
    free = (
        []
        if request.update_us_per_byte
        else ["Servers update in no time: update_us_per_byte is 0."]
    )
    return [*free, "A step takes as long as the graph says, whatever batch_size is."]
