"""The first answers of a ranking, before the bounds of all shapes are known."""

from collections.abc import Callable
from typing import Final

from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.stage_times import stage_times
from solver.shapes.step import StepTime, step_of
from solver.shapes.transformer import Transformer

#: Told how far a ranking is: phase, shapes done, all (None while unknown), the best simulated step
#: so far [us] and what none beats [us] (both None while unknown).
RankingFollower = Callable[[str, int, int | None, float | None, float | None], None]

#: The phase of the bounds, as it is told.
BOUNDS: Final = "bounds"

#: The first answers are of shapes of no more passes.
MOST_FIRST_PASSES = 10_000

#: So many shapes are looked at from one report to the next.
_EACH = 256


class FirstAnswers:
    """Steps that are simulated while the bounds of other shapes are not known, where one listens.

    After 1, 2, 4, ... shapes that fit the one of the least bound so far is, which needs few.
    """

    def __init__(
        self,
        model: Transformer,
        cluster: TrainingCluster,
        known: Efficiencies,
        told: RankingFollower | None,
    ) -> None:
        self._given = model, cluster
        self._known = known
        self._told = told
        self._fitting = 0
        self._least: tuple[float, int, JobShape] | None = None
        self.steps: dict[int, StepTime] = {}

    def look(self, bound: float, place: int, shape: JobShape) -> None:
        """Take note of a shape that fits, and of its place in the space."""
        if self._told is None:
            return
        self._fitting += 1
        is_short = shape.passes <= MOST_FIRST_PASSES
        if is_short and (self._least is None or bound < self._least[0]):
            self._least = bound, place, shape
        count = self._fitting
        is_due = count & (count - 1) == 0
        if is_due and self._least is not None and self._least[1] not in self.steps:
            _, at, least = self._least
            self.steps[at] = step_of(least, stage_times(*self._given, least, self._known))
        if is_due or count % _EACH == 0:
            best = min((step.time_us for step in self.steps.values()), default=None)
            self._told(BOUNDS, place, None, best, None)
