"""Heads that a proxy and the service may read differently, or that are too long."""

import socket

import pytest

from app.limits import MAX_HEAD_BYTES
from tests.app.service import Service
from tests.app.test_bad_input import connected, heard, problem

LINE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def head(length: int) -> bytes:
    """Return a head of so many bytes."""
    rest = length - len(LINE) - len(b"X: \r\n\r\n")
    return LINE + b"X: " + b"x" * rest + b"\r\n\r\n"


def sent_at_once(client: socket.socket, content: bytes) -> None:
    """Have the server read all of it in one piece, as far as that can be had."""
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.sendall(content)


@pytest.mark.parametrize("more", [1, 1_000, 100_000])
def test_a_head_that_is_too_long_and_comes_whole(service: Service, more: int) -> None:
    """What came in one piece was taken up to 320 KiB."""
    with connected(service) as client:
        sent_at_once(client, head(MAX_HEAD_BYTES + more))
        answer = heard(client)
        assert (answer[0], problem(*answer)["code"]) == (431, "headers_too_large")
        assert answer[1]["connection"] == "close"


def test_the_longest_head(service: Service) -> None:
    with connected(service) as client:
        sent_at_once(client, head(MAX_HEAD_BYTES))
        assert heard(client)[0] == 200


def test_a_target_that_is_too_long(service: Service) -> None:
    with connected(service) as client:
        sent_at_once(client, LINE.replace(b"/healthz", b"/" + b"x" * MAX_HEAD_BYTES) + b"\r\n")
        assert heard(client)[0] == 431


TWO_LENGTHS = (
    b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
)
HIDDEN = b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("before", [b"", HIDDEN], ids=["first", "second"])
def test_a_body_of_two_lengths(service: Service, before: bytes) -> None:
    """A proxy that takes the other length would hand on a second request as part of the first."""
    with connected(service) as client:
        if before:
            client.sendall(before)
            assert heard(client)[0] == 200
        client.sendall(TWO_LENGTHS + HIDDEN)
        answer = heard(client)
        assert (answer[0], problem(*answer)["code"]) == (400, "not_http")
        assert problem(*answer)["instance"] == ""
        assert answer[1]["connection"] == "close"
        assert client.recv(1) == b"", "what came behind it was answered"
