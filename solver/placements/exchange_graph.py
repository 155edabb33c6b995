"""One synchronous exchange with parameter servers, as a graph of its transfers and sums."""

from dataclasses import dataclass

from solver.costs import Affine, ChannelCost, Network
from solver.graph import COMPUTE, Graph, Op, build
from solver.placements.bandwidth import is_colocated, is_sharded
from solver.placements.chunks import Chunk, Layout
from solver.placements.machine import PLAIN, ServerMachine
from solver.placements.sums import Summing, do_sums_take_time, paid, server_cost, sum_on
from solver.placements.transfers import START, carry
from solver.policies.wfbp import wfbp
from solver.simulation.engine import iteration_time

#: The other direction of an interface.
_OTHER = {"out": "in", "in": "out"}


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
    machine
        What transfers pay besides their bytes, and cross.
    paid_bytes
        A transfer pays its start-up and its queue pair once for each so many bytes, where it stands
        for several; None for once.
    """

    placement: str
    workers: int
    servers: int
    interfaces: int = 1
    cores: int = 1
    aggregate_gbytes_per_s: float | None = None
    machine: ServerMachine = PLAIN
    paid_bytes: int | None = None

    @property
    def server_count(self) -> int:
        """How many servers there are."""
        return self.servers if is_sharded(self.placement) else 1

    @property
    def are_times_per_byte(self) -> bool:
        """Whether nothing but interfaces takes time, and these by bytes alone."""
        machine = self.machine
        paid_once = machine.startup_us or machine.queue_pair_us
        return not (paid_once or machine.links or do_sums_take_time(self))


def transfer_count(hosts: Hosts, chunks: int) -> int:
    """Count the pushes and pulls of so many chunks that go over the network."""
    return 2 * chunks * (hosts.workers - is_colocated(hosts.placement))


def is_idle(hosts: Hosts) -> bool:
    """Tell whether an exchange has nothing that takes time: no transfer, no sum, no memory."""
    is_summing = do_sums_take_time(hosts) or hosts.machine.memory_gbytes_per_s is not None
    return not (transfer_count(hosts, 1) or is_summing)


def exchange_us(
    graph: Graph, hosts: Hosts, per_byte: float, server_per_byte: float | None = None
) -> float:
    """Time of an exchange [us].

    Parameters
    ----------
    graph
        Of :func:`exchange_graph`.
    hosts
        The same.
    per_byte
        Of an interface in each direction [us].
    server_per_byte
        The same of hosts with a server [us]; None for that of the others.
    """
    of_server = per_byte if server_per_byte is None else server_per_byte

    def cost(lane: ChannelCost) -> Affine:
        return _cost(hosts, lane, per_byte, of_server)

    return iteration_time(graph, Network(cost), wfbp)


def exchange_graph(layout: Layout, hosts: Hosts) -> Graph:
    """Build one exchange.

    Every worker pushes every chunk, in the order of the keys; when all pushes of a chunk are there,
    its core sums and updates it, and the server sends it to every worker. Channels are first in,
    first out: ``worker3.out``, ``server0.in``, of a host with several interfaces
    ``server0.nic2.in``, and ``server0.nic2.core1`` of a core. Inside a host nothing is sent, and a
    server on a worker's host has that worker's channels.

    What leaves or enters a host with a server crosses the links of its machine, too,
    ``server0.pcie`` and ``server0.memory``; the second also carries what sums and updates read and
    write. Where aggregation is wide all cores of a server are one channel, ``server0.cores``.
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
        done = sum_on(ops, f"sum{c}", chunk, _server(hosts, chunk), pushed[c], hosts)
        for w in workers:
            path = [_turned(channel) for channel in reversed(_path(hosts, chunk, w))]
            carry(ops, f"pull{c}.{w}", chunk.bytes, path, done)
    return build(hosts.placement, ops)


def transfer_cost(hosts: Summing, per_byte: float, peers: int, *, is_sender: bool) -> Affine:
    """Time of an interface with so many peers, which starts transfers where it sends them."""
    machine = hosts.machine
    startup = machine.fetch_us(peers) + (machine.startup_us if is_sender else 0.0)
    return paid(hosts, startup, per_byte)


def _cost(hosts: Hosts, lane: ChannelCost, per_byte: float, server_per_byte: float) -> Affine:
    host, *_, part = lane.channel.split(".")
    if (inside := server_cost(hosts, lane)) is not None:
        return inside
    has_server = _has_server(hosts, host)
    rate = server_per_byte if has_server else per_byte
    return transfer_cost(hosts, rate, _peers(hosts, has_server=has_server), is_sender=part == "out")


def _peers(hosts: Hosts, *, has_server: bool) -> int:
    """Count what an interface has queue pairs with: workers, and the interfaces of servers.

    A worker on a server's host reaches other servers by the interface that their chunk is on.
    """
    if not has_server:
        return hosts.server_count * hosts.interfaces
    if not is_colocated(hosts.placement):
        return hosts.workers
    return hosts.workers - 1 + hosts.server_count - 1


def _has_server(hosts: Hosts, host: str) -> bool:
    if host.startswith("server"):
        return True
    return is_colocated(hosts.placement) and int(host.removeprefix("worker")) < hosts.server_count


def _path(hosts: Hosts, chunk: Chunk, worker: int) -> list[str]:
    """Channels of a push; a worker on a server's host uses the chunk's interface there, too."""
    colocated = is_colocated(hosts.placement)
    if colocated and chunk.server == worker:
        return []
    several = f".nic{chunk.interface}" if hosts.interfaces > 1 else ""
    at_worker, own = "", f"worker{worker}"
    links = hosts.machine.links
    left: list[str] = []
    if colocated and worker < hosts.server_count:
        at_worker, left = several, [f"{own}.{link}" for link in reversed(links)]
    server = _server(hosts, chunk)
    entered = [f"{server}.{link}" for link in links]
    return [*left, f"{own}{at_worker}.out", f"{server}{several}.in", *entered]


def _turned(channel: str) -> str:
    """Return the other direction of an interface; a link has one for both."""
    name, _, part = channel.rpartition(".")
    return f"{name}.{_OTHER.get(part, part)}"


def _server(hosts: Hosts, chunk: Chunk) -> str:
    return f"{'worker' if is_colocated(hosts.placement) else 'server'}{chunk.server}"
