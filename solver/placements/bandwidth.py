"""The bandwidth that each placement of parameter servers needs to hide communication."""

from dataclasses import dataclass

from solver.units import bytes_per_us

#: The hosts with a server, those without one, or all hosts alike.
SERVER, WORKER, BOTH = "server", "worker", "both"


@dataclass(frozen=True, slots=True)
class Need:
    """What a placement moves in a step, and the bandwidth that hides it behind the compute.

    Attributes
    ----------
    placement
        One of :data:`solver.costs.PLACEMENTS`.
    servers
        How many there are.
    server_host_bytes
        Sent and received in a step by a host with a server, of shards of equal size [bytes].
    worker_host_bytes
        The same by a host without one; None where each host has one.
    busiest
        Which moves the most: ``server``, ``worker``, or ``both`` where all hosts move the same.
    host_bytes
        What it moves [bytes].
    host_gbps
        Bandwidth of that host over a batch time, both directions summed [Gbit/s].
    gbps
        Bandwidth of each interface, both directions summed [Gbit/s]; with one interface a host it
        is ``host_gbps``.
    """

    placement: str
    servers: int
    server_host_bytes: float
    worker_host_bytes: float | None
    busiest: str
    host_bytes: float
    host_gbps: float
    gbps: float


def is_sharded(placement: str) -> bool:
    """Tell whether the keys are spread over several servers."""
    return placement in {"ncs", "cs"}


def is_colocated(placement: str) -> bool:
    """Tell whether the servers are on hosts of workers."""
    return placement in {"cc", "cs"}


def server_count(placement: str, workers: int, servers: int | None) -> int:
    """Count the servers of a placement.

    Parameters
    ----------
    placement
        One of :data:`solver.costs.PLACEMENTS`; a central one has one server.
    workers
        N: where servers are on workers' hosts, each host has one at most.
    servers
        S of a sharded placement; None for as many as workers.
    """
    if not is_sharded(placement):
        return 1
    wanted = workers if servers is None else servers
    return min(wanted, workers) if is_colocated(placement) else wanted


def bandwidth(
    placement: str,
    size: int,
    batch_time_us: float,
    workers: int,
    servers: int | None = None,
    interfaces: int = 1,
) -> Need:
    """Bandwidth with which a model is sent and received within the time of a batch.

    With a model of M bytes, N workers, S servers and a batch time T, a host with a server moves
    2NM/S where the servers have hosts of their own, and a host without one moves 2M. On a worker's
    host a server adds 2(N-1)M/S to the 2(S-1)M/S of the worker, whose own shard needs no network.
    With S = 1 and S = N these are the four bounds of the paper: NCC 2NM/T, CC 2(N-1)M/T, NCS 2M/T
    and CS 4(N-1)M/(NT). Servers are infinitely fast, and sending, receiving and computing overlap.

    Parameters
    ----------
    placement
        One of :data:`solver.costs.PLACEMENTS`.
    size
        The model [bytes].
    batch_time_us
        Compute time of a step [us], positive.
    workers
        N.
    servers
        S of a sharded placement, as :func:`server_count` takes it.
    interfaces
        Network interfaces of a host with a server; a host without one has one.

    References
    ----------
    .. [1] PHub, Sections 2.1 and 2.3.1, Figure 4, Table 2.
    """
    servers = server_count(placement, workers, servers)
    if is_colocated(placement):
        on_server = 2 * size * (servers - 1 + workers - 1) / servers
        on_worker = 2.0 * size if servers < workers else None
    else:
        on_server = 2 * size * workers / servers
        on_worker = 2.0 * size
    most = on_server if on_worker is None else max(on_server, on_worker)
    per_interface = max(on_server / interfaces, on_worker or 0.0)
    return Need(
        placement=placement,
        servers=servers,
        server_host_bytes=on_server,
        worker_host_bytes=on_worker,
        busiest=_busiest(on_server, on_worker),
        host_bytes=most,
        host_gbps=gbps_of(most / batch_time_us),
        gbps=gbps_of(per_interface / batch_time_us),
    )


def summing_us(
    size: int, workers: int, servers: int, cores: int, aggregate_gbytes_per_s: float | None
) -> float:
    """Bound from below the time in which servers sum the gradients of all workers [us].

    N M bytes over all cores of S servers, at the speed of a core; 0 where that takes no time.

    Parameters
    ----------
    size
        The model [bytes].
    workers, servers
        N, S.
    cores
        Of a server, over all its interfaces.
    aggregate_gbytes_per_s
        Speed of a core [10^9 bytes of gradients a second]; None when it takes no time.
    """
    if aggregate_gbytes_per_s is None:
        return 0.0
    return workers * size / (servers * cores * aggregate_gbytes_per_s * 1e3)


def gbps_of(per_us: float) -> float:
    """Convert bytes per microsecond to Gbit/s."""
    return per_us / bytes_per_us(1.0)


def _busiest(on_server: float, on_worker: float | None) -> str:
    if on_worker is None or on_server == on_worker:
        return BOTH
    return SERVER if on_server > on_worker else WORKER
