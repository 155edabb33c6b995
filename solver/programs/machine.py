"""The streams and channels of a rank, and when each step of a program runs on them.

Times are numbers, or arrays of what they are under each of many draws.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from solver.graph import COMPUTE as COMPUTE_KIND
from solver.graph import Graph
from solver.graph.links import Positions
from solver.programs.problem import ProgramProblem, copies_of
from solver.programs.program import COMPUTE, LAUNCH, PACK, WAIT, Program

#: A number, or an array.
Time = TypeVar("Time", bound=Any)


class Machine(Generic[Time]):
    """The streams and channels of a rank, and when they are free.

    Parameters
    ----------
    start
        When the program begins [us].
    durations
        Of each op [us].
    launched
        What a launch of the collectives at some positions takes [us].
    latest
        The latest of some times.
    """

    def __init__(
        self,
        problem: ProgramProblem,
        program: Program,
        start: Time,
        durations: Sequence[Time],
        launched: Callable[[Sequence[int]], Time],
        latest: Callable[[list[Time]], Time],
    ) -> None:
        graph = problem.graph
        self.problem, self.graph, self.buckets = problem, graph, program.buckets
        self.durations, self.launched, self.latest = durations, launched, latest
        self.streams = streams_of(graph)
        self.homes = [home_of(graph, self.streams, members) for members in program.buckets]
        self.stream_at: dict[int, Time] = defaultdict(lambda: start)
        self.channel_at: dict[str, Time] = defaultdict(lambda: start)
        self.ended: list[Time] = [start] * len(graph.ops)
        self.arrived: list[Time] = [start] * len(program.buckets)

    def take(self, do: str, what: int) -> tuple[Time, Time]:
        """Run a step; return when it begins and ends [us]."""
        if do == COMPUTE:
            return self._compute(what)
        if do == LAUNCH:
            return self._launch(what)
        if do == WAIT:
            return self._wait(what)
        copies = copies_of(self.problem, self.buckets[what])
        if do == PACK:
            return self._copy(what, self._inputs(what), copies.pack_us)
        begin, end = self._copy(what, [], copies.unpack_us)
        for i in self.buckets[what]:
            self.ended[i] = end
        return begin, end

    def _inputs(self, b: int) -> list[Time]:
        """Return when each thing that a bucket sends is written."""
        return [self.ended[j] for i in self.buckets[b] for j in self.graph.preds[i]]

    def _near(self, b: int, links: Positions) -> list[int]:
        """Return the home of a bucket and the streams that its members are linked to."""
        found = (self.streams[j] for i in self.buckets[b] for j in links[i])
        return list(dict.fromkeys([self.homes[b], *(stream for stream in found if stream >= 0)]))

    def _compute(self, i: int) -> tuple[Time, Time]:
        on = self.streams[i]
        begin = self.latest([self.stream_at[on], *(self.ended[j] for j in self.graph.preds[i])])
        self.stream_at[on] = self.ended[i] = begin + self.durations[i]
        return begin, self.ended[i]

    def _copy(self, b: int, after: list[Time], time: float) -> tuple[Time, Time]:
        home = self.homes[b]
        begin = self.latest([self.stream_at[home], *after])
        self.stream_at[home] = begin + time
        return begin, self.stream_at[home]

    def _launch(self, b: int) -> tuple[Time, Time]:
        channel = self.graph.ops[self.buckets[b][0]].channel
        streams = (self.stream_at[on] for on in self._near(b, self.graph.preds))
        begin = self.latest([self.channel_at[channel], *self._inputs(b), *streams])
        self.channel_at[channel] = self.arrived[b] = begin + self.launched(self.buckets[b])
        return begin, self.arrived[b]

    def _wait(self, b: int) -> tuple[Time, Time]:
        end, begin = self.arrived[b], self.stream_at[self.homes[b]]
        for on in self._near(b, self.graph.succs):
            self.stream_at[on] = self.latest([self.stream_at[on], end])
        for i in self.buckets[b]:
            self.ended[i] = end
        return begin, self.latest([begin, end])


def streams_of(graph: Graph) -> list[int]:
    """Return the stream of each op by number; an op without has its own, a collective has -1."""
    names: dict[str, int] = {}
    numbers = []
    for i, op in enumerate(graph.ops):
        if op.kind != COMPUTE_KIND:
            numbers.append(-1)
        elif op.stream is None:
            numbers.append(len(graph.ops) + i)
        else:
            numbers.append(names.setdefault(op.stream, len(names)))
    return numbers


def home_of(graph: Graph, streams: list[int], members: tuple[int, ...]) -> int:
    """Return the stream on which a bucket is packed and unpacked."""
    for links in (graph.succs, graph.preds):
        near = [j for i in members for j in links[i] if streams[j] >= 0]
        if near:
            return streams[min(near)]
    return next(stream for stream in streams if stream >= 0)
