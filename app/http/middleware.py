"""What each request passes: it gets a name, is counted, logged, and answered with safe headers."""

import logging
import re
import secrets
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.operations.logs import REQUEST_ID
from app.operations.metrics import OTHER, Metrics

#: Longer paths are cut in the log.
_PATH = 500


_LOG = logging.getLogger("interlace.access")


#: Of an address, which a proxy says, so much is kept: an IPv6 address with its zone.
_ADDRESS = 64


def address_of(scope: Scope) -> str | None:
    """Return where a request came from: behind proxies that are trusted, as they say."""
    client = scope.get("client")
    return str(client[0])[:_ADDRESS] if client else None


class Access:
    """Counts and logs requests: their route, not their query, headers or body."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and note it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = read = sent = 0
        began = time.perf_counter()

        async def receive_counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            return message

        async def send_counted(message: Message) -> None:
            nonlocal status, sent
            status = message.get("status", status)
            await send(message)
            sent += len(message.get("body", b""))

        self._metrics.request_began()
        try:
            await self._app(scope, receive_counted, send_counted)
        finally:
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", OTHER)
            method = scope["method"]
            self._metrics.request_ended(method, route, status, seconds, read=read, sent=sent)
            path = scope["raw_path"][:_PATH].decode("ascii", "backslashreplace")
            fields = {
                "method": method,
                "path": path,
                "route": route,
                "status": status,
                "duration_ms": round(1e3 * seconds, 3),
                "bytes_read": read,
                "bytes": sent,
                "client": address_of(scope),
            }
            _LOG.info("%s %s", method, path, extra=fields)


HEADERS = {
    # swagger-ui's style sheet draws its icons from data: images, which are no other host
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


class SecurityHeaders:
    """Adds :data:`HEADERS` to every answer that does not have its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with the headers."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


HEADER = "X-Request-ID"


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
