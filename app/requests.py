"""The request body of ``POST /v1/plans``: strict, closed, finite.

Limits of one request that no field has by itself: :data:`MAX_OPS`, :data:`MAX_COLLECTIVES`,
:data:`MAX_EDGES`, and :data:`solver.graph.MAX_BYTES` over all collectives.
"""

from typing import Annotated, Any, Literal

from pydantic import FailFast, Field

from app.baselines import Baseline
from app.body import PLAIN, Body, Name, OneOf
from app.cluster import ClusterBody
from app.faults import MAX_NAME
from app.what_if import Changes
from solver.errors import Fault
from solver.fusion.layered import FUSIONS
from solver.graph import graph
from solver.planning.plan import Options
from solver.schedule import SCHEDULERS

MAX_OPS = 1_000_000
MAX_COLLECTIVES = 3_000
MAX_EDGES = 2_000_000
MAX_SEED = 2**32 - 1
MAX_SECONDS = 600
MIN_SLOT_US = 1e-6
MAX_BASELINES = 32

Id = Annotated[Name, Field(description="Name, unique in the graph; no control characters.")]
#: No op can wait for more than all ops; one fault of a list is enough.
After = Annotated[
    list[Id],
    FailFast(),
    Field(max_length=MAX_OPS, description="Ids of the ops that must end first."),
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
    ops: Annotated[
        list[OpBody],
        FailFast(),
        Field(max_length=MAX_OPS, json_schema_extra={"minItems": 1}),  # told by name when empty
    ]

    def ops_of(self) -> list[graph.Op]:
        """Return the ops as the solver knows them."""
        return [
            graph.Op(op.id, op.kind, op.duration_us, None, tuple(op.after), stream=op.stream)
            if isinstance(op, ComputeOp)
            else graph.Op(op.id, op.kind, None, op.bytes, tuple(op.after), op.channel)
            for op in self.ops
        ]


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


def _or_id(schema: dict[str, Any]) -> None:
    """Say that either field will do."""
    schema["required"] = [name for name in schema.get("required", ()) if name != "graph"]


class GraphRequest(Body):
    """A request about a graph, or the id of one, on a cluster."""

    model_config = Body.model_config | {"json_schema_extra": _or_id}

    graph: GraphBody | None = None
    graph_id: Annotated[
        Name | None,
        Field(description="Instead of a graph: the id that `POST /v1/graphs` gave."),
    ] = None
    cluster: ClusterBody

    @property
    def has_barrier(self) -> bool:
        """Whether the graph gets one more op."""
        return True

    def own_faults(self) -> list[Fault]:
        """List what is wrong besides the graph and the cluster."""
        if self.graph_id is None:
            return []
        return [Fault("/graph_id", "extra_field", "Give a graph or the id of one, not both.")]


class PlanRequest(GraphRequest):
    """A training iteration, the cluster it runs on, and how to plan it."""

    graph: GraphBody
    options: OptionsBody = OptionsBody()
    what_if: Changes = Field(default=[])

    @property
    def has_barrier(self) -> bool:
        """Whether the graph gets one more op."""
        return self.options.barrier
