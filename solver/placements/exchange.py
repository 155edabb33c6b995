"""One synchronous exchange with parameter servers, simulated: what the formulas leave out."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from solver.costs import Affine, ChannelCost, Network
from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op, build
from solver.limits import MAX_SIMULATED_TRANSFERS
from solver.placements.bandwidth import gbps_of, is_colocated, is_sharded
from solver.placements.chunks import Chunk, Key, Layout, chunk_count, lay_out
from solver.placements.transfers import START, carry, join
from solver.policies.wfbp import wfbp
from solver.simulation.engine import iteration_time

#: A search for a bandwidth runs some ten simulations, of at most 1 / so many of the transfers.
_SEARCH = 8
#: It ends where the exchange takes the batch time, or the bandwidth is known, but for this share.
_CLOSE = 1e-3


@dataclass(frozen=True, slots=True)
class Hosts:
    """What takes part in an exchange.

    Attributes
    ----------
    placement
        One of :data:`solver.costs.PLACEMENTS`.
    workers
        How many.
    servers
        How many where the placement is sharded; it has one otherwise.
    interfaces
        Network interfaces of a host with a server; a host without one has one.
    cores
        Cores of each interface.
    aggregate_gbytes_per_s
        Speed at which a core sums the gradients of all workers and updates the model [10^9 bytes
        of gradients a second]; None when it takes no time.
    """

    placement: str
    workers: int
    servers: int
    interfaces: int = 1
    cores: int = 1
    aggregate_gbytes_per_s: float | None = None

    @property
    def server_count(self) -> int:
        """How many servers there are."""
        return self.servers if is_sharded(self.placement) else 1


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
    time, that time is proportional to 1 / bandwidth, and one simulation is enough. Else the
    bandwidth is searched for, to a thousandth.

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
    searched = hosts.aggregate_gbytes_per_s is not None
    most = most_transfers // (_SEARCH if searched else 1)
    size = simulated_chunk(
        chunk_bytes,
        most,
        max(key.bytes for key in keys),
        lambda size: transfer_count(hosts, chunk_count(keys, size)),
    )
    if size is None:
        return None
    layout = lay_out(keys, size, hosts.server_count, hosts.interfaces, hosts.cores)
    transfers = transfer_count(hosts, len(layout.chunks))
    if transfers:
        graph = exchange_graph(layout, hosts)
        per_byte = _longest(graph, hosts, batch_time_us) if searched else None
        if not searched:
            per_byte = batch_time_us / exchange_us(graph, hosts, 1.0)
        return BatchExchange(None if per_byte is None else gbps_of(2 / per_byte), size, transfers)
    hidden = not searched or exchange_us(exchange_graph(layout, hosts), hosts, 0.0) <= batch_time_us
    return BatchExchange(0.0 if hidden else None, size, 0)


def transfer_count(hosts: Hosts, chunks: int) -> int:
    """Count the pushes and pulls of so many chunks that go over the network."""
    return 2 * chunks * (hosts.workers - is_colocated(hosts.placement))


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


def exchange_us(graph: Graph, hosts: Hosts, per_byte: float) -> float:
    """Time of an exchange whose interfaces take so long for a byte in each direction [us]."""
    rate = hosts.aggregate_gbytes_per_s
    transfer, summing = Affine(0.0, per_byte), Affine(0.0, 1e-3 / rate if rate else 0.0)

    def cost(lane: ChannelCost) -> Affine:
        return summing if lane.kind == ALL_REDUCE else transfer

    return iteration_time(graph, Network(cost), wfbp)


def exchange_graph(layout: Layout, hosts: Hosts) -> Graph:
    """Build one exchange.

    Every worker pushes every chunk, in the order of the keys; when all pushes of a chunk are there,
    its core sums and updates it, and the server sends it to every worker. Channels are first in,
    first out: ``worker3.out``, ``server0.in``, of a host with several interfaces
    ``server0.nic2.in``, and ``server0.nic2.core1`` of a core. Inside a host nothing is sent, and a
    server on a worker's host has that worker's channels.
    """
    ops = [Op(START, COMPUTE, 0.0)]
    workers = range(hosts.workers)
    pushed: list[list[str]] = []
    for c, chunk in enumerate(layout.chunks):
        pushed.append([])
        for w in workers:
            path = _path(hosts, chunk, w)
            pushed[-1] += carry(ops, f"push{c}.{w}", chunk.bytes, path, (START,))
    for c, chunk in enumerate(layout.chunks):
        done = _sum(ops, f"sum{c}", chunk, hosts, tuple(pushed[c]))
        for w in workers:
            path = [_turned(channel) for channel in reversed(_path(hosts, chunk, w))]
            carry(ops, f"pull{c}.{w}", chunk.bytes, path, done)
    return build(hosts.placement, ops)


def _path(hosts: Hosts, chunk: Chunk, worker: int) -> list[str]:
    """Channels of a push; a worker on a server's host uses the chunk's interface there, too."""
    colocated = is_colocated(hosts.placement)
    if colocated and chunk.server == worker:
        return []
    several = f".nic{chunk.interface}" if hosts.interfaces > 1 else ""
    at_worker = several if colocated and worker < hosts.server_count else ""
    return [f"worker{worker}{at_worker}.out", f"{_server(hosts, chunk)}{several}.in"]


def _turned(channel: str) -> str:
    """Return the other direction of an interface."""
    name, _, direction = channel.rpartition(".")
    return f"{name}.{'in' if direction == 'out' else 'out'}"


def _server(hosts: Hosts, chunk: Chunk) -> str:
    return f"{'worker' if is_colocated(hosts.placement) else 'server'}{chunk.server}"


def _sum(
    ops: list[Op], name: str, chunk: Chunk, hosts: Hosts, pushed: tuple[str, ...]
) -> tuple[str, ...]:
    """Sum and update a chunk when all its pushes are there."""
    if hosts.aggregate_gbytes_per_s is None:
        return join(ops, name, pushed)
    core = f"{_server(hosts, chunk)}.nic{chunk.interface}.core{chunk.core}"
    ops.append(Op(name, ALL_REDUCE, None, hosts.workers * chunk.bytes, pushed, core))
    return (name,)


def _longest(graph: Graph, hosts: Hosts, batch_time_us: float) -> float | None:
    """Find the most time per byte [us] at which an exchange ends within a batch time.

    Regula falsi in the time per byte, of which the time of an exchange is nearly a line, with the
    Illinois rule; the end that is kept is one where the exchange was simulated to be in time.
    """
    low, low_spare = 0.0, batch_time_us - exchange_us(graph, hosts, 0.0)
    if low_spare <= 0:
        return None
    alone = replace(hosts, aggregate_gbytes_per_s=math.inf)
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
