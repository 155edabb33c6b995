"""A controller of scheduling gates: the API server is ours, with Kubernetes' rules."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.app.service import ROOT, Json, Service

GATE = ROOT / "client" / "examples" / "kubernetes_gate.py"
FIGURES: Json = {
    "gpus": 8,
    "node_gbps": 3600,
    "level_gbps": {"node": 400},
    "oversubscription": {"rack": 8},
}
DOES = {"compute_us": 80_000, "gradient_bytes": 2_000_000_000}
HOST = "kubernetes.io/hostname"
OURS = "interlace/allocation"


class ApiServer:
    """Nodes in two racks, and pods; a patch may do what a gated pod allows."""

    def __init__(self) -> None:
        self.nodes = [node(f"n{i}", f"rack{i // 4}") for i in range(8)]
        self.pods: list[Json] = []
        self.hypernodes: list[Json] = []
        self.refused: list[str] = []

    def items(self, path: str) -> list[Json] | None:
        lists = {"/api/v1/nodes": self.nodes, "/api/v1/pods": self.pods}
        lists["/apis/topology.volcano.sh/v1alpha1/hypernodes"] = self.hypernodes
        return lists.get(path)

    def patch(self, path: str, spec: Json) -> int:
        """Gates can only be taken away, and selectors only be added while there is one."""
        *_, space, _kind, name = path.split("/")
        (pod,) = (
            p
            for p in self.pods
            if (p["metadata"]["namespace"], p["metadata"]["name"]) == (space, name)
        )
        before = pod["spec"]["schedulingGates"]
        selector = pod["spec"].get("nodeSelector") or {}
        added = spec.get("nodeSelector", {})
        gates = spec.get("schedulingGates", before)
        if any(gate not in before for gate in gates):
            self.refused.append("a gate was added")
        if added and not before:
            self.refused.append("a pod without a gate was changed")
        if any(selector.get(key, value) != value for key, value in added.items()):
            self.refused.append("a selector was changed")
        if self.refused:
            return 422
        pod["spec"]["schedulingGates"] = gates
        pod["spec"]["nodeSelector"] = {**selector, **added}
        return 200


def node(name: str, rack: str) -> Json:
    labels = {HOST: f"host-{name}", "cloud.provider.com/topology-rack": rack}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": ready}


def gang(name: str, count: int, *on: str, **changed: Any) -> list[Json]:
    """Return the pods of a job, on nodes or behind gates, in an order that is not theirs."""
    notes = {"interlace/pods": str(count), "interlace/job": json.dumps(DOES)} | changed
    pods = []
    for i in reversed(range(count)):
        spec: Json = {"containers": [], "schedulingGates": [{"name": OURS}, {"name": "quota"}]}
        if on:
            spec = {"containers": [], "nodeName": on[i]}
        index = {"batch.kubernetes.io/job-completion-index": str(i)}
        labels = {"interlace/job-name": name, **index}
        about = {"name": f"{name}-{i}", "namespace": "ml", "labels": labels, "annotations": notes}
        pods.append({"metadata": about, "spec": spec, "status": {"phase": "Pending"}})
    return pods


@contextmanager
def serving(api: ApiServer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            items = api.items(asked.path)
            if items is None:
                return self._answer(404, {})
            at = int(parse_qs(asked.query).get("continue", ["0"])[0])
            more = str(at + 3) if at + 3 < len(items) else ""  # pages of three
            page = {"metadata": {"continue": more}, "items": items[at : at + 3]}
            return self._answer(200, page)

        def do_PATCH(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            assert self.headers["content-type"] == "application/merge-patch+json"
            self._answer(api.patch(self.path, body["spec"]), {})

        def _answer(self, status: int, found: Json) -> None:
            content = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def looked(api: ApiServer, service: str, folder: Path, *flags: str, told: Json = FIGURES) -> str:
    """Let the controller look once; return what it says."""
    figures = folder / "figures.json"
    figures.write_text(json.dumps(told))
    path = os.pathsep.join([str(ROOT / "client"), str(ROOT)])
    with serving(api) as url:
        ours = ["--service", service, "--api", url, "--figures", str(figures), "--once", *flags]
        done = subprocess.run(
            [sys.executable, "-W", "error", str(GATE), *ours],
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert not api.refused
    return done.stderr


def selected(pods: list[Json]) -> list[str | None]:
    """Return where the pods of a job belong, by rank."""
    ranked = sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))
    return [(pod["spec"].get("nodeSelector") or {}).get(HOST) for pod in ranked]


def gates(pods: list[Json]) -> set[str]:
    return {gate["name"] for pod in pods for gate in pod["spec"]["schedulingGates"]}


@pytest.mark.live
def test_a_gang_goes_where_it_shares_no_link(service: Service, tmp_path: Path) -> None:
    api = ApiServer()
    new = gang("new", 2)
    api.pods = [*gang("old", 2, "n0", "n4"), *new]
    api.nodes[1]["spec"]["unschedulable"] = True
    api.nodes[5]["status"]["conditions"][0]["status"] = "False"
    gpu_pod = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}], "nodeName": "n2"}
    api.pods.append({"metadata": {"name": "x", "namespace": "a"}, "spec": gpu_pod, "status": {}})
    said = looked(api, str(service.client.base_url), tmp_path)
    # of rack 0 n3 alone is left
    assert set(selected(new)) == {"host-n6", "host-n7"}
    assert gates(new) == {"quota"}
    assert said.startswith("ml/new: 2 nodes")


@pytest.mark.live
def test_a_gang_waits_for_its_last_pod(service: Service, tmp_path: Path) -> None:
    api = ApiServer()
    new = gang("new", 3)
    api.pods = new[:2]
    assert looked(api, str(service.client.base_url), tmp_path) == ""
    assert gates(api.pods) == {OURS, "quota"}
    api.pods = new
    looked(api, str(service.client.base_url), tmp_path)
    first = selected(new)
    assert len({*first}) == 3
    second = gang("second", 4)
    api.pods = [*new, *second]  # the first has its selectors, and not yet its nodes
    looked(api, str(service.client.base_url), tmp_path)
    assert not {*selected(second)} & {*first}


@pytest.mark.live
def test_volcanos_hypernodes_are_the_topology(service: Service, tmp_path: Path) -> None:
    api = ApiServer()
    for each in api.nodes:
        del each["metadata"]["labels"]["cloud.provider.com/topology-rack"]
    api.hypernodes = [
        {
            "metadata": {"name": f"leaf{i}"},
            "spec": {
                "tier": 1,
                "members": [
                    {"type": "Node", "selector": {"exactMatch": {"name": f"n{4 * i + k}"}}}
                    for k in range(4)
                ],
            },
        }
        for i in range(2)
    ]
    api.hypernodes.append(
        {
            "metadata": {"name": "spine"},
            "spec": {
                "tier": 2,
                "members": [
                    {"type": "HyperNode", "selector": {"exactMatch": {"name": f"leaf{i}"}}}
                    for i in range(2)
                ],
            },
        }
    )
    api.pods = gang("new", 4)
    url, told = str(service.client.base_url), FIGURES | {"oversubscription": {"leaf": 8}}
    said = looked(api, url, tmp_path, "--hypernodes", told=told)
    leaves = [{f"host-n{4 * i + k}" for k in range(4)} for i in range(2)]
    assert {*selected(api.pods)} in leaves, said


@pytest.mark.live
def test_no_job_waits_for_ever(service: Service, tmp_path: Path) -> None:
    url = str(service.client.base_url)
    api = ApiServer()
    for name, changed in (
        ("large", {}),
        ("torn", {"interlace/job": "{"}),
        ("bare", {"interlace/job": "[]"}),
    ):
        api.pods = gang(name, 9 if name == "large" else 2, **changed)
        said = looked(api, url, tmp_path)
        assert "scheduled without:" in said
        assert gates(api.pods) == {"quota"}
        assert {*selected(api.pods)} == {None}
    api.pods = gang("new", 2)
    assert "asked again soon" in looked(api, "http://127.0.0.1:9", tmp_path)
    assert gates(api.pods) == {OURS, "quota"}
    assert "scheduled without" in looked(api, "http://127.0.0.1:9", tmp_path, "--patience", "0")
    assert gates(api.pods) == {"quota"}
