"""Profiled steps of training through parameter servers, as they are posted and answered."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from app.limits import MAX_STEP_OPS
from app.schemas.base import Name, RequestModel
from app.schemas.graphs import After
from app.schemas.networks import Microseconds
from solver.limits import MAX_BYTES, MAX_DURATION_US
from solver.parameter_server.recorded import RecordedTransfer
from solver.parameter_server.steps import ServerStep, StepOp


class ProfiledOpBody(RequestModel):
    """An op of a profiled step: time on the worker or a server, or bytes on a link."""

    id: Annotated[Name, Field(description="Unique in the step; no control characters.")]
    resource: Annotated[
        Name,
        Field(
            description="`worker`, `server`, `uplink` (from the worker to the server) or "
            "`downlink` (to the worker); of several servers the last three have the server's name "
            "behind a colon.",
            examples=["downlink", "uplink:ps1"],
        ),
    ]
    duration_us: Annotated[
        Annotated[float, Field(ge=0, le=MAX_DURATION_US)] | None,
        Field(description="Time on the worker or the server [us]."),
    ] = None
    bytes: Annotated[
        Annotated[int, Field(ge=1, le=MAX_BYTES)] | None,
        Field(description="Of a transfer, instead of a time: the bandwidth decides."),
    ] = None
    after: After = Field(default=[])
    start_us: Annotated[
        Microseconds | None,
        Field(
            description="Of a transfer that was recorded: when it could be sent, from the step's "
            "beginning [us]. The command fits to it with `--fit`; a prediction does without."
        ),
    ] = None
    end_us: Annotated[
        Microseconds | None,
        Field(description="Of a transfer that was recorded: when its last byte had come [us]."),
    ] = None
    parse_us: Annotated[
        Microseconds | None,
        Field(description="Of a transfer that was recorded: what its receiver then computed [us]."),
    ] = None


class ProfiledStepBody(RequestModel):
    """A profiled step of one worker: from its first pull to its last update."""

    ops: Annotated[
        list[ProfiledOpBody],
        Field(
            max_length=MAX_STEP_OPS,
            json_schema_extra={"minItems": 1},  # told by name when empty
            description="Of transfers that are ready at once the first goes first, unless `order` "
            "says otherwise.",
        ),
    ]

    def ops_of(self) -> list[StepOp]:
        """Return the ops as the solver knows them."""
        return [
            StepOp(op.id, op.resource, op.duration_us, op.bytes, tuple(op.after)) for op in self.ops
        ]

    def recorded(self) -> list[RecordedTransfer]:
        """Return the transfers whose times were recorded."""
        return [
            RecordedTransfer(op.resource, op.bytes, op.start_us, op.end_us, op.parse_us)
            for op in self.ops
            if op.bytes is not None and op.start_us is not None and op.end_us is not None
        ]


def steps_json(steps: Iterable[ServerStep]) -> list[dict[str, Any]]:
    """Return steps as they are posted."""
    return [{"ops": [_op_json(op) for op in step.ops]} for step in steps]


def _op_json(op: StepOp) -> dict[str, Any]:
    known = {"bytes": op.bytes} if op.is_transfer else {"duration_us": op.duration_us}
    return {"id": op.id, "resource": op.resource, **known, "after": list(op.after)}
