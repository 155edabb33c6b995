"""Rank all shapes of a space: best first, each with its figures, and the proof."""

from dataclasses import dataclass
from typing import Final

from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.memory import RankMemory, peak_memory
from solver.shapes.ranking.bound import least_time
from solver.shapes.ranking.first_answers import FirstAnswers, RankingFollower
from solver.shapes.ranking.space import ShapeSpace, shapes_of
from solver.shapes.stage_times import stage_times
from solver.shapes.step import StepTime, step_of
from solver.shapes.transformer import Transformer

#: Share of a GPU's memory that a shape may need: the rest is for the allocator's fragments.
MEMORY_SHARE = 0.92

#: Shapes of more passes are not simulated; their bound counts.
MOST_PASSES = 1_000_000

#: All shapes of a ranking together have no more simulated passes; then bounds count.
MOST_PASSES_IN_ALL = 10_000_000

#: The phase after the bounds, as it is told.
SIMULATION: Final = "simulation"

_HOUR_US = 3.6e9


@dataclass(frozen=True, slots=True)
class RankedShape:
    """A shape with its figures.

    Attributes
    ----------
    shape
        The shape.
    step
        Its simulated step.
    memory
        The memory of its fullest rank.
    bound_us
        What its step does not beat, as known before it was simulated [us].
    tokens_per_s_per_gpu
        Tokens a second on each GPU.
    mfu
        Share of the GPUs' operations that the model needs, without what is computed again.
    price_per_billion_tokens
        What 10^9 tokens cost; None without a price.
    """

    shape: JobShape
    step: StepTime
    memory: RankMemory
    bound_us: float
    tokens_per_s_per_gpu: float
    mfu: float
    price_per_billion_tokens: float | None

    @property
    def why(self) -> str:
        """Say in a sentence what takes most of the step besides compute."""
        parts = [
            ("the pipeline's bubble", self.step.bubble_us),
            *((f"exposed communication, {name}", us) for name, us in self.step.exposed),
        ]
        name, us = max(parts, key=lambda part: part[1])
        if us < self.step.time_us / 100:
            return "Compute takes nearly all of the step."
        return f"Most besides compute is {name}: {us / self.step.time_us:.0%} of the step."


@dataclass(frozen=True, slots=True)
class ShapeRanking:
    """The shapes of a space, best first, and what is known of the others.

    Attributes
    ----------
    best
        The best shapes by simulated time; of equals the one first in the space.
    front
        Shapes of which none other is both faster and smaller in memory, by time.
    shapes, too_large, simulated
        Shapes of the space, those that do not fit in memory, those that were simulated.
    cut
        Shapes that were not simulated for want of work allowed, though they might be among the best
        or on the front.
    least_bound_us
        What no shape that fits and was not simulated beats [us]; None when all were simulated.
    lower_bound_us
        What no shape of the space that fits beats [us]; None when none fits.
    least_memory_bytes
        Memory of the shape that needs least; None for a space without shapes.
    is_proven
        Whether no shape of the space is faster than the best: of the simulated time, under the
        figures given.
    """

    best: tuple[RankedShape, ...]
    front: tuple[RankedShape, ...]
    shapes: int
    too_large: int
    simulated: int
    cut: int
    least_bound_us: float | None
    lower_bound_us: float | None
    least_memory_bytes: float | None
    is_proven: bool


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
    first = FirstAnswers(model, cluster, known, told)
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
        first.look(bound, total, shape)
    waiting.sort(key=lambda each: each[:2])
    best: list[tuple[float, int, RankedShape]] = []
    front: list[tuple[float, int, RankedShape]] = []
    simulated = run = cut = 0
    least_bound: float | None = None
    for done, (bound, place, shape, memory) in enumerate(waiting):
        passes = shape.passes
        is_over = most_simulated is not None and simulated >= most_simulated
        is_over = is_over or passes > min(MOST_PASSES, MOST_PASSES_IN_ALL - run)
        is_beaten = _is_beaten(bound, memory, best, front, count)
        if is_over or is_beaten:
            cut += not is_beaten
            least_bound = bound if least_bound is None else least_bound
            continue
        step = first.steps.get(place) or step_of(shape, stage_times(model, cluster, shape, known))
        simulated, run = simulated + 1, run + passes
        ranked = _ranked(model, cluster, shape, step, memory, bound, price_per_gpu_hour)
        entry = (step.time_us, place, ranked)
        best = sorted([*best, entry], key=lambda each: each[:2])[:count]
        front = _with(front, entry)
        if told is not None:
            fastest = best[0][0]
            lower = min(fastest, bound if least_bound is None else least_bound)
            told(SIMULATION, done + 1, len(waiting), fastest, lower)
    known_times = [each[0] for each in best[:1]] + ([] if least_bound is None else [least_bound])
    least = min(known_times, default=None)
    return ShapeRanking(
        tuple(each[2] for each in best),
        tuple(each[2] for each in front),
        total,
        too_large,
        simulated,
        cut,
        least_bound,
        least,
        least_memory,
        bool(best) and least == best[0][0],
    )


_Entry = tuple[float, int, RankedShape]


def _is_beaten(
    bound: float, memory: RankMemory, best: list[_Entry], front: list[_Entry], count: int
) -> bool:
    """Tell whether a shape can be neither among the best nor on the front."""
    if len(best) < count or bound < best[-1][0]:
        return False
    peak = memory.peak_bytes
    return any(time <= bound and one.memory.peak_bytes <= peak for time, _, one in front)


def _with(front: list[_Entry], entry: _Entry) -> list[_Entry]:
    """Return the front with one more shape, without those that it beats."""
    peak = entry[2].memory.peak_bytes
    if any(time <= entry[0] and one.memory.peak_bytes <= peak for time, _, one in front):
        return front
    rest = [
        each for each in front if not (entry[0] <= each[0] and peak <= each[2].memory.peak_bytes)
    ]
    return sorted([*rest, entry], key=lambda each: each[:2])


def _ranked(
    model: Transformer,
    cluster: TrainingCluster,
    shape: JobShape,
    step: StepTime,
    memory: RankMemory,
    bound: float,
    price: float | None,
) -> RankedShape:
    tokens = shape.global_batch * model.sequence
    rate = cluster.accelerator.flops_per_us(shape.precision)
    hours = step.time_us / _HOUR_US * shape.gpus
    return RankedShape(
        shape,
        step,
        memory,
        bound,
        tokens / step.time_us * 1e6 / shape.gpus,
        model.training_flops(tokens) / (step.time_us * shape.gpus * rate),
        None if price is None else price * hours / tokens * 1e9,
    )
