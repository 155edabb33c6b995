"""Placements: the request body of ``POST /v1/predictions/placements``."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from app.limits import MAX_CHUNK_SIZES, MAX_KEYS, MAX_SHARING_JOBS
from app.schemas.base import Name, OneOf, RequestModel, is_unknown
from app.schemas.clusters import ClusterBody
from app.schemas.graphs import GraphBody
from app.schemas.machines import MachineBody
from app.schemas.networks import Gbps, Size, Workers
from app.schemas.rack_prices import Positive, PricesBody
from solver.codes import FaultCode
from solver.costs import PLACEMENTS
from solver.errors import Fault
from solver.limits import (
    MAX_DURATION_US,
    MAX_SERVER_CORES,
    MAX_SIMULATED_TRANSFERS,
    MIN_TIME_US,
)
from solver.placements.chunks import CHUNK_BYTES, Key
from solver.placements.job_steps import TrainingJob
from solver.placements.machine import PLAIN, ServerMachine
from solver.placements.rack_transfers import ACROSS, SHARDED
from solver.placements.racks import Racks
from solver.placements.systems import SYSTEMS

BatchTime = Annotated[float, Field(ge=MIN_TIME_US, le=MAX_DURATION_US)]


#: How a model is said, and the simulations of a part of the answer, at most.
_SOURCES = ("model_bytes", "keys", "graph")
_RACK_SIMULATIONS, _JOB_SIMULATIONS, _SIZE_SIMULATIONS = 4, 2, 2


class KeyBody(RequestModel):
    """A layer's parameters: what a worker pushes and pulls under one name."""

    name: Name
    bytes: Size


class RacksBody(RequestModel):
    """Racks of workers, each with a server, and the network between them."""

    racks: Annotated[Workers, Field(description="How many.")]
    workers_per_rack: Workers
    worker_gbps: Annotated[
        Gbps, Field(description="Of a worker's network interface, each direction [Gbit/s].")
    ]
    pbox_gbps: Annotated[
        Gbps,
        Field(description="Of a server's interfaces together, each direction [Gbit/s]."),
    ]
    core_gbps: Annotated[
        Gbps,
        Field(
            description="Between a rack's switch and the core of the network, each direction "
            "[Gbit/s]."
        ),
    ]
    cross_rack: Annotated[
        str,
        OneOf(ACROSS),
        Field(
            description="How servers sum across racks: each a share of the chunks, or in a ring."
        ),
    ] = SHARDED

    def to_racks(self, chunk_bytes: int) -> Racks:
        """Return the racks as the solver knows them."""
        return Racks(
            self.racks,
            self.workers_per_rack,
            self.worker_gbps,
            self.pbox_gbps,
            self.core_gbps,
            self.cross_rack,
            chunk_bytes,
        )


class JobBody(RequestModel):
    """A training job that shares the server with the others."""

    name: Annotated[Name | None, Field(description="Null for its number, as in `job 1`.")] = None
    model_bytes: Size
    batch_time_us: Annotated[BatchTime, Field(description="Compute time of a step [us].")]
    workers: Annotated[Workers, Field(description="Each on a host of its own.")]

    def to_job(self, number: int) -> TrainingJob:
        """Return the job as the solver knows it."""
        name = self.name or f"job {number}"
        return TrainingJob(
            name, (Key("model", self.model_bytes),), self.batch_time_us, self.workers
        )


