"""Jobs of bodies that are too large for the server: read, checked and kept by a child."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from app.calls.forms import read_form
from app.jobs.kinds import IMPORT
from app.jobs.requests import Requests, import_job
from app.jobs.submission import Asked, NewJob, Receipt, Room, add_all, id_of_key
from app.reading.traces import parameters_of
from app.storage.database import Store
from app.storage.idempotency import Key


class Wanted(NamedTuple):
    """How a job is asked for.

    Attributes
    ----------
    tags
        Words of the client.
    request_id
        Of the call.
    key
        Idempotency key; None without.
    fresh
        Whether an answer from storage will not do.
    room
        How much may wait in its queue.
    traceparent
        The span of the call; None where nothing is traced.
    """

    tags: Sequence[str]
    request_id: str
    key: str | None
    fresh: bool
    room: Room
    traceparent: str | None = None


def problem(store: Store, body: bytes, kind: str, wanted: Wanted) -> Receipt:
    """Make a job of a request about a graph.

    Raises
    ------
    NotJson, InvalidRequest, QueueFull
        As for a small one.
    """
    return _added(
        store,
        kind,
        lambda: (body,),
        lambda: Requests().check(store, kind, body, wanted.tags, wanted.request_id),
        wanted,
    )


def upload(store: Store, body: bytes, header: str, how: dict[str, Any], wanted: Wanted) -> Receipt:
    """Make a job of files to read: the body is one, or a form with a ``Content-Type`` has them.

    Raises
    ------
    NotMultipart, InvalidRequest, QueueFull
        When the form is none, its parameters are wrong, or as for any job.
    """
    files, parameters = read_form(body, header)
    how = {**how, "parameters": parameters or how["parameters"]}
    parameters_of(how["parameters"])
    return _added(
        store,
        IMPORT,
        lambda: (json.dumps(how), *files),
        lambda: import_job(files, how, wanted.tags, wanted.request_id, store.caller),
        wanted,
    )


def _added(
    store: Store,
    kind: str,
    content: Callable[[], Sequence[str | bytes]],
    new: Callable[[], NewJob],
    wanted: Wanted,
) -> Receipt:
    """Keep a job, or find the one that answers; ``content`` is what a key must repeat."""
    key = None
    if wanted.key is not None:
        key = Key.of(wanted.key, store.caller, kind, *content(), *wanted.tags)
        if (job_id := id_of_key(store, key)) is not None:
            return Receipt(job_id)
    asked = replace(new(), traceparent=wanted.traceparent)
    [receipt] = add_all(store, [Asked(asked, key, wanted.fresh)], wanted.room)
    if isinstance(receipt, Exception):
        raise receipt
    return receipt
