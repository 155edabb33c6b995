"""How a server sums and updates chunks: which ops of which channels, and what these cost."""

from collections.abc import Sequence
from typing import Protocol

from solver.costs import Affine, ChannelCost
from solver.graph import ALL_REDUCE, BROADCAST, REDUCE_SCATTER, Op
from solver.placements.chunks import Chunk
from solver.placements.machine import LINKS, WIDE, ServerMachine
from solver.placements.transfers import join

#: Kinds of the ops of cores: summing gradients, updating the model.
SUM, UPDATE = ALL_REDUCE, REDUCE_SCATTER


class Summing(Protocol):
    """What has servers that sum: hosts of an exchange, or a server that jobs share."""

    @property
    def interfaces(self) -> int:
        """Network interfaces of a server."""

    @property
    def cores(self) -> int:
        """Cores of each interface."""

    @property
    def aggregate_gbytes_per_s(self) -> float | None:
        """Speed at which a core sums gradients; None when it takes no time."""

    @property
    def machine(self) -> ServerMachine:
        """What transfers cross and cores wait for."""

    @property
    def paid_bytes(self) -> int | None:
        """For so many bytes each a start-up is paid anew; None for once an op."""


def do_sums_take_time(servers: Summing) -> bool:
    """Tell whether cores, or their waits for each other, take time."""
    return bool(servers.aggregate_gbytes_per_s) or _does_update_take_time(servers)


def sum_on(
    ops: list[Op],
    name: str,
    chunk: Chunk,
    at: str,
    pushed: Sequence[str],
    servers: Summing,
) -> tuple[str, ...]:
    """Sum and update a chunk on a server; return what comes after that.

    Tall, the chunk's core sums it when all gradients are there, and updates it. Wide, all cores sum
    each gradient as it arrives, one after the other, and update the chunk after the last. Where
    memory takes time it first carries what they read and write.

    Parameters
    ----------
    ops
        To which ops are added, the last of them named ``name``.
    chunk
        What is summed, and by which core.
    at
        The server, as the names of its channels begin.
    pushed
        What the gradient of each worker comes after.
    servers
        Their cores and machine.
    """
    machine, workers = servers.machine, len(pushed)
    sums, updates = machine.memory_passes()
    if machine.aggregation == WIDE and do_sums_take_time(servers):
        core, arrived = f"{at}.cores", []
        for w, came in enumerate(pushed):
            after = _through_memory(ops, f"{name}.{w}", sums * chunk.bytes, at, (came,), machine)
            arrived.append(f"{name}.{w}")
            ops.append(Op(arrived[-1], SUM, None, chunk.bytes, after, core))
        after = _through_memory(ops, name, updates * chunk.bytes, at, tuple(arrived), machine)
    else:
        passes = (sums * workers + updates) * chunk.bytes
        after = _through_memory(ops, name, passes, at, tuple(pushed), machine)
        core = f"{at}.nic{chunk.interface}.core{chunk.core}"
        if servers.aggregate_gbytes_per_s:
            is_last = not _does_update_take_time(servers)
            summed = name if is_last else f"{name}.sum"
            ops.append(Op(summed, SUM, None, workers * chunk.bytes, after, core))
            after = (summed,)
            if is_last:
                return after
    if _does_update_take_time(servers):
        ops.append(Op(name, UPDATE, None, chunk.bytes, after, core))
        return (name,)
    return join(ops, name, after)


def server_cost(servers: Summing, lane: ChannelCost) -> Affine | None:
    """Time of a core or of a link inside a server; None where a channel is neither."""
    part, machine = lane.channel.rpartition(".")[2], servers.machine
    if part in LINKS:
        return Affine(0.0, machine.link_per_byte_us(part))
    if lane.kind not in {SUM, UPDATE}:
        return None
    rate = servers.aggregate_gbytes_per_s if lane.kind == SUM else machine.update_gbytes_per_s
    per_byte = 1e-3 / rate if rate else 0.0
    if part != "cores":
        return Affine(0.0, per_byte)
    return paid(servers, machine.wide_sync_us, per_byte / (servers.interfaces * servers.cores))


def paid(servers: Summing, startup: float, per_byte: float) -> Affine:
    """Pay a start-up once, or for each of so many bytes."""
    if servers.paid_bytes is None:
        return Affine(startup, per_byte)
    return Affine(0.0, per_byte + startup / servers.paid_bytes)


def _does_update_take_time(servers: Summing) -> bool:
    machine = servers.machine
    is_synchronised = machine.aggregation == WIDE and machine.wide_sync_us > 0
    return bool(machine.update_gbytes_per_s) or is_synchronised


def _through_memory(
    ops: list[Op], name: str, size: int, at: str, after: tuple[str, ...], machine: ServerMachine
) -> tuple[str, ...]:
    """Have memory carry bytes of a sum; return what comes after that."""
    if machine.memory_gbytes_per_s is None or not size:
        return after
    ops.append(Op(f"{name}.memory", BROADCAST, None, size, after, f"{at}.memory"))
    return (ops[-1].id,)
