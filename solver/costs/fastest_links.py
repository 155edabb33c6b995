"""The fastest links that are known, and the slowest: what is beyond is no measurement of a network.

Faster than any are times of calls on the CPU, or bytes of another unit; slower than any are times
of another unit, or of launches that hung. The limits are generous, so that nobody's hardware is
refused.
"""

from typing import NamedTuple

from solver.costs.algorithms.stepwise import ring_effort
from solver.graph import ALL_REDUCE
from solver.units import bytes_per_us

#: The bandwidth of the slowest network [Gbit/s]: the 10 Mbit/s that Ethernet began with (IEEE
#: 802.3).
SLOWEST_GBPS = 0.01

#: In 1 ns light goes 0.3 m: nothing comes from one device to another in less [us].
SHORTEST_LAUNCH_US = 1e-3


class FastestLink(NamedTuple):
    """What the fastest way between workers carries.

    Attributes
    ----------
    name
        Of the link, with where its figure is from.
    gbps
        A worker's bandwidth each way [Gbit/s].
    workers
        The most that it connects; None where there is no such number.
    """

    name: str
    gbps: float
    workers: int | None


#: By the workers that they connect, fewest first. NVIDIA states 3.6 TB/s for the NVLink 6 of a GPU,
#: both ways together, and domains of up to 576 GPUs; and 1.6 Tbit/s of ConnectX-9 for each GPU, of
#: which a ring through a node of eight can use all.
FASTEST_LINKS = (
    FastestLink("NVLink 6", 14_400.0, 576),
    FastestLink("eight times 1.6 Tbit/s of ConnectX-9 in a node", 12_800.0, None),
)


def fastest_link(workers: int) -> FastestLink:
    """Return the fastest link of a channel with so many workers."""
    return next(link for link in FASTEST_LINKS if link.workers is None or workers <= link.workers)


def least_us_per_byte(workers: int, kind: str) -> float:
    """Return how long a byte of a launch takes at least over the fastest link [us].

    Parameters
    ----------
    workers
        That share the channel, 2 or more.
    kind
        Of collective. The bytes of an all-reduce pass a link once, where switches add; those of
        any other kind as in a ring.
    """
    passes = 1.0 if kind == ALL_REDUCE else ring_effort(workers, kind).passes
    return passes / bytes_per_us(fastest_link(workers).gbps)


def most_us_per_byte(workers: int, kind: str) -> float:
    """Return how long a byte of a launch takes at most, over the slowest network [us].

    Parameters
    ----------
    workers, kind
        As of :func:`least_us_per_byte`; the bytes of any kind pass a link as in a ring.
    """
    return ring_effort(workers, kind).passes / bytes_per_us(SLOWEST_GBPS)
