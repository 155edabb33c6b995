"""A plan with its evidence, made of its launches."""

from collections.abc import Sequence
from typing import NamedTuple

from solver.bounds.chain import LowerBound
from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Network
from solver.fusion.fused import fused_ops
from solver.graph import Graph
from solver.planning.ideal import Ideal
from solver.planning.names import Names, buckets_of, figures_of, parts_of
from solver.planning.result import (
    FEASIBLE,
    OPTIMAL,
    Baseline,
    Bound,
    Plan,
    Proof,
    SlotRun,
    SlottedSchedule,
)
from solver.policies.choice import Choice
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from solver.units import same


class Rival(NamedTuple):
    """A policy as it was simulated; its launches are a plan without its own barrier as well."""

    used: Choice
    time: float | None
    launches: tuple[Launch, ...]


def planned(
    graph: Graph,
    network: Network,
    launches: Sequence[Launch],
    bound: LowerBound,
    rivals: Sequence[Rival],
    ideal: Ideal | None = None,
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
    rivals
        Policies to compare with.
    ideal
        The optimum of the buckets that are sent; None where there is none, or it is not known yet.

    Raises
    ------
    Deadlock
        When launches wait for one another.

    Notes
    -----
    One simulation, and O(ops + edges + launches).
    """
    chain = chain_of(graph)
    timeline = simulate(graph, network, replay(launches))
    names, buckets = buckets_of(graph, chain, timeline)
    time = timeline.iteration_time
    optimal = same(time, bound.value)
    tensors = [graph.ops[i].id for i in chain.positions.tolist()]
    figures = figures_of(chain, timeline)
    return Plan(
        status=OPTIMAL if optimal else FEASIBLE,
        iteration_time_us=time,
        compute_time_us=chain.compute_time,
        lower_bound_us=min(bound.value, time) if optimal else bound.value,
        bound=_bound(bound, tensors),
        gap=(0.0 if optimal else time / bound.value - 1) if bound.value > 0 else None,
        scaling_factor=figures.scaling_factor,
        exposed_us=figures.exposed_us,
        overlap=figures.overlap,
        ideal_us=ideal.value if ideal else None,
        proof=_proof(ideal, names),
        buckets=buckets,
        parts=parts_of(names, timeline),
        slotted=_slotted(ideal, names),
        fused=fused_ops(graph, chain, names),
        graph=graph,
        launches=tuple(launches),
        timeline=timeline,
        baselines=tuple(_baseline(rival, time, bound.value) for rival in rivals),
    )


def _bound(bound: LowerBound, tensors: Sequence[str]) -> Bound:
    members = tuple(tensors[i] for i in bound.members)
    return Bound(bound.kind, bound.value, members, bound.release, bound.tail)


def _proof(ideal: Ideal | None, names: Names) -> Proof:
    if ideal is None:
        return Proof((), None, None, None)
    critical = tuple(names[bucket] for bucket in ideal.critical)
    return Proof(critical, ideal.release, ideal.work, ideal.tail)


def _slotted(ideal: Ideal | None, names: Names) -> SlottedSchedule | None:
    if ideal is None:
        return None
    return SlottedSchedule(
        slot_us=ideal.slot,
        runs=tuple(SlotRun(run.slot, run.slots, names[run.bucket]) for run in ideal.runs),
        iteration_time_us=ideal.slots_value,
    )


def _baseline(rival: Rival, time: float, bound: float) -> Baseline:
    theirs = rival.time
    return Baseline(
        policy=rival.used.policy,
        barrier=rival.used.barrier,
        parameters=rival.used.parameters,
        iteration_time_us=theirs,
        speedup=theirs / time if theirs is not None and time > 0 else None,
        headroom=max(0.0, theirs / bound - 1) if theirs is not None and bound > 0 else None,
    )
