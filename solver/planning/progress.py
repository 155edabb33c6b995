"""How a plan comes along: phases, bounds, and the best plan in hand."""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf

from solver.bounds.chain import COMPUTE, LowerBound
from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Network
from solver.graph import Graph
from solver.planning.evidence import Rival, planned
from solver.planning.result import Plan
from solver.policies import wfbp
from solver.simulation.engine import Timeline, simulate
from solver.simulation.replay import replay
from solver.units import slack

#: The phases of a plan, in order; slots are solved where releases do not depend on the schedule.
POLICIES, BOUND, SEARCH, SLOTS = "policies", "bound", "search", "slots"


class Watch:
    """Told how a plan comes along, by the thread that makes it; by itself it does nothing.

    What it is told changes nothing of the plan, unless the time limit cuts the search short.
    """

    def phase(self, name: str, completed: int | None = None, total: int | None = None) -> None:
        """Take note that a phase has begun, or of how many of its steps are done."""

    def bound(self, value_us: float) -> None:
        """Take note of a bound [us]: the compute time at first, then the proven one."""

    def found(self, value_us: float, draft: Callable[[], Plan]) -> None:
        """Take note that a better plan is in hand, and of its iteration time [us].

        ``draft`` makes it, for one simulation, with the bound and the baselines known by then; any
        thread may call it, at any time. The ideal and its slots are left out of it.
        """


#: Nobody watches.
SILENT = Watch()


def sent_in(timeline: Timeline) -> tuple[Launch, ...]:
    """Return the launches of a timeline as a plan."""
    return tuple(Launch(part.bucket, part.bytes) for part in timeline.launches)


class InHand:
    """What is known of the plan of one problem: the best so far, a bound, the rivals.

    Every policy's launches are a plan that ``joint`` may come to, other fusions may not.
    """

    def __init__(self, graph: Graph, network: Network, fusion: str, watch: Watch) -> None:
        self._graph = graph
        self._network = network
        self._watch = watch
        self._takes_all = fusion == "joint" and watch is not SILENT
        self._value = inf
        self._bound = LowerBound(chain_of(graph).compute_time, COMPUTE)
        self._rivals: tuple[Rival, ...] = ()
        watch.bound(self._bound.value)

    def bounded(self, bound: LowerBound) -> None:
        """Take a bound that is not below the one before."""
        self._bound = bound
        self._watch.bound(bound.value)

    def fifo(self) -> None:
        """Take the plan that costs one simulation: each tensor alone, first in, first out."""
        if self._takes_all:
            timeline = simulate(self._graph, self._network, wfbp)
            self.found(sent_in(timeline), timeline.iteration_time)

    def compared(self, rival: Rival) -> None:
        """Take a rival, and its launches: as early as may be, they take its time or less."""
        self._rivals = (*self._rivals, rival)
        if self._takes_all and rival.time is not None and rival.time < self._value:
            timeline = simulate(self._graph, self._network, replay(rival.launches))
            self.found(rival.launches, timeline.iteration_time)

    def found(self, launches: Sequence[Launch], value: float) -> None:
        """Tell of a plan that is better than those before by more than rounding."""
        if value + slack(value) < self._value:
            self._value = value
            self._watch.found(value, partial(self._draft, tuple(launches)))

    def _draft(self, launches: tuple[Launch, ...]) -> Plan:
        return planned(self._graph, self._network, launches, self._bound, self._rivals)
