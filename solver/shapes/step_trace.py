"""A step of a shape as a Chrome trace, which Perfetto opens."""

from array import array
from collections.abc import Iterator
from typing import Any

from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, SEND_RECV
from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.pipeline.replay import FlatOrder, flat_order
from solver.shapes.stage_times import StageTimes, stage_times
from solver.shapes.step import flat_times, step_of, sums_of_gradients
from solver.shapes.transformer import Transformer
from solver.simulation.timeline import Event, name_event, span_event

_LETTERS = "FBW"


def step_trace(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> dict[str, Any]:
    """Lay out a step of one pipeline of a shape's ranks.

    Rank r has the threads ``r/compute``, of its passes ``F2.0``, ``B2.0`` and ``W2.0`` (virtual
    stage 2, micro-batch 0) and its optimizer, and ``r/data``, of the sums of its gradients and the
    gather of what it updated; ``r-s`` has the messages to rank s. Collectives inside a pass are
    part of it. Times are microseconds.

    Notes
    -----
    O(passes). Passes and messages are those of :func:`solver.shapes.job_graph.job_graph`.
    """
    times = stage_times(model, cluster, shape, known)
    step = step_of(shape, times)  # leaves its ends in the order
    order = flat_order(shape.schedule, shape.pp, shape.vpp, shape.micro_batches)
    threads = _threads(order)
    events = [name_event("process_name", 1, 0, str(shape))]
    events += [name_event("thread_name", 1, tid, name) for name, tid in threads.items()]
    events += _passes(shape, times, order, threads)
    events += _ends(shape, times, order, threads)
    return {
        "displayTimeUnit": "ms",
        "traceEvents": events,
        "otherData": {"graph": f"{model.name} {shape}", "iteration_time_us": step.time_us},
    }


def _threads(order: FlatOrder) -> dict[str, int]:
    channels = sorted({divmod(c, order.ranks) for c in order.channel if c >= 0})
    names = [f"{rank}/compute" for rank in range(order.ranks)]
    names += [f"{rank}-{other}" for rank, other in channels]
    names += [f"{rank}/data" for rank in range(order.ranks)]
    return {name: tid for tid, name in enumerate(names)}


def _passes(
    shape: JobShape, times: StageTimes, order: FlatOrder, threads: dict[str, int]
) -> Iterator[Event]:
    durations, messages = flat_times(shape, times)
    for i, step in enumerate(order.passes):
        rank, end = shape.ranks[step.stage], order.ends[i]
        name = f"{_LETTERS[step.kind]}{step.stage}.{step.micro_batch}"
        start = end - durations[order.part[i]]
        yield span_event(name, COMPUTE, 1, threads[f"{rank}/compute"], start, end, {})
        if order.channel[i] >= 0:
            thread = threads["-".join(map(str, divmod(order.channel[i], order.ranks)))]
            arrival = order.arrivals[i]
            sent = arrival - messages[order.channel[i]]
            yield span_event(f"send {name}", SEND_RECV, 1, thread, sent, arrival, {})


def _ends(
    shape: JobShape, times: StageTimes, order: FlatOrder, threads: dict[str, int]
) -> Iterator[Event]:
    reduced = array("d", [order.ends[i] for i in order.last_of_ranks])
    for stage, start, end in sums_of_gradients(shape, times, order):
        rank = shape.ranks[stage]
        reduced[rank] = max(reduced[rank], end)
        if end > start:
            thread = threads[f"{rank}/data"]
            yield span_event(f"gradients {stage}", ALL_REDUCE, 1, thread, start, end, {})
    if times.tied_us:
        start = max(reduced[0], reduced[-1])
        reduced[0] = reduced[-1] = start + times.tied_us
        for rank in (0, shape.pp - 1):  # there is a tied sum of several ranks alone
            thread = threads[f"{rank}/data"]
            yield span_event("tied gradients", ALL_REDUCE, 1, thread, start, reduced[rank], {})
    for rank in range(shape.pp):
        start = reduced[rank]
        end = start + times.optimizers[rank]
        yield span_event("optimizer", COMPUTE, 1, threads[f"{rank}/compute"], start, end, {})
        if times.gathers[rank]:
            then = end + times.gathers[rank]
            thread = threads[f"{rank}/data"]
            yield span_event("updated parameters", ALL_GATHER, 1, thread, end, then, {})
