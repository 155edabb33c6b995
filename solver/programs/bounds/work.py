"""How long a set of ops keeps its stream or channel busy, however its collectives are fused.

A stream is busy with each of its ops for the op's duration. On a channel a bucket of n bytes takes
T(n). What follows is never above what all buckets of a set J of collectives of one lane take, and
the largest of it counts (MODEL.md section 16.2):

- the least time of launches that carry the bytes of J;
- for a line a + c n <= T(n): c times the bytes of J, and a for each of J on a chain. A chain is
  what one path of the graph has of the lane: of two collectives one
  comes after the other, so they are never in one bucket;
- the time by itself of each of J on the chain.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from solver.costs import ChannelCost
from solver.graph import COMPUTE
from solver.programs.problem import ProgramProblem, lane_of
from solver.units import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class FusableOps:
    """The ops of a resource that may be fused with each other: all of a stream, a lane's.

    Attributes
    ----------
    lines
        Times that each member adds at least [us], the sets of members alike; 0 for those of other
        parts.
    bytes
        Of all members, 0 for those of other parts.
    least
        Least time of launches of so many bytes [us]; None on a stream.
    carries
        Whether a member is one of this part.
    minorants
        (start-up a [us], c [us per byte]) of lines a + c n that no launch of n bytes is below.
    """

    lines: tuple[FloatArray, ...]
    bytes: IntArray
    carries: tuple[bool, ...]
    least: Callable[[IntArray], FloatArray] | None = None
    minorants: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Resource:
    """A stream or a channel: one thing at a time.

    Attributes
    ----------
    members
        Positions of its ops, ascending.
    parts
        Lanes of a channel, one part of a stream.
    """

    members: IntArray
    parts: tuple[FusableOps, ...]

    def work(self, places: IntArray, masks: FloatArray) -> FloatArray:
        """Least time [us] of what is counted at each place of an order and later.

        Parameters
        ----------
        places
            Of some members, in that order.
        masks
            1 where a member counts; a row for each set, a column for each place.
        """
        total = np.zeros(masks.shape)
        for part in self.parts:
            best = np.zeros(masks.shape)
            for times in part.lines:
                best = np.maximum(best, _from_here_on(masks * times[places]))
            if part.least is not None:
                sizes = _from_here_on(masks * part.bytes[places]).astype(np.int64)
                best = np.maximum(best, part.least(sizes))
            total += best
        return total


def _from_here_on(rows: FloatArray) -> FloatArray:
    """Sum each row from every place to its end."""
    return np.cumsum(rows[:, ::-1], axis=1)[:, ::-1]


def additive_times(resource: Resource) -> list[float]:
    """Return the time of each member, so that any set takes the sum of its own at least [us]."""
    lines = [max(part.lines, key=lambda line: float(line.sum())) for part in resource.parts]
    return [float(sum(line[k] for line in lines)) for k in range(len(resource.members))]


def resources_of(problem: ProgramProblem) -> list[Resource]:
    """List the streams of several ops, then the channels; O(ops + edges) for each lane."""
    graph = problem.graph
    streams: dict[str, list[int]] = {}
    channels: dict[str, list[int]] = {}
    for i, op in enumerate(graph.ops):
        if op.kind != COMPUTE:
            channels.setdefault(op.channel, []).append(i)
        elif op.stream is not None:
            streams.setdefault(op.stream, []).append(i)
    found = []
    for members in streams.values():
        times = np.array([graph.durations[i] for i in members])
        part = FusableOps((times,), np.zeros(len(members), dtype=np.int64), (True,) * len(members))
        found.append(Resource(np.array(members), (part,)))
    for members in channels.values():
        lanes: dict[ChannelCost, list[int]] = {}
        for place, i in enumerate(members):
            lanes.setdefault(lane_of(graph, i), []).append(place)
        parts = tuple(_part(problem, lane, members, places) for lane, places in lanes.items())
        found.append(Resource(np.array(members), parts))
    return found


def _part(
    problem: ProgramProblem, lane: ChannelCost, members: Sequence[int], places: Sequence[int]
) -> FusableOps:
    """Say what the collectives of a lane take."""
    graph, cost = problem.graph, problem.network(lane)
    sizes = np.zeros(len(members), dtype=np.int64)
    for place in places:
        sizes[place] = graph.ops[members[place]].bytes or 0
    own = [members[place] for place in places]
    # of all buckets together, not of one: the least of so many bytes is asked for
    least = cost.least(int(sizes.sum()))
    alone = np.zeros(len(members))
    alone[places] = least(sizes[places])
    chain = np.zeros(len(members))
    weights = dict(zip(own, alone[places].tolist(), strict=True))
    on_chain = _longest(problem, weights)
    chain[[place for place in places if members[place] in on_chain]] = 1.0
    minorants = tuple(cost.minorants(most_bytes(problem, own)))
    lines = [chain * alone, *(a * chain + c * sizes for a, c in minorants)]
    own_places = set(places)
    carries = tuple(place in own_places for place in range(len(members)))
    return FusableOps(tuple(lines), sizes, carries, least, minorants)


def most_bytes(problem: ProgramProblem, lane: Sequence[int]) -> int:
    """Return the most bytes that a bucket of these collectives can have."""
    sizes = [problem.graph.ops[i].bytes or 0 for i in lane]
    limit = problem.limits.bucket_bytes
    return sum(sizes) if limit is None else min(sum(sizes), max(limit, *sizes, 0))


def _longest(problem: ProgramProblem, weights: dict[int, float]) -> set[int]:
    """Return which of these ops the path has that is the longest by their weights alone."""
    graph = problem.graph
    ends = [0.0] * len(graph.ops)
    back = [-1] * len(graph.ops)
    for i in graph.order:
        for j in graph.preds[i]:
            if ends[j] > ends[i]:
                ends[i], back[i] = ends[j], j
        ends[i] += weights.get(i, 0.0)
    here = max(range(len(ends)), key=lambda i: (ends[i], -i))
    path = set()
    while here >= 0:
        if here in weights:
            path.add(here)
        here = back[here]
    return path
