"""The service, put together."""

import gc
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, FastAPI
from opentelemetry.trace import TracerProvider
from starlette.types import ASGIApp

from app import VERSION
from app.calls.children import Children
from app.calls.messages import Answered
from app.errors import StorageUnavailable
from app.http import openapi as apidoc
from app.http.addresses import Addresses, Paced
from app.http.hosts import Guard, with_cors
from app.http.keys import Keys
from app.http.middleware import Access, RequestIds, SecurityHeaders
from app.http.problems import install
from app.http.query import refuse_unknown_parameters
from app.jobs.kinds import KINDS
from app.jobs.pool import Pool
from app.jobs.readiness import Readiness
from app.jobs.table import JobRecord
from app.limits import MAX_BIG_BODIES
from app.operations import tracing
from app.operations.memory import GARBAGE
from app.operations.metrics import Metrics
from app.operations.owner_turns import OwnerTurns
from app.operations.settings import Settings
from app.pages import routes as pages
from app.routers import (
    allocations,
    comparisons,
    cost_models,
    docs,
    estimates,
    examples,
    graphs,
    health,
    job_lists,
    limits,
    metrics,
    mixes,
    parameter_servers,
    plans,
    predictions,
    runs,
    shapes,
    simulations,
    sweeps,
    tuners,
)
from app.storage.database import Store
from app.storage.quotas import StoredUsage

#: How many may have the jobs counted at once.
_CHECKS = 4


#: A thread lets others on after so long [s]: with Python's own 5 ms, whoever answers waits that
#: long for each thread that reads the database (tests/benchmarks/load.py).
_TURN_S = 0.0005


#: Jobs may go on for so long when the server is told to leave [s].
GRACE_S = 5.0


_LOG = logging.getLogger("uvicorn.error")


_ABOUT = """Post a training iteration as a graph of compute ops and collectives; get back the \
buckets and the preemptive order in which to send the tensors, the time of one iteration, a proven \
bound on how fast it can be, and what limits it. Or read it from a trace, simulate what a policy \
of today does, predict how it scales, through parameter servers too, sweep clusters, fit the cost \
of your network, export a plan, keep what the steps of a job took beside what was predicted. \
Times are microseconds, sizes bytes, bandwidth Gbit/s."""


_TOLD: dict[str, Any] = {
    "title": "Interlace",
    "version": VERSION,
    "summary": "Plans and simulates the communication of distributed training.",
    "description": _ABOUT,
    "docs_url": None,
    "redoc_url": None,
}


class ServiceApp(FastAPI):
    """FastAPI, with an OpenAPI document that knows the bodies and the problems."""

    def openapi(self) -> dict[str, object]:
        """Return the OpenAPI document."""
        return apidoc.describe(self)

    def build_middleware_stack(self) -> ASGIApp:
        """Put outside what a failure inside must not leave out."""
        settings: Settings = self.state.settings
        keys = Keys(
            super().build_middleware_stack(),
            self.state.store,
            settings.quotas,
            required=settings.require_keys,
        )
        origins = settings.allowed_origins
        inside = with_cors(keys, origins) if origins else keys
        inside = Guard(inside, self.state.bound, settings.allowed_hosts, origins)
        inside = SecurityHeaders(Paced(inside, self.state.addresses, keys.is_known))
        return RequestIds(Access(inside, self.state.metrics))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the store; when it cannot be opened, serve, and let /readyz say so."""
    gc.set_threshold(*GARBAGE)
    sys.setswitchinterval(_TURN_S)
    tracing.warn(app.state.spans)
    store: Store = app.state.store
    try:
        store.open()
    except StorageUnavailable as error:
        _LOG.warning("Not ready: %s", error)
    pool: Pool = app.state.pool
    pool.start()
    yield
    for children in (app.state.answers, app.state.writers, app.state.readers):
        await to_thread.run_sync(children.close)
    await to_thread.run_sync(pool.stop, GRACE_S)
    await to_thread.run_sync(tracing.stop, app.state.spans)
    with suppress(StorageUnavailable):
        await to_thread.run_sync(app.state.usage.close)
    store.close()


def _counted(metrics: Metrics, spans: TracerProvider | None) -> Callable[[JobRecord], None]:
    """Count each job that has ended, and trace it."""

    def count(job: JobRecord) -> None:
        finished_at = job.finished_at or job.created_at
        metrics.job_ended(job.kind, job.state, job.created_at, job.started_at, finished_at)
        if spans is not None:
            tracing.job_ended(
                spans,
                kind=job.kind,
                job_id=job.id,
                state=job.state,
                traceparent=job.traceparent,
                created_at=job.created_at,
                started_at=job.started_at,
                finished_at=finished_at,
            )

    return count


def _include(app: FastAPI) -> None:
    strict = [Depends(refuse_unknown_parameters)]
    for routes in (
        graphs,
        plans,
        simulations,
        predictions,
        parameter_servers,
        sweeps,
        cost_models,
        estimates,
        job_lists,
        runs,
        examples,
        limits,
        tuners,
        shapes,
        mixes,
        allocations,
        comparisons,
    ):
        app.include_router(routes.router, dependencies=strict)
    for jobs_beside in (graphs.imports, shapes.rankings):
        app.include_router(jobs_beside, dependencies=strict)
    for others in (health, metrics, docs, pages):
        app.include_router(others.router)


def document(_store: Store) -> Answered:
    """Write the OpenAPI document: its models are the solver's, so a child does it."""
    app = ServiceApp(**_TOLD)
    _include(app)
    return Answered(json.dumps(app.openapi(), ensure_ascii=False).encode())


def create_app(settings: Settings | None = None, bound: str | None = None) -> FastAPI:
    """Make the service; settings come from the environment when left out.

    ``bound`` is the name or address that it is served at, if that is known.
    """
    spans = tracing.provider_of()
    app = ServiceApp(
        **_TOLD, openapi_url=None, lifespan=_lifespan, telemetry=tracing.telemetry(spans)
    )
    app.state.spans = spans
    app.state.document = None
    app.state.settings = settings or Settings()
    app.state.bound = bound
    found = app.state.settings
    app.state.addresses = Addresses(
        found.address_requests_per_s, found.address_connections, found.trusted_proxies
    )
    app.state.metrics = Metrics(tuple(KINDS))
    app.state.store = Store(app.state.settings)
    app.state.usage = StoredUsage(app.state.store)
    at_once = os.cpu_count() or 1
    app.state.pool = Pool(
        app.state.store,
        app.state.settings,
        on_end=_counted(app.state.metrics, spans),
        on_death=app.state.metrics.child_died,
    )
    app.state.readiness = Readiness(app.state.store, app.state.pool, app.state.settings)
    app.state.solves = CapacityLimiter(at_once)
    app.state.bodies = OwnerTurns(MAX_BIG_BODIES)
    app.state.spills = CapacityLimiter(at_once)
    usage = app.state.usage
    app.state.answers = Children(found, at_once, usage)
    app.state.writers = Children(found, at_once, usage)
    app.state.readers = Children(found, at_once, usage, "app.calls.process:serve_promptly")
    app.state.checks = CapacityLimiter(_CHECKS)
    install(app)
    _include(app)
    docs.mount_assets(app)
    pages.mount_assets(app)
    return app
