"""The service in a thread of the tests, whose clock stands still until a test moves it.

So a deadline of twenty seconds is met at once, exactly, and by nobody who is only slow. Nothing
works on jobs.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from app.http import addresses, bodies
from app.http.protocol import Protocol
from app.operations.settings import Settings
from app.service import create_app
from tests.waiting import until

if TYPE_CHECKING:
    from app.http.addresses import Addresses

#: The system keeps about so much of an answer that is not read [bytes].
_SYSTEM_BYTES = 2**16
#: Whether the server still serves is looked at so often [s].
_LOOK_S = 0.02


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose clock is told what time it is [s]."""

    at_s = 0.0

    def time(self) -> float:
        return self.at_s


class _Counted(Protocol):
    """A connection that says how much has come."""

    received = 0

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.received += len(data)


class Frozen:
    """A server that listens, and its clock."""

    def __init__(
        self,
        loop: _Loop,
        server: uvicorn.Server,
        serves: Callable[[], bool],
        address: tuple[str, int],
        state: Any,
    ) -> None:
        self._loop, self._server, self._serves = loop, server, serves
        self.address, self.state = address, state
        self.addresses: Addresses = state.addresses

    def move(self, seconds: float) -> None:
        """Move the clock on, and wait until the server has done what is due by then."""
        is_done = Event()

        def due() -> None:  # timers run in this turn of the loop, after what is ready
            self._loop.call_soon(is_done.set)

        def forward() -> None:
            self._loop.at_s += seconds
            self._loop.call_soon(due)

        self._loop.call_soon_threadsafe(forward)
        while self._serves() and not is_done.wait(_LOOK_S):
            pass  # a server that ends does nothing any more

    def connected(self) -> socket.socket:
        return socket.create_connection(self.address)

    def connections(self) -> list[_Counted]:
        """Return the connections that there are, the newest last."""
        found: list[Any] = [*self._server.server_state.connections]
        return sorted((each for each in found if each.client), key=lambda each: each.client[1])

    def of(self, client: socket.socket) -> _Counted:
        """Return the server's side of a connection, as soon as it has one."""
        port = client.getsockname()[1]
        found: list[_Counted] = []

        def is_there() -> bool:
            found[:] = [each for each in self.connections() if each.client[1] == port]
            return bool(found)

        until(is_there)
        return found[0]

    def send(self, client: socket.socket, content: bytes) -> None:
        """Send, and wait until all has come."""
        connection = self.of(client)
        before = connection.received
        client.sendall(content)
        until(lambda: connection.received >= before + len(content))


@contextmanager
def frozen(data_dir: Path, patch: pytest.MonkeyPatch, **settings: Any) -> Iterator[Frozen]:
    """Serve, without anybody who works on jobs."""
    app = create_app(Settings(data_dir=data_dir, **{"trusted_proxies": (), **settings}))
    app.state.store.open()
    loop = _Loop()
    for module in (addresses, bodies):
        patch.setattr(module, "monotonic", loop.time)
    config = uvicorn.Config(
        app,
        http=_Counted,
        ws="none",
        lifespan="off",
        log_config=None,
        forwarded_allow_ips=list(app.state.settings.trusted_proxies),
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SYSTEM_BYTES)
        thread = Thread(target=lambda: loop.run_until_complete(server.serve([listener])))
        thread.start()
        found = Frozen(loop, server, thread.is_alive, listener.getsockname(), app.state)
        try:
            yield found
        finally:
            server.should_exit = True

            def has_left() -> bool:
                found.move(1)  # it looks now and then, by its clock
                return not thread.is_alive()

            until(has_left)
            loop.close()
            app.state.store.close()
