"""The scheduler extender answers Kubernetes within 5 s, whatever the service does."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from tests.app.service import ROOT, Json, Service
from tests.client.fake import NOTHING, PLAN
from tests.client.scripted import Scripted

EXTENDER = ROOT / "client" / "examples" / "scheduler_extender.py"
TOO_LATE_S = 5


@contextmanager
def extending(service: str) -> Iterator[httpx2.Client]:
    path = os.pathsep.join([str(ROOT / "client"), str(ROOT)])
    process = subprocess.Popen(
        [sys.executable, "-W", "error", str(EXTENDER), "--service", service, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        with httpx2.Client(base_url=url, timeout=30, trust_env=False) as client:
            yield client
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def extender_args(graph: str | None, **gbps: float | None) -> Json:
    """Return ExtenderArgs of a pod and nodes, as kube-scheduler writes them."""
    annotations = {"interlace/graph": graph, "interlace/workers": "8"} if graph else None
    nodes = [
        {
            "metadata": {
                "name": name,
                "labels": {"interlace/bandwidth-gbps": str(rate)} if rate else {"zone": "a"},
            },
            "spec": {},
            "status": {},
        }
        for name, rate in gbps.items()
    ]
    pod = {"metadata": {"name": "train-0", "annotations": annotations}, "spec": {}, "status": {}}
    return {"Pod": pod, "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": None}


def prioritized(extender: httpx2.Client, args: Json) -> tuple[dict[str, int], float]:
    began = time.monotonic()
    answer = extender.post("/prioritize", json=args)
    took = time.monotonic() - began
    assert answer.status_code == 200, answer.text
    assert all(set(each) == {"Host", "Score"} for each in answer.json())
    return {each["Host"]: each["Score"] for each in answer.json()}, took


@pytest.fixture(scope="module")
def graph(service: Service) -> str:
    """Return the id of a stored graph: PipeDream's format is short to write."""
    lines = [
        "node1 -- Linear -- forward_compute_time=4.0, backward_compute_time=8.0, "
        "activation_size=1.0, parameter_size=4000000.0",
        "node2 -- Linear -- forward_compute_time=4.0, backward_compute_time=8.0, "
        "activation_size=1.0, parameter_size=8000000.0",
        "\tnode1 -- node2",
    ]
    answer = service.client.post("/v1/graphs", content="\n".join(lines).encode())
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_faster_networks_score_higher(service: Service, graph: str) -> None:
    args = extender_args(graph, slow=1, fast=100, also_fast=100, unknown=None)
    with extending(str(service.client.base_url)) as extender:
        scores, took = prioritized(extender, args)
        assert (scores["fast"], scores["also_fast"], scores["unknown"]) == (10, 10, 5)
        assert 0 <= scores["slow"] < 5
        assert took < TOO_LATE_S
        kept = extender.post("/filter", json=args).json()
    assert [node["metadata"]["name"] for node in kept["Nodes"]["items"]] == [
        *("slow", "fast", "also_fast")
    ]
    assert kept["Nodes"]["items"] == args["Nodes"]["items"][:3]
    assert set(kept["FailedNodes"]) == {"unknown"}
    assert kept["Error"] == ""


def test_other_pods_are_left_alone(service: Service) -> None:
    args = extender_args(None, a=10, b=None)
    with extending(str(service.client.base_url)) as extender:
        assert prioritized(extender, args)[0] == {"a": 5, "b": 5}
        kept = extender.post("/filter", json=args).json()
        assert kept["Nodes"]["items"] == args["Nodes"]["items"]
        assert extender.post("/filter", content=b"{").status_code == 400
        assert extender.post("/prioritize", json={"NodeNames": ["a"]}).status_code == 400
        assert extender.post("/bind", json=args).status_code == 404


def test_unknown_graph_is_neutral(service: Service) -> None:
    with extending(str(service.client.base_url)) as extender:
        scores, took = prioritized(extender, extender_args("nothing", a=10))
    assert scores == {"a": 5}
    assert took < TOO_LATE_S


@pytest.mark.parametrize("listens", [False, True], ids=["down", "hung"])
def test_service_that_does_not_answer(listens: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if not listens:
            server.close()
        with extending(f"http://127.0.0.1:{port}") as extender:
            scores, took = prioritized(extender, extender_args("f00d", a=10, b=25, c=100))
    assert scores == {"a": 5, "b": 5, "c": 5}
    assert took < TOO_LATE_S


def test_jobs_that_are_late_are_cancelled_and_their_best_counts() -> None:
    running: Json = {"id": "7", "state": "running", "progress": None, "error": None, **NOTHING}
    best = {**running, **PLAN, "state": "cancelled", "iteration_time_us": 125.0}
    done = {**running, **PLAN, "id": "8", "state": "succeeded", "iteration_time_us": 100.0}

    def answer(method: str, path: str) -> httpx2.Response:
        if path.endswith("/cancel"):
            return httpx2.Response(200, json=best)
        if method == "POST":
            return next(begun)
        return httpx2.Response(200, json=running)

    begun = iter([httpx2.Response(201, json=done), httpx2.Response(202, json=running)])
    with Scripted(answer) as script, extending(script.url) as extender:
        scores, took = prioritized(extender, extender_args("f00d", a=10, b=25))
    assert sorted(scores.values()) == [8, 10]  # 100 us against 125 us so far
    assert took < TOO_LATE_S
    assert [path for method, path, _ in script.seen if path.endswith("/cancel")] == [
        "/v1/plans/7/cancel"
    ]
