"""One iteration as a fluid: work flows out of every op in progress, in exact fractions.

Shares no code with the simulator. Time goes from one change to the next; at each one all that can
end or begin does, before an idle channel chooses, the first one first.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from solver.graph import COMPUTE, Graph


class Unit(NamedTuple):
    """What is sent as one: ids of the tensors, the time of each part alone, its start-up [us]."""

    tensors: tuple[str, ...]
    times: tuple[float, ...]
    startups: tuple[float, ...] = ()


#: Of the units whose tensors are all released the one to send a part of, or None for none yet.
Choose = Callable[[str, dict[Unit, Fraction]], Unit | None]


class Flow:
    """One iteration: start and end of every op by id, and each part with its start and end.

    ``slowdown`` is of ops that state none; ``cards`` are those of channels that have one.
    """

    def __init__(
        self,
        graph: Graph,
        units: Sequence[Unit],
        slowdown: float,
        choose: Choose,
        cards: Mapping[str, str] = MappingProxyType({}),
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
        self.stated = {op.id: op.slowdown for op in graph.ops}
        self.cards = cards
        self.now = Fraction(0)
        self.starts: dict[str, Fraction] = {}
        self.ends: dict[str, Fraction] = {}
        self.released: dict[str, Fraction] = {}
        self.left: dict[str, Fraction] = {}  # work of each compute op in progress
        self.sent: dict[Unit, int] = dict.fromkeys(units, 0)
        self.flying: dict[str, tuple[Unit, list[Fraction]]] = {}  # start-up and rest to come
        self.begun: dict[str, Fraction] = {}
        self.launches: list[tuple[tuple[str, ...], Fraction]] = []
        self.landed: list[tuple[tuple[str, ...], Fraction, Fraction]] = []
        self._run()

    def _run(self) -> None:
        while True:
            while self._settle() or self._launch():
                pass
            speeds = {op: self._speed(op) for op in self.left}
            rates = {channel: self._rate(channel) for channel in self.flying}
            steps = [work / speeds[op] for op, work in self.left.items()]
            steps += [
                (startup or rest / rates[channel])
                for channel, (_, (startup, rest)) in self.flying.items()
            ]
            if not steps:
                return
            step = min(steps)
            self.now += step
            self.left = {op: work - step * speeds[op] for op, work in self.left.items()}
            for channel, (_, left) in self.flying.items():
                if left[0]:
                    left[0] -= step
                else:
                    left[1] -= step * rates[channel]

    def _speed(self, op: str) -> Fraction:
        """What gets done of a compute op in a microsecond."""
        stated = self.stated[op]
        if stated is None:
            return 1 / self.slowdown if self.flying else Fraction(1)
        return min([1 / Fraction(f) for c, f in stated if c in self.flying] + [Fraction(1)])

    def _rate(self, channel: str) -> Fraction:
        """What gets done of the bytes of a launch in a microsecond."""
        card = self.cards.get(channel)
        others = [c for c, (_, left) in self.flying.items() if not left[0] and c != channel]
        return Fraction(1, 1 + sum(card is not None and self.cards.get(c) == card for c in others))

    def _settle(self) -> bool:
        """End and begin what can; tell whether anything did."""
        before = len(self.ends), len(self.starts), len(self.released), len(self.flying)
        for op in [op for op, work in self.left.items() if work == 0]:
            del self.left[op]
            self.ends[op] = self.now
        for channel, (unit, left) in list(self.flying.items()):
            if not any(left):
                del self.flying[channel]
                self.landed.append((unit.tensors, self.begun[channel], self.now))
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
                part = self.sent[unit]
                startup = Fraction(unit.startups[part] if unit.startups else 0)
                self.flying[channel] = unit, [startup, Fraction(unit.times[part]) - startup]
                self.begun[channel] = self.now
                self.sent[unit] += 1
                self.launches.append((unit.tensors, self.now))
                for tensor in unit.tensors:
                    self.starts.setdefault(tensor, self.now)
                return True
        return False
