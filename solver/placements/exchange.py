"""One synchronous exchange with parameter servers, simulated: what the formulas leave out."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from solver.graph import Graph
from solver.limits import MAX_SIMULATED_TRANSFERS
from solver.placements.bandwidth import gbps_of
from solver.placements.chunks import Key, chunk_count, lay_out
from solver.placements.exchange_graph import (
    Hosts,
    exchange_graph,
    exchange_us,
    is_idle,
    transfer_count,
)
from solver.placements.machine import PLAIN

#: A search for a bandwidth runs some ten simulations, of at most 1 / so many of the transfers.
_SEARCH = 8
#: It ends where the exchange takes the batch time, or the bandwidth is known, but for this share.
_CLOSE = 1e-3


@dataclass(frozen=True, slots=True)
class BatchExchange:
    """The bandwidth at which a simulated exchange takes the time of a batch.

    Attributes
    ----------
    gbps
        Of each interface, both directions summed [Gbit/s]; None where summing and updating alone
        take longer.
    chunk_bytes
        Size of a chunk in the simulation: the smallest multiple of the chunk size that makes no
        more transfers than a simulation may, or an eighth of them where the bandwidth has to be
        searched for.
    transfers
        Pushes and pulls that it makes over the network.
    """

    gbps: float | None
    chunk_bytes: int
    transfers: int


def exchange(
    keys: Sequence[Key],
    hosts: Hosts,
    batch_time_us: float,
    chunk_bytes: int,
    most_transfers: int = MAX_SIMULATED_TRANSFERS,
) -> BatchExchange | None:
    """Find the bandwidth at which one exchange takes the time of a batch.

    All gradients exist at time 0 and leave in the order of the keys. Where only transfers take
    time, by their bytes, that time is proportional to 1 / bandwidth, and one simulation is enough.
    Else the bandwidth is searched for, to a thousandth. All interfaces are alike: those of servers
    have the bandwidth that is searched for, whatever the machine says of them.

    Returns
    -------
    Exchange or None
        None where the keys alone make too many transfers to simulate.

    Notes
    -----
    Never below the formula's bandwidth, and near it where chunks are small beside the model: of K
    chunks of one size c, 2 (N + S) + 4 chunk times at most go by while the pipeline fills, empties
    and runs over shards that differ by a chunk, with N workers and S servers of one interface each.

    References
    ----------
    .. [1] PHub, Sections 2.3.1 and 3.2.4.
    """
    searched = not hosts.are_times_per_byte
    most = most_transfers // (_SEARCH if searched else 1)
    size = simulated_chunk(
        chunk_bytes,
        most,
        max(key.bytes for key in keys),
        lambda size: transfer_count(hosts, chunk_count(keys, size)),
    )
    if size is None:
        return None
    if size > chunk_bytes:
        hosts = replace(hosts, paid_bytes=chunk_bytes)
    layout = lay_out(keys, size, hosts.server_count, hosts.interfaces, hosts.cores)
    transfers = transfer_count(hosts, len(layout.chunks))
    if transfers:
        graph = exchange_graph(layout, hosts)
        per_byte = _longest(graph, hosts, batch_time_us) if searched else None
        if not searched:
            per_byte = batch_time_us / exchange_us(graph, hosts, 1.0)
        return BatchExchange(None if per_byte is None else gbps_of(2 / per_byte), size, transfers)
    hidden = is_idle(hosts) or exchange_us(exchange_graph(layout, hosts), hosts, 0) <= batch_time_us
    return BatchExchange(0.0 if hidden else None, size, 0)


def simulated_chunk(
    chunk_bytes: int, most: int, largest: int, count: Callable[[int], int]
) -> int | None:
    """Return the smallest multiple of a chunk size with so many transfers at most [bytes].

    ``count`` says how many a size makes, not more than a smaller one does; nothing is larger than
    ``largest``. None where no size makes so few.
    """
    low, high = 1, -(-largest // chunk_bytes)
    if count(high * chunk_bytes) > most:
        return None
    while low < high:
        middle = (low + high) // 2
        if count(middle * chunk_bytes) <= most:
            high = middle
        else:
            low = middle + 1
    return low * chunk_bytes


def _longest(graph: Graph, hosts: Hosts, batch_time_us: float) -> float | None:
    """Find the most time per byte [us] at which an exchange ends within a batch time.

    Regula falsi in the time per byte, of which the time of an exchange is nearly a line, with the
    Illinois rule; the end that is kept is one where the exchange was simulated to be in time.
    """
    low, low_spare = 0.0, batch_time_us - exchange_us(graph, hosts, 0.0)
    if low_spare <= 0:
        return None
    alone = replace(hosts, aggregate_gbytes_per_s=math.inf, machine=PLAIN)
    high = batch_time_us / exchange_us(graph, alone, 1.0)
    high_spare = batch_time_us - exchange_us(graph, hosts, high)
    if high_spare >= 0:
        return high
    weights = [low_spare, high_spare]
    while low_spare > _CLOSE * batch_time_us and high - low > _CLOSE * high:
        middle = (low * weights[1] - high * weights[0]) / (weights[1] - weights[0])
        spare = batch_time_us - exchange_us(graph, hosts, middle)
        if spare >= 0:
            low, low_spare = middle, spare
            weights = [spare, weights[1] / 2]
        else:
            high = middle
            weights = [weights[0] / 2, spare]
    return low
