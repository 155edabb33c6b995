"""What a program takes where ops and launches take other times, for many such times at once."""

from collections.abc import Callable, Sequence

import numpy as np

from solver.programs.execute import home_of, streams_of
from solver.programs.problem import ProgramProblem, copies_of
from solver.programs.program import COMPUTE, LAUNCH, PACK, WAIT, Program
from solver.units import FloatArray


def drawn_times(
    problem: ProgramProblem,
    program: Program,
    durations: FloatArray,
    launched: Callable[[Sequence[int]], FloatArray],
) -> FloatArray:
    """Simulate a program under each of k draws, as :func:`solver.programs.execute.execute` does.

    Parameters
    ----------
    durations
        Of each op, under each draw [us], of shape (ops, k); what is sent has none.
    launched
        Of the collectives of a bucket, by their positions, the time of its launch under each draw
        [us], of shape (k,).

    Returns
    -------
    array of shape (k,)
        The iteration times [us]. Copies take what they take as stated.

    Notes
    -----
    O((steps + edges) k).
    """
    machine = _DrawnMachine(problem, program, durations, launched)
    for do, what in program.steps:
        machine.take(do, what)
    return machine.last()


class _DrawnMachine:
    """The streams and channels of a rank, and when they are free under each draw."""

    def __init__(
        self,
        problem: ProgramProblem,
        program: Program,
        durations: FloatArray,
        launched: Callable[[Sequence[int]], FloatArray],
    ) -> None:
        graph = problem.graph
        self.problem, self.graph, self.buckets = problem, graph, program.buckets
        self.durations, self.launched = durations, launched
        self.streams = streams_of(graph)
        self.homes = [home_of(graph, self.streams, members) for members in program.buckets]
        self.start = np.zeros(durations.shape[1])
        self.stream_at: dict[int, FloatArray] = {}
        self.channel_at: dict[str, FloatArray] = {}
        self.ended = [self.start] * len(graph.ops)
        self.arrived = [self.start] * len(program.buckets)

    def take(self, do: str, what: int) -> None:
        """Run a step."""
        if do == COMPUTE:
            on = self.streams[what]
            before = [self.ended[j] for j in self.graph.preds[what]]
            begin = self._latest([self.stream_at.get(on, self.start), *before])
            self.stream_at[on] = self.ended[what] = begin + self.durations[what]
        elif do == LAUNCH:
            self._launch(what)
        elif do == WAIT:
            for on in self._near(what, self.graph.succs):
                free = self.stream_at.get(on, self.start)
                self.stream_at[on] = self._latest([free, self.arrived[what]])
            for i in self.buckets[what]:
                self.ended[i] = self.arrived[what]
        else:
            self._copy(do, what)

    def last(self) -> FloatArray:
        """Return when all has ended."""
        free = (*self.stream_at.values(), *self.channel_at.values())
        return self._latest([self.start, *self.ended, *free])

    def _latest(self, times: Sequence[FloatArray]) -> FloatArray:
        found = times[0]
        for each in times[1:]:
            if each is not self.start:
                found = np.maximum(found, each)
        return found

    def _inputs(self, b: int) -> list[FloatArray]:
        return [self.ended[j] for i in self.buckets[b] for j in self.graph.preds[i]]

    def _near(self, b: int, links: Sequence[Sequence[int]]) -> list[int]:
        """Return the home of a bucket and the streams that its members are linked to."""
        found = (self.streams[j] for i in self.buckets[b] for j in links[i])
        return list(dict.fromkeys([self.homes[b], *(stream for stream in found if stream >= 0)]))

    def _launch(self, b: int) -> None:
        channel = self.graph.ops[self.buckets[b][0]].channel
        streams = (self.stream_at.get(on, self.start) for on in self._near(b, self.graph.preds))
        free = self.channel_at.get(channel, self.start)
        begin = self._latest([free, *self._inputs(b), *streams])
        self.channel_at[channel] = self.arrived[b] = begin + self.launched(self.buckets[b])

    def _copy(self, do: str, b: int) -> None:
        home, copies = self.homes[b], copies_of(self.problem, self.buckets[b])
        free = self.stream_at.get(home, self.start)
        if do == PACK:
            self.stream_at[home] = self._latest([free, *self._inputs(b)]) + copies.pack_us
            return
        self.stream_at[home] = free + copies.unpack_us
        for i in self.buckets[b]:
            self.ended[i] = self.stream_at[home]
