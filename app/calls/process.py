"""The process of calls: one question at a time, and gone with its client or the server."""

import logging
import os
from contextlib import suppress
from http import HTTPStatus
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from typing import Any

from app.calls.messages import Answered, Call, CallResult, Refused
from app.children.bounds import bound, is_spent, leave
from app.children.parent_pipe import ParentPipe
from app.errors import Refusal, problem_details
from app.operations.logs import REQUEST_ID
from app.operations.settings import Settings
from app.references import resolve
from app.storage.database import Store

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
    store, line = Store(settings, is_migrated=True), _CallPipe(pipe)
    with suppress(OSError):
        for done in count(1):
            result = _result(store, line.order())
            is_last = is_spent(done)
            line.answer(result, is_last=is_last)
            if is_last:
                break
            del result
    leave()


class _CallPipe(ParentPipe):
    """The pipe to the server, as the child of a call has it."""

    def receive(self) -> Call:
        """Read a call, and the file that has its body."""
        call: Call = super().receive()
        if not call.has_file:
            return call
        with os.fdopen(recv_handle(self._pipe), "rb") as file:  # the sender reads it no more
            file.seek(0)
            return call._replace(body=file.read())

    def answer(self, result: Any, *, is_last: bool) -> None:
        """Tell the result of a call; the content of an answer as it is."""
        if not isinstance(result, Answered):
            self.send(CallResult(result, is_last, has_content=False))
            return
        self.send(CallResult(result._replace(content=b""), is_last, has_content=True))
        self._pipe.send_bytes(result.content)


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
