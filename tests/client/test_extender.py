"""The scheduler extender answers Kubernetes within 5 s, whatever the service does."""

import importlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.app.service import ROOT, Json, Service, first_line
from tests.client.fake import NOTHING, PLAN
from tests.client.scripted import Scripted

EXAMPLES = ROOT / "client" / "examples"
TOO_LATE_S = 5
#: The extender, for a machine that has other things to do.
PATIENT = """
import scheduler_extender
scheduler_extender.PLAN_S = scheduler_extender.ANSWER_S = 3_600
scheduler_extender.main()
"""


@pytest.fixture(scope="module")
def extender(service: Service) -> Iterator[httpx2.Client]:
    """The extender as a program, and the service that it asks."""
    path = os.pathsep.join(map(str, (EXAMPLES, ROOT / "client", ROOT)))
    flags = ["--service", str(service.client.base_url), "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PATIENT, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        url = first_line(process).strip()
        with httpx2.Client(base_url=url, timeout=None, trust_env=False) as client:
            yield client
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The extender as a module."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("scheduler_extender")


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


def scores_of(listed: list[Json]) -> dict[str, int]:
    assert all(set(each) == {"Host", "Score"} for each in listed)
    return {each["Host"]: each["Score"] for each in listed}


def prioritized(extender: httpx2.Client, args: Json) -> dict[str, int]:
    answer = extender.post("/prioritize", json=args)
    assert answer.status_code == 200, answer.text
    return scores_of(answer.json())


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


def test_faster_networks_score_higher(extender: httpx2.Client, graph: str) -> None:
    args = extender_args(graph, slow=1, fast=100, also_fast=100, unknown=None)
    scores = prioritized(extender, args)
    assert (scores["fast"], scores["also_fast"], scores["unknown"]) == (10, 10, 5)
    assert 0 <= scores["slow"] < 5
    kept = extender.post("/filter", json=args).json()
    assert [node["metadata"]["name"] for node in kept["Nodes"]["items"]] == [
        *("slow", "fast", "also_fast")
    ]
    assert kept["Nodes"]["items"] == args["Nodes"]["items"][:3]
    assert set(kept["FailedNodes"]) == {"unknown"}
    assert kept["Error"] == ""


def test_other_pods_are_left_alone(extender: httpx2.Client) -> None:
    args = extender_args(None, a=10, b=None)
    assert prioritized(extender, args) == {"a": 5, "b": 5}
    kept = extender.post("/filter", json=args).json()
    assert kept["Nodes"]["items"] == args["Nodes"]["items"]
    assert extender.post("/filter", content=b"{").status_code == 400
    assert extender.post("/prioritize", json={"NodeNames": ["a"]}).status_code == 400
    assert extender.post("/bind", json=args).status_code == 404


def test_unknown_graph_is_neutral(extender: httpx2.Client) -> None:
    assert prioritized(extender, extender_args("nothing", a=10)) == {"a": 5}


def test_it_is_to_answer_in_time(module: Any) -> None:
    assert module.SEARCH_S < module.PLAN_S < module.ANSWER_S < TOO_LATE_S


@pytest.mark.live
@pytest.mark.parametrize("listens", [False, True], ids=["down", "hung"])
def test_service_that_does_not_answer(
    module: Any, monkeypatch: pytest.MonkeyPatch, listens: bool
) -> None:
    """A service that hangs does so for ever: any answer is that of a deadline."""
    monkeypatch.setattr(module, "PLAN_S", 3_600.0)
    monkeypatch.setattr(module, "ANSWER_S", 0.5 if listens else 3_600.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        if not listens:
            server.close()
        found = module.prioritized(url, extender_args("f00d", a=10, b=25, c=100))
    assert scores_of(found) == {"a": 5, "b": 5, "c": 5}


@pytest.mark.live
def test_jobs_that_are_late_are_cancelled_and_their_best_counts(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ANSWER_S", 3_600.0)
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
    with Scripted(answer) as script:
        scores = scores_of(module.prioritized(script.url, extender_args("f00d", a=10, b=25)))
    assert sorted(scores.values()) == [8, 10]  # 100 us against 125 us so far
    assert [path for method, path, _ in script.seen if path.endswith("/cancel")] == [
        "/v1/plans/7/cancel"
    ]
