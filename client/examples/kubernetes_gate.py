"""Put the pods of a training job on the nodes that suit it: a controller of scheduling gates.

The pods of a job wait behind a gate until all of them are there. Then their nodes are asked for at
once, pod k gets the node of rank k as a node selector, and the gate is taken away:

    python kubernetes_gate.py --service http://planner:8000 --figures figures.json

    metadata:
      labels: {interlace/job-name: llm}   # the pods of one job, one on a node
      annotations:
        interlace/pods: "8"
        interlace/job: '{"compute_us": 80000, "gradient_bytes": 2000000000}'
    spec:
      schedulingGates: [{name: interlace/allocation}]

Ranks are the pods' completion index (an Indexed Job, a JobSet), else their names in order. Nodes
are those that are ready, not cordoned, and have no pod of a job or with GPUs. Their labels tell the
topology: Topograph's, Kueue's, zones, and with ``--hypernodes`` Volcano's HyperNodes; ``--figures``
has the bandwidths. Jobs that run are those whose pods have the same annotations and a node.

Any scheduler that heeds gates does the rest; one that assigns topology itself (Kueue with a
requested topology, Volcano with networkTopology) should not be asked for it as well. A job that
the service refuses, or has not answered for within ``--patience`` seconds, loses its gate without a
selector, and is scheduled as if this did not exist. It needs list of nodes and pods, patch of pods.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from interlace_client import Client, InterlaceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

GATE, NAME, PODS, JOB = (
    *("interlace/allocation", "interlace/job-name"),
    *("interlace/pods", "interlace/job"),
)
INDEX, HOST = "batch.kubernetes.io/job-completion-index", "kubernetes.io/hostname"
GPUS = ("nvidia.com/gpu", "amd.com/gpu")
#: Where a pod finds its own account.
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def meta(item: Json, kind: str) -> Json:
    """Return the labels or annotations of an object."""
    return item["metadata"].get(kind) or {}


def is_gated(pod: Json) -> bool:
    """Tell whether a pod waits behind our gate."""
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates") or [])


def has_gone(pod: Json) -> bool:
    """Tell whether a pod holds its node no more."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def takes_node(pod: Json) -> bool:
    """Tell whether a pod keeps training jobs from its node: one of a job, or with GPUs."""
    if has_gone(pod) or not pod["spec"].get("nodeName"):
        return False
    asked = [c.get("resources", {}).get("limits") or {} for c in pod["spec"].get("containers", [])]
    return NAME in meta(pod, "labels") or any(gpu in each for each in asked for gpu in GPUS)


def by_rank(pods: list[Json]) -> list[Json]:
    """Return the pods of a job in the order of their ranks."""

    def rank(pod: Json) -> tuple[int, str]:
        index = {**meta(pod, "annotations"), **meta(pod, "labels")}.get(INDEX, "0")
        return int(index), pod["metadata"]["name"]

    return sorted(pods, key=rank)


def jobs_of(pods: list[Json]) -> dict[tuple[str, str], list[Json]]:
    """Return the pods of each job, by namespace and name, in the order of their ranks."""
    jobs: dict[tuple[str, str], list[Json]] = {}
    for pod in pods:
        name = meta(pod, "labels").get(NAME)
        if name and not has_gone(pod):
            jobs.setdefault((pod["metadata"].get("namespace", "default"), name), []).append(pod)
    return {key: by_rank(found) for key, found in jobs.items()}


def is_free(node: Json) -> bool:
    """Tell whether a node takes pods at all."""
    states = {each["type"]: each["status"] for each in node.get("status", {}).get("conditions", [])}
    return not node["spec"].get("unschedulable") and states.get("Ready", "True") == "True"


def hostname(node: Json) -> str:
    """Return what a node selector calls a node."""
    return str(meta(node, "labels").get(HOST, node["metadata"]["name"]))


class Cluster:
    """The API server: nodes, pods, and a pod that may be scheduled."""

    def __init__(self, api: httpx.Client, *, has_hypernodes: bool) -> None:
        self._api, self._has_hypernodes = api, has_hypernodes

    def listed(self, path: str) -> list[Json]:
        """Return all objects of a list, page by page."""
        items: list[Json] = []
        more = ""
        while True:
            page = self._api.get(
                path, params={"limit": 500, **({"continue": more} if more else {})}
            )
            page.raise_for_status()
            found = page.json()
            items += found["items"]
            more = found["metadata"].get("continue") or ""
            if not more:
                return items

    def topology(self, nodes: list[Json]) -> Json:
        """Return what kubectl prints of nodes, and of HyperNodes where there are some."""
        items = [{"kind": "Node", **node} for node in nodes]
        if self._has_hypernodes:
            path = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
            items += [{"kind": "HyperNode", **each} for each in self.listed(path)]
        return {"kind": "List", "items": items}

    def release(self, pod: Json, node: str | None) -> None:
        """Take our gate away; say on which node the pod belongs, if that is known."""
        gates = [gate for gate in pod["spec"]["schedulingGates"] if gate["name"] != GATE]
        spec: Json = {"schedulingGates": gates}
        if node is not None:
            spec["nodeSelector"] = {HOST: node}
        space, name = pod["metadata"].get("namespace", "default"), pod["metadata"]["name"]
        answer = self._api.patch(
            f"/api/v1/namespaces/{space}/pods/{name}",
            content=json.dumps({"spec": spec}),
            headers={"content-type": "application/merge-patch+json"},
        )
        answer.raise_for_status()


