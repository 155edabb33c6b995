"""Rankings of shapes: a body in, the answer out."""

from pydantic_core import to_json

from app.calls.messages import Answered
from app.reading.requests import read_plain
from app.schemas.shapes import ShapeRequest, ShapeTimelineRequest
from app.services import shapes
from app.storage.database import Store


def ranking(_store: Store, body: bytes) -> Answered:
    """Rank the shapes of a job."""
    found = shapes.answer_of(read_plain(body, ShapeRequest))
    return Answered(found.model_dump_json().encode())


def timeline(_store: Store, body: bytes) -> Answered:
    """Draw a step of one shape."""
    found = shapes.timeline_of(read_plain(body, ShapeTimelineRequest))
    return Answered(to_json(found))
