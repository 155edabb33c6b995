"""A server on loopback that answers as it is told."""

from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

import httpx2

Script = Callable[[str, str], httpx2.Response]


def one_by_one(answers: Sequence[httpx2.Response]) -> Script:
    """Give one answer after the other, whatever is asked."""
    left = iter(answers)
    return lambda _method, _path: next(left)


class Scripted:
    """Answers a method and a path; ``seen`` has these and the headers of each request."""

    def __init__(self, script: Script) -> None:
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        seen = self.seen

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                named = {name.lower(): value for name, value in self.headers.items()}
                seen.append((self.command, self.path, named))
                answer = script(self.command, self.path)
                self.send_response(answer.status_code)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.content)

            do_POST = do_GET  # noqa: N815 - as the base class wants it

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
