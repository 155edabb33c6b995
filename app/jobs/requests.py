"""Requests for jobs: what was posted and checked becomes what is to be done."""

import json
from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

from cachetools import LRUCache

from app import VERSION
from app.jobs.kinds import IMPORT
from app.jobs.queue import NewJob
from app.limits import JOB_TIME_LIMIT_S
from app.operations.callers import Caller
from app.operations.tracing import here
from app.storage.database import Store
from app.storage.idempotency import fingerprint

#: So many bodies are known again, each of so many bytes at most: those are hashed in no time.
_KNOWN, _KNOWN_BYTES = 4_096, 2**15


class Checked(NamedTuple):
    """What checking a body found.

    ``is_lasting`` when it names nothing that may be deleted, ``is_small`` when it is done soon.
    """

    name: str
    limit_s: float | None
    content: str
    is_lasting: bool = False
    is_small: bool = False


class Requests:
    """Bodies that were found right; any thread may use it."""

    def __init__(self) -> None:
        self._known: LRUCache[str, Checked] = LRUCache(_KNOWN)
        self._lock = Lock()

    def known(self, kind: str, body: bytes | bytearray) -> Checked | None:
        """Return what checking a small body found right before; None of any other.

        What names nothing stored is right whoever asks.
        """
        if len(body) > _KNOWN_BYTES:
            return None
        with self._lock:
            return self._known.get(fingerprint(kind, body))

    def know(self, kind: str, body: bytes | bytearray, checked: Checked) -> None:
        """Keep what checking a body found, if it is small and that lasts."""
        if checked.is_lasting and len(body) <= _KNOWN_BYTES:
            with self._lock:
                self._known[fingerprint(kind, body)] = checked


def job_of(
    store: Store,
    kind: str,
    body: bytes | bytearray,
    tags: Sequence[str],
    request_id: str,
    found: Checked,
) -> NewJob:
    """Make a job of a body that was checked, for whoever sees the store."""
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
        is_small=found.is_small,
    )


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
