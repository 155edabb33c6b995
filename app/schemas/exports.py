"""The response body of exports."""

from typing import Annotated

from pydantic import Field

from app.schemas.base import AnswerModel


class ExportedFile(AnswerModel):
    """One file of an export."""

    name: str
    text: Annotated[str | None, Field(description="What is in it; null when that is no text.")]
    base64: Annotated[str | None, Field(description="The same in base 64; null when it is text.")]


class ExportOut(AnswerModel):
    """A plan as files of another tool, and what that costs.

    Notes
    -----
    The solver's has the content of files by name, as bytes where it is no text.
    """

    format: str
    files: list[ExportedFile]
    notes: Annotated[
        list[str],
        Field(description="What of the plan the tool cannot express, and what is assumed."),
    ]
    iteration_time_us: Annotated[
        float, Field(description="Simulated time of what the files say, run by that tool [us].")
    ]
    plan_time_us: Annotated[float, Field(description="Simulated time of the plan [us].")]
