"""The process of calls: one question at a time, and gone with its client or the server."""

import logging
import os
import resource
import signal
import sys
from contextlib import suppress
from http import HTTPStatus
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle
from threading import Thread
from typing import Any

from app.calls.messages import Answered, Call, CallResult, Refused
from app.errors import Refusal, problem_details
from app.jobs.worker import bound
from app.operations.logs import REQUEST_ID
from app.operations.settings import Settings
from app.references import resolve
from app.storage.database import Store

#: A process ends after so many calls, or when it has taken so much memory [KiB].
_CALLS, _LARGE = 500, 2**19


_LOG = logging.getLogger("interlace.calls")


def serve(settings: Settings, pipe: Connection) -> None:
    """Answer the calls that come through a pipe, one after the other.

    Ends when nobody holds the other side any more, with the server, and when it has become large.
    """
    bound(settings)
    _serve(settings, pipe)


def serve_promptly(settings: Settings, pipe: Connection) -> None:
    """Do the same without stepping aside for others: what it is asked takes no time."""
    bound(settings, nice=0)
    _serve(settings, pipe)


def _serve(settings: Settings, pipe: Connection) -> None:
    store = Store(settings, is_migrated=True)
    Thread(target=_end_with_the_server, daemon=True).start()
    with suppress(EOFError, OSError):
        for done in range(1, _CALLS + 1):
            result = _result(store, _asked(pipe))
            is_last = done == _CALLS or _is_large()
            if isinstance(result, Answered):
                pipe.send(CallResult(result._replace(content=b""), is_last, has_content=True))
                pipe.send_bytes(result.content)
            else:
                pipe.send(CallResult(result, is_last, has_content=False))
            if is_last:
                break
            del result
    sys.stderr.flush()
    os._exit(0)


def _asked(pipe: Connection) -> Call:
    call: Call = pipe.recv()
    if not call.has_file:
        return call
    with os.fdopen(recv_handle(pipe), "rb") as file:  # the sender reads it no more
        file.seek(0)
        return call._replace(body=file.read())


def _result(store: Store, call: Call) -> Any:
    REQUEST_ID.set(call.request_id or None)
    given = call.given if call.body is None else (call.body, *call.given)
    try:
        return resolve(call.work)(store.seen_by(call.caller), *given)
    except Exception as error:  # noqa: BLE001 - whatever it is, the call is told
        found = problem_details(error)
        if found["status"] == HTTPStatus.INTERNAL_SERVER_ERROR:
            _LOG.exception("The call failed inside")
        return Refused(found, error.retry_after_s if isinstance(error, Refusal) else None)


def _is_large() -> bool:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _LARGE


def _end_with_the_server() -> None:
    """Wait for the server's end, then end this process and all that it started."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.killpg(0, signal.SIGKILL)
