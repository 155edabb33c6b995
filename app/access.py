"""Each request in the log and among the metrics, once it is over."""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.metrics import OTHER, Metrics

#: Longer paths are cut in the log.
_PATH = 500
_LOG = logging.getLogger("interlace.access")


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
            }
            _LOG.info("%s %s", method, path, extra=fields)
