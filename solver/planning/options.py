"""How a graph is to be planned, and what is wrong with that."""

from dataclasses import dataclass

from solver.chain import Chain
from solver.codes import FaultCode
from solver.costs import Network
from solver.errors import Fault, InvalidOptions
from solver.evidence.belief import Belief
from solver.evidence.robustness import RobustOptions, robust_faults
from solver.fusion.few_launches import launch_tolerance_faults
from solver.fusion.layered import FUSIONS
from solver.graph import Graph
from solver.limits import MAX_PROVE_S
from solver.policies.choice import Choice, choice_faults
from solver.schedule import SCHEDULERS
from solver.simulation.contention import is_contended
from solver.watchdog import TIME_LIMIT_S
from solver.wording import must_be, one_of


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
        A watchdog: after so much CPU time, or twice that on the clock, the search ends with the
        best plan so far, and the plan says so [s]. The bound before it and the evidence behind do
        not count.
    effort
        Multiplies what the search looks at.
    share
        Of what a search may look at, so much: of plans that are made together, as the cells of a
        sweep, each is to take less. It is felt by large graphs alone.
    launch_tolerance
        ``joint`` returns the plan of fewest launches that it finds to take at most this share
        longer than the best one; 0 returns the best one.
    prove_s
        Once the plan is there its bound is raised for so long, as counted in work that takes about
        that on a core of 2023 [s]; a better plan that is found on the way is the answer. ``joint``,
        where compute and launches slow nothing down; with 0 at most 0.8 s. The watchdog waits for
        twice as long. What is no layered chain is tried as far as
        :func:`solver.bounds.tried.why_not` says.
    believed
        Plan and baselines are decided with these costs, and executed with those of the network;
        None believes what is true.
    robust
        Choose the plan by the mean or p95 of its times over draws of the costs
        (:mod:`solver.planning.robust`); None by its time at the stated ones.
    """

    fusion: str = "joint"
    schedule: str = "jackson"
    slot_us: float | None = None
    baselines: tuple[Choice, ...] = (Choice("wfbp"), Choice("pace"))
    barrier: bool = False
    seed: int = 0
    time_limit_s: float = TIME_LIMIT_S
    effort: int = 1
    share: float = 1.0
    launch_tolerance: float = 0.001
    prove_s: float = 0.0
    believed: Belief | None = None
    robust: RobustOptions | None = None


def check_options(options: Options, chain: Chain, graph: Graph, network: Network) -> None:
    """Check options for a graph on a network, whose collectives are a chain.

    Raises
    ------
    InvalidOptions
        With all faults.
    """
    faults = [
        Fault(
            f"/{field}",
            FaultCode.OUT_OF_RANGE,
            must_be(f"Options: {field}", one_of(choices), name, choices),
        )
        for field, name, choices in (
            ("fusion", options.fusion, FUSIONS),
            ("schedule", options.schedule, SCHEDULERS),
        )
        if name not in choices
    ]
    if not chain.is_layered:
        faults += [
            Fault(
                f"/{field}",
                FaultCode.NOT_LAYERED,
                f"{field} {value} needs {_why_not(chain, graph)}",
            )
            for field, value, usable in (
                ("fusion", options.fusion, options.fusion not in ("maxmin", "maxmin_momentum")),
                ("schedule", options.schedule, options.schedule != "lp"),
                ("slot_us", options.slot_us, options.slot_us is None),
            )
            if not usable
        ]
    if options.prove_s and (is_contended(graph, network) or options.fusion != "joint"):
        detail = "prove_s needs the fusion joint, and that nothing slows down what runs beside it."
        faults.append(Fault("/prove_s", FaultCode.NOT_SUPPORTED, detail))
    if not 0 <= options.prove_s <= MAX_PROVE_S:
        detail = f"prove_s must be between 0 and {MAX_PROVE_S:g}."
        faults.append(Fault("/prove_s", FaultCode.OUT_OF_RANGE, detail))
    faults += launch_tolerance_faults(options.launch_tolerance)
    faults += [] if options.robust is None else robust_faults(options.robust)
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
    lanes = ", ".join(map(str, chain.lanes))
    return f"one sort of collective on each channel; here are {lanes}."
