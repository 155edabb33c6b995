"""Exports: what the routes of plans and of simulations share."""

from typing import Annotated

from fastapi import Query, Response

from app.limits import MAX_NAME_CHARACTERS
from app.schemas.base import OneOf
from app.services import exports
from solver.exports import EXPORTS, Export
from solver.exports.programs import PROGRAM_EXPORTS

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


def respond(export: Export, file: str | None) -> Response:
    """Answer with one file as it is, or with all of them and what they cost."""
    if file is not None:
        return Response(exports.file_of(export, file), media_type="application/octet-stream")
    text = exports.answer_of(export).model_dump_json()
    return Response(text, media_type="application/json")
