"""Score nodes by the communication that a training job would have there: a scheduler extender.

Kubernetes asks POST /filter and POST /prioritize (v1 of its extender API). The answer comes within
5 s, whatever the service does: a node that is not planned in time gets a neutral score, and the
jobs that are left behind are cancelled.

    python scheduler_extender.py --service http://planner:8000 --port 8888

In the configuration of kube-scheduler, on the same host:

    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    extenders:
      - urlPrefix: http://127.0.0.1:8888
        filterVerb: filter
        prioritizeVerb: prioritize
        weight: 1
        nodeCacheCapable: false  # nodes come whole, with their labels
        httpTimeout: 6s
        ignorable: true  # pods are placed even when the extender is down

A pod that is to be placed so has the annotations ``interlace/graph`` (id of a stored graph) and
``interlace/workers``; a node has the label ``interlace/bandwidth-gbps``, of one worker's network,
and may have ``interlace/startup-us``. All others are scored alike.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from interlace_client import AsyncClient, InterlaceError, Plan, WaitTimeout

#: How long the service may search, when its job is cancelled, when the answer goes out [s].
SEARCH_S, PLAN_S, ANSWER_S = 1.5, 2.5, 4.0
#: Scores are 0 to 10; what nothing is known of is in the middle.
BEST, NEUTRAL = 10, 5
GRAPH, WORKERS = "interlace/graph", "interlace/workers"
BANDWIDTH, STARTUP = "interlace/bandwidth-gbps", "interlace/startup-us"


@dataclass(frozen=True)
class Place:
    """What a plan depends on: nodes with the same network need one plan together."""

    graph: str
    workers: int
    bandwidth_gbps: float
    startup_us: float


def place_of(args: dict[str, Any], node: dict[str, Any]) -> Place | None:
    """Return the place that a node is for the pod; None when they do not say."""
    asked = args["Pod"]["metadata"].get("annotations") or {}
    given = node["metadata"].get("labels") or {}
    try:
        return Place(
            asked[GRAPH],
            int(asked[WORKERS]),
            float(given[BANDWIDTH]),
            float(given.get(STARTUP, 50)),
        )
    except (KeyError, ValueError):
        return None


async def iteration_time_us(client: AsyncClient, place: Place) -> float | None:
    """Return the time of an iteration there, with the best plan found in time."""
    cluster = {
        "workers": place.workers,
        "bandwidth_gbps": place.bandwidth_gbps,
        "startup_us": place.startup_us,
    }
    options = {"baselines": [], "time_limit_s": SEARCH_S}
    best: Plan | None = None
    try:
        best = await client.plan(
            place.graph,
            cluster=cluster,
            options=options,
            tags=["scheduler"],
            timeout_s=PLAN_S,
            cancel_on_timeout=True,
        )
    except WaitTimeout as error:
        best = error.result
    except InterlaceError as error:
        print(f"{place}: {error}", file=sys.stderr)
    return best.iteration_time_us if best else None


async def times_us(service: str, places: set[Place]) -> dict[Place, float]:
    """Return the times of the places that are planned within ANSWER_S."""
    async with AsyncClient(service, timeout=PLAN_S, retries=1) as client:
        tasks = {asyncio.ensure_future(iteration_time_us(client, place)): place for place in places}
        done, late = await asyncio.wait(tasks, timeout=ANSWER_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        found = {tasks[task]: task.result() for task in done}
    return {place: time for place, time in found.items() if time is not None}


def prioritized(service: str, args: dict[str, Any]) -> list[dict[str, Any]]:
    """Answer /prioritize: a HostPriorityList, the fastest node with the highest score."""
    places = {name: place_of(args, node) for name, node in nodes_of(args).items()}
    asked = {place for place in places.values() if place}
    times = asyncio.run(times_us(service, asked)) if asked else {}
    best = min(times.values(), default=0)
    listed = []
    for name, place in places.items():
        time = times.get(place) if place else None
        score = NEUTRAL if time is None else round(BEST * best / time)
        listed.append({"Host": name, "Score": score})
    return listed


def filtered(args: dict[str, Any]) -> dict[str, Any]:
    """Answer /filter: an ExtenderFilterResult, without nodes that nothing is known of."""
    nodes = nodes_of(args)
    asks = GRAPH in (args["Pod"]["metadata"].get("annotations") or {})
    failed = {
        name: f"no label {BANDWIDTH}, or no annotation {WORKERS} of the pod"
        for name, node in nodes.items()
        if asks and place_of(args, node) is None
    }
    passed = [node for name, node in nodes.items() if name not in failed]
    return {"Nodes": {"metadata": {}, "items": passed}, "FailedNodes": failed, "Error": ""}


def nodes_of(args: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the nodes of ExtenderArgs by name; they come whole if nodeCacheCapable is false."""
    return {node["metadata"]["name"]: node for node in args["Nodes"]["items"]}


class Extender(BaseHTTPRequestHandler):
    """Answers the scheduler; ``service`` is the URL of Interlace."""

    service = ""

    def do_POST(self) -> None:
        """Answer ExtenderArgs."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            args = json.loads(body)
            if self.path == "/prioritize":
                self._answer(200, prioritized(self.service, args))
            elif self.path == "/filter":
                self._answer(200, filtered(args))
            else:
                self._answer(404, {"Error": "There are /filter and /prioritize."})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._answer(400, {"Error": f"No ExtenderArgs with whole nodes: {error!r}."})

    def _answer(self, status: int, found: Any) -> None:
        content = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description="A scheduler extender that asks Interlace.")
    parser.add_argument("--service", required=True, help="URL of the service")
    parser.add_argument("--host", default="127.0.0.1", help="address to bind")
    parser.add_argument("--port", type=int, default=8888, help="port; 0 takes a free one")
    given = parser.parse_args()
    Extender.service = given.service
    with ThreadingHTTPServer((given.host, given.port), Extender) as server:
        print(f"http://{given.host}:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
