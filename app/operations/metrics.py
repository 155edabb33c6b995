"""What is counted for Prometheus, each service by itself."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import product

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from app import VERSION

#: Upper ends of what is counted together [s].
_REQUEST_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


_JOB_S = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000, 3_600)


#: An answer has at most so much, which Prometheus and its kin read in one go [bytes].
MAX_BYTES = 200_000


_LEFT_OUT_HEAD = (
    b"# HELP interlace_metrics_left_out Always 1: families that this answer has no room for.\n"
    b"# TYPE interlace_metrics_left_out gauge\n"
)


#: Methods that are told apart: anything may stand in a request line.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


#: States of jobs that have not ended.
_ALIVE = ("queued", "running")


#: In the place of what has no route, or a method of its own.
OTHER = "other"


disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """Counters of one service, and how they are shown."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._kinds = kinds
        self._registry = CollectorRegistry()
        self._count_requests()
        self._count_jobs()
        build = Gauge(
            "interlace_build_info",
            "Always 1; the release is a label.",
            ["version"],
            registry=self._registry,
        )
        build.labels(VERSION).set(1)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def _count_requests(self) -> None:
        self._requests = Counter(
            "interlace_http_requests_total",
            "Requests; status 0 when none was sent.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._request_s = Histogram(
            "interlace_http_request_duration_seconds",
            "Time from a request's head to the end of its answer.",
            ["method", "route"],
            buckets=_REQUEST_S,
            registry=self._registry,
        )
        self._in_flight = Gauge(
            "interlace_http_requests_in_flight",
            "Requests that are not answered yet.",
            registry=self._registry,
        )
        self._read = Counter(
            "interlace_http_request_bytes_total",
            "Bytes of bodies that were read.",
            ["route"],
            registry=self._registry,
        )
        self._sent = Counter(
            "interlace_http_response_bytes_total",
            "Bytes of bodies that were sent.",
            ["route"],
            registry=self._registry,
        )

    def _count_jobs(self) -> None:
        self._storage = Gauge(
            "interlace_storage_up", "Whether the database can be used.", registry=self._registry
        )
        self._jobs = Gauge(
            "interlace_jobs",
            "Jobs that have not ended; none while the database cannot be used.",
            ["kind", "state"],
            registry=self._registry,
        )
        self._ended = Counter(
            "interlace_jobs_ended_total",
            "Jobs that were worked on here and have ended.",
            ["kind", "state"],
            registry=self._registry,
        )
        self._waited_s = Histogram(
            "interlace_job_wait_seconds",
            "Time from when a job was asked for until it was begun, the last time.",
            ["kind"],
            buckets=_JOB_S,
            registry=self._registry,
        )
        self._ran_s = Histogram(
            "interlace_job_run_seconds",
            "Time that jobs were worked on.",
            ["kind"],
            buckets=_JOB_S,
            registry=self._registry,
        )
        self._died = Counter(
            "interlace_job_children_died_total",
            "Processes that ended before their job did.",
            ["kind", "reason"],
            registry=self._registry,
        )

    def request_began(self) -> None:
        """Count a request in."""
        self._in_flight.inc()

    def request_ended(
        self, method: str, route: str, status: int, seconds: float, *, read: int, sent: int
    ) -> None:
        """Count a request, with the bytes of its body and its answer's."""
        self._in_flight.dec()
        method = method if method in _METHODS else OTHER
        self._requests.labels(method, route, status).inc()
        self._request_s.labels(method, route).observe(seconds)
        self._read.labels(route).inc(read)
        self._sent.labels(route).inc(sent)

    def job_ended(
        self, kind: str, state: str, created_at: str, started_at: str | None, finished_at: str
    ) -> None:
        """Count a job that ended, with the time it waited and the time it was worked on."""
        self._ended.labels(kind, state).inc()
        if started_at is not None:
            waited = _seconds(created_at, started_at)
            self._waited_s.labels(kind).observe(waited)
            self._ran_s.labels(kind).observe(_seconds(started_at, finished_at))

    def child_died(self, kind: str, reason: str) -> None:
        """Count a process that ended before its job did."""
        self._died.labels(kind, reason).inc()

    def render(self, jobs: Iterable[tuple[str, str, int]] | None) -> bytes:
        """Write everything as Prometheus text.

        Parameters
        ----------
        jobs
            Kind, state and count, at least of those that have not ended; None when the database
            cannot tell.
        """
        self._storage.set(jobs is not None)
        self._jobs.clear()
        if jobs is not None:
            found = {(kind, state): count for kind, state, count in jobs}
            for each in product(self._kinds, _ALIVE):
                self._jobs.labels(*each).set(found.get(each, 0))
        return bounded(generate_latest(self._registry))


def bounded(text: bytes, most: int = MAX_BYTES) -> bytes:
    """Leave the largest families out of Prometheus text that is longer than so much [bytes].

    Which those are, it says: a family that is there is there as a whole.
    """
    if len(text) <= most:
        return text
    families = [b"# HELP " + each for each in re.split(rb"(?m)^# HELP ", text)[1:]]
    said = [_LEFT_OUT_HEAD]
    while families and sum(map(len, families)) + sum(map(len, said)) > most:
        largest = max(families, key=len)
        families.remove(largest)
        said.append(b'interlace_metrics_left_out{family="%b"} 1.0\n' % largest.split()[2])
    return b"".join((*families, *said))


def _seconds(begin: str, end: str) -> float:
    """Return the time between two times of day [s]; they may come from clocks that differ."""
    return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds())
