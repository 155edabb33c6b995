"""The name of each request: in its answer's ``X-Request-ID``, in the log and with its jobs."""

import re
import secrets
from contextvars import ContextVar

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "X-Request-ID"
#: What is worked on here: a request, a job. Log lines say so.
REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
JOB_ID: ContextVar[str | None] = ContextVar("job_id", default=None)
#: Visible ASCII: safe in a header, in a log and in a terminal.
_GIVEN = re.compile(rb"[!-~]{1,128}")


def new() -> str:
    """Make a name."""
    return secrets.token_hex(8)


class RequestIds:
    """Names each request as its client does, if that name is fit to be logged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with the name."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value for key, value in scope["headers"] if key == b"x-request-id"), b"")
        name = given.decode("ascii") if _GIVEN.fullmatch(given) else new()
        scope.setdefault("state", {})["request_id"] = name
        REQUEST_ID.set(name)  # each request has a task, and so a context, of its own

        async def send_with_name(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = name
            await send(message)

        await self._app(scope, receive, send_with_name)
