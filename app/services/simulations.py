"""Simulations: run, explained, kept, drawn."""

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from app import VERSION
from app.errors import InvalidRequest, within
from app.limits import MAX_JITTER_STEPS, MAX_SIMULATED_LAUNCHES
from app.reading.program_faults import is_program
from app.schemas.explanations import UNEXPLAINED
from app.schemas.problem import CheckedRequest, graph_sha256
from app.schemas.schedules import Launches
from app.schemas.simulations import (
    SimulatedWhatIf,
    SimulationAnswer,
    SimulationRequest,
    SimulationRequestOut,
)
from app.services.explanations import explained
from app.services.graphs import is_large, lightened, what_if
from app.services.launch_counts import launches_of
from app.services.program_simulations import (
    program_time_us,
    simulate_program,
    simulated_timeline,
)
from app.services.warnings import chunks_of, launched, units_of, warnings_of
from solver.chain import Chain, chain_of
from solver.codes import FaultCode
from solver.costs import Network, network_of
from solver.errors import Fault, InvalidGraph, InvalidOptions, InvalidPlan
from solver.evidence.belief import decided
from solver.explanation.explain import explain
from solver.graph import Graph, with_barrier
from solver.planning.certify import evidence_on
from solver.planning.explicit import deadlock_fault, explicit_launches
from solver.planning.labels import label_buckets, parts_of
from solver.policies.choice import WHERE_NOT, Choice, applies, choice_faults
from solver.simulation.engine import (
    Deadlock,
    Policy,
    iteration_time,
    launches_under,
    simulate,
)
from solver.simulation.jitter import Jitter, jitter
from solver.simulation.replay import replay
from solver.simulation.timeline import chrome_trace
from solver.simulation.times import IterationTimes, iteration_times
from solver.simulation.what_if import Rerun, carry_over

#: What an explicit plan is called beside policies.
PLAN = "plan"
#: What the changed graph is called beside it.
WHAT_IF = "what_if"
_Found = TypeVar("_Found")


def run(problem: CheckedRequest[SimulationRequest]) -> SimulationAnswer:
    """Simulate one training iteration.

    Raises
    ------
    InvalidRequest
        When the policy, the plan, the jitter or a change does not fit the graph.
    """
    if is_program(problem.graph, problem.request):
        return simulate_program(problem)
    began = time.perf_counter()
    request = problem.request
    graph, network, choice, rerun = prepared(problem)
    timeline = _simulated(simulate, graph, network, rerun)
    explanation = explain(graph, network, timeline, request.bins)
    chain = chain_of(graph)
    times, why = iteration_times(chain, timeline), UNEXPLAINED
    if not is_large(graph):
        why = explained(graph, network, rerun, timeline, explanation)
    labels, buckets = label_buckets(graph, chain, timeline)
    parts = parts_of(labels, timeline)
    return SimulationAnswer.of(
        times,
        why,
        policy=choice,
        buckets=buckets,
        schedule=Launches.of(parts=parts),
        channels=explanation.channels,
        jitter=_jitter(graph, network, request, rerun(graph)),
        what_if=_what_if(problem, network, rerun, times),
        evidence=evidence_on(graph, network),
        warnings=units_of(graph)
        + chunks_of(request.what_if)
        + warnings_of(request.cluster, launched(buckets, parts)),
        request=SimulationRequestOut.of(
            request,
            barrier=request.barrier or (choice is not None and choice.barrier),
            graph_sha256=graph_sha256(problem.graph),
        ),
        version=VERSION,
        runtime_s=round(time.perf_counter() - began, 6),
    )


def iteration_time_us(problem: CheckedRequest[SimulationRequest]) -> float:
    """Simulate as :func:`run` does, and return the time alone [us]."""
    if is_program(problem.graph, problem.request):
        return program_time_us(problem)
    graph, network, _, rerun = prepared(problem)
    return _simulated(iteration_time, graph, network, rerun)


def timeline(
    problem: CheckedRequest[SimulationRequest], *, is_changed: bool = False
) -> dict[str, Any]:
    """Draw a simulation as a Chrome trace, and the changed graph as :data:`WHAT_IF` below it.

    Raises
    ------
    InvalidRequest
        When the changed graph is to be drawn, and no change was asked for.
    """
    if is_program(problem.graph, problem.request):
        if is_changed:
            detail = "The changed graph of a program is not drawn: simulate it on its own."
            raise InvalidRequest([Fault("/query/what_if", FaultCode.NOT_SUPPORTED, detail)])
        return simulated_timeline(problem)
    graph, network, choice, rerun = prepared(problem)
    found = _simulated(simulate, graph, network, rerun)
    timelines = {choice.policy if choice else PLAN: found}
    times, graphs = {"iteration_time_us": found.iteration_time}, {}
    if is_changed:
        changed = what_if(problem.graph, problem.request.what_if)
        if changed is None:
            detail = "This simulation has no what_if: no change was asked for."
            raise InvalidRequest([Fault("/query/what_if", FaultCode.MISSING_FIELD, detail)])
        other = graphs[WHAT_IF] = simulated_graph(changed, problem.request)
        timelines[WHAT_IF] = simulate(other, network, _carried(rerun, other))
        times[f"{WHAT_IF}_iteration_time_us"] = timelines[WHAT_IF].iteration_time
    return chrome_trace(graph, timelines, times, graphs)


