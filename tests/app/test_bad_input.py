"""Whatever a client sends, or does not send, or does not read: others are served."""

import gzip
import json
import re
import socket
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.errors import DuplicateKey
from app.reading.fast import read_fast
from app.reading.parsing import read_json
from app.reading.requests import read_body
from app.schemas.plans import PlanRequest
from tests.app.service import Json, Service, two_layers
from tests.waiting import until

PATHS = (
    *("/v1/plans", "/v1/simulations", "/v1/sweeps", "/v1/predictions/scaling", "/v1/cost-models"),
    "/v1/predictions/placements",
    *("/v1/runs", "/v1/runs/none/steps", "/v1/runs/none/end"),
)
TEXT = json.dumps(two_layers())
HEAD = b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MIB = 2**20


def connected(service: Service) -> socket.socket:
    url = service.client.base_url
    return socket.create_connection((url.host, url.port))


def heard(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of the next answer."""
    with client.makefile("rb") as stream:
        status = int(stream.readline().split()[1])
        headers = {}
        while line := stream.readline().strip().decode():
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        return status, headers, stream.read(int(headers.get("content-length", 0)))


def problem(status: int, headers: Any, body: bytes) -> Json:
    """Return a problem, after checking that it is one."""
    assert headers["content-type"] == "application/problem+json"
    assert headers["x-request-id"]
    assert headers["x-content-type-options"] == "nosniff"
    found: Json = json.loads(body)
    assert found["status"] == status
    assert 400 <= status < 500 or status == 501
    assert found["title"]
    assert found["detail"]
    return found


def peak_mib(service: Service) -> float:
    """Return the largest resident set that the server itself has had."""
    status = Path(f"/proc/{service.process}/status")
    if not status.is_file():
        pytest.skip("the memory of a server cannot be seen")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 1024


def altered(old: str, new: str) -> bytes:
    assert old in TEXT
    return TEXT.replace(old, new, 1).encode()


NO_JSON = {
    "empty": b"",
    "text": b"hello",
    "half": TEXT[:-1].encode(),
    "two values": TEXT.encode() * 2,
    "deep array": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000,
    "deep in place": altered('"ops": [', '"ops": [' + "[" * 100_000),
    "bad UTF-8": TEXT.encode() + b"\xff",
    "UTF-16": TEXT.encode("utf-16"),
    "cut UTF-8": altered('"f1"', '"€"')[:-1].replace("€".encode(), "€".encode()[:2]),
    "NUL": b"\0" * 1_000,
    "NUL in a text": altered('"f1"', '"\0"'),
    "lone surrogate": altered('"f1"', r'"\udc00"'),
    "surrogates in the wrong order": altered('"f1"', r'"\udc00\ud800"'),
    "no number": altered('"workers": 8', '"workers": 08'),
}


@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON)
@pytest.mark.parametrize("path", PATHS)
def test_no_json(service: Service, path: str, body: bytes) -> None:
    answer = service.client.post(path, content=body, headers={"content-type": "application/json"})
    found = problem(answer.status_code, answer.headers, answer.content)
    assert (answer.status_code, found["code"]) == (400, "not_json")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 100_000])
@pytest.mark.parametrize("old", ['"workers": 8', '"duration_us": 800', '"bytes": 4000000'])
def test_numbers_that_are_none(service: Service, old: str, number: str) -> None:
    answer = service.post_raw(altered(old, f"{old.partition(':')[0]}: {number}"))
    found = problem(answer.status_code, answer.headers, answer.content)
    assert answer.status_code == 422
    assert {fault["code"] for fault in found["errors"]} <= {"out_of_range", "wrong_type"}


REPEATED = {
    "the same value": altered('"workers": 8', '"workers": 8, "workers": 8'),
    "another type": altered('"workers": 8', '"workers": "x", "workers": 8'),
    "of the body": altered('{"graph"', '{"cluster": {}, "graph"'),
    "the graph": altered('{"graph"', '{"graph": {"ops": []}, "graph"'),
    "the ops": altered('"ops"', '"ops": [], "ops"'),
    "name of the graph": altered('"name"', '"name": "a", "name"'),
    "of a compute op": altered('"duration_us": 800', '"duration_us": 1, "duration_us": 800'),
    "of a collective": altered('"bytes": 4000000', '"bytes": 1, "bytes": 4000000'),
    "id": altered('"id": "f2"', '"id": "f9", "id": "f2"'),
    "edges": altered('"after": ["b2"]', '"after": [], "after": ["b2"]'),
    "spaces": altered('"workers": 8', '"workers"\n:\t8 , "workers" :8'),
    "written otherwise": altered('"id": "f2"', r'"i\u0064": "f9", "id": "f2"'),
    "beside a quotation mark": altered('"id": "f2"', r'"id": "\"", "id": "f2"'),
    "beside a backslash": altered('"id": "f2"', r'"id": "\\", "id": "f2"'),
    "options": altered('"options": {', '"options": {"seed": 1, "seed": 2, '),
    "a channel": altered('"workers": 8', '"channels": {"a": {}, "a": {}}, "workers": 8'),
    "an unknown field": altered('"workers": 8', '"workers": 8, "x": 1, "x": 2'),
    "beside a graph's id": b'{"graph_id": "x", "cluster": {"workers": 2, "workers": 8}}',
    "a graph's id": b'{"graph_id": "x", "graph_id": "y", "cluster": {"workers": 2}}',
    "the cluster beside an id": b'{"graph_id": "x", "cluster": 1, "cluster": {"workers": 2}}',
}


@pytest.mark.parametrize("body", REPEATED.values(), ids=REPEATED)
def test_repeated_key(service: Service, body: bytes) -> None:
    with pytest.raises(DuplicateKey):
        read_json(body)
    answer = service.post_raw(body)
    found = problem(answer.status_code, answer.headers, answer.content)
    assert (answer.status_code, found["code"]) == (400, "duplicate_key")


def test_repeated_key_of_a_large_body(service: Service) -> None:
    """A job reads it."""
    body = b" " * MIB + REPEATED["of a collective"]
    answer = service.post_raw(body)
    assert (answer.status_code, answer.json()["code"]) == (400, "duplicate_key")


def test_repeated_key_without_graph(service: Service) -> None:
    body = b'{"name": "a", "name": "b"}'
    answer = service.client.post(
        "/v1/cost-models", content=body, headers={"content-type": "application/json"}
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "duplicate_key")


@pytest.mark.parametrize("at", range(0, len(TEXT), 7))
def test_one_pass_sees_each_member_said_twice(at: int) -> None:
    """Whatever member is said twice, the quick reader leaves the body to the slow one."""
    member = re.compile(r'"\w+": (?:"[^"]*"|\d+|\[[^][{}]*\])').search(TEXT, at)
    if member is None:
        return
    body = f"{TEXT[: member.end()]}, {member[0]}{TEXT[member.end() :]}".encode()
    assert read_fast(TEXT.encode(), PlanRequest, lambda _: None) is not None
    assert read_fast(body, PlanRequest, lambda _: None) is None
    with pytest.raises(DuplicateKey):
        read_body(body, PlanRequest)


NO_REQUEST = {
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "not_http"),
    "one word": (b"hello\r\n\r\n", 400, "not_http"),
    "no version": (b"GET /\r\n\r\n", 400, "not_http"),
    "control characters": (b"GET /\x01 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "not_http"),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400, "not_http"),
    "no colon": (b"GET / HTTP/1.1\r\nHost: localhost\r\nhello\r\n\r\n", 400, "not_http"),
    "a length of letters": (HEAD + b"Content-Length: abc\r\n\r\n", 400, "not_http"),
    "a length below 0": (HEAD + b"Content-Length: -1\r\n\r\n", 400, "not_http"),
    "a length of many digits": (
        HEAD + b"Content-Length: " + b"9" * 99 + b"\r\n\r\n",
        400,
        "not_http",
    ),
    "two lengths": (HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400, "not_http"),
    "bad chunk": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "not_http"),
    "encoding": (HEAD + b"Transfer-Encoding: gzip\r\n\r\n", 501, "unknown_transfer_encoding"),
    "a long header": (
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 99_999,
        431,
        "headers_too_large",
    ),
    "many headers": (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000, 431, "headers_too_large"),
    "a long line": (b"GET /" + b"x" * 99_999, 431, "headers_too_large"),
    "a long chunk size": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 99_999,
        431,
        "headers_too_large",
    ),
}


@pytest.mark.parametrize(("sent", "status", "code"), NO_REQUEST.values(), ids=NO_REQUEST)
def test_no_request(service: Service, sent: bytes, status: int, code: str) -> None:
    with connected(service) as client:
        client.sendall(sent)
        answer = heard(client)
        assert (answer[0], problem(*answer)["code"]) == (status, code)
        assert answer[1]["connection"] == "close"
        assert client.recv(1) == b""


def test_encoded_body(service: Service) -> None:
    body = gzip.compress(TEXT.encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    answer = service.client.post("/v1/plans", content=body, headers=headers)
    found = problem(answer.status_code, answer.headers, answer.content)
    assert (answer.status_code, found["code"]) == (415, "unsupported_media_type")
    headers["content-encoding"] = "Identity"
    assert service.client.post("/v1/plans", content=TEXT, headers=headers).status_code == 201


@pytest.mark.parametrize("path", ["/v1/plans", "/v1/graphs"])
def test_too_long_by_its_own_word(service: Service, path: str) -> None:
    """The answer comes before the body is read, or asked for."""
    head = HEAD.replace(b"/v1/plans", path.encode())
    with connected(service) as client:
        client.sendall(head + b"Content-Length: 3000001\r\nExpect: 100-continue\r\n\r\n")
        answer = heard(client)
    assert (answer[0], problem(*answer)["code"]) == (413, "too_large")
    whole = service.client.post(
        path, content=b" " * 3_000_001, headers={"content-type": "application/json"}
    )
    assert whole.status_code == 413


def test_endless_chunks(service: Service) -> None:
    before = peak_mib(service)
    chunk = b"100000\r\n" + b" " * MIB + b"\r\n"
    with connected(service) as client:
        client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(8):  # the limit of this server is less than 3 of them
            client.sendall(chunk)
        answer = heard(client)
    assert (answer[0], problem(*answer)["code"]) == (413, "too_large")
    assert peak_mib(service) < before + 50


def test_shorter_than_said_and_gone(service: Service) -> None:
    with connected(service) as client:
        client.sendall(HEAD + b"Content-Length: 1000\r\n\r\n{")

    def is_logged() -> bool:
        line = service.log.read_text().splitlines()[-1]
        return '"status": 400' in line and "/v1/plans" in line

    until(is_logged)


def test_longer_than_said(service: Service) -> None:
    """What is beyond is no body: the next request, and a bad one."""
    with connected(service) as client:
        client.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}\r\nhello\r\n\r\n")
        with client.makefile("rb") as stream:
            found = stream.read()
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"422", b"400"]


def test_gzip_bomb(service: Service) -> None:
    """Half a megabyte that unpacks to more than is read: a process of its own refuses it."""
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(MIB)) for _ in range(600)) + packer.flush()
    assert len(bomb) < MIB
    before = peak_mib(service)
    answer = service.client.post("/v1/graphs", content=bomb)
    found = problem(answer.status_code, answer.headers, answer.content)
    assert (answer.status_code, found["code"]) == (422, "too_large")
    assert peak_mib(service) < before + 100


def test_many_clients_at_once(service: Service) -> None:
    """Connections that do nothing keep nobody out."""
    with ExitStack() as opened:
        for _ in range(200):
            client = opened.enter_context(connected(service))
            client.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert httpx2.get(f"{service.client.base_url}/healthz", trust_env=False).status_code == 200
