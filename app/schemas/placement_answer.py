"""Placements: the answer to ``POST /v1/predictions/placements``. Unknown is null."""

from typing import Annotated

from pydantic import Field

from app.schemas.base import AnswerModel, OneOf, is_unknown
from app.schemas.machines import MachineBody
from app.schemas.placements import JobBody, KeyBody, RacksBody
from app.schemas.rack_prices import PricesBody
from solver.costs import PLACEMENTS
from solver.evidence.evidence import Evidence
from solver.placements.chunk_sizes import ChunkCurve
from solver.placements.chunks import Level
from solver.placements.jobs import SharedJob
from solver.placements.prices import WorkerValue
from solver.placements.racks import Ways
from solver.placements.resources import RESOURCES
from solver.placements.systems import SystemTime


class PlacementRow(AnswerModel):
    """One way to place the servers."""

    placement: Annotated[
        str,
        OneOf(PLACEMENTS),
        Field(
            description="`ncc`: one server on a host of its own; `cc`: one on a worker's host; "
            "`ncs`: sharded over hosts of their own; `cs`: sharded over the workers' hosts."
        ),
    ]
    servers: int
    bandwidth_gbps: Annotated[
        float,
        Field(
            description="That an interface needs for communication to be hidden, both directions "
            "summed, by the formula [Gbit/s]."
        ),
    ]
    simulated_gbps: Annotated[
        float | None,
        Field(
            description="The same by simulation of an exchange, chunk by chunk [Gbit/s]. Null "
            "where it was not simulated, or summing alone takes longer than the compute."
        ),
    ]
    bytes_per_step: Annotated[
        float, Field(description="What the busiest host sends and receives [bytes].")
    ]
    busiest: Annotated[
        str,
        OneOf(("server", "worker", "both")),
        Field(description="Which host that is; `both` where all move the same."),
    ]
    server_host_bytes: Annotated[
        float, Field(description="What a host with a server sends and receives [bytes].")
    ]
    worker_host_bytes: Annotated[
        float | None,
        Field(description="The same of a host without one; null where each has one [bytes]."),
    ]
    simulated_chunk_bytes: Annotated[
        int | None, Field(description="Size of a chunk in the simulation; null without one.")
    ]
    simulated_transfers: Annotated[
        int | None, Field(description="Pushes and pulls of the simulation; null without one.")
    ]
    is_hidden: Annotated[
        bool | None,
        Field(
            description="Whether the given bandwidth is enough by the formula, and summing takes "
            "no longer than the compute; null without a bandwidth."
        ),
    ]
    headroom: Annotated[
        float | None,
        Field(
            description="Compute over exchange, `exchange_us`: below 1 it is short by that factor. "
            "Null without a bandwidth, or where nothing is sent."
        ),
    ]
    most_workers: Annotated[
        int | None,
        Field(
            description="Up to so many workers stay hidden at the given bandwidth, all else the "
            "same; 0 for none. Null without a bandwidth, or where any number does."
        ),
    ]
    exchange_us: Annotated[
        float | None,
        Field(
            description="Time of an exchange at the given bandwidth, by the formula, or of summing "
            "where that takes longer [us]."
        ),
    ]
    simulated_exchange_us: Annotated[
        float | None, Field(description="The same, simulated [us]; null where it was not.")
    ]
    iteration_bound_us: Annotated[
        float | None,
        Field(
            description="No iteration is shorter at the given bandwidth, however it sends: the "
            "longer of compute and exchange; of a graph that is not given a `batch_time_us`, with "
            "the times between which each tensor can be sent [us]."
        ),
    ]
    text: Annotated[str, Field(description="What limits it, and what would move that.")]
    limited_by: Annotated[
        Annotated[str, OneOf(RESOURCES)] | None,
        Field(
            exclude_if=is_unknown,
            description="What is busy for the longest at the given bandwidth, by the formulas; "
            "null without a machine.",
        ),
    ] = None


class ChunksOut(AnswerModel):
    """Keys cut into chunks, and the chunks spread over servers."""

    chunk_bytes: int
    count: int
    central: Annotated[list[Level], Field(description="Over one server.")]
    sharded: Annotated[list[Level], Field(description="Over the servers of `ncs`.")]


