"""Clients that are refused and come again: their address waits, by a clock that stands still."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from app.http.addresses import AHEAD_S
from app.limits import MAX_HEADERS
from app.operations.settings import Settings
from app.storage.database import Store
from tests.app.frozen import Frozen, frozen
from tests.app.keyed import make
from tests.app.test_bad_input import heard
from tests.app.test_slow_clients import is_heard
from tests.attacks.test_pieces import CHUNKED, DRY, GET, LAST, rest
from tests.waiting import until

pytestmark = pytest.mark.live
#: So many refusals are had at once, at one a second.
FREE = int(AHEAD_S)
LISTED = b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n\r\n"


LIMITS = {"address_requests_per_s": 1, "address_connections": 40, "require_keys": True}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Frozen]:
    with frozen(tmp_path, monkeypatch, **LIMITS) as found:
        yield found


def opened(server: Frozen, clients: ExitStack, content: bytes) -> socket.socket:
    client = clients.enter_context(server.connected())
    client.sendall(content)
    return client


@pytest.mark.parametrize(
    ("content", "status"), [(b"?\r\n\r\n", 400), (CHUNKED + DRY * 64_000, 401)]
)
def test_who_is_refused_again_and_again_waits(server: Frozen, content: bytes, status: int) -> None:
    """What is held is not read at all; each second one more is."""
    with ExitStack() as clients:
        refused = 0
        while not server.addresses.is_ahead("127.0.0.1"):
            assert heard(opened(server, clients, content))[0] in {status, 413}
            refused += 1
        assert FREE / 2 <= refused <= FREE  # those of chunks may count twice
        held = [opened(server, clients, content) for _ in range(5)]
        connections = [server.of(each) for each in held]
        assert not any(each.transport.is_reading() for each in connections)
        assert not any(map(is_heard, held))
        assert {each.received for each in connections} == {0}
        for count, client in enumerate(held, 1):
            until(partial(moved, server, client))
            assert heard(client)[0] in {status, 413}, count


def moved(server: Frozen, client: socket.socket) -> bool:
    server.move(1)
    return is_heard(client)


def test_who_is_let_in_gives_the_turn_of_a_connection_back(server: Frozen, tmp_path: Path) -> None:
    """Else an address that was ahead once stays so while its callers connect at its rate."""
    store = Store(Settings(data_dir=tmp_path))
    key, _ = make(store, "alice")
    store.close()
    listed = LISTED % key.encode()
    with ExitStack() as clients:
        assert heard(opened(server, clients, listed))[0] == 200
        for _ in range(FREE):
            assert heard(opened(server, clients, b"?\r\n\r\n"))[0] == 400
        assert server.addresses.is_ahead("127.0.0.1")
        client = opened(server, clients, listed)
        assert not server.of(client).transport.is_reading()
        server.move(1)
        assert heard(client)[0] == 200
        assert not server.addresses.is_ahead("127.0.0.1")


def test_nobody_pays_for_others_behind_a_trusted_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy hands on heads of too many headers, of one client; another's calls come after."""
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: %b\r\n"
    many = head % b"192.0.2.1" + b"X: \r\n" * MAX_HEADERS + b"\r\n"
    with frozen(tmp_path, monkeypatch, trusted_proxies=("127.0.0.0/8",), **LIMITS) as server:
        with ExitStack() as clients:
            for _ in range(3 * FREE):
                with server.connected() as client:
                    client.sendall(many)
                    assert heard(client)[0] == 431
            assert server.addresses.take("127.0.0.1") == 0, "nor do the proxy's own probes"
            other = opened(server, clients, head % b"192.0.2.2" + b"\r\n")
            assert heard(other)[0] == 200
        while server.addresses.take("192.0.2.2") == 0:
            pass
        assert server.addresses.is_ahead("192.0.2.2"), "whom it names waits as ever"


def test_pipelined_without_a_key(server: Frozen) -> None:
    """Each waits for its turn, and so does what comes behind it."""
    with server.connected() as client:
        client.sendall((GET + b"\r\n") * FREE + LAST)
        with client.makefile("rb") as stream:
            for _ in range(FREE):
                assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
                head = b"".join(iter(stream.readline, b"\r\n"))
                found = re.search(rb"content-length: (\d+)", head)
                assert found
                stream.read(int(found[1]))
            assert not is_heard(client)
            server.move(1)
            assert stream.readline() == b"HTTP/1.1 200 OK\r\n"


def test_an_address_has_so_many_connections(server: Frozen) -> None:
    with ExitStack() as clients:
        for _ in range(40):
            server.of(clients.enter_context(server.connected()))
        with server.connected() as client:
            assert rest(client) == b""
        assert len(server.connections()) == 40
    until(lambda: not server.connections())
    with server.connected() as client:
        client.sendall(LAST)
        assert heard(client)[0] == 200
