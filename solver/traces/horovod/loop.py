"""Horovod's loop in a step: what each cycle negotiated, when data came, how long a launch held.

A background thread on each rank repeats a cycle: it announces the tensors that are ready, learns
which of them all ranks have, and performs these, fused, one buffer after another (``RunLoopOnce``
in Horovod's ``operations.cc``). With MPI, gloo or oneCCL it stays inside an operation; with NCCL a
GPU's stream has the copies and the operations of all buffers one after another meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from solver.graph.names import NEGOTIATION
from solver.traces.horovod.launches import TensorLaunch
from solver.traces.horovod.steps import buffers

#: The stream of what the GPU had yet to finish of tensors that the host had announced.
LATE_DATA = "data"
#: What Horovod calls it.
WAITED = "WAIT_FOR_DATA"

#: Activities in which a launch waits and holds nothing.
_WAITS = ("QUEUE", "WAIT_", "INIT_")
#: Libraries inside whose operations the loop stays.
_BLOCKING = ("MPI_", "GLOO_", "CCL_", "MLSL_")


class LoopWait(NamedTuple):
    """What stands between the release of tensors and their launch.

    Attributes
    ----------
    stream
        ``negotiate``: a cycle of the loop; ``data``: the GPU. Either does one thing at a time.
    tensors
        That waited for it.
    time
        From the last of their releases, or the end of the wait before it on its stream [us].
    """

    stream: str
    tensors: tuple[str, ...]
    time: float


class HeldLaunch(NamedTuple):
    """A buffer, and how long its launch held the channel.

    Attributes
    ----------
    tensors
        By release.
    time
        From the last wait of its tensors, or the end of the launch before it, until its own end:
        copies are in it [us].
    """

    tensors: tuple[TensorLaunch, ...]
    time: float


class LoopRun(NamedTuple):
    """What Horovod's loop did in a step: waits by stream and time, launches by start."""

    waits: tuple[LoopWait, ...]
    launches: tuple[HeldLaunch, ...]


def loop_of(launches: Sequence[TensorLaunch], releases: Mapping[str, float]) -> LoopRun:
    """Divide a step into waits and launches: run again from the releases, each ends when it did.

    Parameters
    ----------
    launches
        Of the step.
    releases
        When each tensor was released, in the clock of the file [us].

    Notes
    -----
    O(n log n) for n launches.
    """
    groups = buffers(launches)
    free = dict(releases)
    cycles, over = [], 0.0
    for decided_at_once, idle, decided in _cycles(launches, groups):
        # what was announced before it was there, as layers have it, waits for its data alone
        tensors = tuple(tensor for tensor in decided_at_once if releases[tensor] <= decided)
        if not tensors:
            continue
        last = max(releases[tensor] for tensor in tensors)
        time = max(decided - max(last, idle), 0.0)
        over = max(over, last) + time
        cycles.append(LoopWait(NEGOTIATION, tensors, time))
        free |= dict.fromkeys(tensors, over)
    late = []
    came = 0.0
    for at, tensor in _late_data(launches):
        begins = max(came, releases[tensor])
        came = max(begins, at)
        late.append(LoopWait(LATE_DATA, (tensor,), came - begins))
        free[tensor] = max(free[tensor], came)
    held, over = [], 0.0
    for group in groups:
        begins = max(over, *(free[one.tensor] for one in group))
        over = max(begins, *(one.end for one in group))
        held.append(HeldLaunch(group, over - begins))
    return LoopRun((*cycles, *late), tuple(held))


def _cycles(
    launches: Sequence[TensorLaunch], groups: Sequence[Sequence[TensorLaunch]]
) -> Iterator[tuple[tuple[str, ...], float, float]]:
    """Yield the tensors that a cycle decided, when the loop was free for it, and its end [us].

    A cycle decides, and then it performs: what was decided after that is of a later one.
    """
    parts: list[list[TensorLaunch]] = []
    performs = 0.0
    for launch in sorted(launches, key=lambda one: one.decided):
        if not parts or launch.decided > performs:
            parts.append([])
            performs = launch.start
        parts[-1].append(launch)
        performs = min(performs, launch.start)
    blocked = sorted(group[0].end for group in groups if is_blocking(group[0]))
    idle, at = 0.0, 0
    for part in parts:
        while at < len(blocked) and blocked[at] <= part[0].decided:
            idle = max(idle, blocked[at])
            at += 1
        decided = part[-1].decided
        yield tuple(one.tensor for one in part), idle, decided
        idle = max(idle, decided)


def _late_data(launches: Sequence[TensorLaunch]) -> list[tuple[float, str]]:
    """Return when data came for which Horovod waited [us], and its tensor, by time."""
    return sorted(
        (part.end, launch.tensor)
        for launch in launches
        for part in launch.activities
        if part.name == WAITED and part.end > part.start
    )


def is_blocking(launch: TensorLaunch) -> bool:
    """Tell whether the loop stayed inside an operation until it was over."""
    return any(part.name.startswith(_BLOCKING) for part in launch.activities)


def own_time(launch: TensorLaunch, before: float) -> float:
    """Return how long a launch took alone: copies included, all waiting left out [us].

    Parameters
    ----------
    launch
        Any of its tensors.
    before
        When the launch before it was over [us].
    """
    works = [part.start for part in launch.activities if not part.name.startswith(_WAITS)]
    begins = max(launch.start, min(before, *works)) if works else launch.start
    waits = sum(
        max(part.end - max(part.start, begins), 0.0)
        for part in launch.activities
        if part.name.startswith(_WAITS)
    )
    return max(launch.end - begins - waits, 0.0)
