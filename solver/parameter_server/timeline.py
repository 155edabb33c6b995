"""Recorded steps of workers as a Chrome trace, which Perfetto opens."""

from collections.abc import Sequence
from typing import Any

from solver.parameter_server.record import StepsRun
from solver.parameter_server.steps import ServerStep

Event = dict[str, Any]


def steps_trace(steps: Sequence[ServerStep], run: StepsRun) -> dict[str, Any]:
    """Lay out the services of a run: a process for each worker, in it a thread for each resource.

    The category of an event is the kind of its resource; its arguments are the number of the
    worker's step, the profiled step that was drawn for it, and the bytes of a transfer. The rest of
    a transfer that flow control has cut has ``(rest)`` behind its name and ``service`` 2. Times are
    microseconds from the run's start.

    Parameters
    ----------
    steps
        The profiled steps as they were run (:func:`solver.parameter_server.throughput.prepare`).
    run
        With recorded services.

    Notes
    -----
    O(services).
    """
    events: list[Event] = []
    for worker in sorted({service.worker for service in run.services}):
        events.append(_name("process_name", worker, 0, f"worker {worker}"))
        events += (_name("thread_name", worker, tid, name) for tid, name in enumerate(run.names))
    threads = {name: tid for tid, name in enumerate(run.names)}
    begun: set[tuple[int, int, int]] = set()
    for worker, number, profile, position, size, start, end in run.services:
        op = steps[profile].ops[position]
        args: Event = {"step": number, "profile": profile}
        name = op.id
        if size is not None:
            again = (worker, number, position) in begun
            begun.add((worker, number, position))
            args |= {"bytes": size, "service": 2 if again else 1}
            name = f"{op.id} (rest)" if again else op.id
        events.append(
            {
                "ph": "X",
                "name": name,
                "cat": op.kind,
                "pid": worker,
                "tid": threads[op.resource],
                "ts": start,
                "dur": end - start,
                "args": args,
            }
        )
    return {"displayTimeUnit": "ms", "traceEvents": events, "otherData": {"workers": run.workers}}


def _name(kind: str, worker: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": worker, "tid": tid, "args": {"name": name}}
