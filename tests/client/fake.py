"""A service after the contract of jobs, with one job, on a clock that only the tests move."""

import json
import math
from collections.abc import Callable
from typing import Any

import httpx

Json = dict[str, Any]
Trouble = Callable[["FakeService"], httpx.Response]

PLAN: Json = {
    "status": "feasible",
    "iteration_time_us": 110.0,
    "compute_time_us": 90.0,
    "lower_bound_us": 100.0,
    "gap": 0.1,
    "scaling_factor": 0.8,
    "exposed_us": 20.0,
    "overlap": 0.5,
    "runtime_s": 1.5,
    "summary": None,
    "limited_by": None,
    "buckets": [
        {
            "id": "b0",
            "tensors": ["g1", "g2"],
            "bytes": 5,
            "kind": "all_reduce",
            "channel": "network",
            "release_us": 1.0,
            "tail_us": 2.0,
            "colour": "of a newer server",
        }
    ],
    "schedule": {
        "parts": [{"bucket": "b0", "start_us": 1, "end_us": 2, "offset_bytes": 0, "bytes": 5}]
    },
    "baselines": [{"policy": "pace", "iteration_time_us": None, "speedup": None, "parameters": {}}],
    "version": "9",
}
NOTHING = dict.fromkeys(PLAN)


class FakeService:
    """Answers at ``/v1/plans``; ``troubles`` come before it does, one a request."""

    def __init__(self, *troubles: Trouble, ends_at: float = math.inf, **ending: Any) -> None:
        self.now = 0.0
        self.troubles = list(troubles)
        self.ends_at = ends_at
        self.ending: Json = {"state": "succeeded", **PLAN, **ending}
        self.progress: Callable[[float], Json | None] = lambda _now: None
        self.cancelled_with: Json | None = None
        self.jobs: dict[str, str] = {}
        self.seen: list[httpx.Request] = []
        self.slept: list[float] = []

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.handle)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def requests(self) -> list[tuple[str, str]]:
        return [(each.method, each.url.raw_path.decode()) for each in self.seen]

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        if self.troubles:
            return self.troubles.pop(0)(self)
        path = request.url.path.removeprefix("/under")
        if request.method == "DELETE":
            return httpx.Response(204)
        if path.endswith("/cancel"):
            self.ends_at = min(self.ends_at, self.now)
            self.ending = {"state": "cancelled", **(self.cancelled_with or NOTHING)}
            return httpx.Response(200, json=self.job(path.split("/")[3]))
        if request.method == "GET":
            self.pass_(float(request.url.params.get("wait", 0)))
            return httpx.Response(200, json=self.job(path.split("/")[3]))
        key = request.headers["idempotency-key"]
        name = self.jobs.setdefault(key, f"{len(self.jobs):016x}")
        self.pass_(float(request.headers["prefer"].removeprefix("wait=")))
        job = self.job(name)
        headers = {"location": f"/v1/plans/{name}", "retry-after": "1"}
        error = job["error"]
        if error:
            problem = {**error, "type": "about:blank", "instance": headers["location"]}
            return httpx.Response(error["status"], json=problem, headers=headers)
        return httpx.Response(201 if job["finished_at"] else 202, json=job, headers=headers)

    def pass_(self, seconds: float) -> None:
        """Let time pass, until the job ends or the wait is over."""
        self.now = max(self.now, min(self.now + seconds, self.ends_at))

    def job(self, name: str) -> Json:
        ended = self.now >= self.ends_at
        return {
            "id": name,
            "created_at": "2026-01-01T00:00:00Z",
            "started_at": None,
            "finished_at": "2026-01-01T00:00:09Z" if ended else None,
            "tags": ["a"],
            "attempts": 1,
            "progress": self.progress(self.now),
            "error": None,
            **(self.ending if ended else {"state": "running", **NOTHING}),
        }


def lost(error: type[httpx.TransportError] = httpx.ConnectError) -> Trouble:
    def fail(_service: FakeService) -> httpx.Response:
        raise error("lost on the way")

    return fail


def lost_answer(service: FakeService) -> httpx.Response:
    """Do what was asked; the answer does not arrive."""
    service.handle(service.seen.pop())
    raise httpx.ReadTimeout("no answer")


def refused(status: int, code: str, **headers: str) -> Trouble:
    problem = {
        "type": "about:blank",
        "title": "T",
        "status": status,
        "code": code,
        "detail": f"It is {code}.",
        "instance": "/v1/plans",
        "errors": [{"pointer": "/graph", "code": code, "detail": f"It is {code}."}],
    }
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    media = {"content-type": "application/problem+json", **named}
    return lambda _service: httpx.Response(status, text=json.dumps(problem), headers=media)


def plain(status: int, text: str) -> Trouble:
    return lambda _service: httpx.Response(status, text=text)
