"""One iteration as a fluid: work flows out of every op in progress, in exact fractions.

Shares no code with the simulator. Time goes from one change to the next; at each one all that can
end or begin does, before an idle channel chooses, the first one first.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from solver.graph import COMPUTE, Graph


class Unit(NamedTuple):
    """What is sent as one: ids of the tensors, and the time of each part [us]."""

    tensors: tuple[str, ...]
    times: tuple[float, ...]


#: Of the units whose tensors are all released the one to send a part of, or None for none yet.
Choose = Callable[[str, dict[Unit, Fraction]], Unit | None]


class Flow:
    """One iteration: start and end of every op by id, and each part with its start."""

    def __init__(
        self, graph: Graph, units: Sequence[Unit], slowdown: float, choose: Choose
    ) -> None:
        self.after = {op.id: set(op.after) for op in graph.ops}
        last: dict[str, str] = {}
        for op in graph.ops:
            if op.stream is not None:
                self.after[op.id] |= {last[op.stream]} if op.stream in last else set()
                last[op.stream] = op.id
        self.work = {op.id: Fraction(op.duration_us or 0) for op in graph.ops}
        self.computes = {op.id for op in graph.ops if op.kind == COMPUTE}
        self.channel_of = {op.id: op.channel for op in graph.ops if op.kind != COMPUTE}
        self.units, self.choose, self.slowdown = list(units), choose, Fraction(slowdown)
        self.now = Fraction(0)
        self.starts: dict[str, Fraction] = {}
        self.ends: dict[str, Fraction] = {}
        self.released: dict[str, Fraction] = {}
        self.left: dict[str, Fraction] = {}  # work of each compute op in progress
        self.sent: dict[Unit, int] = dict.fromkeys(units, 0)
        self.flying: dict[str, tuple[Unit, Fraction]] = {}
        self.launches: list[tuple[tuple[str, ...], Fraction]] = []
        self._run()

    def _run(self) -> None:
        while True:
            while self._settle() or self._launch():
                pass
            speed = 1 / self.slowdown if self.flying else Fraction(1)
            steps = [work / speed for work in self.left.values()]
            steps += [end - self.now for _, end in self.flying.values()]
            if not steps:
                return
            self.now += min(steps)
            self.left = {op: work - min(steps) * speed for op, work in self.left.items()}

    def _settle(self) -> bool:
        """End and begin what can; tell whether anything did."""
        before = len(self.ends), len(self.starts), len(self.released), len(self.flying)
        for op in [op for op, work in self.left.items() if work == 0]:
            del self.left[op]
            self.ends[op] = self.now
        for channel, (unit, end) in list(self.flying.items()):
            if end == self.now:
                del self.flying[channel]
                if self.sent[unit] == len(unit.times):
                    self.ends |= dict.fromkeys(unit.tensors, self.now)
        for op, others in self.after.items():
            if others <= self.ends.keys():
                if op in self.computes and op not in self.starts:
                    self.starts[op], self.left[op] = self.now, self.work[op]
                elif op not in self.computes:
                    self.released.setdefault(op, self.now)
        return before != (len(self.ends), len(self.starts), len(self.released), len(self.flying))

    def _launch(self) -> bool:
        """Begin a part on the first idle channel that has one; tell whether there was one."""
        for channel in dict.fromkeys(self.channel_of.values()):
            ready = {
                unit: max(self.released[t] for t in unit.tensors)
                for unit in self.units
                if self.channel_of[unit.tensors[0]] == channel
                and self.released.keys() >= set(unit.tensors)
                and self.sent[unit] < len(unit.times)
            }
            unit = self.choose(channel, ready) if channel not in self.flying else None
            if unit is not None:
                end = self.now + Fraction(unit.times[self.sent[unit]])
                self.sent[unit] += 1
                self.flying[channel] = unit, end
                self.launches.append((unit.tensors, self.now))
                for tensor in unit.tensors:
                    self.starts.setdefault(tensor, self.now)
                return True
        return False
