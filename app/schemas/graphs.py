"""Graphs: as they are posted, stored and listed."""

from operator import not_
from typing import Annotated, Any, ClassVar, Literal

from pydantic import FailFast, Field

from app.limits import (
    JOB_TIME_LIMIT_S,
    MAX_BUFFERS,
    MAX_CHANNELS,
    MAX_COLLECTIVES,
    MAX_NAME_CHARACTERS,
    MAX_OPS,
    MAX_READS,
    MAX_STREAMS,
)
from app.schemas.base import PLAIN, Name, RequestModel, is_unknown
from app.schemas.clusters import ClusterBody
from app.schemas.networks import OtherKind
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import NETWORK, Buffer, Op, RecordedStep
from solver.limits import (
    MAX_BYTES,
    MAX_COMPUTE_SLOWDOWN,
    MAX_DURATION_US,
    MAX_UNSOUND,
    MAX_UNSOUND_CHARACTERS,
    MAX_WORKERS,
)

Id = Annotated[Name, Field(description="Name, unique in the graph; no control characters.")]


#: No op can wait for more than all ops; one fault of a list is enough.
After = Annotated[
    list[Id],
    FailFast(),
    Field(max_length=MAX_OPS, description="Ids of the ops that must end first."),
]


class ComputeOp(RequestModel):
    """An op that takes time on a device."""

    id: Id
    kind: Literal["compute"]
    duration_us: Annotated[float, Field(ge=0, le=MAX_DURATION_US, description="Time [us].")]
    after: After = Field(default=[])
    stream: Annotated[
        Name | None,
        Field(
            description="Ops of one stream run one at a time, in the order of the graph; in an "
            "order that is chosen where `streams` says that it is free."
        ),
    ] = None
    slowdown: Annotated[
        dict[Name, Annotated[float, Field(ge=1, le=MAX_COMPUTE_SLOWDOWN)]] | None,
        Field(
            max_length=MAX_CHANNELS + 1,
            description="While a channel of these carries, the op takes so many times as long; of "
            "several that carry the largest counts, and channels that are not named slow nothing "
            "down. Null leaves it to `cluster.compute_slowdown`.",
        ),
    ] = None


CollectiveKind = Literal["all_reduce", OtherKind]


class CollectiveOp(RequestModel):
    """An op in which all workers take part: a gradient to sum, a shard to gather; or a send."""

    id: Id
    kind: CollectiveKind
    bytes: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_BYTES,
            description="Size of the whole tensor, not of a worker's share of it; for an "
            "all-to-all all that one worker holds, for a send what it moves.",
        ),
    ]
    after: After = Field(default=[])
    channel: Annotated[
        Name, Field(description="What carries it: `network`, or one of `cluster.channels`.")
    ] = NETWORK
    element_bytes: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_BYTES,
            description="Size of an element, such as 4 for float32: parts end between elements, "
            "and `bytes` is a multiple of it.",
        ),
    ] = 1
    fuse_key: Annotated[
        Name | None,
        Field(
            description="Collectives share a bucket only with the same kind, channel, "
            "`element_bytes` and key, such as the type of their elements or the group of their "
            "parameters."
        ),
    ] = None
    cut: Annotated[
        bool,
        Field(
            description="Whether it may be sent in parts; false where the runtime cannot, as in a "
            "compiled graph."
        ),
    ] = True
    source: Annotated[
        Name | None,
        Field(
            description="Of a `send_recv`: any name for the rank that sends; null, and `target` as "
            "well, for the ranks of its channel. Sends of different pairs are never one launch."
        ),
    ] = None
    target: Annotated[
        Name | None, Field(description="Of a `send_recv`: the rank that receives.")
    ] = None


OpBody = Annotated[ComputeOp | CollectiveOp, Field(discriminator="kind")]


class StreamBody(RequestModel):
    """A stream of compute ops."""

    name: Annotated[Name, Field(description="As ops name it.")]
    order: Annotated[
        Literal["given", "free"],
        Field(
            description="`given`: in the order of the graph; `free`: in an order to be chosen, one "
            "at a time, each after what it comes after."
        ),
    ] = "given"


class BufferBody(RequestModel):
    """Memory, live from the start of its writer to the end of its last reader."""

    id: Annotated[Name, Field(description="Name, unique among the buffers.")]
    bytes: Annotated[int, Field(ge=0, le=MAX_BYTES, description="Size [bytes].")]
    written_by: Annotated[
        Name | None,
        Field(description="Id of the op that writes it; null for an input, there from the start."),
    ] = None
    read_by: Annotated[
        list[Id],
        FailFast(),
        Field(max_length=MAX_READS, description="Ids of the ops that read it."),
    ] = Field(default=[])
    kept: Annotated[
        bool, Field(description="Live to the end: a parameter, an optimizer state, a result.")
    ] = False


