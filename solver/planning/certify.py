"""A plan with its evidence, made of its launches."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from solver.bounds.chain import LowerBound
from solver.bounds.status import status_of
from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Network
from solver.evidence.baseline import Baseline, baseline_of
from solver.evidence.bound import Bound
from solver.evidence.evidence import Evidence, evidence_of, is_measured
from solver.evidence.what_you_run import run_first
from solver.fusion.fused import fused_ops
from solver.graph import Graph
from solver.planning.ideal import Ideal
from solver.planning.labels import Labels, label_buckets, parts_of
from solver.planning.result import (
    Plan,
    Proof,
    SlotRun,
    SlottedSchedule,
)
from solver.policies.choice import Choice
from solver.simulation.engine import iteration_time, simulate
from solver.simulation.replay import replay
from solver.simulation.times import iteration_times
from solver.units import same


class PolicyRun(NamedTuple):
    """A policy, its parameters as used, its time [us] and launches.

    The launches are a plan without the policy's own barrier as well. There are none, and no time,
    where the policy is not defined.
    """

    choice: Choice
    time: float | None
    launches: tuple[Launch, ...]


def plan_of(
    graph: Graph,
    network: Network,
    launches: Sequence[Launch],
    bound: LowerBound,
    baselines: Sequence[PolicyRun],
    ideal: Ideal | None = None,
    best_time: float = inf,
) -> Plan:
    """Simulate launches and state them as a plan.

    Parameters
    ----------
    graph, network
        What is simulated; a barrier is part of the graph.
    launches
        Those of each channel in order; all bytes of all tensors.
    bound
        A lower bound on the time of any plan.
    baselines
        Policies to compare with.
    ideal
        The optimum of the buckets that are sent; None where there is none, or it is not known yet.
    best_time
        The time of a faster plan of more launches [us]; without one it is that of the launches.

    Raises
    ------
    Deadlock
        When launches wait for one another.

    Notes
    -----
    One simulation, another where anything was measured, and O(ops + edges + launches).
    """
    chain = chain_of(graph)
    timeline = simulate(graph, network, replay(launches))
    labels, buckets = label_buckets(graph, chain, timeline)
    time = timeline.iteration_time
    best_time = min(time, best_time)
    optimal = same(time, bound.value)
    tensors = [graph.ops[i].id for i in chain.positions.tolist()]
    times = iteration_times(chain, timeline)
    return Plan(
        status=status_of(time, best_time, bound.value),
        iteration_time_us=time,
        best_time_us=best_time,
        compute_time_us=chain.compute_time,
        lower_bound_us=min(bound.value, best_time) if same(best_time, bound.value) else bound.value,
        bound=_bound(bound, tensors),
        gap=(0.0 if optimal else time / bound.value - 1) if bound.value > 0 else None,
        scaling_factor=times.scaling_factor,
        exposed_us=times.exposed_us,
        overlap=times.overlap,
        ideal_us=ideal.value if ideal else None,
        proof=_proof(ideal, labels),
        buckets=buckets,
        parts=parts_of(labels, timeline),
        slotted=_slotted(ideal, labels),
        fused=fused_ops(graph, chain, labels),
        graph=graph,
        launches=tuple(launches),
        timeline=timeline,
        baselines=tuple(_baseline(policy, time, bound.value) for policy in baselines),
        evidence=evidence_on(graph, network),
        network=network,
    )


def evidence_on(graph: Graph, network: Network, *, is_here: bool = True) -> Evidence:
    """Gather what answers about a graph on a network rest on.

    ``is_here`` is as in :func:`solver.evidence.evidence.evidence_of`.

    Notes
    -----
    A simulation of what you run, where anything was measured.
    """
    if not is_measured(graph, network):
        return evidence_of(graph, network, is_here=is_here)
    today = iteration_time(graph, network, run_first(graph).policy(graph, network))
    compute = chain_of(graph).compute_time
    return evidence_of(graph, network, today, compute, is_here=is_here)


def _bound(bound: LowerBound, tensors: Sequence[str]) -> Bound:
    members = tuple(tensors[i] for i in bound.members)
    return Bound(bound.kind, bound.value, members, bound.release, bound.tail)


def _proof(ideal: Ideal | None, labels: Labels) -> Proof:
    if ideal is None:
        return Proof((), None, None, None)
    critical = tuple(labels[bucket] for bucket in ideal.critical)
    return Proof(critical, ideal.release, ideal.work, ideal.tail)


def _slotted(ideal: Ideal | None, labels: Labels) -> SlottedSchedule | None:
    if ideal is None:
        return None
    return SlottedSchedule(
        slot_us=ideal.slot,
        runs=tuple(SlotRun(span.slot, span.slots, labels[span.bucket]) for span in ideal.spans),
        iteration_time_us=ideal.slots_value,
    )


def _baseline(policy: PolicyRun, plan_time: float, bound: float) -> Baseline:
    choice, time, _ = policy
    return baseline_of(
        choice.policy,
        time,
        plan_time,
        bound,
        barrier=choice.barrier,
        parameters=choice.parameters,
    )
