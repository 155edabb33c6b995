"""Put gangs of gated Kubernetes pods on the nodes, in the order of ranks, that are fastest.

    python kubernetes_gates.py --api http://127.0.0.1:8001 --service http://planner:8000 \
        --figures figures.json

``--api`` is what ``kubectl proxy`` opens, or a sidecar does. ``figures.json`` has what node labels
do not tell: {"node_gbps": 3600, "level_gbps": {"node": 400}, "oversubscription": {"leaf": 4}}.

A pod of a gang, one a node, has

- the scheduling gate ``interlace/allocation``, so that no scheduler looks at it before;
- the label ``interlace/gang``, and annotations ``interlace/rank`` (from 0) and ``interlace/job``:
  the job of POST /v1/allocations, {"nodes": 8, "compute_us": 80000, "gradient_bytes": 2000000000}.

When all its pods are there and have no gate but this one (Kueue takes its own away when it admits
them), the answer is written to rank 0 (``interlace/nodes``): one write that decides for the gang.
Then each pod gets its node as a node selector and loses the gate, in one patch, which Kubernetes
allows as long as a pod is gated. A round that is cut off is finished by the next, from what rank 0
has. Pods are then bound by their scheduler: kube-scheduler, or Volcano, whose HyperNodes are the
topology with ``--hypernodes``.

Free are nodes that are ready, may be scheduled, have no taint that a pod does not tolerate, match
the pods' node selectors, and have the GPUs that a pod asks for beside those of pods and of gangs
that are decided. A gang that does not fit, or that the service does not answer, keeps its gates and
is said. Run one of these; a second one's decision fails as a conflict.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from interlace_client import Client, InterlaceError

GATE, GANG = "interlace/allocation", "interlace/gang"
RANK, JOB, NODES = "interlace/rank", "interlace/job", "interlace/nodes"
HOST, GPU = "kubernetes.io/hostname", "nvidia.com/gpu"
PAUSE_S = 5.0

Json = dict[str, Any]


def note(pod: Json, name: str) -> Any:
    """Return an annotation of a pod."""
    return (pod["metadata"].get("annotations") or {}).get(name)


def gates(pod: Json) -> list[str]:
    """Return the names of a pod's gates."""
    return [gate["name"] for gate in pod["spec"].get("schedulingGates") or ()]


def gpus(pod: Json) -> int:
    """Return the GPUs that a pod's containers ask for."""
    limits = [each.get("resources", {}).get("limits", {}) for each in pod["spec"]["containers"]]
    return sum(int(each.get(GPU, 0)) for each in limits)


def gangs(pods: list[Json]) -> dict[str, list[Json]]:
    """Return the gangs whose pods are all there, by name, from rank 0."""
    found: dict[str, list[Json]] = {}
    for pod in pods:
        label = (pod["metadata"].get("labels") or {}).get(GANG)
        if label and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            found.setdefault(f"{pod['metadata']['namespace']}/{label}", []).append(pod)
    whole = {}
    for name, members in found.items():
        try:
            members.sort(key=lambda pod: int(note(pod, RANK)))
            ranks = [int(note(pod, RANK)) for pod in members]
            needed = json.loads(note(members[0], JOB))["nodes"]
        except (TypeError, ValueError, KeyError) as error:
            print(f"{name}: no rank, or no job with its nodes: {error!r}", file=sys.stderr)
            continue
        if ranks == list(range(needed)):
            whole[name] = members
    return whole


def tolerated(taint: Json, pod: Json) -> bool:
    """Tell whether a pod may be on a node in spite of a taint."""
    return any(
        each.get("effect") in (None, "", taint["effect"])
        and each.get("key") in (None, "", taint["key"])
        and (each.get("operator") == "Exists" or each.get("value") == taint.get("value"))
        for each in pod["spec"].get("tolerations") or ()
    )


def takes(node: Json, pod: Json, busy: int) -> bool:
    """Tell whether a node, of which other pods have so many GPUs, may take a pod."""
    ready = any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in node["status"].get("conditions") or ()
    )
    taints = [t for t in node["spec"].get("taints") or () if t["effect"] != "PreferNoSchedule"]
    labels = node["metadata"].get("labels") or {}
    wanted = pod["spec"].get("nodeSelector") or {}
    return (
        ready
        and not node["spec"].get("unschedulable")
        and all(tolerated(taint, pod) for taint in taints)
        and all(labels.get(key) == value for key, value in wanted.items())
        and int(node["status"]["allocatable"].get(GPU, 0)) - busy >= gpus(pod)
    )


def busy_gpus(pods: list[Json], whole: dict[str, list[Json]]) -> dict[str, int]:
    """Return the GPUs of each node that pods have, bound or decided."""
    decided = {
        id(pod): node
        for members in whole.values()
        if note(members[0], NODES)
        for pod, node in zip(members, json.loads(note(members[0], NODES)), strict=True)
    }
    taken: dict[str, int] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName") or decided.get(id(pod))
        if node and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            taken[node] = taken.get(node, 0) + gpus(pod)
    return taken


