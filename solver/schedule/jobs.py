"""Jobs on one channel, and the preemptive schedules of them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from solver.units import FloatArray, slots_up


@dataclass(frozen=True, slots=True, eq=False)
class Jobs:
    """n jobs on one machine; all arrays have shape (n,) and one unit of time.

    Attributes
    ----------
    release
        Earliest start.
    duration
        Time on the channel, start-up included once.
    tail
        Time that must follow.
    """

    release: FloatArray
    duration: FloatArray
    tail: FloatArray

    def __len__(self) -> int:
        """Count the jobs."""
        return len(self.release)


class ServicePiece(NamedTuple):
    """Uninterrupted service of one job from ``start`` to ``end``."""

    job: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Critical:
    """A subset J of jobs with min release(J) + sum duration(J) + min tail(J) = value."""

    jobs: tuple[int, ...]
    release: float
    work: float
    tail: float


@dataclass(frozen=True, slots=True)
class PreemptiveSchedule:
    """A preemptive schedule that minimises max(completion + tail), and the proof.

    Attributes
    ----------
    pieces
        In time order, neighbours of the same job joined.
    value
        max over jobs of completion + tail; 0 without jobs.
    critical
        The subset that proves the value, None without jobs.
    """

    pieces: tuple[ServicePiece, ...]
    value: float
    critical: Critical | None


def on_grid(jobs: Jobs, slot: float) -> Jobs:
    """Round releases, durations and tails up to whole slots, as integers in float arrays.

    The optimum on the grid, times ``slot``, bounds the continuous one from above
    (MODEL.md section 3).
    """
    return Jobs(
        *(
            slots_up(times, slot).astype(np.float64)
            for times in (jobs.release, jobs.duration, jobs.tail)
        )
    )


def join_pieces(pieces: list[ServicePiece]) -> tuple[ServicePiece, ...]:
    """Join neighbouring pieces of one job that touch."""
    merged: list[ServicePiece] = []
    for piece in pieces:
        if merged and merged[-1].job == piece.job and merged[-1].end == piece.start:
            merged[-1] = ServicePiece(piece.job, merged[-1].start, piece.end)
        else:
            merged.append(piece)
    return tuple(merged)


def critical_of(jobs: Jobs, members: list[int]) -> Critical:
    """Evidence of a subset: its least release, its work, its least tail."""
    chosen = np.array(members)
    return Critical(
        jobs=tuple(members),
        release=float(jobs.release[chosen].min()),
        work=float(jobs.duration[chosen].sum()),
        tail=float(jobs.tail[chosen].min()),
    )
