"""Cost models as curves: what was measured, and what each fit says of every size."""

from typing import Annotated

from pydantic import Field

from app.schemas.base import AnswerModel


class MeasuredSize(AnswerModel):
    """All samples of one size."""

    bytes: int
    mean_us: float
    least_us: float
    most_us: float
    samples: int


class CurvePoint(AnswerModel):
    """What a launch of so many bytes takes."""

    bytes: int
    us: float


class CostCurve(AnswerModel):
    """A fit, or figures that were known, over the sizes."""

    algorithm: str
    is_model: Annotated[bool, Field(description="Whether plans use it.")]
    points: Annotated[
        list[CurvePoint],
        Field(
            description="By size, ascending, from an eighth of the least that was measured to "
            "eight times the most, with the points of a table and both sides of a threshold."
        ),
    ]
    residuals: Annotated[
        list[float],
        Field(description="At each measured size its time / `mean_us` - 1, in the same order."),
    ]


class KindCurves(AnswerModel):
    """One collective."""

    kind: str
    measured_bytes: Annotated[
        tuple[int, int] | None,
        Field(description="Least and most bytes that were measured; null when nobody knows."),
    ]
    measured: Annotated[
        list[MeasuredSize],
        Field(description="By size, ascending; empty when figures were given, not samples."),
    ]
    curves: Annotated[list[CostCurve], Field(description="The model first, then the other fits.")]


class CostCurvesAnswer(AnswerModel):
    """A cost model, drawn."""

    workers: Annotated[
        int,
        Field(
            description="Workers that the times hold for: those of the measurement; where these "
            "are unknown and count, two, or two nodes."
        ),
    ]
    kinds: list[KindCurves]
    version: str
