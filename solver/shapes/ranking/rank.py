"""Rank all shapes of a space: best first, each with its figures, and the proof."""

from bisect import bisect_left
from math import inf
from typing import Final

from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.memory import RankMemory, peak_memory
from solver.shapes.ranking.bound import least_time
from solver.shapes.ranking.first_answers import BOUNDS, FirstAnswers, RankingFollower
from solver.shapes.ranking.ranked import (
    RankedEntry,
    RankedShape,
    ShapeRanking,
    on_front,
    ranked_shape,
    ranking_of,
)
from solver.shapes.ranking.space import ShapeSpace, shapes_of
from solver.shapes.stage_times import stage_times
from solver.shapes.step import step_of
from solver.shapes.transformer import Transformer

#: Share of a GPU's memory that a shape may need: the rest is for the allocator's fragments.
MEMORY_SHARE = 0.92

#: Shapes of more passes are not simulated; their bound counts.
MOST_PASSES = 1_000_000

#: All shapes of a ranking together have no more simulated passes; then bounds count.
MOST_PASSES_IN_ALL = 10_000_000

#: The phase after the bounds, as it is told.
SIMULATION: Final = "simulation"


def rank_shapes(
    model: Transformer,
    cluster: TrainingCluster,
    space: ShapeSpace,
    known: Efficiencies,
    count: int = 10,
    price_per_gpu_hour: float | None = None,
    most_simulated: int | None = None,
    told: RankingFollower | None = None,
) -> ShapeRanking:
    """Rank the shapes of a space by the simulated time of a step.

    Shapes that fit in memory are simulated in the order of their bounds. One whose bound is above
    the ``count``-th best, and that a simulated one beats in time and memory, is left out: it can
    be neither among the best nor on the front. So both are exact, unless some were cut.

    Parameters
    ----------
    model, cluster, space, known
        What is to be trained, on what, the shapes, and the machine's figures.
    count
        How many of the best are given.
    price_per_gpu_hour
        What a GPU costs for an hour, in any currency.
    most_simulated
        Simulate so many at most; then a gap may be left, which the answer says.
    told
        Told how far the ranking is. Then a few shapes are simulated before the bounds of all are
        known, for a first answer; the ranking is the same.

    Notes
    -----
    O(shapes log(shapes) + passes of those simulated).
    """
    room = MEMORY_SHARE * cluster.accelerator.memory_gib * 2**30
    total = too_large = 0
    least_memory: float | None = None
    waiting: list[tuple[float, int, JobShape, RankMemory]] = []

    def simulate(shape: JobShape, memory: RankMemory, bound: float) -> RankedShape:
        step = step_of(shape, stage_times(model, cluster, shape, known))
        return ranked_shape(model, cluster, shape, step, memory, bound, price_per_gpu_hour)

    first = FirstAnswers(simulate)
    for shape in shapes_of(model, cluster, space):
        total += 1
        memory = peak_memory(model, shape)
        peak = memory.peak_bytes
        least_memory = peak if least_memory is None else min(least_memory, peak)
        if peak > room:
            too_large += 1
            continue
        bound = least_time(shape, stage_times(model, cluster, shape, known))
        waiting.append((bound, total, shape, memory))
        if told is not None and first.look(*waiting[-1]):
            told(BOUNDS, total, None, first.ranking(count, total, too_large, least_memory))
    waiting.sort(key=lambda each: each[:2])
    best: list[RankedEntry] = []
    front: list[RankedEntry] = []
    simulated = run = cut = 0
    least_bound: float | None = None

    def ranking(ahead: int, next_bound: float | None) -> ShapeRanking:
        return ranking_of(
            best,
            front,
            shapes=total,
            too_large=too_large,
            simulated=simulated,
            cut=cut + ahead,
            least_bound_us=next_bound if least_bound is None else least_bound,
            least_memory_bytes=least_memory,
        )

    for done, (bound, place, shape, memory) in enumerate(waiting, 1):
        passes = shape.passes
        is_over = most_simulated is not None and simulated >= most_simulated
        is_over = is_over or passes > min(MOST_PASSES, MOST_PASSES_IN_ALL - run)
        is_beaten = _is_beaten(bound, memory, best, front, count)
        if is_over or is_beaten:
            cut += not is_beaten
            least_bound = bound if least_bound is None else least_bound
            continue
        ranked = first.found.get(place) or simulate(shape, memory, bound)
        simulated, run = simulated + 1, run + passes
        entry = (ranked.step.time_us, place, ranked)
        best = sorted([*best, entry], key=lambda each: each[:2])[:count]
        front = on_front(front, entry)
        if told is not None:
            worst = best[-1][0] if len(best) == count else inf
            end = bisect_left(waiting, worst, done, key=lambda each: each[0])
            following = waiting[done][0] if done < len(waiting) else None
            told(SIMULATION, done, len(waiting), ranking(end - done, following))
    return ranking(0, None)


def _is_beaten(
    bound: float, memory: RankMemory, best: list[RankedEntry], front: list[RankedEntry], count: int
) -> bool:
    """Tell whether a shape can be neither among the best nor on the front."""
    if len(best) < count or bound < best[-1][0]:
        return False
    peak = memory.peak_bytes
    return any(time <= bound and one.memory.peak_bytes <= peak for time, _, one in front)
