"""What a ranking is made of: shapes with their figures, and what is known of the others."""

from dataclasses import dataclass

from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.memory import RankMemory
from solver.shapes.step import StepTime
from solver.shapes.transformer import Transformer

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
        or on the front; while the ranking goes on, those to come that might be among the best.
    least_bound_us
        What no shape that fits and was not simulated beats [us]; None when all were simulated, or
        while not all have a bound.
    lower_bound_us
        What no shape of the space that fits beats [us]; None when none fits, or while not all
        have a bound.
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


#: A shape by the time of its step [us], and of equals by its place in the space.
RankedEntry = tuple[float, int, RankedShape]


def on_front(front: list[RankedEntry], entry: RankedEntry) -> list[RankedEntry]:
    """Return the front with one more shape, without those that it beats."""
    peak = entry[2].memory.peak_bytes
    if any(time <= entry[0] and one.memory.peak_bytes <= peak for time, _, one in front):
        return front
    rest = [
        each for each in front if not (entry[0] <= each[0] and peak <= each[2].memory.peak_bytes)
    ]
    return sorted([*rest, entry], key=lambda each: each[:2])


def ranked_shape(
    model: Transformer,
    cluster: TrainingCluster,
    shape: JobShape,
    step: StepTime,
    memory: RankMemory,
    bound: float,
    price: float | None,
) -> RankedShape:
    """Return a simulated shape with its figures; ``price`` is of a GPU for an hour."""
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


def ranking_of(
    best: list[RankedEntry],
    front: list[RankedEntry],
    *,
    shapes: int,
    too_large: int,
    simulated: int,
    cut: int,
    least_bound_us: float | None,
    least_memory_bytes: float | None,
    is_bounded: bool = True,
) -> ShapeRanking:
    """Return a ranking with what is proven of it; ``is_bounded`` where all shapes have a bound."""
    known = [each[0] for each in best[:1]] + ([] if least_bound_us is None else [least_bound_us])
    least = min(known, default=None) if is_bounded else None
    return ShapeRanking(
        tuple(each[2] for each in best),
        tuple(each[2] for each in front),
        shapes,
        too_large,
        simulated,
        cut,
        least_bound_us,
        least,
        least_memory_bytes,
        bool(best) and least == best[0][0],
    )
