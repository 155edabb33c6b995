"""One rank's time as a line of compute ops, cut where collectives are released and waited for.

All streams of a GPU make one line: where any of them runs it is busy, and where none does the
host holds it up. What lies between two cuts becomes two ops, one of each kind, however many
kernels it was. A wait for a collective is no time of the line's own and is left out.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from typing import NamedTuple

from solver.graph import COMPUTE, Op
from solver.graph.names import HOST
from solver.traces.kineto.recording import DeviceWork


class LineCut(NamedTuple):
    """A cut of the line; of one time, in the order of rank.

    Attributes
    ----------
    at
        Time of the recording [us].
    rank
        Releases 0, waits 1, what runs instead of a piece of the line 2, names of phases 3.
    release
        A collective that is released here; what the line has done until then is added to its
        ``after``, and collectives there that are released later are passed over.
    wait
        Ids of collectives that what follows waits for; those released later are passed over.
    skip
        Until when the recorded time is left out [us]; times may be negative.
    insert
        What runs here instead.
    phase
        What the ops that follow are called.
    """

    at: float
    rank: int
    release: Op | None = None
    wait: tuple[str, ...] = ()
    skip: float = -inf
    insert: Op | None = None
    phase: str = ""


class Busy:
    """When at least one stream runs [us]."""

    def __init__(self, works: Iterable[DeviceWork]) -> None:
        self.starts: list[float] = []
        self.ends: list[float] = []
        for work in sorted(works):
            if self.ends and work.start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], work.end)
            else:
                self.starts.append(work.start)
                self.ends.append(work.end)
        lengths = (end - start for start, end in zip(self.starts, self.ends, strict=True))
        self._until = [0.0, *accumulate(lengths)]

    def before(self, at: float) -> float:
        """Return how long it was busy until a time [us]."""
        i = bisect_right(self.starts, at)
        return self._until[i] - (max(self.ends[i - 1] - at, 0.0) if i else 0.0)

    def idle_since(self, at: float, first: float) -> float:
        """Return when what ran last before ``at`` ended, or ``at``; ``first`` if nothing did."""
        i = bisect_left(self.starts, at)
        return min(self.ends[i - 1], at) if i else first


@dataclass(slots=True)
class ComputeLine:
    """The ops made so far.

    Attributes
    ----------
    busy
        When the GPU runs.
    stream
        Name of the stream that does most of it.
    ops
        The result.
    """

    busy: Busy
    stream: str
    ops: list[Op] = field(default_factory=list)
    _last: tuple[str, ...] = ()
    _phase: str = ""
    _count: dict[str, int] = field(default_factory=dict)
    _released: set[str] = field(default_factory=set)

    def run(self, begin: float, end: float, marks: Sequence[LineCut]) -> None:
        """Append the line from one time to another, cut at its marks."""
        now = begin
        for mark in sorted(marks, key=lambda mark: mark[:2]):
            if mark.at > now:
                self._append(now, mark.at)
                now = mark.at
            if mark.release is not None:
                known = (name for name in mark.release.after if name in self._released)
                after = tuple(dict.fromkeys((*self._last, *known)))
                self.ops.append(mark.release._replace(after=after))
                self._released.add(mark.release.id)
            waits = tuple(name for name in mark.wait if name in self._released)
            self._last = tuple(dict.fromkeys(self._last + waits))
            if mark.insert is not None:
                self.ops.append(mark.insert._replace(after=self._last))
                self._last = (mark.insert.id,)
            self._phase = mark.phase or self._phase
            now = max(now, mark.skip)
        self._append(now, end)

    def _append(self, begin: float, end: float) -> None:
        work = round(self.busy.before(end) - self.busy.before(begin), 3)
        rest = round(end - begin - work, 3)
        if max(work, rest) <= 0:
            return
        number = self._count[self._phase] = self._count.get(self._phase, 0) + 1
        name = f"{self._phase} {number}"
        for op, stream, time in ((name, self.stream, work), (f"{name} host", HOST, rest)):
            if time > 0:
                self.ops.append(Op(op, COMPUTE, time, None, self._last, stream=stream))
                self._last = (op,)
