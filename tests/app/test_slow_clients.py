"""Clients that send slowly, or do not read: each deadline, and who meets it.

The clock is moved by the tests (tests.app.frozen): none of them waits, and none is slow itself.
"""

import gc
import json
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event
from weakref import ref

import httpx2
import pytest

from app.http import protocol
from app.limits import (
    MAX_HEAD_S,
    MAX_PAUSE_S,
    MAX_REST_S,
    MIN_BODY_RATE,
    MIN_READ_BYTES,
    READ_PERIOD_S,
)
from app.operations.settings import Settings
from app.storage import graphs
from app.storage.database import Store
from app.storage.tables import GraphRow
from tests.app.frozen import Frozen, frozen
from tests.app.long import needs_proc
from tests.app.service import two_layers
from tests.app.test_bad_input import HEAD, MIB, heard, problem
from tests.waiting import until

pytestmark = pytest.mark.live
#: Longer than what the system keeps of an answer, and one that takes a turn.
BIG = 2 * MIB
BIG_ID = "0123456789abcdef"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frozen]:
    """A server that has a graph whose JSON is long."""
    folder = tmp_path_factory.mktemp("frozen")
    store = Store(Settings(data_dir=folder))
    at = "2026-01-01T00:00:00.000000Z"
    own = {"name": "", "format": "csv", "ops": 0}
    report = json.dumps({"report": "x" * BIG})
    store.add(GraphRow(id=BIG_ID, created_at=at, **own, request="{}", result=report))
    store.close()
    with pytest.MonkeyPatch.context() as patch, frozen(folder, patch) as found:
        yield found


def is_heard(client: socket.socket) -> bool:
    """Tell whether there is something to read, or the connection has ended."""
    return bool(select.select([client], [], [], 0.02)[0])


def waited_s(server: Frozen, client: socket.socket) -> int:
    """Move the clock until the client hears something; return how far [s]."""
    moved = 0
    while not is_heard(client):
        server.move(1)
        moved += 1
    return moved


