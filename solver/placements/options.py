"""How parameter servers are made and what of them is simulated, and what may be wrong with that."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from solver.codes import FaultCode
from solver.costs import PLACEMENTS
from solver.errors import Fault
from solver.limits import (
    MAX_BYTES,
    MAX_CHUNKS,
    MAX_DURATION_US,
    MAX_SERVER_CORES,
    MAX_SIMULATED_TRANSFERS,
    MAX_WORKERS,
)
from solver.placements.chunks import CHUNK_BYTES, Key, chunk_count, core_faults, key_faults
from solver.placements.job_steps import SharedServer, TrainingJob
from solver.placements.jobs import job_faults, server_faults
from solver.placements.machine import PLAIN, ServerMachine, machine_faults
from solver.placements.prices import Prices, price_faults
from solver.placements.racks import Racks, rack_faults
from solver.placements.ranges import real, whole
from solver.placements.systems import SYSTEMS


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
    machine
        What transfers pay besides their bytes, and cross on hosts with a server.
    gbps
        Bandwidth of an interface, each direction [Gbit/s], at which chunk sizes and systems are
        simulated; None to leave both out.
    chunk_sizes
        Sizes of chunks with which an exchange of each simulated placement is simulated [bytes].
    systems
        Systems to simulate beside each other, of :data:`solver.placements.systems.SYSTEMS`.
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
    machine: ServerMachine = PLAIN
    gbps: float | None = None
    chunk_sizes: tuple[int, ...] = ()
    systems: tuple[str, ...] = ()


def placement_faults(
    keys: Sequence[Key], batch_time_us: float, workers: int, options: PlacementOptions
) -> list[Fault]:
    """Find everything that :func:`solver.placements.plan.plan_placements` refuses."""
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
    yield from machine_faults(options.machine)
    yield from _simulated_faults(options)


def _simulated_faults(options: PlacementOptions) -> Iterator[Fault]:
    """Find what is wrong with the sizes of chunks and the systems that are simulated."""
    if options.gbps is not None:
        yield from real("/gbps", "gbps", options.gbps)
    for name in ("chunk_sizes", "systems"):
        if getattr(options, name) and options.gbps is None:
            detail = f"{name} are simulated at a bandwidth: give gbps."
            yield Fault("/gbps", FaultCode.MISSING_FIELD, detail)
    for i, size in enumerate(options.chunk_sizes):
        yield from whole(f"/chunk_sizes/{i}", f"Size {i} of chunks", size, MAX_BYTES)
    for i, name in enumerate(options.systems):
        if name not in SYSTEMS:
            detail = f"systems must name some of {', '.join(SYSTEMS)}, got {name!r}."
            yield Fault(f"/systems/{i}", FaultCode.OUT_OF_RANGE, detail)


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