class PlacementsRequest(RequestModel):
    """A model, its workers, and the servers that these push to and pull from."""

    model_bytes: Annotated[Size | None, Field(description="Size of the model, as one key.")] = None
    keys: Annotated[
        Annotated[list[KeyBody], Field(min_length=1, max_length=MAX_KEYS)] | None,
        Field(description="Instead: its layers, in the order in which they are pushed."),
    ] = None
    graph: Annotated[
        GraphBody | None,
        Field(description="Instead: a training graph whose all-reduces are the keys."),
    ] = None
    graph_id: Annotated[
        Name | None, Field(description="Instead: the id that `POST /v1/graphs` gave.")
    ] = None
    batch_time_us: Annotated[
        BatchTime | None,
        Field(description="Compute time of a step [us]; null for that of the graph."),
    ] = None
    workers: Annotated[Workers | None, Field(description="How many, or a cluster.")] = None
    bandwidth_gbps: Annotated[
        Gbps | None,
        Field(
            description="Of each network interface, each direction [Gbit/s]: says what is hidden "
            "at it, and how long an exchange takes."
        ),
    ] = None
    cluster: Annotated[
        ClusterBody | None,
        Field(
            description="Instead of both, as other requests have it: its workers and its "
            "bandwidth count, nothing else."
        ),
    ] = None
    servers: Annotated[
        Workers | None,
        Field(
            description="Servers of a sharded placement; null for as many as workers. On the "
            "workers' hosts there are no more than these."
        ),
    ] = None
    chunk_bytes: Annotated[Size, Field(description="What keys are cut into.")] = CHUNK_BYTES
    interfaces_per_server: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_SERVER_CORES,
            description="Network interfaces of a host with a server; others have one.",
        ),
    ] = 1
    cores_per_interface: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_SERVER_CORES,
            description="Cores of an interface that sum and update chunks.",
        ),
    ] = 1
    aggregate_gbytes_per_s: Annotated[
        Positive | None,
        Field(
            description="How fast a core sums the gradients of all workers and updates the model "
            "[10^9 bytes of gradients a second]; null when it takes no time."
        ),
    ] = None
    simulate: Annotated[
        list[Annotated[str, OneOf(PLACEMENTS)]],
        Field(
            max_length=len(PLACEMENTS), description="The placements whose exchange is simulated."
        ),
    ] = Field(default=[*PLACEMENTS])
    simulated_transfers: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_SIMULATED_TRANSFERS,
            description="Most pushes and pulls of a simulation; chunks are made larger until there "
            "are no more.",
        ),
    ] = 10_000
    racks: Annotated[
        RacksBody | None, Field(description="Whether racks had better reduce by themselves first.")
    ] = None
    prices: Annotated[
        PricesBody | None, Field(description="What racks with and without a PHub are worth.")
    ] = None
    jobs: Annotated[
        Annotated[list[JobBody], Field(min_length=1, max_length=MAX_SHARING_JOBS)] | None,
        Field(
            description="Jobs that share one server, whose interfaces and theirs have "
            "`bandwidth_gbps`."
        ),
    ] = None
    machine: Annotated[
        MachineBody | None,
        Field(
            exclude_if=is_unknown,
            description="What transfers pay besides their bytes, and cross; null for nothing.",
        ),
    ] = None
    chunk_sizes: Annotated[
        Annotated[list[Size], Field(min_length=1, max_length=MAX_CHUNK_SIZES)] | None,
        Field(
            exclude_if=is_unknown,
            description="Sizes of chunks with which an exchange of each simulated placement is "
            "simulated at `bandwidth_gbps`, to find the best [bytes].",
        ),
    ] = None
    systems: Annotated[
        Annotated[
            list[Annotated[str, OneOf(SYSTEMS)]], Field(min_length=1, max_length=len(SYSTEMS))
        ]
        | None,
        Field(
            exclude_if=is_unknown,
            description="Systems to simulate beside each other at `bandwidth_gbps`; speed-ups are "
            "over the first.",
        ),
    ] = None

    def to_machine(self) -> ServerMachine:
        """Return the machine as the solver knows it."""
        return self.machine.to_machine() if self.machine else PLAIN

    def worker_count(self) -> int | None:
        """Return the workers; None where neither field says them."""
        return self.cluster.workers if self.cluster else self.workers

    def gbps(self) -> float | None:
        """Return the bandwidth of an interface; None where neither field says it."""
        return self.cluster.bandwidth_gbps if self.cluster else self.bandwidth_gbps

    def own_keys(self) -> tuple[Key, ...]:
        """Return the keys of a request without a graph."""
        if self.model_bytes is not None:
            return (Key("model", self.model_bytes),)
        return tuple(Key(key.name, key.bytes) for key in self.keys or ())

    def transfers(self) -> int:
        """Return the most that all simulations may push and pull."""
        count = len(set(self.simulate))
        count += _RACK_SIMULATIONS if self.racks else 0
        count += _JOB_SIMULATIONS if self.jobs else 0
        count += _SIZE_SIMULATIONS * len(self.chunk_sizes or ()) * len(set(self.simulate))
        count += _SIZE_SIMULATIONS * len(self.systems or ())
        return count * self.simulated_transfers

    def own_faults(self) -> list[Fault]:
        """List what is wrong besides the graph."""
        return [*_source_faults(self), *_cluster_faults(self), *_part_faults(self)]


