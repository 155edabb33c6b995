"""Bodies as long as they may be, of values that take the most to parse: others are answered."""

import json
import os
import socket
import threading
from pathlib import Path

import pytest

from app.calls import children
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
from tests.app.long import busy, needs_proc
from tests.app.service import Service, two_layers
from tests.app.test_bad_input import connected, heard, peak_mib, problem
from tests.attacks.conftest import Attacked
from tests.attacks.inside import inside
from tests.benchmarks.bodies import BODIES, form
from tests.waiting import until

#: To parse a body takes 6 to 19 s of CPU time; the server itself takes less, as a child does it.
LESS_S = 5.0


def computed_s(process: int) -> float:
    """Return the CPU time that a process itself has taken [s]."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@needs_proc
@pytest.mark.live
@pytest.mark.parametrize("name", [name for name in BODIES if "as long as" not in name])
def test_others_are_answered_meanwhile(attacked: Service, name: str) -> None:
    path, kind, make = BODIES[name]
    body, over, answered = make(), threading.Event(), [0]

    def ask() -> None:
        with connected(attacked) as client:
            while not over.wait(0.02):
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert heard(client)[0] == 200
                answered[0] += 1

    before_s = computed_s(attacked.process)
    asking = threading.Thread(target=ask)
    asking.start()
    answer = attacked.client.post(path, content=body, headers={"content-type": kind})
    over.set()
    asking.join()
    assert 400 <= answer.status_code < 500 or answer.status_code == 202, answer.text
    assert answered[0]
    assert computed_s(attacked.process) - before_s < LESS_S
    assert peak_mib(attacked) < 400


KINDS = {
    "/v1/cost-models": MAX_PLAIN_BYTES,
    "/v1/estimates": MAX_PLAIN_BYTES,
    "/v1/exports/nccl-tuner": MAX_PLAIN_BYTES,
    "/v1/runs": MAX_RUN_BYTES,
    "/v1/runs/0/plans": MAX_RUN_BYTES,
    "/v1/runs/0/steps": MAX_REPORT_BYTES,
    "/v1/runs/0/end": MAX_WORD_BYTES,
}


@pytest.mark.live
@pytest.mark.parametrize(("path", "most"), KINDS.items(), ids=KINDS)
def test_the_limit_of_its_kind(attacked: Service, path: str, most: int) -> None:
    """What says itself that it is longer is refused before it is read."""
    line = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with connected(attacked) as client:
        client.sendall(f"{line}Content-Length: {most + 1}\r\n\r\n".encode())
        answer = heard(client)
    assert (answer[0], problem(*answer)["code"]) == (413, "too_large")


@needs_proc
@pytest.mark.live
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


@pytest.mark.live
def test_a_large_body_leaves_no_file(attacked_and_its_files: Attacked) -> None:
    service, temporary = attacked_and_its_files.service, attacked_and_its_files.temporary
    body = json.dumps(two_layers()).encode() + b" " * (2 * BIG_BODY_BYTES)
    assert service.post_raw(body).status_code == 201
    assert not [path for path in temporary.rglob("*") if path.is_file()]


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


def test_no_process_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is told to come again."""

    def refuse(*given: object) -> None:
        raise OSError("Resource temporarily unavailable")

    monkeypatch.setattr(children, "fork", refuse)
    answer = inside(tmp_path).post("/v1/estimates", json={})
    assert (answer.status_code, answer.json()["code"]) == (503, "workers_unavailable")
    assert answer.headers["retry-after"]
