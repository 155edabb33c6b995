"""Plan parameter servers: the table of contents of this package."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from solver.chain import chain_of
from solver.codes import FaultCode
from solver.costs import PLACEMENTS
from solver.errors import Fault, InvalidOptions
from solver.graph import Graph
from solver.limits import (
    MAX_BYTES,
    MAX_CHUNKS,
    MAX_DURATION_US,
    MAX_SERVER_CORES,
    MAX_SIMULATED_TRANSFERS,
    MAX_WORKERS,
)
from solver.placements.bandwidth import Need, bandwidth, server_count
from solver.placements.chunks import (
    CHUNK_BYTES,
    Key,
    Level,
    chunk_count,
    core_faults,
    key_faults,
    lay_out,
)
from solver.placements.exchange import BatchExchange, Hosts, exchange
from solver.placements.jobs import (
    SharedServer,
    Sharing,
    TrainingJob,
    job_faults,
    server_faults,
    share,
)
from solver.placements.prices import Comparison, Prices, compare_prices, price_faults
from solver.placements.racks import RackReduction, Racks, rack_faults, reduction
from solver.placements.ranges import real, whole


@dataclass(frozen=True, slots=True)
class PlacementOptions:
    """How servers are made, and what of them is simulated.

    Attributes
    ----------
    servers
        How many a sharded placement has; None for as many as workers. On the workers' hosts there
        are no more than these.
    chunk_bytes
        Size that keys are cut to.
    interfaces
        Network interfaces of a host with a server; a host without one has one.
    cores
        Cores of each interface.
    aggregate_gbytes_per_s
        Speed at which a core sums the gradients of all workers and updates the model [10^9 bytes
        of gradients a second]; None when it takes no time.
    simulated
        The placements of which an exchange is simulated.
    racks
        Racks to reduce the model in; None to leave that out.
    jobs
        Jobs that share ``server``; none to leave that out.
    server
        The server that they share.
    prices
        Prices of racks; None to leave them out.
    most_transfers
        Of each simulation; chunks are made larger until there are no more.
    """

    servers: int | None = None
    chunk_bytes: int = CHUNK_BYTES
    interfaces: int = 1
    cores: int = 1
    aggregate_gbytes_per_s: float | None = None
    simulated: tuple[str, ...] = PLACEMENTS
    racks: Racks | None = None
    jobs: tuple[TrainingJob, ...] = ()
    server: SharedServer | None = None
    prices: Prices | None = None
    most_transfers: int = MAX_SIMULATED_TRANSFERS


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
    placements, most = [], options.most_transfers
    for name in PLACEMENTS:
        need = bandwidth(name, size, batch_time_us, workers, options.servers, options.interfaces)
        hosts = Hosts(
            name,
            workers,
            need.servers,
            options.interfaces,
            options.cores,
            options.aggregate_gbytes_per_s,
        )
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
    )


def placement_faults(
    keys: Sequence[Key], batch_time_us: float, workers: int, options: PlacementOptions
) -> list[Fault]:
    """Find everything that :func:`plan_placements` refuses."""
    of_keys, numbers = key_faults(keys), list(_number_faults(batch_time_us, workers, options))
    faults = [*of_keys, *numbers]
    if not numbers:
        is_sized = all(fault.code == FaultCode.DUPLICATE_ID for fault in of_keys)
        faults += _size_faults(keys if is_sized else (), workers, options)
    return [*faults, *_part_faults(options)]


def _number_faults(
    batch_time_us: float, workers: int, options: PlacementOptions
) -> Iterator[Fault]:
    yield from real("/batch_time_us", "batch_time_us", batch_time_us, MAX_DURATION_US)
    yield from whole("/workers", "workers", workers, MAX_WORKERS)
    for name, most in (
        ("servers", MAX_WORKERS),
        ("chunk_bytes", MAX_BYTES),
        ("interfaces", MAX_SERVER_CORES),
        ("cores", MAX_SERVER_CORES),
        ("most_transfers", MAX_SIMULATED_TRANSFERS),
    ):
        value = getattr(options, name)
        if value is not None:
            yield from whole(f"/{name}", name, value, most)
    rate = options.aggregate_gbytes_per_s
    if rate is not None:
        yield from real("/aggregate_gbytes_per_s", "aggregate_gbytes_per_s", rate)
    for i, name in enumerate(options.simulated):
        if name not in PLACEMENTS:
            detail = f"simulated must name some of {', '.join(PLACEMENTS)}, got {name!r}."
            yield Fault(f"/simulated/{i}", FaultCode.OUT_OF_RANGE, detail)


def _size_faults(keys: Sequence[Key], workers: int, options: PlacementOptions) -> Iterator[Fault]:
    """Find what fits by itself and not together."""
    servers = workers if options.servers is None else options.servers
    factors = {
        "/workers" if options.servers is None else "/servers": servers,
        "/interfaces": options.interfaces,
        "/cores": options.cores,
    }
    largest = max(factors, key=lambda place: factors[place])
    yield from core_faults(servers * options.interfaces * options.cores, largest)
    chunks = chunk_count(keys, options.chunk_bytes)
    if chunks > MAX_CHUNKS:
        detail = f"The keys make {chunks:,} chunks; {MAX_CHUNKS:,} is the most."
        yield Fault("/chunk_bytes", FaultCode.OUT_OF_RANGE, detail)


def _part_faults(options: PlacementOptions) -> Iterator[Fault]:
    """Find what is wrong with racks, jobs and prices."""
    if options.racks:
        yield from _under("/racks", rack_faults(options.racks))
    if options.prices:
        yield from _under("/prices", price_faults(options.prices))
    if options.jobs and not options.server:
        detail = "jobs share a server: say which."
        yield Fault("/server", FaultCode.MISSING_FIELD, detail)
    if options.server:
        yield from server_faults(options.server)
    if options.jobs or options.server:
        yield from job_faults(options.jobs)


def _under(place: str, faults: Iterable[Fault]) -> Iterator[Fault]:
    for fault in faults:
        yield Fault(place + fault.pointer, fault.code, fault.detail)
