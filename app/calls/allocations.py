"""Allocations: a body in, the answer out."""

from app.calls.messages import Answered
from app.reading.requests import read_plain
from app.schemas.allocations import AllocationRequest
from app.services import allocations
from app.storage.database import Store


def ranking(_store: Store, body: bytes) -> Answered:
    """Rank node sets for a job."""
    found = allocations.answer_of(read_plain(body, AllocationRequest))
    return Answered(found.model_dump_json().encode())
