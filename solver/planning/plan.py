"""From a graph and a network to a plan with its evidence: the table of contents of the solver."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from solver.bounds.bound import lower_bound
from solver.buckets import Launch
from solver.chain import Chain, chain_of, lane_bytes
from solver.codes import FaultCode
from solver.costs import Cost, Network
from solver.errors import Fault, InvalidOptions
from solver.fusion import layered
from solver.fusion.general.decide import decide
from solver.fusion.layered import FUSIONS
from solver.fusion.search import Search
from solver.graph import Graph, with_barrier
from solver.planning.evidence import Rival, planned
from solver.planning.ideal import ideal_of
from solver.planning.progress import BOUND, POLICIES, SEARCH, SILENT, SLOTS, InHand, Watch, sent_in
from solver.planning.result import Plan
from solver.policies.choice import Choice, applies, bind, candidates, choice_faults, resolved
from solver.schedule import SCHEDULERS
from solver.simulation.engine import costs_of, simulate
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
        Key of :data:`solver.fusion.layered.FUSIONS`; ``maxmin`` is for layered chains.
    schedule
        Key of :data:`solver.schedule.SCHEDULERS`; ``lp`` is for layered chains.
    slot_us
        Slot of the grid [us]; None chooses the shortest bucket's collective time, coarser when
        that needs more than :data:`MAX_SLOTS` slots. For layered chains.
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


def plan(
    graph: Graph,
    network: Network,
    options: Options = Options(),
    watch: Watch = SILENT,
) -> Plan:
    """Fuse, schedule, simulate, bound and compare.

    A graph that :func:`solver.simulation.what_if.changed` left without collectives takes its
    compute time. ``watch`` is told how it goes, and changes nothing of it.

    Raises
    ------
    InvalidOptions
        When a name is unknown, a policy's parameter is out of range or makes too many launches,
        ``slot_us`` needs too many slots, or an option is for layered chains and this is none.
    """
    if options.barrier and graph.collectives:
        graph = with_barrier(graph)
    chain = chain_of(graph)
    _check(options, chain, graph)
    hand = InHand(graph, network, options.fusion, watch)
    rivals = _rivals(graph, network, options, hand, watch)
    watch.phase(BOUND)
    costs = costs_of(chain, network)
    bound = lower_bound(graph, chain, costs)
    hand.bounded(bound)
    if not graph.collectives:
        return planned(graph, network, (), bound, rivals)
    watch.phase(SEARCH)
    search = Search(
        options.seed,
        options.time_limit_s,
        options.effort,
        bound.value,
        tuple(rival.launches for rival in rivals if rival.launches),
        candidates(),
        hand.found,
    )
    launches = _decide(graph, chain, costs, options, search)
    if not chain.is_layered:
        return planned(graph, network, launches, bound, rivals)
    watch.phase(SLOTS)
    ideal = ideal_of(chain, costs, launches, options.schedule, options.slot_us)
    return planned(graph, network, launches, bound, rivals, ideal)


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
    bound = lower_bound(graph, chain, costs_of(chain, network)).value
    least = min((time for time in times if time is not None), default=bound)
    return min(bound, least) if same(bound, least) else bound, times


def _decide(
    graph: Graph, chain: Chain, costs: Sequence[Cost], options: Options, search: Search
) -> tuple[Launch, ...]:
    """Choose buckets and launches."""
    if not chain.is_layered:
        return decide(graph, chain, costs, search, fuse=options.fusion != "none")
    how = (options.fusion, options.schedule, options.slot_us)
    launches = layered.decide(chain, costs, *how, search)
    if options.fusion == "joint" and _are_odd(chain, costs):
        launches = decide(graph, chain, costs, replace(search, rivals=(*search.rivals, launches)))
    return launches


def _are_odd(chain: Chain, costs: Sequence[Cost]) -> bool:
    """Tell whether some cost rewards what no affine cost does, such as many small launches."""
    totals = lane_bytes(chain)
    return any(cost.oddness(total) > _ODD for cost, total in zip(costs, totals, strict=True))


def _check(options: Options, chain: Chain, graph: Graph) -> None:
    faults = [
        Fault(f"/{field}", FaultCode.OUT_OF_RANGE, f"{field} must be one of {', '.join(known)}.")
        for field, name, known in (
            ("fusion", options.fusion, FUSIONS),
            ("schedule", options.schedule, SCHEDULERS),
        )
        if name not in known
    ]
    if not chain.is_layered:
        faults += [
            Fault(
                f"/{field}",
                FaultCode.NOT_LAYERED,
                f"{field} {value} needs {_why_not(chain, graph)}",
            )
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


def _rivals(
    graph: Graph, network: Network, options: Options, hand: InHand, watch: Watch
) -> list[Rival]:
    """Simulate the baselines."""
    watch.phase(POLICIES, 0, len(options.baselines))
    hand.fifo()
    found = []
    for choice in options.baselines:
        found.append(_rival(graph, network, choice, options))
        hand.compared(found[-1])
        watch.phase(POLICIES, len(found), len(options.baselines))
    return found


def _rival(graph: Graph, network: Network, choice: Choice, options: Options) -> Rival:
    """Simulate a policy."""
    if choice.barrier and not options.barrier:
        graph = with_barrier(graph)
    choice = replace(choice, barrier=choice.barrier or options.barrier)
    if not applies(choice, chain_of(graph)):
        return Rival(choice, None, ())
    used = resolved(choice, graph, network)
    timeline = simulate(graph, network, bind(used))
    return Rival(used, timeline.iteration_time, sent_in(timeline))
