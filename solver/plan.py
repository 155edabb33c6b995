"""From a graph and a network to a plan with its evidence: the table of contents of the solver."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from solver import dag, layered
from solver.bounds import COMPUTE, LowerBound
from solver.chain import Chain, chain_of, lane_bytes
from solver.costs import Cost, Network
from solver.errors import Fault, InvalidOptions
from solver.fused import fused_ops
from solver.fusion import Search
from solver.graph import Graph, with_barrier
from solver.layered import FUSIONS, Ideal
from solver.named import Names, buckets_of, figures_of, parts_of
from solver.policies.choice import Choice, applies, bind, choice_faults, resolved
from solver.policies.plan import replay
from solver.result import (
    FEASIBLE,
    OPTIMAL,
    Baseline,
    Bound,
    Plan,
    Proof,
    SlotRun,
    SlottedSchedule,
)
from solver.schedule import SCHEDULERS
from solver.simulate import Send, costs_of, simulate
from solver.units import same

#: A layered chain is searched as a general graph too where other launches save more than this
#: share of a launch's time. Below it that gained at most 0.05 %, for six times the time.
_ODD = 0.05


@dataclass(frozen=True, slots=True)
class Options:
    """How to plan.

    Attributes
    ----------
    fusion
        Key of :data:`solver.layered.FUSIONS`; ``maxmin`` is for layered chains.
    schedule
        Key of :data:`solver.schedule.SCHEDULERS`; ``lp`` is for layered chains.
    slot_us
        Slot of the grid [us]; None chooses the shortest bucket's collective time, coarser when
        that needs more than :data:`solver.slots.MAX_SLOTS` slots. For layered chains.
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


def plan(graph: Graph, network: Network, options: Options) -> Plan:
    """Fuse, schedule, simulate, bound and compare.

    A graph that :func:`solver.whatif.changed` left without collectives takes its compute time.

    Raises
    ------
    InvalidOptions
        When a name is unknown, a policy's parameter is out of range or makes too many launches,
        ``slot_us`` needs too many slots, or an option is for layered chains and this is none.
    """
    if options.barrier and graph.collectives:
        graph = with_barrier(graph)
    chain = chain_of(graph)
    costs = costs_of(chain, network)
    _check(options, chain, graph)
    rivals = [_rival(graph, network, choice, options) for choice in options.baselines]
    bound, sends, ideal = _decide(graph, chain, costs, options, rivals)
    timeline = simulate(graph, network, replay(sends))
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
        exposed_us=figures.exposed,
        overlap=figures.overlap,
        ideal_us=ideal.value if ideal else None,
        proof=_proof(ideal, names),
        buckets=buckets,
        parts=parts_of(names, timeline),
        slotted=_slotted(ideal, names),
        fused=fused_ops(graph, chain, names),
        graph=graph,
        sends=sends,
        timeline=timeline,
        baselines=tuple(_baseline(rival, time, bound.value, options) for rival in rivals),
    )


def compared(
    graph: Graph, network: Network, options: Options
) -> tuple[float, tuple[float | None, ...]]:
    """Bound all plans and simulate the baselines, without a plan.

    Returns
    -------
    float
        Lower bound [us].
    tuple of float or None
        Iteration time of each baseline [us]; None where PACE is not defined.

    Raises
    ------
    InvalidOptions
        As :func:`plan` does.
    """
    if options.barrier and graph.collectives:
        graph = with_barrier(graph)
    chain = chain_of(graph)
    _check(options, chain, graph)
    times = tuple(_rival(graph, network, choice, options).time for choice in options.baselines)
    bound = _bound_of(graph, chain, costs_of(chain, network)).value
    least = min((time for time in times if time is not None), default=bound)
    return min(bound, least) if same(bound, least) else bound, times


