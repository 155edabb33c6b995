"""The fastest links that are known: no launch takes less time than they need.

What is above them is no measurement of a network: times of calls on the CPU, bytes of another
unit. The table is generous, so that nobody's hardware is refused.
"""

from typing import NamedTuple

from solver.costs.algorithms.stepwise import ring_effort
from solver.graph import ALL_REDUCE
from solver.units import bytes_per_us


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
