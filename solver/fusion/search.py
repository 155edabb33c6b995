"""How a fusion searches: how long, from what, and to whom it reports.

Every fusion is called alike: chain, cost of a launch, how buckets become launches, how to search.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from solver.buckets import ChannelBuckets, Launch, Launches
from solver.chain import Chain
from solver.costs import Cost
from solver.simulation.engine import Policy

#: How buckets become launches in order, and their simulated value [us]; raises InvalidOptions when
#: these buckets cannot be scheduled as asked.
Order = Callable[[ChannelBuckets], tuple[list[Launch], float]]


#: Takes launches that are a whole plan of what is searched, and their iteration time [us].
Reporter = Callable[[Sequence[Launch], float], None]


def unreported(launches: Sequence[Launch], value: float) -> None:
    """Report to nobody."""


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
    """How long and how to search.

    Attributes
    ----------
    seed
        Of every random choice.
    time_limit_s
        Answer after this time with the best plan so far [s].
    effort
        Multiplies what is looked at; 1 is meant for everyday use.
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
    time_limit_s: float = 10.0
    effort: int = 1
    bound: float = 0.0
    plans: tuple[tuple[Launch, ...], ...] = ()
    candidates: tuple[Candidate, ...] = ()
    report: Reporter = unreported


EVERYDAY = SearchOptions()

#: A fusion: chooses buckets, and returns their launches in the order in which they start.
Fusion = Callable[[Chain, Cost, Order, SearchOptions], Launches]


#: How many moves are made between two looks at the clock.
_MOVES_A_LOOK = 16


class Budget:
    """How many plans a search may still look at; a clock can end it early."""

    def __init__(self, moves: int, expired: Callable[[], bool]) -> None:
        self._moves = moves
        self._spent = 0
        self._expired = expired

    def spend(self) -> bool:
        """Take one move; False when none is left."""
        if self._spent % _MOVES_A_LOOK == 0 and self._expired():
            self._moves = 0
        self._spent += 1
        return self._spent <= self._moves
