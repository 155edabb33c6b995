"""Buckets and launches: as they are answered, and as an explicit plan states them."""

from typing import Annotated

from pydantic import ConfigDict, FailFast, Field

from app.limits import MAX_OPS, MAX_PROGRAM_OPS, MAX_SIMULATED_LAUNCHES
from app.schemas.base import AnswerModel, RequestModel, is_unknown
from app.schemas.graphs import Id
from solver.graph import ALL_REDUCE, NETWORK
from solver.limits import MAX_BYTES, MAX_DURATION_US
from solver.planning.explicit import ExplicitBucket, ExplicitPart
from solver.planning.result import Part, SlotRun
from solver.programs.explicit import NamedBucket, ProgramStep
from solver.programs.program import Do
from solver.programs.recomputation.graph import RecomputedOp


class BucketOut(AnswerModel):
    """Tensors sent as one collective.

    Notes
    -----
    Of a program it has times, left out of other plans; the solver keeps them with the run.
    """

    id: str
    tensors: list[str]
    bytes: int
    kind: Annotated[str, Field(description="Kind of collective.")] = ALL_REDUCE
    channel: Annotated[str, Field(description="What carries it.")] = NETWORK
    release_us: Annotated[float, Field(description="When its last tensor is ready [us].")]
    tail_us: Annotated[float, Field(description="Compute left after it, longest path [us].")]
    start_us: Annotated[
        float | None,
        Field(exclude_if=is_unknown, description="Of a program: when its launch starts [us]."),
    ] = None
    end_us: Annotated[
        float | None, Field(exclude_if=is_unknown, description="Of a program: when it ends [us].")
    ] = None
    pack_us: Annotated[
        float | None,
        Field(exclude_if=is_unknown, description="Of a program: time of packing it [us]."),
    ] = None
    unpack_us: Annotated[
        float | None,
        Field(exclude_if=is_unknown, description="Of a program: time of unpacking it [us]."),
    ] = None


class Schedule(AnswerModel):
    """When to send what: launches in continuous time, and per slot."""

    parts: list[Part]
    slot_us: Annotated[
        float | None,
        Field(description="Length of a slot [us]; null where releases depend on the schedule."),
    ]
    slots: list[SlotRun]
    slots_iteration_time_us: Annotated[
        float | None,
        Field(description="Value of the slotted schedule, start-up once a bucket [us]."),
    ]


class BucketBody(RequestModel):
    """Tensors that are sent as one collective; other fields of an answer are not read."""

    model_config = ConfigDict(extra="ignore")

    id: Id
    tensors: Annotated[list[Id], FailFast(), Field(min_length=1, max_length=MAX_OPS)]


class PartBody(RequestModel):
    """One launch; other fields of an answer are not read."""

    model_config = ConfigDict(extra="ignore")

    bucket: Id
    bytes: Annotated[int, Field(ge=1, le=MAX_BYTES)]


class ScheduleBody(RequestModel):
    """The launches in order; those of one channel run in this order."""

    model_config = ConfigDict(extra="ignore")

    parts: Annotated[list[PartBody], FailFast(), Field(max_length=MAX_SIMULATED_LAUNCHES)]


class HostStepBody(RequestModel):
    """One step of a program; other fields of an answer are not read."""

    model_config = ConfigDict(extra="ignore")

    do: Do
    id: Annotated[Id, Field(description="An op for `compute`, else a bucket.")]


class RecomputedOpBody(RequestModel):
    """An op that runs twice."""

    op: Annotated[Id, Field(description="The op.")]
    id: Annotated[Id, Field(description="Its second run: the op's id and `/recomputed`.")]
    read_by: Annotated[
        list[Id],
        FailFast(),
        Field(min_length=1, max_length=MAX_OPS, description="Ops that read the second run."),
    ]
    duration_us: Annotated[
        float, Field(ge=0, le=MAX_DURATION_US, description="Time of the second run [us].")
    ]


class RecomputedBody(RequestModel):
    """What a program computes twice; other fields of an answer are not read."""

    model_config = ConfigDict(extra="ignore")

    ops: Annotated[list[RecomputedOpBody], FailFast(), Field(max_length=MAX_PROGRAM_OPS)]

    def to_ops(self) -> tuple[RecomputedOp, ...]:
        """Return the ops as the solver knows them."""
        return tuple(
            RecomputedOp(each.op, each.id, tuple(each.read_by), each.duration_us)
            for each in self.ops
        )


class PlanBody(RequestModel):
    """A plan: the answer of `POST /v1/plans` as it is, or its `buckets` and `schedule` alone.

    Only what each launch carries and the order of launches count; times are simulated anew. Of a
    program `buckets` and `program` count.
    """

    model_config = ConfigDict(extra="ignore")

    buckets: Annotated[list[BucketBody], FailFast(), Field(max_length=MAX_OPS)]
    schedule: ScheduleBody
    program: Annotated[
        list[HostStepBody] | None,
        FailFast(),
        Field(
            max_length=4 * MAX_PROGRAM_OPS,
            exclude_if=is_unknown,
            description="What the host asks for, in order.",
        ),
    ] = None

    recomputed: Annotated[
        RecomputedBody | None,
        Field(exclude_if=is_unknown, description="Which ops of a program run twice."),
    ] = None

    def by_name(self) -> tuple[list[ExplicitBucket], list[ExplicitPart]]:
        """Return buckets and launches by name."""
        return (
            [ExplicitBucket(bucket.id, tuple(bucket.tensors)) for bucket in self.buckets],
            [ExplicitPart(part.bucket, part.bytes) for part in self.schedule.parts],
        )

    def program_by_name(self) -> tuple[list[NamedBucket], list[ProgramStep]]:
        """Return the buckets and the steps of a program by name."""
        return (
            [NamedBucket(bucket.id, tuple(bucket.tensors)) for bucket in self.buckets],
            [ProgramStep(step.do, step.id) for step in self.program or ()],
        )


class Launches(AnswerModel):
    """What was launched, in the order of starts."""

    parts: list[Part]
