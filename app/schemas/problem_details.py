"""Problem details (RFC 9457): why a request was refused."""

from typing import Annotated

from pydantic import BaseModel, Field

from app.codes import FAULT_CODES
from app.limits import MAX_FAULTS_LISTED

#: What each code of a fault says, as a list in Markdown.
_RULES = "\n".join(
    ["The rule that was broken:", "", *(f"- `{code}`: {code.sentence}" for code in FAULT_CODES)]
)


class FaultOut(BaseModel):
    """One thing that is wrong with a request.

    Notes
    -----
    The solver's knows its own codes alone; here all of the service are listed, with examples.
    """

    pointer: Annotated[
        str,
        Field(
            description="JSON pointer (RFC 6901) into the body; `/query/...` is a query parameter.",
            examples=["/graph/ops/3/bytes"],
        ),
    ]
    code: Annotated[str, Field(description=_RULES, examples=["out_of_range"])]
    detail: Annotated[str, Field(examples=["Tensor 'g1': bytes must be 1 to 2^60, got 0."])]


class ProblemDetails(BaseModel):
    """Why a request was refused (RFC 9457), with all its faults."""

    type: Annotated[str, Field(examples=["about:blank"])]
    title: Annotated[str, Field(examples=["Unprocessable Content"])]
    status: Annotated[int, Field(examples=[422])]
    code: Annotated[str, Field(description="Code of the first fault.", examples=["out_of_range"])]
    detail: Annotated[str, Field(examples=["Tensor 'g1': bytes must be 1 to 2^60, got 0."])]
    instance: Annotated[str, Field(description="Path of the request.", examples=["/v1/plans"])]
    errors: Annotated[
        list[FaultOut], Field(description=f"The faults, the first {MAX_FAULTS_LISTED} of them.")
    ]
