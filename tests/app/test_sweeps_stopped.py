"""Sweeps that take long: they keep no plan waiting, and end when nobody waits for them."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.sweep_request import MAX_CELLS
from tests.app.service import Json, Service, running, two_layers

PATH = "/v1/sweeps"

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").is_file(), reason="the processes of a server cannot be seen"
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Service]:
    with running(tmp_path) as found:
        yield found


def endless(service: Service, **fields: Any) -> Json:
    """Return a sweep of minutes."""
    asked = service.client.get("/v1/examples/llama_7b").json()
    axes = {"workers": [*range(2, 66)], "bandwidths_gbps": [*range(1, 65)]}
    assert len(axes["workers"]) * len(axes["bandwidths_gbps"]) == MAX_CELLS
    body = {"graph": asked["graph"], "cluster": asked["cluster"], "policies": ["wfbp", "pace"]}
    return body | axes | fields


def busy(server: Service) -> list[int]:
    """Return the processes in which a server computes cells."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            command = (process / "cmdline").read_text()
        except OSError:
            continue  # it ended meanwhile
        if int(parent) == server.process and "spawn_main" in command:
            found.append(int(process.name))
    return found


def wait_until(true: Callable[[], object], within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_waiting_sweeps_keep_no_plan_waiting_and_end_with_their_clients(server: Service) -> None:
    body = endless(server)
    with ThreadPoolExecutor(8) as clients:
        posts = [
            clients.submit(httpx2.post, f"{server.client.base_url}{PATH}", json=body, timeout=12)
            for _ in range(8)
        ]
        wait_until(lambda: busy(server), 20)
        began = time.monotonic()
        assert server.post(two_layers()).status_code == 201
        assert time.monotonic() - began < 5
        assert busy(server)
        assert all(isinstance(post.exception(), httpx2.ReadTimeout) for post in posts)
    wait_until(lambda: not busy(server), 10)
    small = two_layers() | {"policies": ["wfbp"]}
    del small["options"]
    assert server.client.post(PATH, json=small).status_code == 201


def test_a_limit_ends_the_processes(server: Service) -> None:
    began = time.monotonic()
    answer = server.client.post(PATH, json=endless(server, sweep_limit_s=3))
    assert (answer.status_code, answer.json()["code"]) == (503, "time_limit")
    assert " of 4,096 cells were done when the limit of 3 s" in answer.json()["detail"]
    assert 3 < time.monotonic() - began < 15
    assert not busy(server)


def test_the_server_leaves_in_the_middle_of_a_sweep(server: Service) -> None:
    body = endless(server)
    with ThreadPoolExecutor(1) as clients:
        post = clients.submit(server.client.post, PATH, json=body)
        wait_until(lambda: busy(server), 20)
        cells = busy(server)
        os.kill(server.process, signal.SIGTERM)
        answer = post.result(10)
    assert (answer.status_code, answer.json()["code"]) == (503, "stopped")
    wait_until(lambda: not busy(server), 10)
    log = server.log.read_text()
    wait_until(lambda: "Finished server process" in server.log.read_text(), 10)
    assert "Traceback" not in log
    assert not any(Path("/proc", str(cell)).exists() for cell in cells)


@pytest.mark.slow
def test_the_server_leaves_in_the_middle_of_a_plan(server: Service) -> None:
    """What cannot be ended is left after some seconds."""
    layers = range(3_000)
    ops: list[Json] = [{"id": f"b{i}", "kind": "compute", "duration_us": 50} for i in layers]
    ops += [
        {"id": f"g{i}", "kind": "all_reduce", "bytes": 100_000 + i, "after": [f"b{i}"]}
        for i in layers
    ]
    convex = [[1_000 * i, 10 + i + (i / 100) ** 1.5] for i in range(1, 2_049)]
    cluster = {"workers": 8, "algorithm": "table", "table": convex}
    with ThreadPoolExecutor(1) as clients:
        clients.submit(server.post, {"graph": {"ops": ops}, "cluster": cluster})
        time.sleep(2)
        os.kill(server.process, signal.SIGTERM)
        wait_until(lambda: "Finished server process" in server.log.read_text(), 10)