class Gate:
    """Asks for the nodes of each job whose pods are all there, and lets them go."""

    def __init__(self, cluster: Cluster, service: str, figures: Json, patience_s: float) -> None:
        self._cluster, self._service, self._figures = cluster, service, figures
        self._patience_s = patience_s
        self._since: dict[tuple[str, str], float] = {}

    def look(self) -> None:
        """Look at the cluster once."""
        pods = self._cluster.listed("/api/v1/pods")
        jobs = jobs_of(pods)
        waiting = {key: found for key, found in jobs.items() if all(map(is_gated, found))}
        self._since = {key: since for key, since in self._since.items() if key in waiting}
        for key, found in waiting.items():
            if len(found) < int(meta(found[0], "annotations").get(PODS, 1)):
                continue
            self._place(key, found, pods, jobs)
            return  # what is free has changed: look again

    def _place(
        self,
        key: tuple[str, str],
        found: list[Json],
        pods: list[Json],
        jobs: dict[tuple[str, str], list[Json]],
    ) -> None:
        nodes = self._cluster.listed("/api/v1/nodes")
        taken = {pod["spec"]["nodeName"] for pod in pods if takes_node(pod)}
        taken |= {
            (pod["spec"].get("nodeSelector") or {}).get(HOST)
            for each in jobs.values()
            for pod in each
        }
        free = [
            node["metadata"]["name"]
            for node in nodes
            if is_free(node) and not {node["metadata"]["name"], hostname(node)} & taken
        ]
        hosts = {node["metadata"]["name"]: hostname(node) for node in nodes}
        since = self._since.setdefault(key, time.monotonic())
        try:
            request = {
                "topology": {"document": self._cluster.topology(nodes), **self._figures},
                "job": {**job_of(found[0]), "nodes": len(found)},
                "free": free,
                "running": list(running_of(jobs)),
                "count": 1,
            }
            with Client(self._service, timeout=10.0, retries=0) as client:
                best = client.post("/v1/allocations", request)["best"][0]
        except Unreachable as error:
            if time.monotonic() - since < self._patience_s:
                said(key, f"asked again soon: {error}")
                return
            self._release(key, found, None, f"scheduled without: {error}")
        except (InterlaceError, ValueError) as error:
            self._release(key, found, None, f"scheduled without: {error}")
        else:
            self._release(key, found, [hosts[name] for name in best["nodes"]], best["why"])

    def _release(
        self, key: tuple[str, str], pods: list[Json], nodes: list[str] | None, why: str
    ) -> None:
        said(key, why)
        for rank, pod in enumerate(pods):
            self._cluster.release(pod, nodes[rank] if nodes else None)


def job_of(pod: Json) -> Json:
    """Return what a pod's job does.

    Raises
    ------
    ValueError
        When its annotation is no JSON object.
    """
    found = json.loads(meta(pod, "annotations").get(JOB, "null"))
    if not isinstance(found, dict):
        raise ValueError(f"annotation {JOB} is no JSON object")  # noqa: TRY004 - of a value
    return found


def running_of(jobs: dict[tuple[str, str], list[Json]]) -> Iterator[Json]:
    """Yield the jobs of which all pods have a node, as a request has them."""
    for (space, name), pods in jobs.items():
        nodes = [pod["spec"].get("nodeName") for pod in pods]
        try:
            does = job_of(pods[0])
        except ValueError:
            continue
        if all(nodes):
            yield {**does, "name": f"{space}/{name}", "on": nodes}


def said(key: tuple[str, str], what: str) -> None:
    """Say what became of a job."""
    print(f"{'/'.join(key)}: {what}", file=sys.stderr, flush=True)


def main() -> None:
    """Look until stopped."""
    parser = argparse.ArgumentParser(description="Places gated pods where Interlace says.")
    add = parser.add_argument
    add("--service", required=True, help="URL of the service")
    add("--api", default="https://kubernetes.default.svc", help="URL of the API server")
    add("--figures", type=Path, help="JSON: node_gbps, level_gbps, oversubscription, gpus, ...")
    add("--hypernodes", action="store_true", help="read Volcano's HyperNodes, too")
    add("--patience", type=float, default=60.0, help="until a job goes without an answer [s]")
    add("--every", type=float, default=2.0, help="between two looks [s]")
    add("--once", action="store_true", help="look once, and end")
    given = parser.parse_args()
    token = ACCOUNT / "token"
    headers = {"authorization": f"Bearer {token.read_text()}"} if token.exists() else {}
    authority = ACCOUNT / "ca.crt"
    figures = json.loads(given.figures.read_text()) if given.figures else {}
    verify = str(authority) if authority.exists() else True
    with httpx.Client(base_url=given.api, headers=headers, verify=verify) as api:
        cluster = Cluster(api, has_hypernodes=given.hypernodes)
        gate = Gate(cluster, given.service, figures, given.patience)
        while True:
            try:
                gate.look()
            except httpx.HTTPError as error:
                print(f"{given.api}: {error}", file=sys.stderr, flush=True)
            if given.once:
                return
            time.sleep(given.every)


if __name__ == "__main__":
    main()
