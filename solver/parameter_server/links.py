"""The links between workers and servers, and how those who are active share them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from solver.parameter_server.steps import UPLINK
from solver.units import bytes_per_us

#: A stream's first service on a link with flow control [bytes]: gRPC's usual HTTP/2 window.
WIN_BYTES = 28_000_000
#: Shares that are so near are the same, up to rounding.
_SAME = 1e-12


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


def fair_shares(active: Sequence[Collection[int]]) -> list[dict[int, float]]:
    """Return the max-min fair share of each active worker on each server's link of a direction.

    All connections rise together; those with an end, a server's interface or a worker's, that is
    full stay where they are.

    Parameters
    ----------
    active
        Of each server the workers that are active on its link.

    Notes
    -----
    O(ends * connections). Of two servers it is what :func:`share` gives.

    References
    ----------
    .. [1] D. Bertsekas, R. Gallager, Data Networks, 1992, section 6.5.2: max-min flow control.
    """
    rates: list[dict[int, float]] = [{} for _ in active]
    rising = {(server, worker) for server, workers in enumerate(active) for worker in workers}
    room = {~worker: 1.0 for _, worker in rising} | {server: 1.0 for server, _ in rising}
    while rising:
        count = dict.fromkeys(room, 0)
        for server, worker in rising:
            count[server] += 1
            count[~worker] += 1
        level = min(room[end] / many for end, many in count.items() if many)
        full = {end for end, many in count.items() if many and room[end] / many <= level + _SAME}
        stayed = {each for each in rising if each[0] in full or ~each[1] in full}
        for server, worker in stayed:
            rates[server][worker] = level
            room[server] -= level
            room[~worker] -= level
        rising -= stayed
    return rates
