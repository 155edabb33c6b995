"""Gangs of gated pods are put on nodes, all or none, against an API server with its rules."""

import importlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from interlace_client import Client
from tests.app.service import ROOT, Json, Service

pytestmark = pytest.mark.live
FIGURES = {"node_gbps": 3600, "level_gbps": {"node": 400}, "oversubscription": {"leaf": 16}}
GATE = "interlace/allocation"
RACK = "network.topology.nvidia.com/leaf"
SPINE = "network.topology.nvidia.com/spine"


def merged(old: Any, change: Any) -> Any:
    """Apply a merge patch (RFC 7396)."""
    if not isinstance(change, dict):
        return change
    found = dict(old) if isinstance(old, dict) else {}
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


class Api:
    """Nodes, HyperNodes and pods; a pod is changed as Kubernetes allows it."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Json]] = {
            "/api/v1/nodes": [node(f"n{i}", f"rack{i // 4}") for i in range(8)],
            "/api/v1/pods": [],
            "/apis/topology.volcano.sh/v1alpha1/hypernodes": [
                hyper("s0", "Node", "n0", "n1", "n2", "n3"),
                hyper("s1", "Node", "n4", "n5", "n6", "n7"),
                hyper("s2", "HyperNode", "s0", "s1"),
            ],
        }
        self.patches = 0
        self.fails_at: int | None = None

    @property
    def pods(self) -> list[Json]:
        return self.lists["/api/v1/pods"]

    def patch(self, path: str, change: Json) -> tuple[int, Any]:
        name = path.rpartition("/")[2]
        at = next(i for i, pod in enumerate(self.pods) if pod["metadata"]["name"] == name)
        old = self.pods[at]
        self.patches += 1
        if self.patches == self.fails_at:
            return 500, {}
        version = change.get("metadata", {}).get("resourceVersion")
        if version not in (None, old["metadata"]["resourceVersion"]):
            return 409, {}
        new = merged(old, change)
        was, now = old["spec"], new["spec"]
        gates = [gate["name"] for gate in was.get("schedulingGates", ())]
        left = [gate["name"] for gate in now.get("schedulingGates", ())]
        selects = was.get("nodeSelector", {}).items() <= now.get("nodeSelector", {}).items()
        is_same = was.get("nodeSelector") == now.get("nodeSelector")
        if not set(left) <= set(gates) or not selects or not (gates or is_same):
            return 422, {}
        new["metadata"]["resourceVersion"] = str(int(old["metadata"]["resourceVersion"]) + 1)
        self.pods[at] = new
        return 200, new

    def hosts(self, gang: str) -> list[str | None]:
        """Return where each rank of a gang may go; None for those that have a gate."""
        return [
            None
            if pod["spec"].get("schedulingGates")
            else pod["spec"]["nodeSelector"]["kubernetes.io/hostname"]
            for pod in self.pods
            if pod["metadata"]["labels"]["interlace/gang"] == gang
        ]


def node(name: str, rack: str) -> Json:
    labels = {RACK: rack, SPINE: "spine", "kubernetes.io/hostname": f"{name}.example"}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def hyper(name: str, kind: str, *members: str) -> Json:
    each = [{"type": kind, "selector": {"exactMatch": {"name": one}}} for one in members]
    return {"metadata": {"name": name}, "spec": {"members": each}}


def gang(name: str, size: int, *gates: str, there: int | None = None) -> list[Json]:
    """Return the pods of a gang, or the first of them."""
    job = {"nodes": size, "compute_us": 80_000, "gradient_bytes": 2_000_000_000}
    return [
        {
            "metadata": {
                "name": f"{name}-{rank}",
                "namespace": "train",
                "labels": {"interlace/gang": name},
                "annotations": {"interlace/rank": str(rank), "interlace/job": json.dumps(job)},
                "resourceVersion": "1",
            },
            "spec": {
                "schedulingGates": [{"name": gate} for gate in (GATE, *gates)],
                "containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}],
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            },
            "status": {"phase": "Pending"},
        }
        for rank in range(size if there is None else there)
    ]


@pytest.fixture
def api() -> Iterator[tuple[Api, str]]:
    """An API server on loopback."""
    own = Api()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, {"items": own.lists[self.path]})

        def do_PATCH(self) -> None:
            assert self.headers["Content-Type"] == "application/merge-patch+json"
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(*own.patch(self.path, json.loads(body)))

        def _answer(self, status: int, found: Any) -> None:
            content = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield own, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def look(api: tuple[Api, str], service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """One round of the program."""
    monkeypatch.syspath_prepend(ROOT / "client/examples")
    program = importlib.import_module("kubernetes_gates")
    cluster = program.Cluster(api[1])
    with Client(str(service.client.base_url)) as client, cluster.http:
        yield lambda **how: program.one_round(
            cluster, client, FIGURES, **{"hypernodes": False, **how}
        )


@pytest.mark.parametrize("hypernodes", [False, True])
def test_gangs_get_racks_of_their_own(api: tuple[Api, str], look: Any, hypernodes: bool) -> None:
    own = api[0]
    own.pods.extend([*gang("a", 3), *gang("b", 4), *gang("late", 2, there=1), *gang("big", 2)])
    own.lists["/api/v1/nodes"][0]["spec"]["unschedulable"] = True
    assert look(hypernodes=hypernodes) == 7
    hosts = own.hosts("a")
    assert sorted(map(str, hosts)) == ["n1.example", "n2.example", "n3.example"]
    assert sorted(map(str, own.hosts("b"))) == [f"n{i}.example" for i in range(4, 8)]
    assert own.hosts("late") == [None]  # its second pod is not there
    assert own.hosts("big") == [None, None]  # no node is left
    assert look(hypernodes=hypernodes) == 0


def test_other_gates_are_waited_for(api: tuple[Api, str], look: Any) -> None:
    own = api[0]
    own.pods.extend(gang("a", 2, "kueue.x-k8s.io/admission"))
    assert look() == 0
    assert own.patches == 0
    for pod in own.pods:
        pod["spec"]["schedulingGates"].pop()
    assert look() == 2


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_round_that_is_cut_off_is_finished_as_it_was_decided(
    api: tuple[Api, str], look: Any, at: int
) -> None:
    own = api[0]
    own.pods.extend(gang("a", 3))
    own.fails_at = at
    program = importlib.import_module("kubernetes_gates")
    if at == 1:  # nothing is decided
        assert look() == 0
        assert own.hosts("a") == [None] * 3
        assert look() == 3
        return
    with pytest.raises(program.httpx.HTTPError):
        look()
    decided = json.loads(own.pods[0]["metadata"]["annotations"]["interlace/nodes"])
    own.lists["/api/v1/nodes"][4]["spec"]["unschedulable"] = True
    look()
    assert own.hosts("a") == [f"{name}.example" for name in decided]
