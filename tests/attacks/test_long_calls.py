"""Calls that take minutes: nobody else waits for them, and they end with their clients."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.services.examples import TWO_LAYERS
from tests.app.long import CONVEX, busy, gone, needs_proc, until
from tests.app.service import Json, Service, running, two_layers

SCALING = "/v1/predictions/scaling"
LAYERS = [{"bytes": 1_000_000 + 977 * i, "forward_us": 40, "backward_us": 90} for i in range(1_500)]


def prediction() -> bytes:
    """Return what takes a core more than a minute: each buffer is simulated for each count."""
    body = {
        "layers": LAYERS,
        "cluster": CONVEX,
        "workers": list(range(2, 66)),
        "buffers_bytes": [1_000_000 * i for i in range(40)],
        "timeout_us": 5_000,
        "time_limit_s": 600,
    }
    return json.dumps(body).encode()


def sent(service: Service, path: str, body: bytes) -> socket.socket:
    """Send a request, and do not wait for its answer."""
    url = service.client.base_url
    client = socket.create_connection((url.host, url.port), timeout=60)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return client


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("attacked")) as found:
        yield found
        assert "Traceback" not in found.log.read_text()


@needs_proc
def test_predictions_keep_no_submission_waiting(attacked: Service) -> None:
    """It was 75 s with four of them, and they went on after their clients had left."""
    attacked.post(two_layers(seed=1))
    with ExitStack() as clients:
        for _ in range(4):
            clients.enter_context(sent(attacked, SCALING, prediction()))
        until(lambda: busy(attacked))
        for seed in (2, 3, 4, 1):  # the last one is known
            began = time.monotonic()
            assert attacked.post(two_layers(seed=seed)).status_code == 201
            assert time.monotonic() - began < 40
        assert busy(attacked), "they are still at work"
    until(lambda: not busy(attacked))
    answer = attacked.client.post(SCALING, json=SMALL)
    assert answer.status_code == 200, "others have their turn"


SMALL: Json = {"layers": LAYERS[:2], "cluster": TWO_LAYERS["cluster"], "workers": [8]}


def test_an_answer_that_takes_too_long(tmp_path: Path) -> None:
    """The problem says which limit that was; the turn is free again, and nothing goes on."""
    with running(tmp_path, INTERLACE_ANSWER_LIMIT_S="5") as service:
        answer = service.client.post(SCALING, content=prediction(), headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (503, "time_limit")
        assert "INTERLACE_ANSWER_LIMIT_S" in answer.json()["detail"]
        until(lambda: not busy(service))
        assert service.client.post(SCALING, json=SMALL).status_code == 200


JSON = {"content-type": "application/json"}


def test_a_turn_that_does_not_come(tmp_path: Path) -> None:
    """With all turns taken a call is told to come again."""
    script = "from app.calls import children\nchildren.MAX_TURN_S = 1.0"
    with running(tmp_path, script) as service, ExitStack() as clients:
        for _ in range(64):  # more than any machine has turns for
            clients.enter_context(sent(service, SCALING, prediction()))
        until(lambda: busy(service))
        answer = service.client.post(SCALING, json=SMALL)
        assert (answer.status_code, answer.json()["code"]) == (503, "queue_full")
        assert answer.headers["retry-after"]


@needs_proc
def test_a_call_whose_process_is_killed_may_be_sent_again(tmp_path: Path) -> None:
    with running(tmp_path) as service, sent(service, SCALING, prediction()) as client:
        until(lambda: busy(service))
        for process in busy(service):
            os.kill(process, signal.SIGKILL)
        head = client.recv(4_096).decode()
        assert head.startswith("HTTP/1.1 503")
        assert "\r\nretry-after: 5\r\n" in head
        assert service.client.post(SCALING, json=SMALL).status_code == 200


@needs_proc
def test_a_killed_server_leaves_no_prediction(tmp_path: Path) -> None:
    with running(tmp_path) as service, sent(service, SCALING, prediction()):
        until(lambda: busy(service))
        processes = busy(service)
        os.kill(service.process, signal.SIGKILL)
        until(lambda: gone(processes))
