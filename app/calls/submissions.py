"""Jobs of bodies that are too large for the server: read, checked and kept by a child."""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from app.calls.forms import read_form
from app.jobs import submission
from app.jobs.kinds import IMPORT, beside
from app.jobs.submission import NewJob, Receipt, id_of_key, import_job, problem_job
from app.reading.traces import parameters_of
from app.storage.database import Store
from app.storage.idempotency import Key, fingerprint


class Asked(NamedTuple):
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
        So many may wait in its queue.
    """

    tags: Sequence[str]
    request_id: str
    key: str | None
    fresh: bool
    room: int


def problem(store: Store, body: bytes, kind: str, asked: Asked) -> Receipt:
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
        lambda: problem_job(store, kind, body, asked.tags, asked.request_id),
        asked,
    )


def upload(store: Store, body: bytes, header: str, how: dict[str, Any], asked: Asked) -> Receipt:
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
        lambda: import_job(files, how, asked.tags, asked.request_id),
        asked,
    )


def _added(
    store: Store,
    kind: str,
    content: Callable[[], Sequence[str | bytes]],
    new: Callable[[], NewJob],
    asked: Asked,
) -> Receipt:
    """Keep a job, or find the one that answers; ``content`` is what a key must repeat."""
    key = None
    if asked.key is not None:
        key = Key(asked.key, fingerprint(kind, *content(), *asked.tags))
        if (job_id := id_of_key(store, key)) is not None:
            return Receipt(job_id)
    kinds = beside(kind)
    return submission.add(store, new(), key, fresh=asked.fresh, beside=kinds, room=asked.room)
