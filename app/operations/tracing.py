"""Traces for OpenTelemetry: a span for each request, and for each job its wait and its work.

They are sent where the usual variables say, ``OTEL_EXPORTER_OTLP_ENDPOINT`` first; without it there
are none. FastAPI makes those of requests, below the ``traceparent`` that a client sends; those of a
job are made of its row when it has ended, below that of the call that asked for it.
"""

import logging
import os
from collections.abc import Mapping
from datetime import datetime

from fastapi.telemetry import TelemetryConfig
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import StatusCode as SpanStatus
from opentelemetry.trace import TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from app import VERSION

#: Where spans go; one of these switches them on.
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


#: Those who look whether the service is well leave no spans.
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})


#: A server that ends sends its last spans for so long at most [ms].
_LAST_MS = 2_000


_LOG = logging.getLogger("interlace.tracing")


_W3C = TraceContextTextMapPropagator()


def wanted(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the variable that says where spans go; None when nobody wants them."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    return next((name for name in ENDPOINTS if environ.get(name)), None)


def warn(provider: TracerProvider | None, environ: Mapping[str, str] = os.environ) -> None:
    """Say so in the log when spans are wanted and cannot be."""
    if provider is None and (name := wanted(environ)):
        _LOG.warning(
            "%s is set, but no traces are sent: they need the extra interlace[telemetry]", name
        )


def provider_of(environ: Mapping[str, str] = os.environ) -> TracerProvider | None:
    """Return what makes spans and sends them; None when nobody wants them, or they cannot be."""
    if wanted(environ) is None:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace import TracerProvider as Provider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        return None
    about = {"service.version": VERSION}
    if not environ.get("OTEL_SERVICE_NAME"):
        about["service.name"] = "interlace"
    provider = Provider(resource=Resource.create(about), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def telemetry(provider: TracerProvider | None) -> TelemetryConfig:
    """Return what FastAPI is told: spans of requests, but no logs or metrics, which we have."""
    return {
        "tracer_provider": provider,
        "tracing": provider is not None,
        "metrics": False,
        "logs": False,
        "operation_spans": False,
        "auto_configure": False,
        "exclude": lambda scope: scope.get("path") in PROBES,
    }


def here() -> str | None:
    """Return the span of the call at hand as a client would send it; None without one."""
    carrier: dict[str, str] = {}
    _W3C.inject(carrier)
    return carrier.get("traceparent")


def job_ended(
    provider: TracerProvider,
    *,
    kind: str,
    job_id: str,
    state: str,
    traceparent: str | None,
    created_at: str,
    started_at: str | None,
    finished_at: str,
) -> None:
    """Make the spans of a job that has ended: how long it waited, and was worked on the last time.

    Times of day are as the database has them.
    """
    above = _W3C.extract({"traceparent": traceparent} if traceparent else {}, Context())
    tracer = provider.get_tracer("interlace", VERSION)
    about = {"interlace.job.id": job_id, "interlace.job.state": state}
    begin, end = _ns(created_at), _ns(finished_at)
    whole = tracer.start_span(f"job {kind}", above, attributes=about, start_time=begin)
    inside = trace.set_span_in_context(whole, above)
    started = end if started_at is None else min(max(_ns(started_at), begin), end)
    tracer.start_span("queue wait", inside, start_time=begin).end(started)
    if started_at is not None:
        tracer.start_span("solve", inside, start_time=started).end(end)
    if state in {"failed", "timed_out"}:
        whole.set_status(SpanStatus.ERROR, state)
    whole.end(max(begin, end))


def stop(provider: TracerProvider | None) -> None:
    """Send what is left, if whoever gathers it answers soon."""
    if provider is not None:
        flush = getattr(provider, "force_flush", None)
        if flush is not None:
            flush(_LAST_MS)


def _ns(moment: str) -> int:
    """Return a time of day as nanoseconds of the epoch."""
    return int(datetime.fromisoformat(moment).timestamp() * 1e6) * 1_000
