"""The request body of ``POST /v1/plans``: strict, closed, finite.

Limits of one request that no field has by itself: :data:`MAX_OPS`, :data:`MAX_COLLECTIVES`,
:data:`MAX_EDGES`, and :data:`solver.graph.MAX_BYTES` over all collectives.
"""

from typing import Annotated, Any, Literal

from pydantic import FailFast, Field, Strict

from app.baselines import Baseline
from app.body import Body, OneOf
from app.faults import MAX_NAME
from app.what_if import Changes
from solver import graph
from solver.costs import ALGORITHMS, RING, Cluster
from solver.layered import FUSIONS
from solver.plan import Options
from solver.schedule import SCHEDULERS

MAX_OPS = 1_000_000
MAX_COLLECTIVES = 3_000
MAX_EDGES = 2_000_000
MAX_US = 1e9
MAX_GBPS = 1e6
MIN_GBPS = 1e-6
MAX_WORKERS = 1_000_000
MAX_POINTS = 1_000
MAX_CHANNELS = 16
MAX_SEED = 2**32 - 1
MAX_SECONDS = 600
MIN_SLOT_US = 1e-6
MAX_BASELINES = 32

#: A text without control characters.
PLAIN = r"^[^\x00-\x1f\x7f]*$"

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME, pattern=PLAIN)]
Id = Annotated[Name, Field(description="Name, unique in the graph; no control characters.")]
#: No op can wait for more than all ops; one fault of a list is enough.
After = Annotated[
    list[Id],
    FailFast(),
    Field(max_length=MAX_OPS, description="Ids of the ops that must end first."),
]
Microseconds = Annotated[float, Field(ge=0, le=MAX_US)]
Gbps = Annotated[float, Field(ge=MIN_GBPS, le=MAX_GBPS)]
Point = Annotated[
    tuple[
        Annotated[int, Strict(), Field(ge=1, le=graph.MAX_BYTES)],
        Annotated[float, Strict(), Field(gt=0, le=graph.MAX_DURATION_US)],
    ],
    Strict(strict=False),  # JSON has no tuples
]


class ComputeOp(Body):
    """An op that takes time on a device."""

    id: Id
    kind: Literal["compute"]
    duration_us: Annotated[float, Field(ge=0, le=graph.MAX_DURATION_US, description="Time [us].")]
    after: After = Field(default=[])
    stream: Annotated[
        Name | None,
        Field(description="Ops of one stream run one at a time, in the order of the graph."),
    ] = None


CollectiveKind = Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"]


class CollectiveOp(Body):
    """An op in which all workers take part: a gradient to sum, a shard to gather."""

    id: Id
    kind: CollectiveKind
    bytes: Annotated[
        int,
        Field(
            ge=1,
            le=graph.MAX_BYTES,
            description="Size of the whole tensor, not of a worker's share of it; for an "
            "all-to-all all that one worker holds.",
        ),
    ]
    after: After = Field(default=[])
    channel: Annotated[
        Name, Field(description="What carries it: `network`, or one of `cluster.channels`.")
    ] = graph.NETWORK


OpBody = Annotated[ComputeOp | CollectiveOp, Field(discriminator="kind")]


class GraphBody(Body):
    """One training iteration: ops and what each waits for."""

    name: Annotated[str, Field(max_length=MAX_NAME, pattern=PLAIN)] = ""
    ops: Annotated[list[OpBody], FailFast(), Field(max_length=MAX_OPS)]

    def ops_of(self) -> list[graph.Op]:
        """Return the ops as the solver knows them."""
        return [
            graph.Op(op.id, op.kind, op.duration_us, None, tuple(op.after), stream=op.stream)
            if isinstance(op, ComputeOp)
            else graph.Op(op.id, op.kind, None, op.bytes, tuple(op.after), op.channel)
            for op in self.ops
        ]


Table = Annotated[list[Point], Field(max_length=MAX_POINTS)]
#: The kinds of collective whose measured points stand in ``tables``; the others' in ``table``.
OtherKind = Literal["all_gather", "reduce_scatter", "broadcast", "all_to_all"]