def _decide(
    graph: Graph,
    chain: Chain,
    costs: Sequence[Cost],
    options: Options,
    rivals: Sequence["_Rival"],
) -> tuple[LowerBound, tuple[Send, ...], Ideal | None]:
    """Bound the problem, choose buckets and launches, and solve their ideal if there is one."""
    bound = _bound_of(graph, chain, costs)
    if not graph.collectives:
        return bound, (), None
    search = Search(
        options.seed,
        options.time_limit_s,
        options.effort,
        bound.value,
        tuple(rival.sends for rival in rivals if rival.sends),
    )
    if not chain.is_layered:
        return bound, dag.decide(graph, chain, costs, search, fuse=options.fusion != "none"), None
    how = (options.schedule, options.slot_us)
    sends = layered.decide(chain, costs, options.fusion, *how, search)
    if options.fusion == "joint" and _are_odd(chain, costs):
        sends = dag.decide(graph, chain, costs, replace(search, rivals=(*search.rivals, sends)))
    return bound, sends, layered.ideal_of(chain, costs, sends, *how)


def _bound_of(graph: Graph, chain: Chain, costs: Sequence[Cost]) -> LowerBound:
    if not graph.collectives:
        return LowerBound(chain.compute_time, COMPUTE)
    return layered.bound_of(chain, costs) if chain.is_layered else dag.bound_of(graph, chain, costs)


def _are_odd(chain: Chain, costs: Sequence[Cost]) -> bool:
    """Tell whether some cost rewards what no affine cost does, such as many small launches."""
    totals = lane_bytes(chain)
    return any(cost.oddness(total) > _ODD for cost, total in zip(costs, totals, strict=True))


def _check(options: Options, chain: Chain, graph: Graph) -> None:
    faults = [
        Fault(f"/{field}", "out_of_range", f"{field} must be one of {', '.join(known)}.")
        for field, name, known in (
            ("fusion", options.fusion, FUSIONS),
            ("schedule", options.schedule, SCHEDULERS),
        )
        if name not in known
    ]
    if not chain.is_layered:
        faults += [
            Fault(f"/{field}", "not_layered", f"{field} {value} needs {_why_not(chain, graph)}")
            for field, value, usable in (
                ("fusion", options.fusion, options.fusion != "maxmin"),
                ("schedule", options.schedule, options.schedule != "lp"),
                ("slot_us", options.slot_us, options.slot_us is None),
            )
            if not usable
        ]
    faults += [
        Fault(f"/baselines/{i}{fault.pointer}", fault.code, fault.detail)
        for i, choice in enumerate(options.baselines)
        for fault in choice_faults(choice, chain)
    ]
    if faults:
        raise InvalidOptions(faults)


def _why_not(chain: Chain, graph: Graph) -> str:
    """Say which collectives keep a chain from being layered."""
    ids = [graph.ops[i].id for i in chain.positions.tolist()]
    for i, mask in enumerate(chain.before):
        if mask:
            above = (mask & -mask).bit_length() - 1
            return (
                f"a graph where no collective comes after another; {ids[i]!r} comes after "
                f"{ids[above]!r}."
            )
    kinds = ", ".join(f"{lane.kind} on {lane.channel}" for lane in chain.lanes)
    return f"one kind of collective on each channel; here are {kinds}."


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


class _Rival(NamedTuple):
    """A policy as it was simulated; its sends are a plan without its own barrier as well."""

    used: Choice
    time: float | None
    sends: tuple[Send, ...]


def _rival(graph: Graph, network: Network, choice: Choice, options: Options) -> _Rival:
    """Simulate a policy."""
    if choice.barrier and not options.barrier:
        graph = with_barrier(graph)
    if not applies(choice, chain_of(graph)):
        return _Rival(choice, None, ())
    used = resolved(choice, graph, network)
    timeline = simulate(graph, network, bind(used))
    sent = tuple(Send(part.bucket, part.bytes) for part in timeline.sent)
    return _Rival(used, timeline.iteration_time, sent)


def _baseline(rival: _Rival, time: float, bound: float, options: Options) -> Baseline:
    theirs = rival.time
    return Baseline(
        policy=rival.used.policy,
        barrier=rival.used.barrier or options.barrier,
        parameters=rival.used.parameters,
        iteration_time_us=theirs,
        speedup=theirs / time if theirs is not None and time > 0 else None,
        headroom=max(0.0, theirs / bound - 1) if theirs is not None and bound > 0 else None,
    )