class RacksOut(AnswerModel):
    """Whether racks had better reduce by themselves first.

    Notes
    -----
    What follows from the solver's figures is written out, and a text.
    """

    cross_rack_us: Annotated[
        float,
        Field(
            description="Left side of the inequality: all pushes that leave a rack, over its link "
            "to the core [us]."
        ),
    ]
    in_rack_us: Annotated[
        float, Field(description="Pushes of a rack's workers to their own server [us].")
    ]
    between_servers_us: Annotated[
        float, Field(description="C: what a server then pushes to the others [us].")
    ]
    right_us: Annotated[
        float, Field(description="Right side: `in_rack_us` + `between_servers_us` [us].")
    ]
    is_hierarchical_faster: Annotated[
        bool, Field(description="By the inequality: the left side is larger than the right.")
    ]
    in_steps: Annotated[
        Ways | None,
        Field(
            description="Simulated as the inequality counts: a step begins when the one before it "
            "has ended on all hosts. Null where the keys alone make too many transfers."
        ),
    ]
    streamed: Annotated[
        Ways | None,
        Field(description="Simulated as chunks go, each as soon as it can; null as `in_steps`."),
    ]
    agrees: Annotated[
        bool | None, Field(description="Whether `in_steps` decides as the inequality does.")
    ]
    streamed_agrees: Annotated[bool | None, Field(description="Whether `streamed` does.")]
    margin_us: Annotated[
        float | None,
        Field(
            description="Where the sides differ by more, `in_steps` decides as the inequality [us]."
        ),
    ]
    simulated_chunk_bytes: int | None
    text: str


class RackChoice(AnswerModel):
    """What a rack with a PHub is worth at one oversubscription."""

    oversubscription: float
    workers_per_hub: float
    hub: WorkerValue
    gain: Annotated[
        float, Field(description="What it trains for its money over the baseline, less 1.")
    ]


class PricesOut(AnswerModel):
    """A rack with a PHub beside one with servers on the workers' hosts.

    Notes
    -----
    Beside the solver's comparison it has how many share a PHub, and a text.
    """

    baseline: WorkerValue
    hub: WorkerValue
    workers_per_hub: float
    gain: Annotated[
        float, Field(description="What the PHub trains for its money over the baseline, less 1.")
    ]
    text: str
    racks: Annotated[
        list[RackChoice] | None,
        Field(
            exclude_if=is_unknown,
            description="One for each of `oversubscriptions`; null where none were given.",
        ),
    ] = None
    decision: Annotated[
        str | None,
        Field(
            exclude_if=is_unknown,
            description="Which placement to take for the money: servers on the workers, or a PHub "
            "at one of `oversubscriptions`.",
        ),
    ] = None


class PlacementsRequestOut(AnswerModel):
    """What was asked, defaults filled in; a graph by its hash, a cluster by what counts of it."""

    model_bytes: Annotated[int, Field(description="Of all keys.")]
    keys: Annotated[list[KeyBody] | None, Field(description="Null but where keys were given.")]
    graph_sha256: str | None
    batch_time_us: float
    workers: int
    bandwidth_gbps: float | None
    servers: int
    chunk_bytes: int
    interfaces_per_server: int
    cores_per_interface: int
    aggregate_gbytes_per_s: float | None
    simulate: list[str]
    simulated_transfers: int
    racks: RacksBody | None
    prices: PricesBody | None
    jobs: list[JobBody] | None
    machine: Annotated[
        MachineBody | None, Field(exclude_if=is_unknown, description="With what its preset says.")
    ] = None
    chunk_sizes: Annotated[list[int] | None, Field(exclude_if=is_unknown)] = None
    systems: Annotated[list[str] | None, Field(exclude_if=is_unknown)] = None


class PlacementsAnswer(AnswerModel):
    """The four ways to place parameter servers."""

    placements: Annotated[
        list[PlacementRow], Field(description=f"In the order {', '.join(PLACEMENTS)}.")
    ]
    decision: Annotated[str, Field(description="Which of them to take, and why, in a sentence.")]
    chunks: ChunksOut
    simulated_chunk_bytes: Annotated[
        int | None,
        Field(description="The largest chunk of the simulated exchanges; null without any."),
    ]
    racks: Annotated[RacksOut | None, Field(description="Null where no racks were given.")]
    prices: Annotated[PricesOut | None, Field(description="Null where no prices were given.")]
    jobs: Annotated[
        list[SharedJob] | None,
        Field(description="Null where no jobs were given, or they make too many transfers."),
    ]
    jobs_chunk_bytes: Annotated[
        int | None, Field(description="Size of a chunk where jobs were simulated.")
    ]
    chunk_curves: Annotated[
        list[ChunkCurve] | None,
        Field(
            exclude_if=is_unknown,
            description="Of each simulated placement; null where no `chunk_sizes` were given.",
        ),
    ] = None
    systems: Annotated[
        list[SystemTime] | None,
        Field(exclude_if=is_unknown, description="Null where no `systems` were given."),
    ] = None
    systems_text: Annotated[
        str | None,
        Field(
            exclude_if=is_unknown,
            description="Which of the systems takes the shortest step, and how much shorter.",
        ),
    ] = None
    notes: Annotated[list[str], Field(description="Units, and what the figures assume.")]
    evidence: Annotated[
        Evidence | None,
        Field(
            description="What was measured, and below which gain nothing follows. Null in answers "
            "of earlier versions."
        ),
    ] = None
    request: PlacementsRequestOut
    version: str
