"""What tensors were part of in a timeline, and what a file holds of them."""

from itertools import pairwise
from statistics import median
from typing import NamedTuple

from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER
from solver.limits import MAX_WORKERS
from solver.traces.cut_files import CutFile

#: What Horovod calls its operations, of those that a step repeats.
KINDS = {
    "ALLREDUCE": ALL_REDUCE,
    "ADASUM": ALL_REDUCE,
    "ALLGATHER": ALL_GATHER,
    "REDUCESCATTER": REDUCE_SCATTER,
    "ALLTOALL": ALL_TO_ALL,
}


class Activity(NamedTuple):
    """A part of an operation [us]; ``is_operation`` of the collective itself."""

    name: str
    start: float
    end: float
    is_operation: bool


class OperatedSpan(NamedTuple):
    """When a collective itself began and ended [us]."""

    start: float
    end: float


class TensorLaunch(NamedTuple):
    """A tensor's part in one operation; times in us as the file counts them.

    Attributes
    ----------
    tensor
        Its name.
    operation
        Horovod's word: ``ALLREDUCE``.
    ready
        When the negotiation began: the first rank was ready, or this one where it was cached.
    ranks
        When each rank said that it was ready, in the order in which they did; empty when cached.
    decided
        When the negotiation was over.
    start, end
        Of the operation, everything around it included.
    activities
        Its parts, by start.
    bytes
        Of the result; None where the file does not say. ``MAX_BYTES + 1`` stands for all that is
        more than a graph takes.
    run
        Launches of which the operation began together have the same number; None without one.
    """

    tensor: str
    operation: str
    ready: float
    ranks: tuple[tuple[int, float], ...]
    decided: float
    start: float
    end: float
    activities: tuple[Activity, ...]
    bytes: int | None
    run: int | None

    @property
    def time(self) -> float:
        """How long the collective itself ran [us]."""
        return sum(part.end - part.start for part in self.activities if part.is_operation)

    @property
    def operated(self) -> OperatedSpan:
        """When the collective itself ran; when the whole did where it has no part."""
        parts = [part for part in self.activities if part.is_operation]
        first, last = (parts[0], parts[-1]) if parts else (self, self)
        return OperatedSpan(first.start, last.end)


class HorovodTimeline(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    launches
        By when they were ready, those at once in the order of the file.
    cycles
        When Horovod's cycles began [us]; empty where they are not marked.
    highest_rank
        Of those that said they were ready; None where none did.
    repaired
        One sentence for each thing that was put right.
    cut
        How the file was cut off in the middle of an event; None where it was not.
    """

    launches: tuple[TensorLaunch, ...]
    cycles: tuple[float, ...]
    highest_rank: int | None
    repaired: tuple[str, ...]
    cut: CutFile | None = None

    @property
    def cycle(self) -> float | None:
        """Median time between two cycles [us]; None where they are not marked."""
        gaps = self._gaps()
        return median(gaps) if gaps else None

    @property
    def cycle_time(self) -> float | None:
        """What the loop sleeps to, HOROVOD_CYCLE_TIME [us]: its shortest cycle; None likewise."""
        return min(self._gaps(), default=None)

    def _gaps(self) -> list[float]:
        return [after - before for before, after in pairwise(self.cycles)]

    @property
    def workers(self) -> int | None:
        """How many there are by the ranks; None where none is named, or more than can be."""
        if self.highest_rank is None or self.highest_rank >= MAX_WORKERS:
            return None
        return self.highest_rank + 1
