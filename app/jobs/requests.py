"""Requests for jobs, checked and hashed: what was posted becomes what is to be done."""

import json
from codecs import BOM_UTF8
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

import msgspec
from cachetools import LRUCache

from app import VERSION
from app.jobs.kinds import IMPORT, MODELS
from app.jobs.submission import NewJob
from app.jobs.tasks import limit_of, name_of
from app.limits import BIG_BODY_BYTES, JOB_TIME_LIMIT_S
from app.operations.callers import Caller
from app.operations.tracing import here
from app.reading.references import LargeGraph, Library
from app.reading.requests import read_body
from app.schemas.networks import CostModelBody
from app.storage.database import Store
from app.storage.idempotency import fingerprint
from app.storage.library import library_of

#: So many bodies are known again, each of so many bytes at most: those are hashed in no time.
_KNOWN, _KNOWN_BYTES = 4_096, 2**15


@dataclass(slots=True)
class _Checked:
    """What checking a body found; ``is_lasting`` when it names nothing that may be deleted."""

    name: str
    limit_s: float | None
    content: str
    is_lasting: bool = False


class Requests:
    """Requests about graphs that are posted; any thread may use it."""

    def __init__(self) -> None:
        self._known: LRUCache[str, _Checked] = LRUCache(_KNOWN)
        self._lock = Lock()

    def known(
        self,
        store: Store,
        kind: str,
        body: bytes | bytearray,
        tags: Sequence[str],
        request_id: str,
    ) -> NewJob | None:
        """Make a job of a small body that was found right before; None of any other.

        What names nothing stored is right whoever asks.
        """
        if len(body) > _KNOWN_BYTES:
            return None
        with self._lock:
            found = self._known.get(fingerprint(kind, body))
        return None if found is None else _job(store, kind, body, tags, request_id, found)

    def check(
        self,
        store: Store,
        kind: str,
        body: bytes | bytearray,
        tags: Sequence[str],
        request_id: str,
    ) -> NewJob:
        """Check a request about a graph, and make a job of it for whoever sees the store.

        A request of more than :data:`BIG_BODY_BYTES`, its stored graph included, is checked by the
        job.

        Raises
        ------
        NotJson, InvalidRequest
            As :func:`app.reading.requests.read_body` does.
        """
        checked = _Checked("", None, fingerprint(kind, VERSION, bytes(body)))
        if len(body) <= BIG_BODY_BYTES:
            with suppress(LargeGraph):
                checked = _read(store, kind, body)
        if checked.is_lasting and len(body) <= _KNOWN_BYTES:
            with self._lock:
                self._known[fingerprint(kind, body)] = checked
        return _job(store, kind, body, tags, request_id, checked)


def _read(store: Store, kind: str, body: bytes | bytearray) -> _Checked:
    seen = store.seen_by(store.caller and store.caller.as_owner())  # as the job will
    library, named = library_of(seen, BIG_BODY_BYTES), list[str]()

    def model(model_id: str) -> CostModelBody | None:
        named.append(model_id)
        return library.model(model_id)

    def graph(graph_id: str) -> str | None:
        named.append(graph_id)
        return library.graph(graph_id)

    found, request = read_body(body, MODELS[kind], Library(model, graph))
    content = fingerprint(kind, VERSION, _sorted(body))
    return _Checked(name_of(found, request), limit_of(request), content, not named)


def _job(
    store: Store,
    kind: str,
    body: bytes | bytearray,
    tags: Sequence[str],
    request_id: str,
    found: _Checked,
) -> NewJob:
    content, limit_s = found.content, found.limit_s
    return NewJob(
        kind,
        found.name,
        bytes(body),
        tags,
        request_id,
        limit_s,
        content,
        caller=store.caller,
        traceparent=here(),
    )


def _sorted(body: bytes | bytearray) -> bytes:
    """Write JSON without its spaces and the order of its keys."""
    value = msgspec.json.decode(body.removeprefix(BOM_UTF8))
    return msgspec.json.encode(value, order="sorted")


def import_job(
    files: Sequence[bytes],
    options: dict[str, Any],
    tags: Sequence[str],
    request_id: str,
    caller: Caller | None = None,
) -> NewJob:
    """Make a job of files to read."""
    text = json.dumps(options).encode()
    content = fingerprint(IMPORT, VERSION, text, *files)
    limit_s = JOB_TIME_LIMIT_S
    return NewJob(
        IMPORT, options["name"], text, tags, request_id, limit_s, content, files, caller, here()
    )
