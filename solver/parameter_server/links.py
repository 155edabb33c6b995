"""The links between workers and servers, and how those who are active share them."""

from collections.abc import Collection
from dataclasses import dataclass

from solver.parameter_server.steps import UPLINK
from solver.units import bytes_per_us

#: A stream's first service on a link with flow control [bytes]: gRPC's usual HTTP/2 window.
WIN_BYTES = 28_000_000


@dataclass(frozen=True, slots=True)
class ServerLinks:
    """The network between workers and servers.

    Attributes
    ----------
    bandwidth_gbps
        Of each server's interface and of each worker's, in each direction [Gbit/s].
    win_bytes
        Most bytes of a stream's first service; it then waits behind the streams that are ready,
        and its second service runs to its end. None without flow control: streams run whole.
    uplink_speed, downlink_speed
        In one direction the bandwidth is so many times that, of both ends.
    """

    bandwidth_gbps: float
    win_bytes: int | None = WIN_BYTES
    uplink_speed: float = 1.0
    downlink_speed: float = 1.0


def rate_of(name: str, links: ServerLinks) -> float:
    """Return how much a link carries [bytes/us], by its name.

    Of a worker or of a server's cores it is a number that counts nowhere.
    """
    rate = bytes_per_us(links.bandwidth_gbps)
    return rate * (links.uplink_speed if name.startswith(UPLINK) else links.downlink_speed)


def share(active: Collection[int], beside: Collection[int]) -> float:
    """Return the share of a server's link that each active worker has.

    Parameters
    ----------
    active
        Workers active on the link, one at least.
    beside
        Workers active on the other server's link of the same direction.
    """
    (*_, last) = active
    if len(active) > 1 or last not in beside:
        return 1 / len(active)
    return 1 - 1 / len(beside) if len(beside) > 1 else 0.5
