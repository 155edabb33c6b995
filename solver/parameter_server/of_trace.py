"""Profiled steps out of a trace that a reader has read, and what was assumed for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from solver.codes import FaultCode
from solver.errors import Fault, InvalidSteps, InvalidTrace
from solver.parameter_server.of_dlc import steps_of, whole_iterations
from solver.parameter_server.profiles import profiled_step, tasks_of
from solver.parameter_server.steps import SERVER, UPLINK, ServerStep, servers_of
from solver.traces import Trace, TraceOptions

_STEPS = "Steps for parameter servers are"
_ITERATIONS = (
    "A step gets the parameters that the iteration before it got, then computes up to each push, "
    "one after the other; forward and backward pass are one op up to the first push."
)


@dataclass(frozen=True, slots=True)
class TraceSteps:
    """The steps of a trace.

    Attributes
    ----------
    steps
        By worker, then in the order in which they ran; at least one.
    assumed
        One sentence for each thing that was taken for given, beside what the reader reports.
    """

    steps: tuple[ServerStep, ...]
    assumed: tuple[str, ...]


def trace_steps(
    trace: Trace, options: TraceOptions, most: int, most_edges: int
) -> TraceSteps | None:
    """Make steps of what a trace has of training through parameter servers; None of another trace.

    Of a DLC trace a step is an iteration that a worker recorded as a whole, of all workers or of
    the file of ``rank``. Of TensorFlow's a step is one of the trace: of the first worker by name,
    or of the one that stands at ``rank`` among them. ``step`` takes that one alone.

    Parameters
    ----------
    trace, options
        The trace, and what it was read with.
    most, most_edges
        So many steps are taken at most, with so many edges in all, evenly spaced; but always one.

    Raises
    ------
    InvalidTrace
        When there are too many servers or none, no such worker, no iteration that was recorded
        as a whole, or a step would break a rule of
        :func:`solver.parameter_server.steps.build_step`.

    Notes
    -----
    O(rows log rows).
    """
    try:
        if trace.messages:
            return _of_messages(trace, options, most, most_edges)
        return _of_rows(trace, options, most, most_edges) if trace.profiled else None
    except InvalidSteps as error:
        raise InvalidTrace([Fault("", f.code, f.detail) for f in error.faults]) from None


def _of_messages(trace: Trace, options: TraceOptions, most: int, most_edges: int) -> TraceSteps:
    nodes, step, rank = trace.messages, options.step, options.rank
    edges = sum(len(before) for before in steps_of(nodes, step, rank, 1)[0].preds)
    most = max(1, min(most, most_edges // edges))  # no more are made than are taken
    steps = steps_of(nodes, step, rank, most)
    servers_of(steps)
    whole = whole_iterations(nodes, step, rank)
    workers = dict.fromkeys(one.worker.name for one in whole)
    which = f"{_STEPS} iterations that {' or '.join(workers)} recorded as a whole."
    return _thinned(steps, len(whole), most, most_edges, (which, _ITERATIONS))


def _of_rows(trace: Trace, options: TraceOptions, most: int, most_edges: int) -> TraceSteps:
    workers, hosts = tasks_of(row for rows in trace.profiled for row in rows)
    if not workers or not hosts:
        tasks = ", ".join([*workers, *hosts])
        detail = f"Steps need a worker and a parameter server; the trace is of {tasks}."
        raise InvalidTrace([Fault("", FaultCode.NOT_SUPPORTED, detail)])
    rank = options.rank or 0
    if rank >= len(workers):
        detail = f"Workers 0 to {len(workers) - 1} are in the trace, not rank {rank}."
        raise InvalidTrace([Fault("", FaultCode.OUT_OF_RANGE, detail)])
    worker = workers[rank]
    every = [rows for rows in trace.profiled if worker in tasks_of(rows)[0]]
    steps = tuple(profiled_step(rows, worker, hosts=hosts) for rows in every)
    servers_of(steps)
    others = [name for name in workers if name != worker]
    left = f"; {', '.join(others)} left out, with the order that it made" if others else ""
    which = f"{_STEPS} those of {worker}{left}."
    return _thinned(steps, len(steps), most, most_edges, (which,))


def _thinned(
    steps: Sequence[ServerStep], total: int, most: int, most_edges: int, assumed: tuple[str, ...]
) -> TraceSteps:
    """Take so many steps at most, and say so; ``total`` is how many the trace has."""
    edges = sum(len(before) for step in steps for before in step.preds)
    most = max(1, min(most, len(steps) * most_edges // max(1, edges)))
    count = len(steps)
    if count > most:
        steps = [steps[i * count // most] for i in range(most)]
    if len(steps) < total:
        assumed += (f"{len(steps):,} of {total:,} steps are taken, evenly spaced.",)
    return TraceSteps(tuple(steps), (*assumed, *_not_updated(steps)))


def _not_updated(steps: Sequence[ServerStep]) -> Iterator[str]:
    """Say of how many pushes no server does anything."""
    pushes = [
        any(step.ops[j].kind == SERVER for j in step.succs[i])
        for step in steps
        for i, op in enumerate(step.ops)
        if op.kind == UPLINK
    ]
    missing = pushes.count(False)
    if missing:
        which = "Pushes" if missing == len(pushes) else f"{missing:,} of {len(pushes):,} pushes"
        yield f"{which} have no update in the trace: it takes no time."
