"""The critical path: what ran, or waited, at each moment of what made the iteration this long."""

from collections.abc import Iterable
from dataclasses import dataclass

from solver.chain import Chain
from solver.costs import Network
from solver.graph import COMPUTE, Graph
from solver.simulation.contention import is_contended
from solver.simulation.engine import Timeline, costs_of
from solver.units import same

#: Kind of a step in which nothing on the path ran.
WAIT = "wait"

#: Why a step did not start earlier: nothing is before it; an op that it comes after; the op before
#: it in its stream; the launch before it on its channel; the policy's rule held it back.
START, AFTER, STREAM, CHANNEL, POLICY = "start", "after", "stream", "channel", "policy"


@dataclass(frozen=True, slots=True)
class PathStep:
    """One piece of the critical path.

    Attributes
    ----------
    kind
        ``compute``, the kind of a collective, or ``wait``; of a program also ``pack`` and
        ``unpack``, and no ``wait``.
    ops
        Id of the compute op, or ids of the bucket's tensors, sent or waiting.
    start_us, end_us
        When it ran; a step starts exactly where the one before it ends.
    reason
        Why it did not start earlier: ``start``, ``after``, ``stream``, ``channel`` or ``policy``.
        A wait has the reason of what follows it. Of a program ``wait``: its stream waited for the
        launch before it, which it does not come after.
    channel
        Of a part and of a wait.
    part
        Number of the part in its bucket, from 1.
    slowed_us
        How much longer it took than alone [us]: compute beside communication, a launch beside
        others on its network card; 0 without contention, and of a wait.
    """

    kind: str
    ops: tuple[str, ...]
    start_us: float
    end_us: float
    reason: str
    channel: str | None = None
    part: int | None = None
    slowed_us: float = 0.0


def critical_path(
    graph: Graph, chain: Chain, network: Network, timeline: Timeline
) -> tuple[PathStep, ...]:
    """Walk back from the last end to time 0, always along what came last.

    A compute op starts with the latest end among its predecessors. A part starts with its bucket's
    release, which is the end of the latest predecessor of any member, or with the end of the launch
    before it on its channel, or later when its policy's rule so decides: the time in between is a
    wait. The steps cover the iteration without gap or overlap. An op of 0 us on the path is a step
    too. Of equal ends the smaller position counts, and a release before a free channel.

    Parameters
    ----------
    graph, chain, network
        What ran, its tensors, and over what.
    timeline
        One simulated iteration of it.

    Returns
    -------
    tuple of Step
        In time order; from 0 to the iteration time.

    Notes
    -----
    O(ops + edges + launches).
    """
    walk = _CauseWalk(graph, chain, network, timeline)
    steps: list[PathStep] = []
    here: int | None = timeline.ends.index(timeline.iteration_time)
    while here is not None:
        found, here = walk.back(here)
        steps += found
    return tuple(reversed(steps))


class _CauseWalk:
    """Finds what an op's end came from."""

    def __init__(self, graph: Graph, chain: Chain, network: Network, timeline: Timeline) -> None:
        self._graph = graph
        self._chain = chain
        self._timeline = timeline
        self._costs = costs_of(chain, network) if is_contended(graph, network) else None
        self._positions = chain.positions.tolist()
        self._last: dict[int, int] = {}  # the launch with which a collective, by position, ends
        self._previous: list[int | None] = []  # the launch before each on its channel
        self._part: list[int] = []
        self._gates: dict[tuple[int, ...], int | None] = {}
        on_channel: dict[str, int] = {}
        parts: dict[tuple[int, ...], int] = {}
        for k, launch in enumerate(timeline.launches):
            channel = chain.lanes[chain.lane[launch.bucket[0]]].channel
            self._previous.append(on_channel.get(channel))
            on_channel[channel] = k
            self._part.append(parts.get(launch.bucket, 0) + 1)
            parts[launch.bucket] = self._part[-1]
            self._last |= {self._positions[i]: k for i in launch.bucket}

    def back(self, op: int) -> tuple[list[PathStep], int | None]:
        """Return the steps that end with an op, the last one first, and the op they came after."""
        if op not in self._last:
            return self._compute(op)
        steps: list[PathStep] = []
        at: int | None = self._last[op]
        while at is not None:
            bucket, start, end, _, size = self._timeline.launches[at]
            gate, previous = self._gate(bucket), self._previous[at]
            ready = 0.0 if gate is None else self._timeline.ends[gate]
            free = 0.0 if previous is None else self._timeline.launches[previous].end
            since = max(ready, free)
            reason = CHANNEL if ready < free else START if gate is None else AFTER
            number = self._chain.lane[bucket[0]]
            lane = self._chain.lanes[number]
            alone = self._costs[number].time(size) if self._costs else end - start
            slowed = _longer(start, end, alone)
            tensors = tuple(self._graph.ops[self._positions[i]].id for i in bucket)
            is_held_back = start > since
            why = POLICY if is_held_back else reason
            part = self._part[at]
            steps.append(PathStep(lane.kind, tensors, start, end, why, lane.channel, part, slowed))
            if is_held_back:
                steps.append(PathStep(WAIT, tensors, since, start, POLICY, lane.channel))
            at = previous if ready < free else None
        return steps, gate

    def _compute(self, op: int) -> tuple[list[PathStep], int | None]:
        gate = self._latest(self._graph.preds[op])
        compute_op = self._graph.ops[op]
        reason = START
        if gate is not None:
            reason = AFTER if self._graph.ops[gate].id in compute_op.after else STREAM
        start, end = self._timeline.starts[op], self._timeline.ends[op]
        alone = self._graph.durations[op] if self._costs else end - start
        slowed = _longer(start, end, alone)
        return [PathStep(COMPUTE, (compute_op.id,), start, end, reason, slowed_us=slowed)], gate

    def _gate(self, bucket: tuple[int, ...]) -> int | None:
        """Position of the op whose end released a bucket; None when nothing is before it."""
        if bucket not in self._gates:
            preds = (j for i in bucket for j in self._graph.preds[self._positions[i]])
            self._gates[bucket] = self._latest(preds)
        return self._gates[bucket]

    def _latest(self, ops: Iterable[int]) -> int | None:
        ends = self._timeline.ends
        return max(ops, key=lambda j: (ends[j], -j), default=None)


def _longer(start: float, end: float, alone: float) -> float:
    """How much longer than alone it took; 0 within the tolerance."""
    return 0.0 if same(end, start + alone) else end - start - alone
