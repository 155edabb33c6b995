"""A step of a shape: its passes in order, the sum of gradients, the optimizer."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.pipeline.replay import FlatOrder, flat_order
from solver.shapes.stage_times import StageTimes, stage_times
from solver.shapes.transformer import Transformer


@dataclass(frozen=True, slots=True)
class StepTime:
    """The simulated time of a step, and where it goes.

    Attributes
    ----------
    time_us
        Time of a step [us].
    pipeline_us
        When the last pass ends [us].
    bubble_us
        Time in which the busiest rank's passes do not run before that [us].
    tail_us
        From the last pass to the end: gradients, optimizer, what a step takes besides [us].
    exposed
        Exposed communication of the busiest rank by group (name, us): ``tensor``, ``context``,
        ``expert`` and ``sharding`` in its passes, ``data`` at the end of the step.
    """

    time_us: float
    pipeline_us: float
    bubble_us: float
    tail_us: float
    exposed: tuple[tuple[str, float], ...]


def simulate_step(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> StepTime:
    """Simulate a step of a shape.

    Its passes run in the order of its schedule; each rank sums the gradients of a virtual stage
    once its last backward pass is over, one after another, and updates its parameters. The next
    step begins when all ranks are ready. All data-parallel ranks are alike.

    Notes
    -----
    O(passes). The graph of :func:`solver.shapes.job_graph.job_graph`, simulated op by op, takes
    the same time.
    """
    return step_of(shape, stage_times(model, cluster, shape, known))


def step_of(shape: JobShape, times: StageTimes) -> StepTime:
    """Simulate a step whose times are known."""
    order = flat_order(shape.schedule, shape.pp, shape.vpp, shape.micro_batches)
    pipeline = order.run(*flat_times(shape, times))
    finished, reduced = _ends_of_ranks(shape, times, order)
    time = pipeline
    update = [0.0] * shape.pp
    if times.tied_us:
        first = max(reduced[0], reduced[-1]) + times.tied_us
        reduced[0] = reduced[-1] = first
    for rank in range(shape.pp):
        update[rank] = reduced[rank] + times.optimizers[rank] + times.gathers[rank]
    time = max(pipeline, *update) + times.step_us
    busy = _busy(shape, times)
    times_passed = shape.micro_batches * shape.vpp // shape.ways
    exposed = tuple((name, us * times_passed) for name, us in times.exposed)
    data = max(reduced[rank] - finished[rank] + times.gathers[rank] for rank in range(shape.pp))
    return StepTime(
        time, pipeline, max(0.0, pipeline - max(busy)), time - pipeline, (*exposed, ("data", data))
    )


def flat_times(shape: JobShape, times: StageTimes) -> "tuple[array[float], array[float]]":
    """Return the times of passes and of messages [us] as a :class:`FlatOrder` takes them."""
    durations = array("d", [us for each in times.passes for us in each])
    messages = array("d", [0.0]) * (shape.pp * shape.pp)
    for rank in range(shape.pp if shape.pp > 1 else 0):
        other = (rank + 1) % shape.pp
        messages[rank * shape.pp + other] = messages[other * shape.pp + rank] = times.messages[rank]
    return durations, messages


def _busy(shape: JobShape, times: StageTimes) -> list[float]:
    """Time in which each rank's passes run [us]."""
    busy = [0.0] * shape.pp
    for k, passes in enumerate(times.passes):
        busy[shape.ranks[k]] += shape.micro_batches // shape.ways * sum(passes)
    return busy


def _ends_of_ranks(
    shape: JobShape, times: StageTimes, order: FlatOrder
) -> tuple[list[float], list[float]]:
    """Return when each rank's last pass ends, and when the sums of its gradients do [us]."""
    finished = [order.ends[i] for i in order.last_of_ranks]
    reduced = finished.copy()
    for stage, _, end in sums_of_gradients(shape, times, order):
        rank = shape.ranks[stage]
        reduced[rank] = max(reduced[rank], end)
    return finished, reduced


def sums_of_gradients(
    shape: JobShape, times: StageTimes, order: FlatOrder
) -> Iterator[tuple[int, float, float]]:
    """Yield the sums of gradients: virtual stage, start and end [us], in the order of their passes.

    The last pass that adds to a virtual stage's gradients gives them in equal pieces, one sum each,
    one after another on each rank.
    """
    reduced = [0.0] * shape.pp
    pieces = shape.overlapped_buckets
    for stage, i in sorted(enumerate(order.last_of_stages), key=lambda each: each[1]):
        rank = shape.ranks[stage]
        long = times.passes[stage][order.passes[i].kind]
        one = times.reductions[stage] / pieces
        for piece in range(1, pieces + 1):
            ready = order.ends[i] - long * (pieces - piece) / pieces
            start = max(reduced[rank], ready)
            reduced[rank] = start + one
            yield stage, start, reduced[rank]
