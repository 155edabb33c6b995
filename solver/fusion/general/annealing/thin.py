"""Annealing of the number of launches: random changes within a time.

The same changes as those of the annealing of times (:mod:`solver.fusion.general.annealing.anneal`),
anywhere in the plan. A plan of more launches is taken now and then, more seldom as the search goes
on; one that takes too long never.
"""

from array import array
from collections.abc import Sequence
from math import inf, log

from solver.fusion.general.annealing.cuts import Cuts
from solver.fusion.general.annealing.plan import AnnealedPlan
from solver.fusion.general.annealing.problem import AnnealingProblem

#: Logarithms of so many even shares are drawn from.
_LUCK = 4096
#: Tries for a change that is possible here.
_TRIES = 8
_LUCK_LOGS = array("d", [-log((k + 0.5) / _LUCK) for k in range(_LUCK)])


class LaunchThinner(Cuts):
    """Changes plans of one problem at random, and takes those of fewer launches, or lucky ones.

    Attributes
    ----------
    best_count
        The launches of ``best``: the fewest so far, and of as many the plan of least time.
    """

    def __init__(
        self,
        problem: AnnealingProblem,
        urgency: Sequence[float],
        pieces: Sequence[Sequence[int]],
        capacity: Sequence[int],
        seed: int,
    ) -> None:
        super().__init__(problem, urgency, pieces, capacity, seed, fuse=True)
        self.luck = _LUCK_LOGS
        self.best_count = 0
        self.count = 0

    def begin(self, plan: AnnealedPlan) -> None:
        """Go on from a plan, which is the best so far."""
        self.here.copy(plan)
        self._execute(self.here, inf)
        self.best.copy(self.here)
        self.best.value = self.here.value
        self.count = self.best_count = self.launches_of(self.here)

    def _execute(self, plan: AnnealedPlan, limit: float) -> float:
        """Execute a plan, in the way that takes least."""
        return plan.execute_apart(limit) if self.problem.is_apart else plan.execute(limit)

    def launches_of(self, plan: AnnealedPlan) -> int:
        """Count the launches of a plan."""
        count = 0
        for c in range(self.problem.channels):
            count += plan.length[c]
        return count

    def run(self, moves: int, temperature: float, limit: float) -> int:
        """Make so many moves at a temperature, in launches; count the better plans.

        No plan that takes more than ``limit`` [us] is taken, but for rounding.
        """
        found = 0
        for _ in range(moves):
            self.there.copy(self.here)
            if not self._change():
                continue
            count = self.launches_of(self.there)
            if count > self.count + temperature * self.luck[self.below(_LUCK)]:
                continue
            value = self._execute(self.there, limit)
            if value > limit:
                continue
            self.here, self.there = self.there, self.here
            self.count = count
            if count < self.best_count or (count == self.best_count and value < self.best.value):
                self.best.copy(self.here)
                self.best.value = value
                self.best_count = count
                found += 1
        return found

    def _change(self) -> bool:
        """Change ``there``; say whether something was possible."""
        here = self.here
        for _ in range(_TRIES):
            launch = self.any_launch()
            c = self.problem.channel[here.first[here.bucket[launch]]]
            kind = self.below(16)
            if kind < 5:
                done = self.reorder(c, here.place[launch], self.below(2))
            elif here.size[launch] < here.total[here.bucket[launch]]:
                done = self.part(c, launch)
            elif kind < 11:
                done = self.merge(c, launch)
            elif kind < 15:
                done = self.transfer(c, launch)
            else:
                done = self.split(c, launch)
            if done:
                return True
        return False
