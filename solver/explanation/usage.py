"""How busy each channel is, over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from solver.chain import Chain
from solver.simulation.engine import Timeline
from solver.units import FloatArray, bytes_per_us

#: Shorter bins are not made [us]: bytes over their length would not be a number.
_SHORTEST = 1e-9


class Carried(NamedTuple):
    """A launch on a channel [us]."""

    start: float
    end: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What one channel carries in an iteration.

    Attributes
    ----------
    channel
        Its name.
    busy_us
        Time in which a launch holds it, start-ups included.
    bytes
        Sizes of the tensors that it carries, whatever an algorithm makes of them on the wire.
    launches
        How many.
    busy
        Share of each bin in which it is held, 0..1. The bins are equal and cover the iteration;
        none when they would be shorter than a femtosecond.
    gbps
        Bytes of each bin over its length [Gbit/s of 10^9 bits].
    """

    channel: str
    busy_us: float
    bytes: int
    launches: int
    busy: tuple[float, ...]
    gbps: tuple[float, ...]


def usage(chain: Chain, timeline: Timeline, bins: int = 100) -> tuple[Usage, ...]:
    """Add up the launches of each channel, in all and by bin.

    A launch's bytes are spread evenly over its time; those of a launch that takes no time fall in
    the bin that it ends, or is in. O(launches + channels bins).

    Parameters
    ----------
    chain, timeline
        One simulated iteration and its tensors.
    bins
        How many equal bins, at least 1.
    """
    by_channel: dict[str, list[Carried]] = {channel: [] for channel in chain.channels}
    for launch in timeline.launches:
        channel = chain.lanes[chain.lane[launch.bucket[0]]].channel
        by_channel[channel].append(Carried(launch.start, launch.end, launch.bytes))
    return usage_of(by_channel, timeline.iteration_time, bins)


def usage_of(
    by_channel: Mapping[str, Sequence[Carried]], iteration_time: float, bins: int
) -> tuple[Usage, ...]:
    """Add up what each channel carries in an iteration, one launch after another."""
    count = bins if iteration_time >= bins * _SHORTEST else 0
    edges = np.linspace(0.0, iteration_time, count + 1)
    return tuple(_usage(channel, found, edges) for channel, found in by_channel.items())


def _usage(channel: str, launches: Sequence[Carried], edges: FloatArray) -> Usage:
    sizes = [launch.bytes for launch in launches]
    times = np.array([(launch.start, launch.end) for launch in launches])
    durations = times[:, 1] - times[:, 0]
    busy = _by_bin(times, durations, edges)
    rate = _by_bin(times, np.array(sizes, dtype=np.float64), edges) / bytes_per_us(1.0)
    return Usage(
        channel,
        float(durations.sum()),
        sum(sizes),
        len(launches),
        tuple(busy.tolist()),
        tuple(rate.tolist()),
    )


def _by_bin(times: FloatArray, amounts: FloatArray, edges: FloatArray) -> FloatArray:
    """Spread each launch's amount over its time; return the amount per time in each bin."""
    done = np.cumsum(amounts)
    so_far = np.column_stack([done - amounts, done])
    at = np.interp(edges[1:], times.ravel(), so_far.ravel())  # a jump counts at its own time
    return np.diff(at, prepend=0.0) / np.diff(edges)
