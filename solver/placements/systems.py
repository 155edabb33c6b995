"""Whole systems beside each other: servers with their software, and collectives without any."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from solver.limits import MAX_SIMULATED_TRANSFERS
from solver.placements.bandwidth import server_count
from solver.placements.chunk_sizes import chunk_point, layout_us
from solver.placements.chunks import CHUNK_BYTES, Chunk, Key, Layout
from solver.placements.collectives import COLLECTIVES, can_run, collective_us, message_count
from solver.placements.exchange_graph import Hosts, transfer_count
from solver.placements.machine import PLAIN, TALL, WIDE, ServerMachine

#: PHub on a box of its own; PHub's software on each worker; MXNet's servers on each worker.
PBOX, PSHARD, MXNET = "pbox", "pshard", "mxnet"
SYSTEMS = (PBOX, PSHARD, MXNET, *COLLECTIVES)

#: MXNet spreads a key of so many bytes or more over all servers.
BIG_KEY_BYTES = 4_000_000
#: By which it spreads the others.
_MULTIPLIER = 9973


@dataclass(frozen=True, slots=True)
class Rack:
    """Workers, and what their servers would be made of.

    Attributes
    ----------
    workers
        How many.
    gbps
        Bandwidth of each network interface, each direction [Gbit/s]; of the box where the machine
        does not say another.
    servers
        How many of the workers' hosts have a server; None for all.
    interfaces
        Network interfaces of the box; a worker has one.
    cores
        Cores of each interface, of the box and of workers.
    aggregate_gbytes_per_s
        Speed at which a core sums gradients [10^9 bytes of them a second]; None when it takes no
        time.
    machine
        What transfers pay besides their bytes, and cross, on hosts with a server.
    chunk_bytes
        Size that PHub cuts keys to.
    """

    workers: int
    gbps: float
    servers: int | None = None
    interfaces: int = 1
    cores: int = 1
    aggregate_gbytes_per_s: float | None = None
    machine: ServerMachine = PLAIN
    chunk_bytes: int = CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class SystemTime:
    """What a step takes with a system.

    Attributes
    ----------
    system
        ``pbox``, ``pshard``, ``mxnet``, or an all-reduce of Gloo.
    placement
        Where its servers are; None of collectives, which have none.
    hosts
        Workers, and the box where there is one.
    exchange_us
        An exchange, or an all-reduce and the update after it [us]; None where it was not simulated:
        too many transfers, or workers that are no power of two.
    step_us
        The longer of compute and exchange [us].
    speedup
        The step of the first system named over this one's: how many times as fast it is.
    transfers
        Pushes and pulls, or messages.
    simulated_transfers
        Those of the simulation: where they are fewer, the exchange goes on at its pace.
    """

    system: str
    placement: str | None
    hosts: int
    exchange_us: float | None
    step_us: float | None
    speedup: float | None
    transfers: int
    simulated_transfers: int


class _Exchange(NamedTuple):
    """Time of an exchange [us], its transfers, and those simulated."""

    time: float | None
    transfers: int
    simulated: int


def compare_systems(
    keys: Sequence[Key],
    batch_time_us: float,
    rack: Rack,
    systems: Sequence[str],
    most_transfers: int = MAX_SIMULATED_TRANSFERS,
) -> tuple[SystemTime, ...]:
    """Simulate an exchange of each system on the same workers.

    ``pbox`` is one server on a host of its own, with all its interfaces, cores and links; chunks of
    ``chunk_bytes`` are summed tall. ``pshard`` is the same software on the workers' hosts, sharded.
    ``mxnet`` has its servers there, too, with its own placement of keys, summed wide. Gloo's
    all-reduces have no servers. All gradients exist at time 0, which is what the paper takes for
    Gloo as well; a step computes and exchanges at once, and takes the longer of the two.

    Returns
    -------
    tuple
        In the order of ``systems``.

    References
    ----------
    .. [1] PHub, Sections 3.2, 3.3, 4.3 and 5, Figures 12, 13, 15 and 20.
    """
    found = [(name, _exchange(keys, rack, name, most_transfers)) for name in systems]
    steps = [None if e.time is None else max(batch_time_us, e.time) for _, e in found]
    times = []
    for (name, exchange), step in zip(found, steps, strict=True):
        first = steps[0]
        times.append(
            SystemTime(
                system=name,
                placement={PBOX: "ncc", PSHARD: "cs", MXNET: "cs"}.get(name),
                hosts=rack.workers + (name == PBOX),
                exchange_us=exchange.time,
                step_us=step,
                speedup=None if step is None or first is None else first / step,
                transfers=exchange.transfers,
                simulated_transfers=exchange.simulated,
            )
        )
    return tuple(times)


def mxnet_layout(keys: Sequence[Key], servers: int) -> Layout:
    """Place keys as MXNet does.

    A key of :data:`BIG_KEY_BYTES` or more is cut into as many even parts as there are servers, one
    for each; another goes whole to one server, by the number of its key, 9973 k mod S. Keys are
    numbered as they are given.

    References
    ----------
    .. [1] apache/mxnet, src/kvstore/kvstore_dist.h. .. [2] PHub, Section 3.2.3.
    """
    chunks = []
    for k, key in enumerate(keys):
        if key.bytes < BIG_KEY_BYTES:
            chunks.append(Chunk(k, key.bytes, k * _MULTIPLIER % servers, 0, 0))
            continue
        ends = [key.bytes * (s + 1) // servers for s in range(servers)]
        sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        chunks += [Chunk(k, size, s, 0, 0) for s, size in enumerate(sizes) if size]
    return Layout(BIG_KEY_BYTES, tuple(chunks), ())


def hosts_of(rack: Rack, system: str) -> Hosts:
    """Return the hosts that a system runs on; those of collectives have no servers."""
    machine = replace(rack.machine, aggregation=WIDE if system == MXNET else TALL)
    if system == PBOX:
        return Hosts(
            "ncc",
            rack.workers,
            1,
            rack.interfaces,
            rack.cores,
            rack.aggregate_gbytes_per_s,
            machine,
        )
    servers = server_count("cs", rack.workers, rack.servers)
    machine = replace(machine, server_gbps=None)
    rate = rack.aggregate_gbytes_per_s
    return Hosts("cs", rack.workers, servers, 1, rack.cores, rate, machine)


def _exchange(keys: Sequence[Key], rack: Rack, system: str, most_transfers: int) -> _Exchange:
    hosts = hosts_of(rack, system)
    if system in COLLECTIVES:
        count = message_count(system, rack.workers)
        if count > most_transfers or not can_run(system, rack.workers):
            return _Exchange(None, count, 0)
        time = collective_us(system, sum(key.bytes for key in keys), hosts, rack.gbps)
        return _Exchange(time, count, count)
    if system == MXNET:
        layout = mxnet_layout(keys, hosts.server_count)
        count = transfer_count(hosts, len(layout.chunks))
        if count > most_transfers:
            return _Exchange(None, count, 0)
        return _Exchange(layout_us(layout, hosts, rack.gbps), count, count)
    point = chunk_point(keys, hosts, rack.gbps, rack.chunk_bytes, most_transfers)
    return _Exchange(point.exchange_us, point.transfers, point.simulated_transfers)
