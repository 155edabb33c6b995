"""Plan parameter servers: the table of contents of this package."""

from collections.abc import Sequence
from dataclasses import dataclass

from solver.chain import chain_of
from solver.costs import PLACEMENTS
from solver.errors import InvalidOptions
from solver.graph import Graph
from solver.placements.bandwidth import Need, bandwidth, server_count
from solver.placements.chunk_sizes import ChunkCurve, chunk_curve
from solver.placements.chunks import (
    Key,
    Level,
    chunk_count,
    lay_out,
)
from solver.placements.exchange import BatchExchange, exchange
from solver.placements.exchange_graph import Hosts
from solver.placements.jobs import Sharing, share
from solver.placements.options import PlacementOptions, placement_faults
from solver.placements.prices import Comparison, compare_prices
from solver.placements.racks import RackReduction, reduction
from solver.placements.systems import Rack, SystemTime, compare_systems


@dataclass(frozen=True, slots=True)
class Placement:
    """One way to place the servers.

    Attributes
    ----------
    need
        What it moves, and the bandwidth that hides that.
    levels
        How even its servers, interfaces and cores are loaded.
    simulated
        The bandwidth by simulation; None where it was not wanted, or the keys alone make too many
        transfers.
    """

    need: Need
    levels: tuple[Level, ...]
    simulated: BatchExchange | None


@dataclass(frozen=True, slots=True)
class Placements:
    """The four ways to place parameter servers.

    Attributes
    ----------
    bytes
        The model.
    batch_time_us
        Compute time of a step [us].
    workers
        How many.
    chunk_bytes, chunks
        Size that keys were cut to, and how many chunks that gave.
    placements
        In the order of :data:`solver.costs.PLACEMENTS`.
    reduction
        Whether racks reduce by themselves first; None where no racks were given.
    sharing
        What jobs lose to each other; None where no jobs were given, or they are too many to
        simulate.
    comparison
        What racks train for their money; None where no prices were given.
    curves
        Exchanges with chunks of several sizes, of each simulated placement.
    systems
        Systems beside each other.
    """

    bytes: int
    batch_time_us: float
    workers: int
    chunk_bytes: int
    chunks: int
    placements: tuple[Placement, ...]
    reduction: RackReduction | None
    sharing: Sharing | None
    comparison: Comparison | None
    curves: tuple[ChunkCurve, ...] = ()
    systems: tuple[SystemTime, ...] = ()


def keys_of(graph: Graph) -> tuple[Key, ...]:
    """Return the tensors of a graph as keys, in the order of their release."""
    ops = [graph.ops[i] for i in chain_of(graph).positions.tolist()]
    return tuple(Key(op.id, op.bytes or 0) for op in ops)


def plan_placements(
    keys: Sequence[Key],
    batch_time_us: float,
    workers: int,
    options: PlacementOptions = PlacementOptions(),
) -> Placements:
    """Compare the four placements of parameter servers for a model.

    Parameters
    ----------
    keys
        What is pushed and pulled, in the order in which it leaves; a whole model may be one key.
    batch_time_us
        Compute time of a step, behind which communication is to be hidden [us].
    workers
        How many.
    options
        How servers are made.

    Raises
    ------
    InvalidOptions
        With every fault: values out of range, no keys, keys of the same name, too many chunks or
        cores.

    References
    ----------
    .. [1] PHub, Sections 2.1, 2.3.1, 3.2.3 and 3.2.4.
    """
    if faults := placement_faults(keys, batch_time_us, workers, options):
        raise InvalidOptions(faults)
    size = sum(key.bytes for key in keys)
    counts = {server_count(name, workers, options.servers) for name in PLACEMENTS}
    levels = {
        count: lay_out(keys, options.chunk_bytes, count, options.interfaces, options.cores).levels
        for count in sorted(counts)
    }
    placements, curves, most = [], [], options.most_transfers
    for name in PLACEMENTS:
        need = bandwidth(name, size, batch_time_us, workers, options.servers, options.interfaces)
        hosts = Hosts(
            name,
            workers,
            need.servers,
            options.interfaces,
            options.cores,
            options.aggregate_gbytes_per_s,
            options.machine,
        )
        if options.chunk_sizes and options.gbps is not None and name in options.simulated:
            curves.append(chunk_curve(keys, hosts, options.gbps, options.chunk_sizes, most))
        simulated = None
        if name in options.simulated:
            simulated = exchange(keys, hosts, batch_time_us, options.chunk_bytes, most)
        placements.append(Placement(need, levels[need.servers], simulated))
    return Placements(
        bytes=size,
        batch_time_us=batch_time_us,
        workers=workers,
        chunk_bytes=options.chunk_bytes,
        chunks=chunk_count(keys, options.chunk_bytes),
        placements=tuple(placements),
        reduction=reduction(keys, options.racks, most) if options.racks else None,
        sharing=share(options.jobs, options.server, most) if options.server else None,
        comparison=compare_prices(options.prices) if options.prices else None,
        curves=tuple(curves),
        systems=_systems(keys, batch_time_us, workers, options),
    )


def _systems(
    keys: Sequence[Key], batch_time_us: float, workers: int, options: PlacementOptions
) -> tuple[SystemTime, ...]:
    if not options.systems or options.gbps is None:
        return ()
    rack = Rack(
        workers,
        options.gbps,
        options.servers,
        options.interfaces,
        options.cores,
        options.aggregate_gbytes_per_s,
        options.machine,
        options.chunk_bytes,
    )
    return compare_systems(keys, batch_time_us, rack, options.systems, options.most_transfers)
