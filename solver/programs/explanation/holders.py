"""What held each step of a run, and when each launch could have started at the earliest."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from solver.programs.execute import ProgramRun
from solver.programs.machine import home_of, streams_of
from solver.programs.problem import ProgramProblem, copies_of
from solver.programs.program import COMPUTE, LAUNCH, PACK, WAIT, Program

#: Why a step started no earlier: nothing is before it; what it comes after had not ended; its
#: channel carried another launch; its stream ran what was asked for before it; its stream waited
#: for a launch that it does not come after.
START, AFTER, CHANNEL, STREAM, HELD = "start", "after", "channel", "stream", "wait"


class Holder(NamedTuple):
    """What a step started right after.

    Attributes
    ----------
    step
        Place of a step that ended when this one started; None where this one started at 0.
    why
        ``start``, ``after``, ``channel``, ``stream`` or ``wait``.
    asked
        Place of the step by which the host held it: ``step``, or the wait for it.
    """

    step: int | None
    why: str
    asked: int | None


class Earliest(NamedTuple):
    """Where in a program a launch may be asked for at the earliest, the rest left as it is.

    Attributes
    ----------
    place
        It may come before the step at this place, not before the one before that.
    start
        When it would start then [us]; from no later place it starts earlier.
    """

    place: int
    start: float


@dataclass(frozen=True, slots=True)
class Holds:
    """What held the steps of a program, and its launches.

    Attributes
    ----------
    holders
        Of each step; of a wait the launch that it is for.
    earliest
        Of each bucket.
    """

    holders: tuple[Holder, ...]
    earliest: tuple[Earliest, ...]


def holds_of(problem: ProgramProblem, program: Program, run: ProgramRun) -> Holds:
    """Find what each step started right after, by the rules of the simulator.

    Of several that ended at that instant, what the step comes after counts first, then its channel,
    then its stream; of these the first in the graph. The time of a step depends on the steps before
    it alone, so a launch that is asked for earlier starts no later, and right after the last of its
    inputs it starts as early as it can.

    Parameters
    ----------
    run
        What :func:`solver.programs.execute.execute` made of the program.

    Notes
    -----
    O(steps + edges).
    """
    walk = _HolderWalk(problem, program, run)
    for place in range(len(program.steps)):
        walk.step(place)
    return Holds(tuple(walk.holders), tuple(walk.earliest))


class _HolderWalk:
    """Goes through a program and remembers by which step each stream and channel is held."""

    def __init__(self, problem: ProgramProblem, program: Program, run: ProgramRun) -> None:
        self._problem, self._program, self._spans = problem, program, run.spans
        graph = self._graph = problem.graph
        streams = streams_of(graph)
        self._streams = streams
        self._homes = [home_of(graph, streams, members) for members in program.buckets]
        self._preds = [
            tuple(dict.fromkeys(j for i in members for j in graph.preds[i]))
            for members in program.buckets
        ]
        self._feeds: dict[int, list[int]] = {}
        for b, preds in enumerate(self._preds):
            for j in preds:
                self._feeds.setdefault(j, []).append(b)
        self._missing = [len(preds) for preds in self._preds]
        self._done: dict[int, int] = {}  # the step with which an op ended
        self._stream: dict[int, tuple[int, int]] = {}  # who holds it, and the host's step for that
        self._channel: dict[str, int] = {}
        self._launched: dict[int, int] = {}
        self._packed: dict[int, int] = {}
        self.holders: list[Holder] = []
        self.earliest = [Earliest(0, self._start(b)) for b in range(len(program.buckets))]

    def step(self, place: int) -> None:
        """Find the holder of the step at a place, and let the step hold what it holds."""
        do, what = self._program.steps[place]
        if do == COMPUTE:
            on = self._streams[what]
            self.holders.append(self._last(self._inputs(self._graph.preds[what]), on=(on,)))
            self._stream[on] = place, place
            self._end([what], place)
            return
        home, members = self._homes[what], self._program.buckets[what]
        if do == PACK:
            self.holders.append(self._last(self._inputs(self._preds[what]), on=(home,)))
            self._stream[home], self._packed[what] = (place, place), place
        elif do == LAUNCH:
            after = [self._packed[what]] if what in self._packed else []
            after += self._inputs(self._preds[what])
            self.holders.append(self._last(after, self._name(what), self._around(what)))
            self._channel[self._name(what)] = self._launched[what] = place
        elif do == WAIT:
            launch = self._launched[what]
            self.holders.append(Holder(launch, AFTER, launch))
            for on in self._behind(what):
                if on not in self._stream or self._at(self._stream[on][0]) < self._at(launch):
                    self._stream[on] = launch, place
            if len(members) == 1:
                self._end(members, launch, place)
        else:
            self.holders.append(self._last([self._launched[what]], on=(home,)))
            self._stream[home] = place, place
            self._end(members, place)

    def _at(self, step: int) -> float:
        return self._spans[step].end

    def _name(self, b: int) -> str:
        return self._graph.ops[self._program.buckets[b][0]].channel

    def _inputs(self, preds: Iterable[int]) -> list[int]:
        return [self._done[j] for j in preds]

    def _around(self, b: int) -> list[int]:
        """Streams of whatever a launch waits for: its home, and those of its inputs."""
        near = [self._homes[b], *(self._streams[j] for j in self._preds[b])]
        return [on for on in dict.fromkeys(near) if on >= 0]

    def _behind(self, b: int) -> list[int]:
        """Streams that a wait holds: the home, and those of the consumers."""
        succs = [j for i in self._program.buckets[b] for j in self._graph.succs[i]]
        near = [self._homes[b], *(self._streams[j] for j in succs)]
        return [on for on in dict.fromkeys(near) if on >= 0]

    def _last(self, after: Iterable[int], channel: str = "", on: Iterable[int] = ()) -> Holder:
        found = [Holder(step, AFTER, step) for step in after]
        if channel in self._channel:
            step = self._channel[channel]
            found.append(Holder(step, CHANNEL, step))
        for stream in on:
            if stream in self._stream:
                step, asked = self._stream[stream]
                why = HELD if self._program.steps[step].do == LAUNCH else STREAM
                found.append(Holder(step, why, asked))
        last = max(found, key=lambda each: self._at(each.step or 0), default=None)
        return last if last and self._at(last.step or 0) > 0 else Holder(None, START, None)

    def _end(self, ops: Iterable[int], step: int, place: int | None = None) -> None:
        for i in ops:
            self._done[i] = step
            for b in self._feeds.get(i, ()):
                self._missing[b] -= 1
                if self._missing[b] == 0:
                    here = (step if place is None else place) + 1
                    self.earliest[b] = Earliest(here, self._start(b))

    def _start(self, b: int) -> float:
        """When a bucket's launch would start if it were asked for now."""

        def free(streams: Iterable[int]) -> float:
            known = (self._stream[on][0] for on in streams if on in self._stream)
            return max((self._at(step) for step in known), default=0.0)

        inputs = [self._at(self._done[j]) for j in self._preds[b] if j in self._done]
        ready = max(inputs, default=0.0)
        members, channel = self._program.buckets[b], self._name(b)
        if len(members) > 1:
            ready = max(ready, free([self._homes[b]]))
            ready += copies_of(self._problem, members).pack_us
        carried = self._at(self._channel[channel]) if channel in self._channel else 0.0
        return max(ready, free(self._around(b)), carried)