class ChannelBody(Body):
    """A network between workers, and what a launch on it costs."""

    workers: Annotated[
        Annotated[int, Field(ge=1, le=MAX_WORKERS)] | None,
        Field(description="Ranks of a collective on it; null for those of the cluster."),
    ] = None
    bandwidth_gbps: Annotated[
        Gbps | None,
        Field(
            description="Bandwidth between two workers [Gbit/s]; a ring needs it, a measured table "
            "does not use it."
        ),
    ] = None
    startup_us: Annotated[Microseconds, Field(description="Fixed cost of one launch [us].")] = 0
    hop_us: Annotated[
        Microseconds,
        Field(description="Fixed cost of each step of the ring [us]; not beside a table."),
    ] = 0
    reduction_gbps: Annotated[
        Gbps | None,
        Field(
            description="Speed of adding two buffers in a ring [Gbit/s]; null when free; not "
            "beside a table."
        ),
    ] = None
    algorithm: Annotated[
        str, OneOf(tuple(ALGORITHMS)), Field(description="How the cost is computed.")
    ] = RING
    table: Annotated[
        Table,
        Field(
            description="Measured points [bytes, us] of the all-reduce for the algorithm `table`, "
            "and for no other."
        ),
    ] = Field(default=[])
    tables: Annotated[
        dict[OtherKind, Table],
        Field(description="The same for the other kinds of collective, by kind."),
    ] = Field(default={})

    def described(self, workers: int) -> dict[str, Any]:
        """Return what the solver's cluster and this have in common."""
        return {
            "workers": self.workers or workers,
            "bandwidth_gbps": self.bandwidth_gbps,
            "startup_us": self.startup_us,
            "hop_us": self.hop_us,
            "reduction_gbps": self.reduction_gbps,
            "algorithm": self.algorithm,
            "table": tuple(self.table),
            "tables": tuple((kind, tuple(points)) for kind, points in sorted(self.tables.items())),
        }


class ClusterBody(ChannelBody):
    """The workers and the networks between them."""

    workers: Annotated[int, Field(ge=1, le=MAX_WORKERS, description="Data-parallel ranks.")]
    channels: Annotated[
        dict[Name, ChannelBody],
        Field(
            max_length=MAX_CHANNELS,
            description="Networks besides this one, by the name that ops give; `network` is the "
            "one that the cluster's own fields describe.",
        ),
    ] = Field(default={})

    def to_cluster(self) -> Cluster:
        """Return the cluster as the solver knows it."""
        channels = tuple(
            (name, Cluster(**channel.described(self.workers)))
            for name, channel in sorted(self.channels.items())
        )
        return Cluster(**self.described(self.workers), channels=channels)


class OptionsBody(Body):
    """How to plan; every field may be left out."""

    fusion: Annotated[
        str,
        OneOf(tuple(FUSIONS)),
        Field(
            description="`joint`: buckets, parts and order chosen together, never worse than any "
            "policy; `maxmin`: PACE's Algorithm 1; `none`: each tensor alone."
        ),
    ] = "joint"
    schedule: Annotated[
        str,
        OneOf(tuple(SCHEDULERS)),
        Field(
            description="`jackson`: exact, continuous time; `lp`: time slots, HiGHS. The fusion "
            "`joint` brings its own order, so there it only decides how the slots are solved."
        ),
    ] = "jackson"
    slot_us: Annotated[
        Annotated[float, Field(ge=MIN_SLOT_US, le=graph.MAX_DURATION_US)] | None,
        Field(description="Length of a slot [us]; null chooses one."),
    ] = None
    baselines: Annotated[
        list[Baseline],
        Field(
            max_length=MAX_BASELINES,
            description="Policies of today to compare with: names, or objects with parameters.",
        ),
    ] = Field(default=["wfbp", "pace"], validate_default=True)
    barrier: Annotated[
        bool,
        Field(description="The next forward pass waits for all collectives, as in PyTorch."),
    ] = False
    seed: Annotated[
        int, Field(ge=0, le=MAX_SEED, description="Seed of the random moves of `joint`.")
    ] = 0
    time_limit_s: Annotated[
        float,
        Field(
            gt=0,
            le=MAX_SECONDS,
            description="After this time `joint` answers with the best plan so far [s].",
        ),
    ] = 10

    def to_options(self) -> Options:
        """Return the options as the solver knows them."""
        return Options(
            fusion=self.fusion,
            schedule=self.schedule,
            slot_us=self.slot_us,
            baselines=tuple(baseline.to_choice() for baseline in self.baselines),
            barrier=self.barrier,
            seed=self.seed,
            time_limit_s=self.time_limit_s,
        )


class PlanRequest(Body):
    """A training iteration, the cluster it runs on, and how to plan it."""

    graph: GraphBody
    cluster: ClusterBody
    options: OptionsBody = OptionsBody()
    what_if: Changes = Field(default=[])
