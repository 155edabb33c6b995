"""Annealing: random changes, most of them on the longest path.

A worse plan is taken now and then, more seldom as the search goes on, so that it leaves plans that
no single change improves.
"""

from array import array
from collections.abc import Sequence
from math import inf, log

from solver.fusion.general.annealing.cuts import Cuts
from solver.fusion.general.annealing.plan import AnnealedPlan
from solver.fusion.general.annealing.problem import NONE, AnnealingProblem

#: Logarithms of so many even shares are drawn from.
_LUCK = 4096
#: Of so many changes one is anywhere, not on the longest path.
_ANYWHERE = 6
#: Tries for a change that is possible here.
_TRIES = 8
#: Plans that differ less, relatively, are as good.
_SAME = 1e-7
_LUCK_LOGS = array("d", [-log((k + 0.5) / _LUCK) for k in range(_LUCK)])


class PlanAnnealer(Cuts):
    """Changes plans of one problem at random, and takes those that are better, or lucky.

    Attributes
    ----------
    path, waited, steps
        The launches on the longest path of ``here``, the last one first: how many, and whether each
        waited for the one before it on its channel, the next listed.
    """

    def __init__(
        self,
        problem: AnnealingProblem,
        urgency: Sequence[float],
        pieces: Sequence[Sequence[int]],
        capacity: Sequence[int],
        seed: int,
        *,
        fuse: bool,
    ) -> None:
        super().__init__(problem, urgency, pieces, capacity, seed, fuse=fuse)
        self.luck = _LUCK_LOGS
        self.path = array("i", [0]) * (sum(capacity) + 1)
        self.waited = array("i", [0]) * (sum(capacity) + 1)
        self.steps = 0
        self.is_traced = False

    def run(self, moves: int, temperature: float, enough: float) -> int:
        """Make so many moves at a temperature [us]; count the better plans.

        Ends when a better plan takes ``enough`` [us] or less, but for rounding. ``best`` holds the
        best plan so far, ``here`` the one the search has come to.
        """
        found = 0
        for _ in range(moves):
            self.there.copy(self.here)
            if not self._change():
                continue
            limit = self.here.value + temperature * self.luck[self.below(_LUCK)]
            value = self.there.execute(limit)
            if value > limit:
                continue
            self.here, self.there = self.there, self.here
            self.is_traced = False
            if value < self.best.value - _SAME * value:
                self.best.copy(self.here)
                self.best.value = value
                found += 1
                if value <= enough * (1 + _SAME):
                    break
        return found

    def begin(self, plan: AnnealedPlan) -> None:
        """Go on from a plan."""
        self.here.copy(plan)
        self.here.execute(inf)
        self.is_traced = False
        if self.here.value < self.best.value:
            self.best.copy(plan)
            self.best.value = self.here.value

    def trace(self) -> None:
        """List the launches on the longest path of ``here``, the last one first.

        ``waited`` tells whether each waited for the one before it on its channel, the next listed.
        """
        plan, problem = self.here, self.problem
        self.steps = 0
        k = plan.final
        if k >= problem.nodes:
            c = k - problem.nodes
            k = self._back(plan.base[c] + plan.length[c] - 1)
            if k >= 0:
                k = self._deciding(k)
        while k >= 0:
            i = problem.tensor[k]
            if i >= 0:
                launch = plan.last[plan.home[i]]
                k = self._back(plan.base[problem.channel[i]] + plan.place[launch])
            if k >= 0:
                k = self._deciding(k)
        self.is_traced = True

    def _back(self, at: int) -> int:
        """List the launches that run without a gap up to one; return the node that begins them.

        :data:`NONE` when it was not released last.
        """
        plan = self.here
        while True:
            launch = plan.row[at]
            waits = plan.place[launch] > 0 and plan.finish[plan.row[at - 1]] == plan.begin[launch]
            self.path[self.steps] = launch
            self.waited[self.steps] = waits
            self.steps += 1
            if not waits:
                break
            at -= 1
        b = plan.bucket[launch]
        return self._releasing(b) if plan.begin[launch] == plan.release[b] else NONE

    def _releasing(self, b: int) -> int:
        """Node of the tensor of a bucket that is released last."""
        plan = self.here
        i = plan.first[b]
        latest = i
        while i >= 0:
            if plan.start[self.problem.node[i]] > plan.start[self.problem.node[latest]]:
                latest = i
            i = plan.follower[i]
        return self.problem.node[latest]

    def _deciding(self, k: int) -> int:
        """Predecessor that ends when a node starts, or NONE."""
        problem = self.problem
        found = NONE
        for e in range(problem.pred_from[k], problem.pred_from[k + 1]):
            j = problem.pred[e]
            if self.here.end[j] == self.here.start[k]:
                found = j
        return found

    def _change(self) -> bool:  # noqa: C901 - a list
        """Change ``there``; say whether something was possible."""
        if not self.is_traced:
            self.trace()
        here = self.here
        for _ in range(_TRIES):
            if not self.steps or not self.below(_ANYWHERE):
                launch = self.any_launch()
                waits = self.below(2)
            else:
                step = self.below(self.steps)
                launch, waits = self.path[step], self.waited[step]
            c = self.problem.channel[here.first[here.bucket[launch]]]
            kind = self.below(16) if self.fuse else 0
            if kind < 4:
                done = self.reorder(c, here.place[launch], waits)
            elif kind < 6:
                done = self.preempt(c, launch) if waits else self.fill(c, launch)
            elif here.size[launch] < here.total[here.bucket[launch]]:
                done = self.part(c, launch)
            elif kind < 9:
                done = self.merge(c, launch)
            elif kind < 11:
                done = self.split(c, launch)
            elif kind < 14:
                done = self.transfer(c, launch)
            else:
                done = self.cut(c, launch)
            if done:
                return True
        return False
