"""What limits an exchange on a machine: how long each of its resources is busy."""

from solver.placements.bandwidth import Need
from solver.placements.exchange_graph import Hosts
from solver.units import bytes_per_us

#: Resources of an exchange, in the order in which ties go.
RESOURCES = ("worker_interfaces", "server_interfaces", "pcie", "memory", "cores")


def busy_us(need: Need, size: int, hosts: Hosts, gbps: float) -> dict[str, float]:
    """Bound an exchange from below by how long each resource of the busiest host is busy [us].

    Shards are of equal size, and nothing waits. On the servers' interfaces, both directions at
    once, half of what their hosts send and receive; on the links inside them all of it; on memory
    what cores read and write as well. Start-ups are left out, and so are waits of wide sums.

    Parameters
    ----------
    need
        What the placement moves.
    size
        The model [bytes].
    hosts
        The same placement, with its machine.
    gbps
        Bandwidth of an interface, each direction [Gbit/s]; of a server where the machine does not
        say another.
    """
    machine, shard = hosts.machine, size / need.servers
    sums, updates = machine.memory_passes()
    on_server, on_worker = need.server_host_bytes, need.worker_host_bytes or 0.0
    crossing = on_server + shard * (sums * hosts.workers + updates)
    of_server = bytes_per_us(machine.server_gbps or gbps) * hosts.interfaces
    rate, update = hosts.aggregate_gbytes_per_s, machine.update_gbytes_per_s
    cores = hosts.interfaces * hosts.cores * 1e3
    summing = shard * hosts.workers / (rate * cores) if rate else 0.0
    updating = shard / (update * cores) if update else 0.0
    return {
        "worker_interfaces": on_worker / (2 * bytes_per_us(gbps)),
        "server_interfaces": on_server / (2 * of_server),
        "pcie": on_server * machine.link_per_byte_us("pcie"),
        "memory": crossing * machine.link_per_byte_us("memory"),
        "cores": summing + updating,
    }


def limiting(busy: dict[str, float]) -> str:
    """Name the resource that is busy for the longest."""
    return max(RESOURCES, key=lambda name: busy[name])
