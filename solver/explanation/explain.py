"""Why an iteration takes as long as it does."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from solver.chain import Chain, chain_of
from solver.costs import Cost, Network, scale
from solver.explanation.critical import PathStep, critical_path
from solver.explanation.usage import Usage, usage
from solver.graph import COMPUTE, Graph
from solver.simulation.engine import Timeline, costs_of
from solver.units import FloatArray


@dataclass(frozen=True, slots=True)
class TensorTimes:
    """What became of one tensor.

    Attributes
    ----------
    id, kind, channel, bytes
        The collective.
    release_us
        When all that it comes after has ended.
    start_us, end_us
        First start and last end of its bucket's launches.
    wait_us
        From its release to the first launch of its bucket, and between the launches.
    exposed_us
        Its share, by bytes, of the time in which its bucket's launches run and no compute op does.
    """

    id: str
    kind: str
    channel: str
    bytes: int
    release_us: float
    start_us: float
    end_us: float
    wait_us: float
    exposed_us: float


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Where the time of communication goes, in the four phases of OSF.

    A bucket communicates from the release of its first member to its end. The four add up to the
    sum of that over all buckets.

    Attributes
    ----------
    negotiate_us
        The least time of each launch, whatever it carries: start-up and steps.
    all_reduce_us
        The rest of the launches, of any kind: bandwidth and reduction, and on a shared network card
        what others take of it.
    wait_us
        A member is ready, but the bucket waits for other members, or is released and its channel
        is busy with others.
    other_us
        The bucket is released and its channel idle: what a policy's rule adds, such as the ticks
        of a cycle or an order that waits for something else.

    References
    ----------
    .. [1] OSF, Section 3.3, Decomposing Communication Time. Its MISC (copies, waiting) is what
           remains here too.
    """

    negotiate_us: float
    wait_us: float
    all_reduce_us: float
    other_us: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one simulated iteration did.

    Attributes
    ----------
    critical_path
        Steps from 0 to the iteration time.
    tensors
        In the order of the graph.
    breakdown
        The time of all communication by phase.
    channels
        Their use over time.
    """

    critical_path: tuple[PathStep, ...]
    tensors: tuple[TensorTimes, ...]
    breakdown: Breakdown
    channels: tuple[Usage, ...]


def explain(graph: Graph, network: Network, timeline: Timeline, bins: int = 100) -> Explanation:
    """Explain a timeline of a graph that the simulator made, without noise.

    Parameters
    ----------
    graph, network
        What was simulated.
    timeline
        The result.
    bins
        Into how many equal bins the use of the channels is summed, at least 1.

    Notes
    -----
    O((ops + launches) log(ops + launches) + edges), beside :func:`solver.chain.chain_of`.
    """
    chain = chain_of(graph)
    return Explanation(
        critical_path(graph, chain, network, timeline),
        tensor_times(graph, chain, timeline),
        breakdown(graph, chain, costs_of(chain, network), timeline),
        usage(chain, timeline, bins),
    )


def tensor_times(graph: Graph, chain: Chain, timeline: Timeline) -> tuple[TensorTimes, ...]:
    """Tell of each tensor when it was ready, sent, and not hidden by compute.

    Exposed is what profilers count: communication runs and no compute does [1]_. Two channels may
    be exposed at once, and compute may wait elsewhere, so the sum need be neither the time in which
    only communication runs nor iteration time - compute time.

    References
    ----------
    .. [1] Holistic Trace Analysis, Communication Computation Overlap.
    """
    computing = [i for i, op in enumerate(graph.ops) if op.kind == COMPUTE]
    spans = [(timeline.starts[i], timeline.ends[i]) for i in computing]
    bare = _uncovered(spans, timeline.iteration_time)
    times = np.array([(launch.start, launch.end) for launch in timeline.launches])
    exposed: dict[tuple[int, ...], float] = {}
    channel_time: dict[tuple[int, ...], float] = {}
    sizes: dict[tuple[int, ...], int] = {}
    for launch, (before, after) in zip(timeline.launches, bare(times).tolist(), strict=True):
        bare_time = max(0.0, after - before)
        exposed[launch.bucket] = exposed.get(launch.bucket, 0.0) + bare_time
        channel_time[launch.bucket] = (
            channel_time.get(launch.bucket, 0.0) + launch.end - launch.start
        )
        sizes[launch.bucket] = sizes.get(launch.bucket, 0) + launch.bytes
    home = {i: bucket for bucket in sizes for i in bucket}
    times_of_tensors = []
    for i, position in sorted(enumerate(chain.positions.tolist()), key=lambda at: at[1]):
        op, bucket, lane = graph.ops[position], home[i], chain.lanes[chain.lane[i]]
        size = int(chain.bytes[i])
        release, end = _release(graph, timeline, position), timeline.ends[position]
        wait = max(0.0, end - release - channel_time[bucket])
        share = exposed[bucket] * (size / sizes[bucket])
        start = timeline.starts[position]
        times_of_tensors.append(
            TensorTimes(op.id, lane.kind, lane.channel, size, release, start, end, wait, share)
        )
    return tuple(times_of_tensors)


def breakdown(graph: Graph, chain: Chain, costs: Sequence[Cost], timeline: Timeline) -> Breakdown:
    """Split the time of all buckets in phases; see :class:`Breakdown`."""
    positions = chain.positions.tolist()
    least = [scale(cost, bandwidth=math.inf) for cost in costs]
    spans: dict[str, list[tuple[float, float]]] = {channel: [] for channel in chain.channels}
    channel_time: dict[tuple[int, ...], float] = {}
    negotiate = all_reduce = waits = other = 0.0
    for launch in timeline.launches:
        lane, time = chain.lane[launch.bucket[0]], launch.end - launch.start
        spans[chain.lanes[lane].channel].append((launch.start, launch.end))
        channel_time[launch.bucket] = channel_time.get(launch.bucket, 0.0) + time
        fixed = min(least[lane].time(launch.bytes), time)
        negotiate += fixed
        all_reduce += time - fixed
    idle = {c: _uncovered(found, timeline.iteration_time) for c, found in spans.items()}
    for bucket, time in channel_time.items():
        releases = [_release(graph, timeline, positions[i]) for i in bucket]
        end = timeline.ends[positions[bucket[0]]]
        before, after = idle[chain.lanes[chain.lane[bucket[0]]].channel](
            np.array([max(releases), end])
        ).tolist()
        held_back = max(0.0, after - before)
        other += held_back
        waits += max(0.0, end - min(releases) - time - held_back)
    return Breakdown(negotiate, waits, all_reduce, other)


def _release(graph: Graph, timeline: Timeline, position: int) -> float:
    return max((timeline.ends[j] for j in graph.preds[position]), default=0.0)


def _uncovered(
    spans: Iterable[tuple[float, float]], horizon: float
) -> Callable[[FloatArray], FloatArray]:
    """Return the function of t <= horizon that tells how much of [0, t] is in none of the spans."""
    inside = np.array(sorted(spans)).reshape(-1, 2)
    reach = np.maximum.accumulate(np.append(0.0, inside[:, 1]))
    opens, closes = reach, np.maximum(reach, np.append(inside[:, 0], horizon))
    so_far = np.cumsum(closes - opens)
    knots = np.column_stack([opens, closes]).ravel()
    values = np.column_stack([so_far - (closes - opens), so_far]).ravel()
    return lambda times: np.interp(times, knots, values)
