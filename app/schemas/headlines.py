"""The headline of a plan: what it gains over what runs today, with PyTorch's barrier and without.

Unknown is null.
"""

from typing import Annotated, Literal

from pydantic import Field

from app.schemas.base import AnswerModel


class Gain(AnswerModel):
    """What runs today beside a plan, both with the same barrier."""

    barrier: Annotated[
        bool,
        Field(
            description="The next forward pass waits for all collectives, as in PyTorch; else each "
            "parameter waits for its own bucket alone."
        ),
    ]
    runtime: Annotated[str, Field(description="What the plan needs to be run.")]
    today_us: Annotated[float, Field(description="What runs today, simulated [us].")]
    plan_us: Annotated[
        float, Field(description="The plan that is made for this barrier, simulated [us].")
    ]
    lower_bound_us: Annotated[float, Field(description="Nothing is faster, proven [us].")]
    gain: Annotated[float | None, Field(description="`today_us` / `plan_us`.")]
    keep: Annotated[bool, Field(description="The plan gains nothing: keep what you have.")]


class Headline(AnswerModel):
    """Plans for both barriers beside what runs today; the one under the barrier first."""

    policy: Annotated[
        Literal["ddp", "wfbp"],
        Field(
            description="What runs today: `ddp` where all that is sent are all-reduces and none "
            "comes after another, or where it is the first baseline; else `wfbp`, the graph's own "
            "collectives, first in, first out."
        ),
    ]
    gains: Annotated[
        list[Gain],
        Field(description="The second is left out where the graph itself has the barrier."),
    ]
