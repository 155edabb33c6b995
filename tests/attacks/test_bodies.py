"""Bodies as long as they may be, of values that take the most to parse: others are answered."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from app.calls.forms import read_form
from app.errors import NotMultipart
from app.limits import (
    BIG_BODY_BYTES,
    MAX_PARAMETERS_BYTES,
    MAX_PLAIN_BYTES,
    MAX_REPORT_BYTES,
    MAX_RUN_BYTES,
    MAX_WORD_BYTES,
)
from tests.app.long import busy, needs_proc, until
from tests.app.service import Service, running, two_layers
from tests.app.test_bad_input import connected, heard, peak_mib, problem
from tests.benchmarks.bodies import BODIES, form

#: What parses a body for 6 to 19 s in the server leaves no answer within this time [s].
SOON_S = 5.0


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("attacked")) as found:
        yield found
        assert "Traceback" not in found.log.read_text()


@pytest.mark.parametrize("name", [name for name in BODIES if "as long as" not in name])
def test_others_are_answered_meanwhile(attacked: Service, name: str) -> None:
    path, kind, make = BODIES[name]
    body, over, slowest = make(), threading.Event(), [0.0]

    def ask() -> None:
        with connected(attacked) as client:
            while not over.wait(0.02):
                began = time.monotonic()
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert heard(client)[0] == 200
                slowest[0] = max(slowest[0], time.monotonic() - began)

    asking = threading.Thread(target=ask)
    asking.start()
    answer = attacked.client.post(path, content=body, headers={"content-type": kind})
    over.set()
    asking.join()
    assert 400 <= answer.status_code < 500 or answer.status_code == 202, answer.text
    assert 0 < slowest[0] < SOON_S
    assert peak_mib(attacked) < 400


KINDS = {
    "/v1/cost-models": MAX_PLAIN_BYTES,
    "/v1/estimates": MAX_PLAIN_BYTES,
    "/v1/runs": MAX_RUN_BYTES,
    "/v1/runs/0/plans": MAX_RUN_BYTES,
    "/v1/runs/0/steps": MAX_REPORT_BYTES,
    "/v1/runs/0/end": MAX_WORD_BYTES,
}


@pytest.mark.parametrize(("path", "most"), KINDS.items(), ids=KINDS)
def test_the_limit_of_its_kind(attacked: Service, path: str, most: int) -> None:
    """What says itself that it is longer is refused before it is read."""
    line = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with connected(attacked) as client:
        client.sendall(f"{line}Content-Length: {most + 1}\r\n\r\n".encode())
        answer = heard(client)
    assert (answer[0], problem(*answer)["code"]) == (413, "too_large")


@needs_proc
def test_a_client_that_leaves_while_its_body_is_read(attacked: Service) -> None:
    """Neither the child nor a job goes on."""
    until(lambda: not busy(attacked))
    path, _, make = BODIES["an id and junk"]
    body = make()
    with connected(attacked) as client:
        line = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        client.sendall(f"{line}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        until(lambda: busy(attacked))
        client.shutdown(socket.SHUT_RDWR)
    until(lambda: not busy(attacked))


@needs_proc
def test_a_large_body_leaves_no_file(tmp_path: Path) -> None:
    # a short path: what forks has a socket there
    with TemporaryDirectory() as temporary, running(tmp_path, TMPDIR=temporary) as service:
        body = json.dumps(two_layers()).encode() + b" " * (2 * BIG_BODY_BYTES)
        assert service.post_raw(body).status_code == 201
        files = [path for path in Path(temporary).rglob("*") if path.is_file()]
        assert not files


def test_a_file_that_looks_like_boundaries() -> None:
    content = b"\r\n-" * 100_000
    files, parameters = read_form(form(b'f"; filename="a', content), HEADER)
    assert (files, parameters) == ([content], None)


def test_parameters_that_are_too_long() -> None:
    for field in (b"parameters", b'parameters"; filename="a'):
        body = form(field, b"x" * (MAX_PARAMETERS_BYTES + 1))
        with pytest.raises(NotMultipart):
            read_form(body, HEADER)


HEADER = "multipart/form-data; boundary=x"


def test_no_process_can_be_started(tmp_path: Path) -> None:
    """The client is told to come again."""
    script = """
from app.calls import children

def refuse(*given):
    raise OSError("Resource temporarily unavailable")

children.fork = refuse
"""
    with running(tmp_path, script) as service:
        answer = service.client.post("/v1/estimates", json={})
        assert (answer.status_code, answer.json()["code"]) == (503, "workers_unavailable")
        assert answer.headers["retry-after"]
