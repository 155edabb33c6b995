"""From a graph and a cost to a plan with its evidence: the table of contents of the solver."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import NamedTuple

from solver.bounds import LowerBound, lower_bound
from solver.chain import Buckets, Chain, chain_of
from solver.costs import Cost
from solver.errors import Fault, InvalidOptions
from solver.fused import fused_graph
from solver.fusion import Fusion, Order, Search, max_min, unfused
from solver.graph import Graph, with_barrier
from solver.joint import joint
from solver.policies.choice import Choice, bind, choice_faults, resolved
from solver.policies.plan import replay, sends
from solver.result import (
    FEASIBLE,
    OPTIMAL,
    Baseline,
    Bound,
    Bucket,
    Part,
    Plan,
    Proof,
    SlotRun,
    SlottedSchedule,
)
from solver.schedule import SCHEDULERS, Jobs, Schedule, jackson
from solver.schedule.execute import Launch, cut_at_releases, follow, jobs_of, value_of
from solver.simulate import Send, Timeline, simulate
from solver.slots import on_slots
from solver.units import same


@dataclass(frozen=True, slots=True)
class Options:
    """How to plan.

    Attributes
    ----------
    fusion
        Key of :data:`FUSIONS`.
    schedule
        Key of :data:`solver.schedule.SCHEDULERS`.
    slot_us
        Slot of the grid [us]; None chooses the shortest bucket's collective time, coarser when
        that needs more than :data:`MAX_SLOTS` slots.
    baselines
        Policies of today to compare with.
    barrier
        Plan, bound and compare on :func:`solver.graph.with_barrier` of the graph.
    seed
        Of every random choice of the ``joint`` fusion.
    time_limit_s
        After this time ``joint`` answers with the best plan so far [s].
    effort
        Multiplies what ``joint`` looks at.
    """

    fusion: str = "joint"
    schedule: str = "jackson"
    slot_us: float | None = None
    baselines: tuple[Choice, ...] = (Choice("wfbp"), Choice("pace"))
    barrier: bool = False
    seed: int = 0
    time_limit_s: float = 10.0
    effort: int = 1


#: The fusions by name, called alike; add one here.
FUSIONS: dict[str, Fusion] = {"joint": joint, "maxmin": max_min, "none": unfused}


def plan(graph: Graph, cost: Cost, options: Options) -> Plan:
    """Fuse, schedule, simulate, bound and compare.

    Raises
    ------
    InvalidOptions
        When a name is unknown, a policy's parameter is out of range or makes too many launches,
        or ``slot_us`` needs more than :data:`MAX_SLOTS` slots.
    """
    if options.barrier:
        graph = with_barrier(graph)
    chain = chain_of(graph)
    _check(options, chain)
    rivals = [_rival(graph, cost, choice, options) for choice in options.baselines]
    bound = lower_bound(chain, cost)
    search = Search(
        options.seed,
        options.time_limit_s,
        options.effort,
        bound.value,
        tuple(rival.sends for rival in rivals),
    )
    buckets, launches = FUSIONS[options.fusion](chain, cost, _order(cost, options), search)
    names = [f"b{i}" for i in range(len(buckets))]
    jobs = jobs_of(buckets, cost)
    slotted = _slotted(jobs, chain, options, names)
    timeline = simulate(graph, cost, replay(sends(buckets, launches)))
    ideal = jackson(jobs)
    time = timeline.iteration_time
    optimal = same(time, bound.value)
    tensors = [graph.ops[i].id for i in chain.positions.tolist()]
    sent = sum(part.end - part.start for part in timeline.sent)
    exposed = max(0.0, time - chain.compute_time)
    return Plan(
        status=OPTIMAL if optimal else FEASIBLE,
        iteration_time_us=time,
        compute_time_us=chain.compute_time,
        lower_bound_us=min(bound.value, time) if optimal else bound.value,
        bound=_bound(bound, tensors),
        gap=(0.0 if optimal else time / bound.value - 1) if bound.value > 0 else None,
        scaling_factor=min(1.0, chain.compute_time / time) if time > 0 else None,
        exposed_us=exposed,
        overlap=min(1.0, max(0.0, 1 - exposed / sent)) if sent > 0 else None,
        ideal_us=max(ideal.value, chain.compute_time),
        proof=_proof(ideal, chain, names),
        buckets=_buckets(buckets, names, tensors),
        parts=_parts(timeline, buckets, names),
        slotted=slotted,
        fused_graph=fused_graph(graph, chain, buckets),
        baselines=tuple(
            Baseline(
                policy=rival.used.policy,
                barrier=rival.used.barrier or options.barrier,
                parameters=rival.used.parameters,
                iteration_time_us=rival.time,
                speedup=rival.time / time if time > 0 else None,
                headroom=max(0.0, rival.time / bound.value - 1) if bound.value > 0 else None,
            )
            for rival in rivals
        ),
    )


def _check(options: Options, chain: Chain) -> None:
    faults = [
        Fault(f"/{field}", "out_of_range", f"{field} must be one of {', '.join(known)}.")
        for field, name, known in (
            ("fusion", options.fusion, FUSIONS),
            ("schedule", options.schedule, SCHEDULERS),
        )
        if name not in known
    ]
    faults += [
        Fault(f"/baselines/{i}{fault.pointer}", fault.code, fault.detail)
        for i, choice in enumerate(options.baselines)
        for fault in choice_faults(choice, chain)
    ]
    if faults:
        raise InvalidOptions(faults)


def _order(cost: Cost, options: Options) -> Order:
    """How the chosen scheduler turns buckets into launches that pay their start-ups."""
    if options.schedule == "jackson":
        return partial(cut_at_releases, cost=cost)

    def by_slots(buckets: Buckets) -> tuple[list[Launch], float]:
        try:
            slotted = on_slots(
                jobs_of(buckets, cost), options.slot_us, SCHEDULERS[options.schedule]
            )
        except InvalidOptions:  # not this fusion; the one that is chosen is not excused
            return [], inf
        launches = follow(slotted.schedule, slotted.grid, buckets)
        return launches, value_of(launches, buckets, cost)

    return by_slots


def _bound(bound: LowerBound, tensors: Sequence[str]) -> Bound:
    members = tuple(tensors[i] for i in bound.members)
    return Bound(bound.kind, bound.value, members, bound.release, bound.tail)


def _proof(ideal: Schedule, chain: Chain, names: Sequence[str]) -> Proof:
    critical = ideal.critical
    if critical is None or ideal.value < chain.compute_time:
        return Proof((), None, None, None)
    members = tuple(names[j] for j in critical.jobs)
    return Proof(members, critical.release, critical.work, critical.tail)


def _buckets(buckets: Buckets, names: Sequence[str], tensors: Sequence[str]) -> tuple[Bucket, ...]:
    return tuple(
        Bucket(name, tuple(tensors[i] for i in members), size, release, tail)
        for name, members, size, release, tail in zip(
            names,
            buckets.members,
            buckets.bytes.tolist(),
            buckets.release.tolist(),
            buckets.tail.tolist(),
            strict=True,
        )
    )


def _parts(timeline: Timeline, buckets: Buckets, names: Sequence[str]) -> tuple[Part, ...]:
    name = dict(zip(buckets.members, names, strict=True))
    return tuple(
        Part(name[part.bucket], part.start, part.end, part.offset, part.bytes)
        for part in timeline.sent
    )


def _slotted(jobs: Jobs, chain: Chain, options: Options, names: Sequence[str]) -> SlottedSchedule:
    slotted = on_slots(jobs, options.slot_us, SCHEDULERS[options.schedule])
    return SlottedSchedule(
        slot_us=slotted.slot,
        runs=tuple(
            SlotRun(int(piece.start), int(piece.end - piece.start), names[piece.job])
            for piece in slotted.schedule.pieces
        ),
        iteration_time_us=max(slotted.schedule.value * slotted.slot, chain.compute_time),
    )


class _Rival(NamedTuple):
    """A policy as it was simulated; its sends are a plan without its own barrier as well."""

    used: Choice
    time: float
    sends: tuple[Send, ...]


def _rival(graph: Graph, cost: Cost, choice: Choice, options: Options) -> _Rival:
    """Simulate a policy."""
    if choice.barrier and not options.barrier:
        graph = with_barrier(graph)
    used = resolved(choice, chain_of(graph), cost)
    timeline = simulate(graph, cost, bind(used))
    sent = tuple(Send(part.bucket, part.bytes) for part in timeline.sent)
    return _Rival(used, timeline.iteration_time, sent)
