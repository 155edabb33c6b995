"""Which step an event of the host is of, where the profiler has not written it yet.

The profiler marks the events that begin a step, and gives the same number to an event that hands
work to another thread and to the one that takes it. What lies inside an event on its thread is of
its step.

References
----------
.. [1] TensorFlow, ``group_events.cc``.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.traces.xplane.events import PlaneEvent

_GROUP = "group_id"
#: Fields of an event that begins a step; of one that hands on work, and of one that takes it.
_ROOT, _PRODUCES, _CONSUMES = "_r", ("_pt", "_p"), ("_ct", "_c")


def grouped(events: "Sequence[PlaneEvent]") -> "Sequence[PlaneEvent]":
    """Give the events of a host's threads the numbers of their steps, counted from 0.

    Events stay as they are where the profiler has numbered any, or has marked no step.

    Notes
    -----
    O(events log events).
    """
    if any(_GROUP in event.written for event in events) or not any(
        _ROOT in event.written for event in events
    ):
        return events
    open_: dict[object, list[tuple[float, int | None]]] = {}
    handed: dict[tuple[str | None, ...], int] = {}
    steps = 0
    for event in sorted(events, key=lambda event: (event.start, -event.end)):
        around = open_.setdefault(event.tid, [])
        while around and around[-1][0] < event.end:
            around.pop()
        fields = event.written
        step = around[-1][1] if around else None
        if step is None:
            step = handed.get(tuple(fields.get(name) for name in _CONSUMES))
        if step is None and _ROOT in fields:
            step = steps
            steps += 1
        around.append((event.end, step))
        if step is None:
            continue
        if _PRODUCES[1] in fields:
            handed[tuple(fields.get(name) for name in _PRODUCES)] = step
        event.written = {**fields, _GROUP: str(step)}
    return events
