"""Jobs of bodies that are too large for the server: read, checked and kept by a child."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from app.calls.forms import read_form
from app.calls.messages import Wanted
from app.jobs.checks import check
from app.jobs.kinds import IMPORT
from app.jobs.queue import NewJob, Receipt, Submission, add_all, id_of_key
from app.jobs.requests import Checked, import_job, job_of
from app.reading.traces import parameters_of
from app.storage.database import Store
from app.storage.idempotency import IdempotencyKey


def checked(store: Store, body: bytes, kind: str) -> Checked:
    """Check a small request, which the server makes a job of.

    Raises
    ------
    NotJson, InvalidRequest
        As :func:`app.jobs.checks.check` does.
    """
    return check(store, kind, body)


def problem(store: Store, body: bytes, kind: str, wanted: Wanted) -> Receipt:
    """Make a job of a request.

    Raises
    ------
    NotJson, InvalidRequest, QueueFull
        As for a small one.
    """
    return _added(
        store,
        kind,
        lambda: (body,),
        lambda: job_of(store, kind, body, wanted.tags, wanted.request_id, check(store, kind, body)),
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
        key = IdempotencyKey.of(wanted.key, store.caller, kind, *content(), *wanted.tags)
        if (job_id := id_of_key(store, key)) is not None:
            return Receipt(job_id)
    asked = replace(new(), traceparent=wanted.traceparent)
    [receipt] = add_all(store, [Submission(asked, key, wanted.fresh)], wanted.room)
    if isinstance(receipt, Exception):
        raise receipt
    return receipt
