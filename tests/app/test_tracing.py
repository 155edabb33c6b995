"""Spans of requests and jobs, as a collector gets them."""

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from app.operations import tracing
from tests.app.here import here
from tests.app.service import running, two_layers
from tests.waiting import until

pytest.importorskip("opentelemetry.sdk", reason="the extra interlace[telemetry] is not installed")
collecting = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")

TRACE, ABOVE = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@contextmanager
def collector() -> Iterator[tuple[str, list[Any]]]:
    """Gather spans: yields the endpoint, and the spans that have come."""
    spans: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            found = collecting.ExportTraceServiceRequest.FromString(content)
            for resource in found.resource_spans:
                about = {each.key: each.value.string_value for each in resource.resource.attributes}
                assert about["service.name"] == "interlace"
                spans.extend(span for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", spans
        finally:
            server.shutdown()


@pytest.mark.live
def test_spans_of_a_call_and_its_job(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with collector() as (endpoint, spans):
            service = stack.enter_context(
                running(
                    tmp_path,
                    OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
                    OTEL_EXPORTER_OTLP_COMPRESSION="none",
                    OTEL_BSP_SCHEDULE_DELAY="50",
                    NO_PROXY="127.0.0.1",
                )
            )
            client = service.client
            named = {"traceparent": f"00-{TRACE}-{ABOVE}-01"}
            plan = client.post("/v1/plans", json=two_layers(), headers=named).json()["id"]
            client.get(f"/v1/plans/{plan}")
            client.get("/healthz")
            client.get("/metrics")
            until(lambda: len(spans) >= 5)
        assert service.post(two_layers()).status_code == 201, "a collector that is gone keeps none"
    assert "Traceback" not in service.log.read_text()
    assert len(spans) == 5, "a call, its job with wait and work, another call; probes leave none"
    found = {span.name: span for span in spans}
    call, job = found["POST /v1/plans"], found["job plan"]
    assert call.trace_id.hex() == TRACE
    assert call.parent_span_id.hex() == ABOVE
    assert job.trace_id == call.trace_id
    assert job.parent_span_id == call.span_id
    wait, solve = found["queue wait"], found["solve"]
    for part in (wait, solve):
        assert part.parent_span_id == job.span_id
        assert part.trace_id == call.trace_id
    begin = [wait.start_time_unix_nano, wait.end_time_unix_nano, solve.end_time_unix_nano]
    assert begin == sorted(begin)
    assert job.start_time_unix_nano == wait.start_time_unix_nano
    assert wait.end_time_unix_nano == solve.start_time_unix_nano
    assert solve.end_time_unix_nano == job.end_time_unix_nano
    about = {each.key: each.value.string_value for each in job.attributes}
    assert about == {"interlace.job.id": plan, "interlace.job.state": "succeeded"}
    other = found["GET /v1/plans/{job_id}"]
    assert other.trace_id != call.trace_id
    assert not other.parent_span_id


def test_without_the_extra_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    assert tracing.provider_of(environ) is None
    tracing.warn(None, environ)
    tracing.warn(None, {})
    assert [record.getMessage() for record in caplog.records] == [
        "OTEL_EXPORTER_OTLP_ENDPOINT is set, but no traces are sent: they need the extra "
        "interlace[telemetry]"
    ]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    with here(tmp_path) as client:
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
    ],
)
def test_nobody_wants_traces(environ: dict[str, str]) -> None:
    assert tracing.provider_of(environ) is None
    assert tracing.here() is None
