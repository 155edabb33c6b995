"""How a fusion searches: how much, from what, and to whom it reports.

Every fusion is called alike: chain, cost of a launch, how buckets become launches, how to search.
What a search may look at is counted in steps, which are the same on every machine; a clock ends it
only where that machine is very slow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from solver.buckets import ChannelBuckets, Launch, Launches
from solver.chain import Chain
from solver.costs import Cost
from solver.simulation.engine import Policy
from solver.watchdog import Watchdog

#: How buckets become launches in order, and their simulated value [us]; raises InvalidOptions when
#: these buckets cannot be scheduled as asked.
Order = Callable[[ChannelBuckets], tuple[list[Launch], float]]


#: Takes launches that are a whole plan of what is searched, and their iteration time [us].
Reporter = Callable[[Sequence[Launch], float], None]


def unreported(launches: Sequence[Launch], value: float) -> None:
    """Report to nobody."""


#: What a search may look at, for each unit of effort: about 10 s on a core of 2023, where a graph
#: is so large that it is not done before.
STEPS = 750_000_000


class Allowance:
    """What a search may still look at, in steps; a watchdog may end it before.

    A step is an op or a launch that the compiled search passes when it executes a plan: some 15 ns
    on a core of 2023. What runs as Python is counted by how much
    longer it took there when that was measured, once.

    Attributes
    ----------
    left
        Steps that are left; less than 0 when the last piece of work took more.
    watchdog
        What ends the search where steps take too long.
    """

    def __init__(self, steps: float = inf, watchdog: Watchdog | None = None) -> None:
        self.left = steps
        self.watchdog = watchdog or Watchdog()
        self._whole: Allowance | None = None

    def spend(self, steps: float) -> None:
        """Count work that was done, also in what this is part of."""
        self.left -= steps
        if self._whole:
            self._whole.spend(steps)

    def is_spent(self) -> bool:
        """Tell whether to answer with the best plan so far."""
        return self.left <= 0 or self.watchdog.is_over()

    def part(self, share: float) -> "Allowance":
        """Return an allowance of a share of what is left."""
        part = Allowance(max(0.0, share * self.left), self.watchdog)
        part._whole = self
        return part


@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy whose launches are a plan to begin with.

    Attributes
    ----------
    name
        Of the policy.
    policy
        What decides the launches.
    slice_bytes
        It sends each tensor in parts of so many bytes; None when it sends none in parts.
    """

    name: str
    policy: Policy
    slice_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How much and how to search.

    Attributes
    ----------
    seed
        Of every random choice.
    effort
        Multiplies what is looked at; 1 is meant for everyday use.
    allowance
        What may be looked at, whatever the effort; all that search with these options share it.
    bound
        Lower bound on the iteration time [us]: a plan that reaches it ends the search.
    plans
        Plans that the answer must not be worse than.
    candidates
        Policies to begin with, besides what a fusion finds by itself.
    report
        Is called with better plans on the way.
    """

    seed: int = 0
    effort: int = 1
    allowance: Allowance = field(default_factory=Allowance)
    bound: float = 0.0
    plans: tuple[tuple[Launch, ...], ...] = ()
    candidates: tuple[Candidate, ...] = ()
    report: Reporter = unreported


#: A fusion: chooses buckets, and returns their launches in the order in which they start.
Fusion = Callable[[Chain, Cost, Order, SearchOptions], Launches]


#: How many moves are made between two looks at what is left.
_MOVES_A_LOOK = 16


class Budget:
    """How many plans a search may still look at; its allowance can end it early.

    Parameters
    ----------
    moves
        Plans at most.
    allowance
        What all searches may look at together; None is for one alone.
    steps
        What a plan costs of it.
    """

    def __init__(self, moves: int, allowance: Allowance | None = None, steps: float = 1.0) -> None:
        self._moves = moves
        self._spent = 0
        self._allowance = allowance or Allowance()
        self._steps = steps

    def spend(self) -> bool:
        """Take one move; False when none is left."""
        if self._spent % _MOVES_A_LOOK == 0 and self._allowance.is_spent():
            self._moves = 0
        self._spent += 1
        if self._spent > self._moves:
            return False
        self._allowance.spend(self._steps)
        return True
