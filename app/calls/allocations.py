"""Allocations: a body in, the answer out."""

from functools import lru_cache

from app.calls.messages import Answered
from app.reading.requests import read_plain
from app.schemas.allocations import AllocationRequest
from app.services import allocations
from app.storage.database import Store

#: Bodies above this are ranked anew each time they are asked [bytes].
_KEPT = 1 << 20


def ranking(_store: Store, body: bytes) -> Answered:
    """Rank node sets for a job; a process keeps its last few answers."""
    return Answered(_known(body) if len(body) <= _KEPT else _ranked(body))


def _ranked(body: bytes) -> bytes:
    found = allocations.answer_of(read_plain(body, AllocationRequest))
    return found.model_dump_json().encode()


_known = lru_cache(maxsize=16)(_ranked)
