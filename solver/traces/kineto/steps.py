"""The steps of a recording: a kernel belongs to the one in which it was launched."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from solver.traces.kineto.recording import (
    CpuSpan,
    DeviceWork,
    RankRecording,
    RecordedCollective,
    Wait,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProfiledStep:
    """One iteration of one rank.

    Attributes
    ----------
    number
        That the profiler gave it; None where it marked no steps.
    begin, end
        Its time [us]: from the end of the step before, see :func:`steps`.
    works
        All that computes, by launch.
    launches
        Collectives, by start.
    backward
        Autograd's calls, by start.
    optimizer
        The optimizer's steps.
    waits
        By time.
    """

    number: int | None
    begin: float
    end: float
    works: list[DeviceWork]
    collectives: list[RecordedCollective]
    backward: list[CpuSpan]
    optimizer: list[CpuSpan]
    waits: list[Wait]

    @property
    def length(self) -> float:
        """How long it took [us]."""
        return self.end - self.begin


def steps(recording: RankRecording) -> tuple[list[ProfiledStep], int]:
    """Split a recording in steps, and count the kernels launched outside of them.

    A step is over when its thread has come to the next ``ProfilerStep`` and the GPU has done all
    that was launched until then, collectives only in the last step; its length is counted from the
    end of the step before. So the lengths add up, whether the CPU or the GPU is ahead. Without
    marks all is one step.

    Notes
    -----
    O(n log steps) for n events.
    """
    marks = recording.steps
    if not marks:
        everything = [*recording.works, *(collective.work for collective in recording.collectives)]
        if not everything:
            return [], 0
        begin = min(min(work.launched, work.start) for work in everything)
        marks = [(-1, begin, max(work.end for work in everything))]
    starts = [start for _, start, _ in marks]
    last = max(end for _, _, end in marks)

    def split(things: Sequence[T], time: str) -> list[list[T]]:
        """Sort things into steps; the last list has what belongs to none."""
        parts: list[list[T]] = [[] for _ in range(len(marks) + 1)]
        for thing, at in zip(things, map(attrgetter(time), things), strict=True):
            parts[bisect_right(starts, at) - 1 if at <= last else -1].append(thing)
        return parts

    works = split(recording.works, "launched")
    collectives = split(recording.collectives, "work.launched")
    backward = split(recording.backward, "start")
    optimizer = split(recording.optimizer, "start")
    waits = split(recording.waits, "at")
    result = []
    done = max([starts[0], *(work.end for work in works[-1] if work.launched < starts[0])])
    for i, (number, _, _) in enumerate(marks):
        begin = done
        ends = [work.end for work in works[i]]
        if i + 1 == len(marks):
            ends += [last, *(collective.work.end for collective in collectives[i])]
        done = max([begin, *starts[i + 1 : i + 2], *ends])
        result.append(
            ProfiledStep(
                None if number < 0 else number,
                begin,
                done,
                works[i],
                collectives[i],
                backward[i],
                optimizer[i],
                waits[i],
            )
        )
    return result, len(works[-1]) + len(collectives[-1])


class Threads:
    """What each thread launched, by launch."""

    def __init__(self, works: Iterable[DeviceWork]) -> None:
        self._works: dict[str, list[DeviceWork]] = {}
        for work in works:
            self._works.setdefault(work.thread, []).append(work)

    def next(self, thread: str, at: float) -> DeviceWork | None:
        """Return the first work that a thread launches from a time on."""
        works = self._works.get(thread, [])
        i = bisect_left(works, at, key=attrgetter("launched"))
        return works[i] if i < len(works) else None

    def ready(self, thread: str, at: float) -> float:
        """Return when all is done that a thread launched before a time, but no earlier than it.

        The streams of a GPU that matter here run in the order of launch: the last work decides.
        """
        works = self._works.get(thread, [])
        i = bisect_right(works, at, key=attrgetter("launched"))
        return max(at, works[i - 1].end) if i else at