class RecordedBody(RequestModel):
    """How long the step took that a graph was read from."""

    measured_us: Annotated[
        float | None,
        Field(ge=0, le=MAX_DURATION_US, description="When it was recorded [us]; null if unknown."),
    ] = None
    replayed_us: Annotated[
        float | None,
        Field(
            ge=0,
            le=MAX_DURATION_US,
            description="Its graph with the recorded times of the collectives [us]; null if "
            "unknown.",
        ),
    ] = None
    unsized: Annotated[
        int,
        Field(
            ge=0,
            le=MAX_OPS,
            description="Compute ops that are communication of unknown bytes: they keep their "
            "recorded time.",
        ),
    ] = 0
    unsized_us: Annotated[
        float, Field(ge=0, le=MAX_DURATION_US, description="How long these took in all [us].")
    ] = 0
    late_us: Annotated[
        float | None,
        Field(
            ge=0,
            le=MAX_DURATION_US,
            exclude_if=is_unknown,
            description="How much shorter it would be without the rank or the link that is late "
            "[us]; null if none is known to be.",
        ),
    ] = None
    late_rank: Annotated[
        int | None,
        Field(
            ge=0,
            lt=MAX_WORKERS,
            exclude_if=is_unknown,
            description="That rank; null if none is, or nobody knows whose link it is.",
        ),
    ] = None
    unsound: Annotated[
        list[Annotated[str, Field(max_length=MAX_UNSOUND_CHARACTERS, pattern=PLAIN)]],
        Field(
            max_length=MAX_UNSOUND,
            exclude_if=not_,
            description="Why the recording carries no gain, a sentence each: what its reader's "
            "check found. While there is one, no verdict claims a gain.",
        ),
    ] = Field(default=[])


class GraphBody(RequestModel):
    """One training iteration: ops and what each waits for."""

    name: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, pattern=PLAIN)] = ""
    ops: Annotated[
        list[OpBody],
        FailFast(),
        Field(max_length=MAX_OPS, json_schema_extra={"minItems": 1}),  # told by name when empty
    ]
    streams: Annotated[
        list[StreamBody],
        FailFast(),
        Field(max_length=MAX_STREAMS, description="Streams whose order is not the usual, given."),
    ] = Field(default=[])
    buffers: Annotated[
        list[BufferBody],
        FailFast(),
        Field(max_length=MAX_BUFFERS, description="The memory that ops write and read."),
    ] = Field(default=[])
    recorded: Annotated[
        RecordedBody | None,
        Field(
            exclude_if=is_unknown,
            description="Of a graph that was read from a trace, whose reader writes it: the step "
            "as it was recorded. Answers compare it with its simulation.",
        ),
    ] = None

    def recorded_of(self) -> RecordedStep | None:
        """Return the recorded step as the solver knows it."""
        if self.recorded is None:
            return None
        told = self.recorded.model_dump()
        return RecordedStep(**told | {"unsound": tuple(self.recorded.unsound)})

    def free(self) -> list[str]:
        """Return the streams of free order."""
        return [stream.name for stream in self.streams if stream.order == "free"]

    def buffers_of(self) -> list[Buffer]:
        """Return the buffers as the solver knows them."""
        return [
            Buffer(each.id, each.bytes, each.written_by, tuple(each.read_by), each.kept)
            for each in self.buffers
        ]

    def ops_of(self) -> list[Op]:
        """Return the ops as the solver knows them."""
        return [
            Op(
                op.id,
                op.kind,
                op.duration_us,
                None,
                tuple(op.after),
                stream=op.stream,
                slowdown=None if op.slowdown is None else tuple(sorted(op.slowdown.items())),
            )
            if isinstance(op, ComputeOp)
            else Op(
                op.id,
                op.kind,
                None,
                op.bytes,
                tuple(op.after),
                op.channel,
                element_bytes=op.element_bytes,
                fuse_key=op.fuse_key,
                cut=op.cut,
                source=op.source,
                target=op.target,
            )
            for op in self.ops
        ]


def _or_id(schema: dict[str, Any]) -> None:
    """Say that either field will do."""
    schema["required"] = [name for name in schema.get("required", ()) if name != "graph"]


class GraphRequest(RequestModel):
    """A request about a graph, or the id of one."""

    model_config = RequestModel.model_config | {"json_schema_extra": _or_id}

    #: Most collectives of its graph.
    most_collectives: ClassVar[int] = MAX_COLLECTIVES

    graph: GraphBody | None = None
    graph_id: Annotated[
        Name | None,
        Field(description="Instead of a graph: the id that `POST /v1/graphs` gave."),
    ] = None

    @property
    def has_barrier(self) -> bool:
        """Whether the graph gets one more op."""
        return True

    @property
    def asked_s(self) -> float:
        """The time that its job asks for [s]."""
        return JOB_TIME_LIMIT_S

    @property
    def own_name(self) -> str:
        """What its job is called; empty where it is called as its graph."""
        return ""

    def own_faults(self) -> list[Fault]:
        """List what is wrong besides the graph and the cluster."""
        if self.graph_id is None:
            return []
        return [
            Fault("/graph_id", FaultCode.EXTRA_FIELD, "Give a graph or the id of one, not both.")
        ]


class ClusterRequest(GraphRequest):
    """A request about a graph, or the id of one, on a cluster."""

    cluster: ClusterBody
