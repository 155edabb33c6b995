"""The first answers of a ranking, before the bounds of all shapes are known."""

from collections.abc import Callable
from typing import Final

from solver.shapes.job_shape import JobShape
from solver.shapes.memory import RankMemory
from solver.shapes.ranking.ranked import (
    RankedEntry,
    RankedShape,
    ShapeRanking,
    on_front,
    ranking_of,
)

#: Told how far a ranking is: phase, shapes done, all (None while unknown), and the ranking as it
#: stands: what it claims then holds for the whole space.
RankingFollower = Callable[[str, int, int | None, ShapeRanking], None]

#: The phase of the bounds, as it is told.
BOUNDS: Final = "bounds"

#: The first answers are of shapes of no more passes.
MOST_FIRST_PASSES = 10_000

#: So many shapes are looked at from one report to the next.
_EACH = 256


class FirstAnswers:
    """Steps that are simulated while the bounds of other shapes are not known.

    After 1, 2, 4, ... shapes that fit the one of the least bound so far is, which needs few.
    ``simulated`` gives a shape of a memory and a bound its figures.
    """

    def __init__(self, simulated: Callable[[JobShape, RankMemory, float], RankedShape]) -> None:
        self._simulated = simulated
        self._fitting = 0
        self._least: tuple[float, int, JobShape, RankMemory] | None = None
        self.found: dict[int, RankedShape] = {}

    def look(self, bound: float, place: int, shape: JobShape, memory: RankMemory) -> bool:
        """Take note of a shape that fits, at its place in the space; tell whether to report."""
        self._fitting += 1
        is_short = shape.passes <= MOST_FIRST_PASSES
        if is_short and (self._least is None or bound < self._least[0]):
            self._least = bound, place, shape, memory
        count = self._fitting
        is_due = count & (count - 1) == 0
        if is_due and self._least is not None and self._least[1] not in self.found:
            least_bound, at, least, least_memory = self._least
            self.found[at] = self._simulated(least, least_memory, least_bound)
        return is_due or count % _EACH == 0

    def ranking(
        self, count: int, shapes: int, too_large: int, least_memory: float | None
    ) -> ShapeRanking:
        """Rank what was simulated of so many shapes; of the others nothing is claimed."""
        entries = [(each.step.time_us, place, each) for place, each in self.found.items()]
        best = sorted(entries, key=lambda entry: entry[:2])
        front: list[RankedEntry] = []
        for entry in best:
            front = on_front(front, entry)
        return ranking_of(
            best[:count],
            front,
            shapes=shapes,
            too_large=too_large,
            simulated=len(best),
            cut=self._fitting - len(best),
            least_bound_us=None,
            least_memory_bytes=least_memory,
            is_bounded=False,
        )
