"""What a bandwidth leaves to spare, and with how many workers communication stays hidden."""

from solver.limits import MAX_WORKERS
from solver.placements.bandwidth import bandwidth, summing_us
from solver.placements.exchange_graph import Hosts
from solver.placements.machine import PLAIN, ServerMachine
from solver.placements.resources import busy_us


def most_workers(
    placement: str,
    size: int,
    batch_time_us: float,
    gbps: float,
    servers: int | None = None,
    interfaces: int = 1,
    cores: int = 1,
    aggregate_gbytes_per_s: float | None = None,
    machine: ServerMachine = PLAIN,
) -> int | None:
    """Return the most workers whose communication stays hidden behind their compute.

    By :func:`solver.placements.bandwidth.bandwidth` and
    :func:`solver.placements.bandwidth.summing_us`, which never need less for more
    workers: with N a central server's bandwidth grows without end, that of sharded servers towards
    4M/T (``cs``) or stays 2M/T (``ncs``).

    Parameters
    ----------
    placement
        One of :data:`solver.costs.PLACEMENTS`.
    size
        The model [bytes].
    batch_time_us
        Compute time of a step [us], positive.
    gbps
        Bandwidth of each network interface, both directions summed [Gbit/s].
    servers
        How many a sharded placement has; None for as many as workers.
    interfaces
        Network interfaces of a host with a server; a host without one has one.
    cores
        Of each interface.
    aggregate_gbytes_per_s
        Speed at which a core sums gradients [10^9 bytes a second]; None when it takes no time.
    machine
        What transfers cross on hosts with a server, by
        :func:`solver.placements.resources.busy_us`.

    Returns
    -------
    int or None
        0 where not even one worker is hidden; None where any number is, up to
        :data:`solver.limits.MAX_WORKERS`.

    Notes
    -----
    Twenty evaluations of a formula at most.
    """

    def is_hidden(workers: int) -> bool:
        need = bandwidth(placement, size, batch_time_us, workers, servers, interfaces)
        if machine != PLAIN:
            hosts = Hosts(
                placement,
                workers,
                need.servers,
                interfaces,
                cores,
                aggregate_gbytes_per_s,
                machine,
            )
            return max(busy_us(need, size, hosts, gbps / 2).values()) <= batch_time_us
        summed = summing_us(size, workers, need.servers, interfaces * cores, aggregate_gbytes_per_s)
        return need.gbps <= gbps and summed <= batch_time_us

    low, high = 1, MAX_WORKERS
    if is_hidden(high):
        return None
    if not is_hidden(low):
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        if is_hidden(middle):
            low = middle
        else:
            high = middle
    return low
