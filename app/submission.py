"""From a posted request to a job: checked as far as that takes little time, and hashed."""

import hashlib
import json
from codecs import BOM_UTF8
from collections.abc import Sequence
from typing import Any

import msgspec

from app import VERSION
from app.door import problem_of, read_body
from app.graph_id import with_graph
from app.intake import New
from app.kinds import IMPORT, MODELS
from app.library import library_of
from app.storage import Store
from app.work import LIMIT_S, limit_of

#: Longer bodies are held by a few calls at a time, and read by the job's own child: reading them
#: would keep the server [bytes].
BIG = 2**20


def problem_job(
    store: Store, kind: str, body: bytes | bytearray, tags: Sequence[str], request_id: str
) -> New:
    """Check a request about a graph, and make a job of it.

    A request of more than :data:`BIG` bytes, its stored graph included, is checked by the job.

    Raises
    ------
    NotJson, InvalidRequest
        As :func:`app.door.read_body` does.
    """
    library = library_of(store)
    whole, unknown = with_graph(body, library.graph)
    name, limit_s, content = "", None, bytes(body)
    if len(whole) <= BIG or unknown:
        problem = problem_of(read_body(body, MODELS[kind], library))
        name, limit_s = problem.graph.name, limit_of(problem.request)
        content = _sorted(body)
    hashed = fingerprint(kind, VERSION, content)
    return New(kind, name, bytes(body), tags, request_id, limit_s, hashed)


def _sorted(body: bytes | bytearray) -> bytes:
    """Write JSON without its spaces and the order of its keys."""
    value = msgspec.json.decode(body.removeprefix(BOM_UTF8))
    return msgspec.json.encode(value, order="sorted")


def import_job(
    files: Sequence[bytes], asked: dict[str, Any], tags: Sequence[str], request_id: str
) -> New:
    """Make a job of files to read."""
    text = json.dumps(asked).encode()
    content = fingerprint(IMPORT, VERSION, text, *files)
    return New(IMPORT, asked["name"], text, tags, request_id, LIMIT_S, content, files)


def fingerprint(*parts: str | bytes | bytearray) -> str:
    """Hash texts, and where each of them ends."""
    found = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        found.update(len(content).to_bytes(8))
        found.update(content)
    return found.hexdigest()
