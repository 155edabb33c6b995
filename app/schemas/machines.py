"""Machines of parameter servers: what transfers pay besides their bytes, and cross."""

from dataclasses import fields, replace
from typing import Annotated, Any

from pydantic import Field

from app.schemas.base import OneOf, RequestModel
from app.schemas.networks import Gbps, Workers
from solver.limits import MAX_STARTUP_US
from solver.placements.machine import AGGREGATIONS, PLAIN, ServerMachine
from solver.placements.published import MACHINES

Rate = Annotated[float, Field(ge=1e-6, le=1e12)]
StartupUs = Annotated[float, Field(ge=0, le=MAX_STARTUP_US)]


class MachineBody(RequestModel):
    """What transfers pay besides their bytes, and what hosts with a server are made of.

    What is null is that of `preset`; without one it takes no time and limits nothing.
    """

    preset: Annotated[
        Annotated[str, OneOf(tuple(MACHINES))] | None,
        Field(
            description="`phub`: the box of PHub (SoCC 2018): 90 GB/s of PCIe and 120 GB/s of "
            "memory as printed; start-up, queue pairs and waits of cores are assumed."
        ),
    ] = None
    startup_us: Annotated[
        StartupUs | None,
        Field(description="That the sending interface spends on each transfer [us]."),
    ] = None
    queue_pairs: Annotated[
        Workers | None,
        Field(description="Of each worker with each interface of a server; 1 without a preset."),
    ] = None
    queue_pair_cache: Annotated[
        Workers | None,
        Field(description="Queue pairs that an interface holds; any number without a preset."),
    ] = None
    queue_pair_us: Annotated[
        StartupUs | None,
        Field(description="To fetch a queue pair that it does not hold [us]."),
    ] = None
    server_gbps: Annotated[
        Gbps | None,
        Field(
            description="Of each interface of a host with a server, each direction [Gbit/s]; null "
            "for `bandwidth_gbps`."
        ),
    ] = None
    pcie_gbytes_per_s: Annotated[
        Rate | None,
        Field(
            description="Between the interfaces and the memory of a host with a server, both "
            "directions together [10^9 bytes a second]."
        ),
    ] = None
    memory_gbytes_per_s: Annotated[
        Rate | None,
        Field(
            description="Of its memory, which transfers cross once, and sums and updates as "
            "`cached` says [10^9 bytes a second]."
        ),
    ] = None
    aggregation: Annotated[
        Annotated[str, OneOf(AGGREGATIONS)] | None,
        Field(
            description="`tall`: each core sums its own chunks; `wide`: all cores of a server sum "
            "one array after the other. Tall without a preset."
        ),
    ] = None
    wide_sync_us: Annotated[
        StartupUs | None,
        Field(description="For which all cores wait after each array that they sum wide [us]."),
    ] = None
    cached: Annotated[
        bool | None,
        Field(
            description="Whether sums and model stay in caches: then only an update crosses "
            "memory, twice; else a sum three times and an update five times. True without a preset."
        ),
    ] = None
    update_gbytes_per_s: Annotated[
        Rate | None,
        Field(
            description="How fast a core updates the model [10^9 bytes of it a second]; null where "
            "that is in `aggregate_gbytes_per_s`."
        ),
    ] = None

    def to_machine(self) -> ServerMachine:
        """Return the machine as the solver knows it."""
        preset = MACHINES[self.preset] if self.preset else PLAIN
        given: dict[str, Any] = {
            field.name: getattr(self, "cached" if field.name == "is_cached" else field.name)
            for field in fields(ServerMachine)
        }
        return replace(preset, **{k: value for k, value in given.items() if value is not None})

    def resolved(self) -> "MachineBody":
        """Return the same with what the preset, or none, says in the place of nulls."""
        machine = self.to_machine()
        own = {
            "cached" if field.name == "is_cached" else field.name: getattr(machine, field.name)
            for field in fields(ServerMachine)
        }
        return MachineBody(preset=self.preset, **own)
