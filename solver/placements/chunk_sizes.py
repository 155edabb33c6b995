"""How long an exchange takes with chunks of each of some sizes, and which is best."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from solver.limits import MAX_SIMULATED_TRANSFERS
from solver.placements.chunks import Key, Layout, chunk_count, lay_out
from solver.placements.exchange_graph import (
    Hosts,
    exchange_graph,
    exchange_us,
    is_idle,
    transfer_count,
)
from solver.units import bytes_per_us

#: A pace takes two halves, of a chunk at least.
_HALVES = 2
#: Times are the same but for this share: of sizes that are as good the smallest is the best.
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class ChunkPoint:
    """An exchange with chunks of one size.

    Attributes
    ----------
    chunk_bytes
        That size.
    exchange_us
        Time of an exchange [us]; None where too few chunks of it could be simulated.
    transfers
        Pushes and pulls of the whole exchange.
    simulated_transfers
        Those of the simulation: where they are fewer, the exchange goes on at the pace of the
        second half of them.
    """

    chunk_bytes: int
    exchange_us: float | None
    transfers: int
    simulated_transfers: int


@dataclass(frozen=True, slots=True)
class ChunkCurve:
    """Exchanges of one placement with chunks of several sizes.

    Attributes
    ----------
    placement
        ``ncc``, ``cc``, ``ncs`` or ``cs``.
    best_chunk_bytes
        The size with the shortest exchange, of equal ones the smallest; None where none is known.
    points
        In the order of the sizes given.
    """

    placement: str
    best_chunk_bytes: int | None
    points: tuple[ChunkPoint, ...]


def chunk_curve(
    keys: Sequence[Key],
    hosts: Hosts,
    gbps: float,
    sizes: Sequence[int],
    most_transfers: int = MAX_SIMULATED_TRANSFERS,
) -> ChunkCurve:
    """Simulate an exchange with chunks of each size.

    Small chunks pay start-ups more often; large ones keep servers and other interfaces waiting
    until they are there, and end last. Chunks have the very size: where that makes more transfers
    than ``most_transfers``, the first chunks that do not are simulated, and half of them; the
    others take as long for each byte as the second half did.

    Parameters
    ----------
    keys
        What is pushed and pulled.
    hosts
        What takes part; how often a transfer that stands for several pays is not looked at.
    gbps
        Bandwidth of each network interface, each direction [Gbit/s]; of servers where the machine
        does not say another.
    sizes
        Of chunks [bytes].
    most_transfers
        Of each simulation.

    References
    ----------
    .. [1] PHub, Sections 3.2.3 and 4.6, Figure 16.
    """
    points = [chunk_point(keys, hosts, gbps, size, most_transfers) for size in sizes]
    known = [(p.exchange_us, p.chunk_bytes) for p in points if p.exchange_us is not None]
    least = min((time for time, _ in known), default=0.0)
    near = [size for time, size in known if time <= least * (1 + _SAME)]
    return ChunkCurve(hosts.placement, min(near, default=None), tuple(points))


def chunk_point(
    keys: Sequence[Key], hosts: Hosts, gbps: float, size: int, most_transfers: int
) -> ChunkPoint:
    """Simulate an exchange with chunks of one size, as :func:`chunk_curve` does."""
    count, each = chunk_count(keys, size), transfer_count(hosts, 1)
    fit = count if not each else min(count, most_transfers // each)
    if fit == count:
        time = _time(keys, hosts, gbps, size)
        return ChunkPoint(size, time, each * count, each * count)
    if fit < _HALVES:
        return ChunkPoint(size, None, each * count, 0)
    first, half = (list(_first(keys, size, n)) for n in (fit, fit // 2))
    longer, shorter = (_time(part, hosts, gbps, size) for part in (first, half))
    total, long, short = (sum(key.bytes for key in part) for part in (keys, first, half))
    pace = (longer - shorter) / (long - short)
    return ChunkPoint(size, longer + pace * (total - long), each * count, each * fit)


def layout_us(layout: Layout, hosts: Hosts, gbps: float) -> float:
    """Time of an exchange at a bandwidth of each direction, that of servers by their machine [us].

    0 where nothing is sent and sums take no time.
    """
    if is_idle(hosts):
        return 0.0
    server = hosts.machine.server_gbps
    of_server = None if server is None else 1 / bytes_per_us(server)
    return exchange_us(exchange_graph(layout, hosts), hosts, 1 / bytes_per_us(gbps), of_server)


def _time(keys: Sequence[Key], hosts: Hosts, gbps: float, chunk_bytes: int) -> float:
    layout = lay_out(keys, chunk_bytes, hosts.server_count, hosts.interfaces, hosts.cores)
    return layout_us(layout, hosts, gbps)


def _first(keys: Sequence[Key], size: int, count: int) -> Iterator[Key]:
    """Keep the first so many chunks of a size."""
    for key in keys:
        own = min(count, -(-key.bytes // size))
        if own:
            yield Key(key.name, min(key.bytes, own * size))
        count -= own
