"""Exports: what the routes of plans and of simulations share."""

from typing import Annotated

from fastapi import Query

from app.limits import MAX_NAME_CHARACTERS
from app.names import EXPORTS, PROGRAM_EXPORTS
from app.schemas.base import OneOf

Format = Annotated[
    Annotated[str, OneOf(tuple(dict.fromkeys((*EXPORTS, *PROGRAM_EXPORTS))))],
    Query(
        description="What the plan is written for: of a program "
        f"{', '.join(PROGRAM_EXPORTS)}, of any other plan {', '.join(EXPORTS)}."
    ),
]
FileName = Annotated[
    str | None, Query(max_length=MAX_NAME_CHARACTERS, description="One of the files, as it is.")
]
