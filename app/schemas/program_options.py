"""What programs are made and simulated with: the options of graphs of free order."""

from typing import Annotated

from pydantic import Field

from app.limits import MAX_COPY_GBPS, MIN_COPY_GBPS
from app.schemas.base import RequestModel, is_unknown
from solver.limits import MAX_BYTES, MAX_DURATION_US
from solver.programs.problem import InputsHeld

Bytes = Annotated[int, Field(ge=1, le=MAX_BYTES)]


MemoryLimit = Annotated[
    Bytes | None,
    Field(
        exclude_if=is_unknown,
        description="The most memory that buffers and buckets take at any instant [bytes].",
    ),
]


CopyGbps = Annotated[
    Annotated[float, Field(ge=MIN_COPY_GBPS, le=MAX_COPY_GBPS)] | None,
    Field(
        exclude_if=is_unknown,
        description="Speed of the copies into and out of buckets, of bytes read and written "
        "[Gbit/s]; of a program 26,800 unless it is given.",
    ),
]


MaxBucketBytes = Annotated[
    Bytes | None,
    Field(exclude_if=is_unknown, description="The most bytes of a bucket of several tensors."),
]


MaxBytesUnderWay = Annotated[
    Bytes | None,
    Field(
        exclude_if=is_unknown,
        description="The most bytes of buckets that are launched and not waited for, but for "
        "one bucket alone.",
    ),
]


HeldInputs = Annotated[
    InputsHeld | None,
    Field(
        exclude_if=is_unknown,
        description="Until when what a launch reads is held in memory: `wait`, until the host's "
        "wait for it, as PyTorch does; `launch`, until it has ended; of a program `wait` unless "
        "it is given.",
    ),
]


MarginUs = Annotated[
    Annotated[float, Field(ge=0, le=MAX_DURATION_US)] | None,
    Field(
        exclude_if=is_unknown,
        description="A launch is asked for no earlier than needed to end this long before what "
        "waits for it, where that costs no time [us]; of a program 50,000 unless it is given.",
    ),
]


class ProgramOptionsBody(RequestModel):
    """What a program is made and simulated with; any that is given asks for one."""

    copy_gbps: CopyGbps = None
    max_bucket_bytes: MaxBucketBytes = None
    max_bytes_under_way: MaxBytesUnderWay = None
    inputs_held: HeldInputs = None


class SimulatedOptions(ProgramOptionsBody):
    """Of one program, with its limit of memory: policies keep it if they can."""

    memory_limit_bytes: MemoryLimit = None


class SweptOptions(ProgramOptionsBody):
    """Of the programs of all cells."""

    margin_us: MarginUs = None


def is_empty(options: ProgramOptionsBody) -> bool:
    """Tell whether no option is given."""
    return all(getattr(options, name) is None for name in type(options).model_fields)
