"""What the service says of itself, and the examples that it has."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from app import VERSION


class ExampleSummary(BaseModel):
    """An example in the list."""

    name: Annotated[str, Field(examples=["two_layers"])]
    description: str
    url: Annotated[str, Field(description="Where the request is.")]


class ExampleList(BaseModel):
    """The examples."""

    examples: list[ExampleSummary]


class Health(BaseModel):
    """All is well."""

    status: Literal["ok"] = "ok"


class Version(BaseModel):
    """What is running."""

    name: Literal["interlace"] = "interlace"
    version: Annotated[str, Field(examples=["0.1.0"])] = VERSION