STALLED = {
    "json": (b"/v1/plans", b"Content-Length: 1000\r\n\r\n{"),
    "json without a byte": (b"/v1/plans", b"Content-Length: 1000\r\n\r\n"),
    "chunks": (b"/v1/plans", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"),
    "half a chunk": (b"/v1/plans", b"Transfer-Encoding: chunked\r\n\r\n9\r\n{"),
    "file": (b"/v1/graphs", b"Content-Length: 1000\r\n\r\n{"),
}


@pytest.mark.parametrize(("path", "sent"), STALLED.values(), ids=STALLED)
def test_stalled_body(server: Frozen, path: bytes, sent: bytes) -> None:
    with server.connected() as client:
        server.send(client, HEAD.replace(b"/v1/plans", path) + sent)
        assert waited_s(server, client) >= MAX_PAUSE_S
        answer = heard(client)
        assert (answer[0], problem(*answer)["code"]) == (408, "request_timeout")
        assert client.recv(1) == b""


def test_dripping_body(server: Frozen) -> None:
    """Never silent for long, and never done: slower than a client may be."""
    with server.connected() as client:
        server.send(client, HEAD + b"Content-Length: 100000\r\n\r\n")
        moved = 0
        while not is_heard(client):
            client.sendall(b" ")
            server.move(1)
            moved += 1
        assert client.recv(65_536).startswith(b"HTTP/1.1 408")
        assert moved >= MAX_PAUSE_S


def test_a_slow_body_that_is_fast_enough(server: Frozen) -> None:
    """Longer than a client may be silent, but faster than it must be."""
    body = b" " * (60 * MIN_BODY_RATE) + b"{}"
    with server.connected() as client:
        server.send(client, HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode())
        for i in range(0, len(body), 2 * MIN_BODY_RATE):
            server.send(client, body[i : i + 2 * MIN_BODY_RATE])
            server.move(1)
        assert heard(client)[0] == 422, "it was read to its end"


def test_a_head_that_never_ends(server: Frozen) -> None:
    with server.connected() as client:
        client.sendall(b"GET / HTTP/1.1\r\n")
        moved = 0
        while not is_heard(client):
            client.sendall(b"X: x\r\n")
            server.move(1)
            moved += 1
        answer = heard(client)
    assert (answer[0], problem(*answer)["code"]) == (408, "request_timeout")
    assert moved >= MAX_HEAD_S


def test_a_connection_that_says_nothing(server: Frozen) -> None:
    with server.connected() as client:
        server.of(client)
        assert waited_s(server, client) >= MAX_HEAD_S
        assert client.recv(1) == b""


def test_a_body_that_goes_on_after_the_answer(server: Frozen) -> None:
    with server.connected() as client:
        client.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        assert heard(client)[0] == 200
        assert client.recv(1) == b"", "all was sent"
        connection = server.of(client)
        moved = 0
        while connection in server.connections():
            with suppress(OSError):
                client.sendall(b"1\r\nx\r\n")
            server.move(1)
            moved += 1
        assert moved >= MAX_REST_S


ASKED = f"GET /v1/graphs/{BIG_ID} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def reader(server: Frozen) -> socket.socket:
    """Return a client whose system takes little that it does not read."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.connect(server.address)
    return client


def asking(server: Frozen) -> socket.socket:
    client = reader(server)
    client.sendall(ASKED)
    return client


def unread(server: Frozen) -> int:
    """Return what the server holds of answers that nobody has read [bytes]."""
    return sum(each.unread() for each in server.connections())


def test_slow_readers_of_too_much(
    server: Frozen, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """When what clients do not read is too much, the slowest are dropped at once."""
    monkeypatch.setattr(protocol, "MAX_UNREAD_BYTES", 4 * BIG)
    url = "http://{}:{}".format(*server.address)
    with ExitStack() as opened:
        for _ in range(8):
            assert opened.enter_context(asking(server)).recv(12) == b"HTTP/1.1 200"
            assert httpx2.get(f"{url}/healthz", trust_env=False, timeout=None).status_code == 200
            assert unread(server) <= 4 * BIG
        assert "others' answers need its memory" in caplog.text
        whole = httpx2.get(f"{url}/v1/graphs/{BIG_ID}", trust_env=False, timeout=None)
        assert len(whole.content) > BIG


def test_a_reader_that_is_too_slow(server: Frozen, caplog: pytest.LogCaptureFixture) -> None:
    with asking(server) as client:
        assert client.recv(12) == b"HTTP/1.1 200"
        until(lambda: server.of(client).paused)
        server.move(READ_PERIOD_S)
        until(lambda: "it reads too slowly" in caplog.text)


def test_a_reader_that_is_fast_enough(server: Frozen) -> None:
    with asking(server) as client:
        assert client.recv(12) == b"HTTP/1.1 200"
        connection = server.of(client)
        until(lambda: connection.paused)
        for _ in range(3):
            before = connection.unread()
            while before - connection.unread() < MIN_READ_BYTES:
                assert client.recv(2**17), "it was dropped"
            server.move(READ_PERIOD_S)
        assert client.recv(2**17), "it was dropped"


def test_large_answers_leave_threads_to_others(
    server: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More large answers than the server has threads: one is written at a time, others go on."""
    url = "http://{}:{}".format(*server.address)
    may_go_on, at_work, found = Event(), [], graphs.find

    def held(store: Store, graph_id: str) -> bytes:
        at_work.append(graph_id)
        assert may_go_on.wait(60)
        return found(store, graph_id)[:1_000]

    monkeypatch.setattr(graphs, "find", held)
    with ExitStack() as opened:
        opened.callback(may_go_on.set)
        clients = [opened.enter_context(asking(server)) for _ in range(50)]
        until(lambda: all(server.of(each).cycle is not None for each in clients))
        until(lambda: at_work)
        listed = httpx2.get(f"{url}/v1/graphs", trust_env=False, timeout=None)
        assert [each["id"] for each in listed.json()["graphs"]] == [BIG_ID]
        assert len(at_work) == 1
        may_go_on.set()
        for client in clients:
            assert client.recv(12) == b"HTTP/1.1 200"
        assert len(at_work) == len(clients)


#: So many clients read slowly while as many send slowly; so much of answers is held meanwhile.
SLOW = 200
HELD_BYTES = SLOW // 4 * BIG


def sockets() -> int:
    """Return how many sockets this process has, the server's and its clients'."""
    found = 0
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the folder itself was one
            found += each.readlink().name.startswith("socket:")
    return found


@needs_proc
def test_hundreds_of_slow_readers_and_writers(
    server: Frozen, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """All at once: others are answered, all slow ones are let go, and nothing of them is left."""
    monkeypatch.setattr(protocol, "MAX_UNREAD_BYTES", HELD_BYTES)
    url = "http://{}:{}".format(*server.address)
    with httpx2.Client(base_url=url, trust_env=False, timeout=None) as other, ExitStack() as opened:

        def are_others_served() -> bool:
            begun = other.post("/v1/plans?wait=0", json=two_layers())
            return other.get("/healthz").status_code == 200 and begun.status_code == 202

        def are_there() -> bool:
            there = {*server.connections()}
            return any(each() in there for each in slow)

        assert are_others_served()
        before = sockets()
        readers = [opened.enter_context(reader(server)) for _ in range(SLOW)]
        writers = [opened.enter_context(server.connected()) for _ in range(SLOW)]
        slow = [ref(server.of(each)) for each in (*readers, *writers)]
        for one, another in zip(readers, writers, strict=True):
            one.sendall(ASKED)
            another.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n")
        assert are_others_served()
        until(lambda: "others' answers need its memory" in caplog.text)
        told: list[bytes] = []
        while are_there():
            assert unread(server) <= HELD_BYTES + BIG, "one more may be looked at"
            for writer in [*writers]:
                try:
                    told.append(writer.recv(65_536, socket.MSG_DONTWAIT))
                except BlockingIOError:
                    writer.send(b" ")
                else:
                    writers.remove(writer)
                    writer.close()
            server.move(1)
        assert len(told) == SLOW
        assert all(each.startswith(b"HTTP/1.1 408") for each in told)
        assert caplog.text.count("A client was dropped") == SLOW
        assert "it reads too slowly" in caplog.text
        assert not [each for each in caplog.records if each.exc_info], "the server failed inside"
        assert are_others_served()
        opened.close()
        until(lambda: sockets() <= before)
        until(lambda: gc.collect() >= 0 and not any(each() for each in slow))
