"""Programs: what one rank's host asks for, in order, and the memory that it takes."""

from typing import Annotated

from pydantic import Field

from app.schemas.base import AnswerModel, OneOf, is_unknown
from app.schemas.lists import Status
from solver.programs.execute import Holding
from solver.programs.explanation.critical import PathTimes
from solver.programs.explanation.earlier import REASONS, MovedLaunch
from solver.programs.problem import InputsHeld
from solver.programs.recomputation.graph import RecomputedOp
from solver.programs.result import RoomierPlan


class MemoryUse(AnswerModel):
    """Memory over time."""

    inputs_held: Annotated[
        InputsHeld,
        Field(
            description="Until when what a launch reads is held, of every figure of memory in this "
            "answer: `wait`, until the host's wait for it; `launch`, until it has ended."
        ),
    ]
    limit_bytes: Annotated[int | None, Field(description="What it may be; null without a limit.")]
    peak_us: Annotated[float, Field(description="When the most is first reached [us].")]
    profile: Annotated[
        list[tuple[float, int]], Field(description="Time [us] and bytes from then on, ascending.")
    ]
    at_peak: Annotated[
        list[Holding], Field(description="The largest of what is held at the peak, at most 20.")
    ]
    more: Annotated[
        list[RoomierPlan] | None,
        Field(
            exclude_if=is_unknown,
            description="Plans with more memory; left out unless asked for by `more_memory_bytes`.",
        ),
    ] = None


class LaunchReasonOut(AnswerModel):
    """Why a launch starts no earlier.

    Notes
    -----
    The solver's has the number of the bucket, not its name, and no text.
    """

    bucket: str
    start_us: float
    could_start_us: Annotated[
        float,
        Field(
            description="When it would start if it were asked for right after its inputs, all else "
            "as it is; from no later place in the program it starts earlier."
        ),
    ]
    why: Annotated[
        str,
        OneOf(REASONS),
        Field(
            description="`start`: nothing is before it; `input`: an input is ready only then; "
            "`channel`: its channel carries another; `stream`: the stream of its inputs is busy. "
            "Else the host asks for it only then; asked for earlier: `memory`: more memory than "
            "allowed; `under_way`: more bytes under way than allowed; `time`: a longer iteration; "
            "`peak`: more memory, for no time; `put_off`: nothing gained (it ends in time); "
            "`missed`: a shorter iteration; `host`: not tried."
        ),
    ]
    by: Annotated[str | None, Field(description="The op or bucket that holds it.")]
    moved: Annotated[
        MovedLaunch | None, Field(description="What came of asking earlier; null: not tried.")
    ]
    text: Annotated[str, Field(description="The same in words.")]


class RecomputedOps(AnswerModel):
    """What a program computes twice, so as not to hold it."""

    ops: list[RecomputedOp]
    compute_us: Annotated[float, Field(description="Time of all second runs [us].")]
    peak_without_bytes: Annotated[
        int, Field(description="The most memory of the same program without them [bytes].")
    ]


class FrontPoint(AnswerModel):
    """The plan for one limit of memory, or why there is none."""

    memory_limit_bytes: int
    iteration_time_us: Annotated[
        float | None, Field(description="Null where there is no plan.")
    ] = None
    peak_bytes: int | None = None
    lower_bound_us: float | None = None
    status: Status | None = None
    why_not: Annotated[
        str | None, Field(description="Why there is no plan; null where one is.")
    ] = None


#: Fields of answers that have a program, left out of all others.
PeakBytes = Annotated[
    int | None, Field(exclude_if=is_unknown, description="The most memory [bytes].")
]


Memory = Annotated[MemoryUse | None, Field(exclude_if=is_unknown, description="Memory over time.")]


ProgramPathTimes = Annotated[
    PathTimes | None,
    Field(exclude_if=is_unknown, description="The critical path of a program by cause."),
]


Recomputed = Annotated[
    RecomputedOps | None,
    Field(
        exclude_if=is_unknown,
        description="Ops that run twice since it is faster; left out without `recompute`. "
        "`program` has both runs; the bound is that of the graph without a limit of memory, and "
        "nothing is faster whatever runs twice.",
    ),
]


LaunchReasons = Annotated[
    list[LaunchReasonOut] | None,
    Field(
        exclude_if=is_unknown,
        description="Of a program: why each launch starts no earlier, in the order of buckets.",
    ),
]
