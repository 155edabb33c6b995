"""What comes in many pieces: chunks of a byte, headers, small frames, many requests in one read.

The clock stands still (tests.app.frozen): the work of each callback is counted, not timed.
"""

import re
import socket
from collections.abc import Iterator

import pytest

from app.http import protocol
from app.http.protocol import MAX_SMALL_READS, MAX_TOLD, SLICE_BYTES, Protocol
from app.limits import MAX_HEAD_BYTES, MAX_TINY_CHUNKS, MIN_CHUNK_BYTES
from tests.app.frozen import Frozen, frozen
from tests.app.service import Service, two_layers
from tests.app.test_bad_input import HEAD, connected, heard, problem
from tests.app.test_slow_clients import is_heard
from tests.waiting import until

pytestmark = pytest.mark.live
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
LAST = GET + b"Connection: close\r\n\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
DRY = b"1\r\n \r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Frozen]:
    with (
        pytest.MonkeyPatch.context() as patch,
        frozen(tmp_path_factory.mktemp("frozen"), patch) as found,
    ):
        yield found


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return what each callback has the parser tell: headers, pieces, and ten for a message."""
    found, parse = [], Protocol._parse

    def counted(self: Protocol) -> None:
        parse(self)
        found.append(self._told)

    monkeypatch.setattr(Protocol, "_parse", counted)
    return found


def rest(client: socket.socket) -> bytes:
    """Return all that comes until the server says that it is all."""
    with client.makefile("rb") as stream:
        return stream.read()


def test_chunks_of_a_byte(server: Frozen, told: list[int]) -> None:
    """Each client hears why, whatever it sent behind; a second's work became a millisecond's."""
    for _ in range(18):
        with server.connected() as client:
            client.sendall(CHUNKED + DRY * 64_000)
            answer = heard(client)
            assert (answer[0], problem(*answer)["code"]) == (413, "too_large")
            assert answer[1]["connection"] == "close"
            assert client.recv(1) == b""
            connection = server.of(client)
            assert connection._chunks == MAX_TINY_CHUNKS + 1
    until(lambda: len(told) == 36)  # others had a turn between
    assert max(told) < MAX_TOLD + SLICE_BYTES // len(DRY)


def test_chunks_that_are_long_enough(server: Frozen) -> None:
    chunk = f"{MIN_CHUNK_BYTES:x}\r\n".encode() + b" " * MIN_CHUNK_BYTES + b"\r\n"
    with server.connected() as client:
        client.sendall(CHUNKED + DRY * 900 + chunk * 4 * MAX_TINY_CHUNKS + b"0\r\n\r\n")
        assert heard(client)[0] == 413
    with server.connected() as client:
        client.sendall(CHUNKED + chunk * 4 * MAX_TINY_CHUNKS + b"0\r\n\r\n")
        answer = heard(client)
        assert problem(*answer)["code"] == "not_json", "it was read to its end"


def test_chunks_behind_an_answer(server: Frozen, told: list[int]) -> None:
    """What needs no body is answered, and nothing that comes behind is parsed."""
    head = GET + b"Transfer-Encoding: chunked\r\n\r\n"
    with server.connected() as client:
        client.sendall(head)
        answer = heard(client)
        assert (answer[0], answer[1]["connection"]) == (200, "close")
        assert client.recv(1) == b""
        server.send(client, DRY * 1_000)
        assert len(told) == 1


def test_a_header_at_a_time(server: Frozen) -> None:
    """Small reads are gathered: the server looks again when its clock has moved."""
    with server.connected() as client:
        connection = server.of(client)
        server.send(client, GET)
        for number in range(MAX_SMALL_READS + 1):
            server.send(client, b"X-%d: x\r\n" % number)
        assert not connection.transport.is_reading()
        client.sendall(b"\r\n")
        while not is_heard(client):
            server.move(protocol.GATHER_S)
        assert heard(client)[0] == 200


def test_many_headers_in_one_read(server: Frozen, told: list[int]) -> None:
    with server.connected() as client:
        client.sendall(GET + b"X:\r\n" * 16_000 + b"\r\n")
        assert heard(client)[0] in {200, 431}
    assert max(told) < MAX_TOLD + SLICE_BYTES // len(b"X:\r\n") + protocol._MESSAGE


def test_pipelined(server: Frozen, told: list[int]) -> None:
    """Each is answered, a slice at a time is looked at."""
    with server.connected() as client:
        client.sendall((GET + b"\r\n") * 1_000 + LAST + GET)
        found = rest(client)
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200"] * 1_001
    per_slice = SLICE_BYTES // len(GET) + 1
    assert max(told) <= MAX_TOLD + (protocol._MESSAGE + 1) * per_slice


def test_a_fault_behind_two_requests(server: Frozen) -> None:
    """Those before it are answered first."""
    with server.connected() as client:
        client.sendall((GET + b"\r\n") * 2 + CHUNKED + b"x")
        found = rest(client)
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200", b"200", b"400"]


@pytest.mark.parametrize("asked", [b"Connection: Upgrade\r\nUpgrade: h2c\r\n", b""])
def test_an_upgrade(server: Frozen, asked: bytes) -> None:
    """To nothing that is known: it is a request like others, and so is what follows."""
    with server.connected() as client:
        client.sendall(GET + asked + b"\r\n" + LAST)
        assert rest(client).count(b"HTTP/1.1 200") == 2


def test_long_trailers(server: Frozen) -> None:
    with server.connected() as client:
        client.sendall(CHUNKED + b"0\r\n" + b"X: y\r\n" * MAX_HEAD_BYTES)
        answer = heard(client)
    assert (answer[0], problem(*answer)["code"]) == (431, "headers_too_large")


NOT_READ_ALIKE = {
    "chunks in HTTP/1.0": CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"0\r\n\r\n",
    "two hosts": GET + b"Host: localhost\r\n\r\n",
    "HTTP/0.9": b"GET /\r\n\r\n",
    "no method of HTTP": GET.replace(b"GET", b"BREW") + b"\r\n",
    "HTTP/2": b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n",
}


@pytest.mark.parametrize("sent", NOT_READ_ALIKE.values(), ids=NOT_READ_ALIKE)
def test_heads_that_a_proxy_may_read_differently(server: Frozen, sent: bytes) -> None:
    with server.connected() as client:
        client.sendall(sent)
        answer = heard(client)
    assert (answer[0], problem(*answer)["code"]) == (400, "not_http")


def test_half_closed(server: Frozen) -> None:
    with server.connected() as client:
        client.sendall(CHUNKED + DRY)
        connection = server.of(client)
        client.shutdown(socket.SHUT_WR)
        until(lambda: connection not in server.connections())


def test_a_stream_for_http_1_0(service: Service) -> None:
    """It knows no chunks: the stream ends with the connection."""
    place = service.post(two_layers(seed=20_1)).headers["location"]
    with connected(service) as client:
        client.sendall(f"GET {place}/events HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        head, _, content = rest(client).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert content.startswith(b"event: ")
