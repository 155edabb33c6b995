"""Plans of mixes: a body in, the answer out."""

from app.calls.messages import Answered
from app.reading.requests import read_plain
from app.schemas.mixes import MixRequest
from app.services import mixes
from app.storage.database import Store


def mix(_store: Store, body: bytes) -> Answered:
    """Plan jobs that share links together."""
    found = mixes.answer_of(read_plain(body, MixRequest))
    return Answered(found.model_dump_json().encode())
