"""Two answers side by side."""

from typing import Annotated, Literal

from pydantic import Field

from app.schemas.base import AnswerModel, is_unknown


class ComparedFigure(AnswerModel):
    """A figure of both answers."""

    name: Annotated[str, Field(description="What it is.")]
    unit: Annotated[str, Field(description="In what; empty of a count.")]
    first: Annotated[float | None, Field(description="Null where it is not known.")]
    second: Annotated[float | None, Field(description="Likewise.")]


class ChangedBucket(AnswerModel):
    """A bucket that one answer has alone, or that both have and send at another time."""

    id: Annotated[str, Field(description="Its name there; of both that in the first.")]
    tensors: list[str]
    bytes: int
    held_by: Annotated[
        Literal["first", "second", "both"], Field(description="Which answer has these tensors.")
    ]
    first_start_us: Annotated[
        float | None, Field(description="When the first sends it [us]; null where it has it not.")
    ]
    second_start_us: Annotated[float | None, Field(description="When the second does [us].")]


class AnswerComparison(AnswerModel):
    """Two answers side by side."""

    sentence: Annotated[
        str, Field(description="Which is faster, and by how much: A is the first, B the second.")
    ]
    notes: Annotated[
        list[str], Field(description="In what they differ besides: graph, cluster, options.")
    ]
    figures: Annotated[list[ComparedFigure], Field(description="Those that one of them has.")]
    alike: Annotated[
        int, Field(description="How many buckets both have: the same tensors, under any name.")
    ]
    changed: Annotated[
        list[ChangedBucket],
        Field(description="By their starts, of both that in the first."),
    ]
    is_reordered: Annotated[
        bool, Field(description="Whether the buckets that both have are sent in another order.")
    ]


class ComparedCell(AnswerModel):
    """A cluster of two sweeps: the fastest of each."""

    workers: int
    bandwidth_gbps: float | None
    startup_us: float
    memory_limit_bytes: Annotated[
        int | None, Field(exclude_if=is_unknown, description="Of a program: the limit of memory.")
    ] = None
    held_by: Annotated[
        Literal["first", "second", "both"], Field(description="Which sweep has this cell.")
    ]
    first_fastest: Annotated[
        list[str], Field(description="Labels of the fastest in the first, equal ones together.")
    ]
    second_fastest: list[str]
    first_us: Annotated[
        float | None, Field(description="Iteration time of these [us]; null where none is known.")
    ]
    second_us: float | None
    first_gain: Annotated[
        float | None, Field(description="The share that they save over what you run.")
    ]
    second_gain: float | None
    less: Annotated[
        float | None,
        Field(description="The share by which the second's time is less; null where one is not."),
    ]
    is_alike: Annotated[
        bool, Field(description="Whether both times are known, and equal within 0.1 %.")
    ]
    is_other_best: Annotated[
        bool, Field(description="Whether none of the fastest in one is so in the other.")
    ]


class SweepComparison(AnswerModel):
    """Two sweeps side by side."""

    sentence: Annotated[
        str,
        Field(description="On how many clusters which is faster: A is the first, B the second."),
    ]
    notes: Annotated[
        list[str], Field(description="In what they differ: graph, policies, what was asked.")
    ]
    cells: Annotated[list[ComparedCell], Field(description="Of either, in ascending order.")]