def prepared(
    problem: CheckedRequest[SimulationRequest],
) -> tuple[Graph, Network, Choice | None, Rerun]:
    """Return what is simulated, and how; the policy with its parameters as they are used."""
    request = problem.request
    graph = simulated_graph(problem.graph, request)
    chain = chain_of(graph)
    network = network_of(request.cluster.to_cluster())
    if faults := [*policy_faults(request, chain), *_jitter_faults(request, graph, chain)]:
        raise InvalidRequest(faults)
    choice = request.to_choice()
    if choice:
        used, policy = decided(choice, graph, network, request.belief())
        return graph, network, used, lambda _: policy
    assert request.plan is not None, "a policy or a plan"
    try:
        sends = explicit_launches(graph, chain, *request.plan.by_name())
    except InvalidPlan as error:
        raise InvalidRequest(within("plan", error.faults)) from error
    return graph, network, None, carry_over(sends, graph)


def _simulated(
    how: Callable[[Graph, Network, Policy], _Found], graph: Graph, network: Network, rerun: Rerun
) -> _Found:
    """Simulate; only an explicit plan can be in a deadlock."""
    try:
        return how(graph, network, rerun(graph))
    except Deadlock as error:
        fault = deadlock_fault(graph, chain_of(graph), error)
        raise InvalidRequest(within("plan", [fault])) from error


def simulated_graph(graph: Graph, request: SimulationRequest) -> Graph:
    """Return a graph as it is simulated."""
    graph = lightened(graph)
    barrier = request.barrier or (request.policy is not None and request.policy.barrier)
    if not barrier or not graph.collectives:
        return graph
    try:
        return with_barrier(graph)
    except InvalidGraph as error:
        raise InvalidRequest(within("graph", error.faults)) from error


def _choices(request: SimulationRequest) -> Iterator[tuple[str, Choice]]:
    """Yield the policies of a request and their places."""
    if choice := request.to_choice():
        yield "/policy", choice
    for i, rival in enumerate(request.jitter.rivals if request.jitter else []):
        yield f"/jitter/rivals/{i}", rival.to_choice()


def policy_faults(request: SimulationRequest, chain: Chain) -> Iterator[Fault]:
    """List what is wrong with the policies of a request for this chain."""
    yield from request.source_faults()
    sizes = chain.bytes.tolist()
    for place, choice in _choices(request):
        if choice.barrier and place != "/policy":
            detail = "A rival runs through the same iterations; give the simulation a barrier."
            yield Fault(f"{place}/barrier", FaultCode.EXTRA_FIELD, detail)
        found = list(choice_faults(choice, chain))
        yield from (Fault(place + f.pointer, f.code, f.detail) for f in found)
        if not applies(choice, chain):
            yield Fault(
                place, FaultCode.NOT_LAYERED, f"{choice.policy} is not defined where {WHERE_NOT}."
            )
        _, longest = launches_of(choice, sizes)
        if longest > MAX_SIMULATED_LAUNCHES and not found:
            detail = (
                f"{choice.policy} makes {longest:,} launches of this graph; at most "
                f"{MAX_SIMULATED_LAUNCHES:,} are simulated here."
            )
            yield Fault(place, FaultCode.OUT_OF_RANGE, detail)


def _jitter_faults(request: SimulationRequest, graph: Graph, chain: Chain) -> Iterator[Fault]:
    """Bound the work of all runs."""
    if request.jitter is None:
        return
    sizes = chain.bytes.tolist()
    launches = [launches_of(choice, sizes)[1] for _, choice in _choices(request)]
    launches += [len(request.plan.schedule.parts)] if request.plan else []
    steps = request.jitter.runs * sum(len(graph.ops) + count for count in launches)
    if steps > MAX_JITTER_STEPS:
        detail = (
            f"Jitter: {request.jitter.runs:,} runs take {steps:,} steps (ops and launches, over "
            f"all policies); at most {MAX_JITTER_STEPS:,} are simulated."
        )
        yield Fault("/jitter/runs", FaultCode.OUT_OF_RANGE, detail)


def _jitter(
    graph: Graph, network: Network, request: SimulationRequest, policy: Policy
) -> Jitter | None:
    """Run the policy and its rivals through the same iterations."""
    if request.jitter is None:
        return None
    if request.policy is not None and request.policy.policy == "pace":
        policy = _once(graph, network, "pace", policy)
    policies = [(PLAN, policy)]
    for rival in request.jitter.rivals:
        choice, rule = decided(rival.to_choice(), graph, network, request.belief())
        policies.append((choice.policy, _once(graph, network, choice.policy, rule)))
    noise = request.jitter
    return jitter(graph, network, policies, noise.spread, noise.seed, noise.runs)


def _once(graph: Graph, network: Network, name: str, policy: Policy) -> Policy:
    """Let PACE decide once: whatever happens, it sends the same launches in the same order."""
    if name != "pace":
        return policy
    return replay(launches_under(graph, network, policy))


def _carried(rerun: Rerun, changed: Graph) -> Policy:
    """Return what runs on the changed graph; refuse launches that do not carry over."""
    try:
        return rerun(changed)
    except InvalidOptions as error:
        faults = [Fault("/what_if", fault.code, fault.detail) for fault in error.faults]
        raise InvalidRequest(faults) from error


def _what_if(
    problem: CheckedRequest[SimulationRequest],
    network: Network,
    rerun: Rerun,
    times: IterationTimes,
) -> SimulatedWhatIf | None:
    """Simulate the changed graph, and compare it with the figures of the graph as it is."""
    changed = what_if(problem.graph, problem.request.what_if)
    if changed is None:
        return None
    graph = simulated_graph(changed, problem.request)
    other = iteration_times(chain_of(graph), simulate(graph, network, _carried(rerun, graph)))
    gain = times.iteration_time_us - other.iteration_time_us
    return SimulatedWhatIf.of(other, gain_us=gain)
