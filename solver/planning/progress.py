"""The progress of a plan: phases, bounds, and the incumbent, the best plan so far."""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf

from solver.bounds.chain import LowerBound
from solver.bounds.kinds import COMPUTE
from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Network
from solver.fusion.search import Candidate
from solver.graph import Graph
from solver.limits import MAX_SEARCHED_LAUNCHES
from solver.planning.certify import PolicyRun, plan_of
from solver.planning.result import Plan
from solver.policies import wfbp
from solver.simulation.contention import is_contended
from solver.simulation.engine import iteration_time, launches_under, simulate
from solver.simulation.replay import replay
from solver.simulation.rules import slice_count
from solver.units import slack

#: The phases of a plan, in order; slots are solved where releases do not depend on the schedule.
POLICIES, BOUND, SEARCH, SLOTS = "policies", "bound", "search", "slots"


class PlanProgress:
    """Notes the progress of a plan, called by the thread that makes it; by itself it does nothing.

    It changes nothing of the plan, unless the watchdog cuts the search short.
    """

    def phase(self, name: str, completed: int | None = None, total: int | None = None) -> None:
        """Note that a phase has begun, or how many of its steps are done."""

    def bound(self, value_us: float) -> None:
        """Note a lower bound [us]: the compute time at first, then what is proven."""

    def incumbent(self, value_us: float, draft: Callable[[], Plan]) -> None:
        """Note a better plan than those before, and its iteration time [us].

        ``draft`` makes it, for one simulation, with the bound and the baselines known by then; any
        thread may call it, at any time. The ideal and its slots are left out of it.
        """


#: Progress that nobody follows.
SILENT = PlanProgress()


class Incumbent:
    """The best plan of one problem so far, the bound and the baselines that are known by now.

    Every policy's launches are a plan that ``joint`` may come to, other fusions may not. A search
    has fixed times of compute and of launches: under contention the best of what the searches come
    across is the plan.
    """

    def __init__(self, graph: Graph, network: Network, fusion: str, progress: PlanProgress) -> None:
        self._graph = graph
        self._network = network
        self._progress = progress
        self._is_contended = is_contended(graph, network)
        self._takes_all = fusion == "joint" and (self._is_contended or progress is not SILENT)
        self._value = inf
        self._launches: tuple[Launch, ...] = ()
        self._bound = LowerBound(chain_of(graph).compute_time, COMPUTE)
        self._baselines: tuple[PolicyRun, ...] = ()
        progress.bound(self._bound.value)

    def raise_bound(self, bound: LowerBound) -> None:
        """Take a bound that is not below the one before."""
        self._bound = bound
        self._progress.bound(bound.value)

    def offer_fifo(self) -> None:
        """Take the plan that costs one simulation: each tensor alone, first in, first out."""
        if self._takes_all:
            timeline = simulate(self._graph, self._network, wfbp)
            self.offer(timeline.plan, timeline.iteration_time)

    def offer_baseline(self, policy: PolicyRun) -> None:
        """Take a policy, and its launches: as early as may be, they take its time or less.

        Under contention a policy that waits may be faster than its launches.
        """
        self._baselines = (*self._baselines, policy)
        if self._takes_all and policy.time is not None and policy.time < self._value:
            self.offer(policy.launches, self._simulated(policy.launches))

    def offer_policies(self, candidates: Sequence[Candidate]) -> None:
        """Take the launches of policies under contention, which searches do not see."""
        if not (self._is_contended and self._takes_all):
            return
        chain = chain_of(self._graph)
        for candidate in candidates:
            size = candidate.slice_bytes
            if size is None or slice_count(chain, size) <= MAX_SEARCHED_LAUNCHES:
                launches = launches_under(self._graph, self._network, candidate.policy)
                self.offer(launches, self._simulated(launches))

    def offer_searched(self, launches: Sequence[Launch], value: float) -> None:
        """Take a plan of a search and its time with what that takes others to take [us]."""
        self.offer(launches, self._simulated(launches) if self._is_contended else value)

    def best_of(self, launches: tuple[Launch, ...]) -> tuple[Launch, ...]:
        """Return a search's plan, or the one before that is faster under contention."""
        if not self._is_contended:
            return launches
        value = self._simulated(launches)
        if self._value + slack(value) < value:
            return self._launches
        self.offer(launches, value)
        return launches

    def _simulated(self, launches: Sequence[Launch]) -> float:
        return iteration_time(self._graph, self._network, replay(launches))

    def offer(self, launches: Sequence[Launch], value: float) -> None:
        """Take a plan that is better than those before by more than rounding [us]."""
        if value + slack(value) < self._value:
            self._value, self._launches = value, tuple(launches)
            self._progress.incumbent(value, partial(self._draft, self._launches))

    def _draft(self, launches: tuple[Launch, ...]) -> Plan:
        return plan_of(self._graph, self._network, launches, self._bound, self._baselines)
