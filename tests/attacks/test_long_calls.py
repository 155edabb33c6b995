"""Calls that take minutes: nobody else waits for them, and they end with their clients."""

import json
import os
import signal
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from app.calls import children
from app.children import process
from app.children.process import Child
from app.operations.settings import Settings
from app.service import create_app
from app.services.examples import TWO_LAYERS
from tests.app.long import CONVEX, busy, gone, needs_proc
from tests.app.service import Json, Service, running, two_layers
from tests.attacks.inside import client_of, inside
from tests.waiting import until

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


def sent(service: Service, path: str, body: bytes, key: str | None = None) -> socket.socket:
    """Send a request, and do not wait for its answer."""
    url = service.client.base_url
    client = socket.create_connection((url.host, url.port))
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += "" if key is None else f"Authorization: Bearer {key}\r\n"
    client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return client


@needs_proc
@pytest.mark.live
def test_predictions_keep_no_submission_waiting(attacked: Service) -> None:
    """It was 75 s with four of them, and they went on after their clients had left."""
    attacked.post(two_layers(seed=1))
    with ExitStack() as clients:
        for _ in range(4):
            clients.enter_context(sent(attacked, SCALING, prediction()))
        until(lambda: busy(attacked))
        for seed in (2, 3, 4, 1):  # the last one is known
            assert attacked.post(two_layers(seed=seed)).status_code == 201
        assert busy(attacked), "they are still at work"
    until(lambda: not busy(attacked))
    answer = attacked.client.post(SCALING, json=SMALL)
    assert answer.status_code == 200, "others have their turn"


SMALL: Json = {"layers": LAYERS[:2], "cluster": TWO_LAYERS["cluster"], "workers": [8]}


@needs_proc
@pytest.mark.live
def test_an_answer_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problem says which limit that was; the turn is free again, and nothing goes on."""
    app = create_app(Settings(data_dir=tmp_path, answer_limit_s=0.5))
    service, processes = client_of(app), list[int]()

    def fork(*given: Any) -> Child:
        child = really(*given)
        processes.append(child.process.pid)
        return child

    really = process.fork
    monkeypatch.setattr(children, "fork", fork)
    answer = service.post(SCALING, content=prediction(), headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (503, "time_limit")
    assert "INTERLACE_ANSWER_LIMIT_S" in answer.json()["detail"]
    assert len(processes) == 1
    until(lambda: gone(processes))
    app.state.answers._limit_s = 3_600
    assert service.post(SCALING, json=SMALL).status_code == 200
    app.state.answers.close()


JSON = {"content-type": "application/json"}


def test_a_turn_that_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all turns taken a call is told to come again."""
    monkeypatch.setattr(children, "MAX_TURN_S", 0.0)
    service = inside(tmp_path)
    service.app.state.answers._turns._at_once = -1  # type: ignore[attr-defined]
    answer = service.post(SCALING, json=SMALL)
    assert (answer.status_code, answer.json()["code"]) == (429, "no_turn")
    assert answer.headers["retry-after"]


@needs_proc
@pytest.mark.live
def test_a_call_whose_process_is_killed_may_be_sent_again(attacked: Service) -> None:
    until(lambda: not busy(attacked))
    with sent(attacked, SCALING, prediction()) as client:
        for process in until(lambda: busy(attacked)):
            os.kill(process, signal.SIGKILL)
        head = client.recv(4_096).decode()
        assert head.startswith("HTTP/1.1 503")
        assert "\r\nretry-after: 5\r\n" in head
    assert attacked.client.post(SCALING, json=SMALL).status_code == 200


@needs_proc
@pytest.mark.live
def test_a_killed_server_leaves_no_prediction(tmp_path: Path) -> None:
    with running(tmp_path) as service, sent(service, SCALING, prediction()):
        processes = until(lambda: busy(service))
        os.kill(service.process, signal.SIGKILL)
        until(lambda: gone(processes))