def _source_faults(request: PlacementsRequest) -> Iterator[Fault]:
    """Want one of the ways to say a model, and its compute time."""
    named = [name for name in _SOURCES if getattr(request, name) is not None]
    if request.graph_id is not None:  # one that is known stands in the place of the graph
        named.append("graph_id")
    if not named:
        detail = "Give model_bytes, keys, a graph or the id of one."
        yield Fault("/model_bytes", FaultCode.MISSING_FIELD, detail)
    for extra in named[1:]:
        detail = f"Give {named[0]} or {extra}, not both."
        yield Fault(f"/{extra}", FaultCode.EXTRA_FIELD, detail)
    if request.batch_time_us is None and "graph" not in named:
        detail = "Give batch_time_us, the compute time of a step, or a graph that tells it."
        yield Fault("/batch_time_us", FaultCode.MISSING_FIELD, detail)


def _cluster_faults(request: PlacementsRequest) -> Iterator[Fault]:
    """Want the workers once, and the bandwidth once where it is needed."""
    if request.worker_count() is None:
        yield Fault("/workers", FaultCode.MISSING_FIELD, "Give workers, or a cluster.")
    for name in ("workers", "bandwidth_gbps"):
        if request.cluster and getattr(request, name) is not None:
            detail = f"Give a cluster or {name}, not both."
            yield Fault(f"/{name}", FaultCode.EXTRA_FIELD, detail)
    place = "/cluster/bandwidth_gbps" if request.cluster else "/bandwidth_gbps"
    if request.jobs and request.gbps() is None:
        detail = "Jobs that share a server need bandwidth_gbps, that of the interfaces."
        yield Fault(place, FaultCode.MISSING_FIELD, detail)
    for name in ("chunk_sizes", "systems"):
        if getattr(request, name) and request.gbps() is None:
            detail = f"{name} are simulated at bandwidth_gbps, that of the interfaces: give it."
            yield Fault(place, FaultCode.MISSING_FIELD, detail)


def _part_faults(request: PlacementsRequest) -> Iterator[Fault]:
    for field in ("simulate", "systems", "chunk_sizes"):
        values = getattr(request, field) or []
        for i, name in enumerate(values):
            if name in values[:i]:
                detail = f"{field}: {name} stands there twice."
                yield Fault(f"/{field}/{i}", FaultCode.OUT_OF_RANGE, detail)
    for i, ratio in enumerate((request.prices and request.prices.oversubscriptions) or ()):
        assert request.prices is not None, "it has oversubscriptions"
        if not request.prices.with_oversubscription(ratio).sharing():
            detail = f"Prices: with {ratio:g}:1 the switch has no ports for workers beside a PHub."
            yield Fault(f"/prices/oversubscriptions/{i}", FaultCode.OUT_OF_RANGE, detail)
    if request.prices and not request.prices.sharing():
        detail = (
            f"Prices: a switch of {request.prices.hub.switch_ports:g} ports has none for workers "
            f"beside a PHub of {request.prices.hub_ports:g}; give workers_per_hub, or more "
            "switch_ports."
        )
        yield Fault("/prices/hub/switch_ports", FaultCode.OUT_OF_RANGE, detail)