def job_of(members: list[Json]) -> Json:
    """Return what a gang does, with the GPUs that its pods ask for."""
    job: Json = json.loads(note(members[0], JOB))
    return {**job, "gpus_per_node": gpus(members[0])} if "shape" not in job else job


def request_of(
    name: str, items: list[Json], pods: list[Json], whole: dict[str, list[Json]], figures: Json
) -> Json:
    """Return the request for a gang; decided gangs are the jobs that run."""
    taken = busy_gpus(pods, whole)
    members = whole[name]
    nodes = [item for item in items if item.get("kind") == "Node"]
    own = {node["metadata"]["name"]: node for node in nodes}
    free = [
        host
        for host, node in own.items()
        if all(takes(node, pod, taken.get(host, 0)) for pod in members)
    ]
    running = []
    for other, theirs in whole.items():
        if note(theirs[0], NODES):
            job = job_of(theirs)
            job.pop("nodes")
            running.append({"name": other, "on": json.loads(note(theirs[0], NODES)), **job})
    return {
        "topology": {"document": {"items": items}, **figures},
        "job": job_of(members),
        "running": running,
        "free": free,
        "count": 1,
    }


class Cluster:
    """The API server, as far as it is needed."""

    def __init__(self, api: str) -> None:
        self.http = httpx.Client(base_url=api, timeout=30, trust_env=False)

    def items(self, path: str, kind: str) -> list[Json]:
        """Return a list; its items of a list do not say their kind themselves."""
        answer = self.http.get(path).raise_for_status().json()
        return [{**item, "kind": kind} for item in answer["items"]]

    def patch(self, pod: Json, change: Json) -> None:
        """Change a pod."""
        at = pod["metadata"]
        path = f"/api/v1/namespaces/{at['namespace']}/pods/{at['name']}"
        headers = {"Content-Type": "application/merge-patch+json"}
        self.http.patch(path, content=json.dumps(change), headers=headers).raise_for_status()


def one_round(cluster: Cluster, client: Client, figures: Json, *, hypernodes: bool) -> int:
    """Decide one gang after the other, and let their pods go; return how many pods went."""
    items = cluster.items("/api/v1/nodes", "Node")
    if hypernodes:
        path = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
        items += cluster.items(path, "HyperNode")
    pods = cluster.items("/api/v1/pods", "Pod")
    whole, gone = gangs(pods), 0
    for name, members in whole.items():
        if note(members[0], NODES) is None:
            if any(gates(pod) != [GATE] for pod in members):
                continue
            try:
                request = request_of(name, items, pods, whole, figures)
                best = client.post("/v1/allocations", request)["best"][0]
                wanted = {NODES: json.dumps(best["nodes"])}
                at = {"annotations": wanted, "resourceVersion": _version(members[0])}
                cluster.patch(members[0], {"metadata": at})
            except (InterlaceError, httpx.HTTPError) as error:
                print(f"{name} keeps its gates: {error}", file=sys.stderr)
                continue
            members[0]["metadata"]["annotations"] |= wanted
            print(f"{name}: {best['why']} ({best['evidence']})", flush=True)
        hosts = _hosts(items)
        for pod, node in zip(members, json.loads(note(members[0], NODES)), strict=True):
            left = [{"name": gate} for gate in gates(pod) if gate != GATE]
            if GATE in gates(pod):
                spec = {"nodeSelector": {HOST: hosts[node]}, "schedulingGates": left or None}
                cluster.patch(pod, {"spec": spec})
                gone += 1
    return gone


def _version(pod: Json) -> str:
    return str(pod["metadata"]["resourceVersion"])


def _hosts(items: list[Json]) -> dict[str, str]:
    """Return the label of each node by which a pod selects it; it may differ from its name."""
    own = [item["metadata"] for item in items if item["kind"] == "Node"]
    return {at["name"]: (at.get("labels") or {}).get(HOST, at["name"]) for at in own}


def main() -> None:
    """Look again and again."""
    parser = argparse.ArgumentParser(description="Decides where gated gangs of pods go.")
    parser.add_argument("--api", required=True, help="URL of the API server, or of its proxy")
    parser.add_argument("--service", required=True, help="URL of the service")
    parser.add_argument("--figures", required=True, type=Path, help="JSON of bandwidths")
    parser.add_argument("--hypernodes", action="store_true", help="topology of Volcano")
    parser.add_argument("--once", action="store_true", help="one round, then end")
    given = parser.parse_args()
    figures: Json = json.loads(given.figures.read_text(encoding="utf-8"))
    cluster = Cluster(given.api)
    with Client(given.service, timeout=10.0, retries=1) as client:
        while True:
            try:
                one_round(cluster, client, figures, hypernodes=given.hypernodes)
            except httpx.HTTPError as error:
                print(f"the API server: {error}", file=sys.stderr)
            if given.once:
                return
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()
