"""From a graph and a cost to a plan with its evidence: the table of contents of the solver."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from solver.bounds import LowerBound, lower_bound
from solver.chain import Buckets, Chain, chain_of
from solver.costs import Cost
from solver.errors import Fault, InvalidOptions
from solver.fused import fused_graph
from solver.fusion import FUSIONS, Order
from solver.graph import Graph
from solver.policies import POLICIES
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
from solver.simulate import Timeline, simulate
from solver.slots import on_slots
from solver.units import same


@dataclass(frozen=True, slots=True)
class Options:
    """How to plan.

    Attributes
    ----------
    fusion
        Key of :data:`solver.fusion.FUSIONS`.
    schedule
        Key of :data:`solver.schedule.SCHEDULERS`.
    slot_us
        Slot of the grid [us]; None chooses the shortest bucket's collective time, coarser when
        that needs more than :data:`MAX_SLOTS` slots.
    baselines
        Keys of :data:`solver.policies.POLICIES`.
    seed
        Of every random choice; nothing random is used yet by the fusions at hand.
    """

    fusion: str = "maxmin"
    schedule: str = "jackson"
    slot_us: float | None = None
    baselines: tuple[str, ...] = ("wfbp", "pace")
    seed: int = 0


def plan(graph: Graph, cost: Cost, options: Options) -> Plan:
    """Fuse, schedule, simulate, bound and compare.

    Raises
    ------
    InvalidOptions
        When a name is unknown, or ``slot_us`` needs more than :data:`MAX_SLOTS` slots.
    """
    _check(options)
    chain = chain_of(graph)
    order = _order(cost, options)
    buckets, launches = FUSIONS[options.fusion](chain, cost, order)
    timeline = simulate(graph, cost, replay(sends(buckets, launches)))
    bound = lower_bound(chain, cost)
    jobs = jobs_of(buckets, cost)
    ideal = jackson(jobs)
    time = timeline.iteration_time
    optimal = same(time, bound.value)
    names = [f"b{i}" for i in range(len(buckets))]
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
        slotted=_slotted(jobs, chain, options, names),
        fused_graph=fused_graph(graph, chain, buckets),
        baselines=tuple(_baseline(graph, cost, name, time) for name in options.baselines),
    )


def _check(options: Options) -> None:
    faults = [
        Fault(f"/{field}", "out_of_range", f"{field} must be one of {', '.join(known)}.")
        for field, name, known in (
            ("fusion", options.fusion, FUSIONS),
            ("schedule", options.schedule, SCHEDULERS),
        )
        if name not in known
    ]
    faults += [
        Fault(f"/baselines/{i}", "out_of_range", f"Policy must be one of {', '.join(POLICIES)}.")
        for i, name in enumerate(options.baselines)
        if name not in POLICIES
    ]
    if faults:
        raise InvalidOptions(faults)


def _order(cost: Cost, options: Options) -> Order:
    """How the chosen scheduler turns buckets into launches that pay their start-ups."""
    if options.schedule == "jackson":
        return partial(cut_at_releases, cost=cost)

    def by_slots(buckets: Buckets) -> tuple[list[Launch], float]:
        slotted = on_slots(jobs_of(buckets, cost), options.slot_us, SCHEDULERS[options.schedule])
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


def _baseline(graph: Graph, cost: Cost, name: str, time: float) -> Baseline:
    other = simulate(graph, cost, POLICIES[name]).iteration_time
    return Baseline(name, other, other / time if time > 0 else None)
