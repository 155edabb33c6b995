"""The log: a line is an object; requests have names; nothing secret is in it."""

import errno
import json
import logging
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.operations.logs import (
    JOB_ID,
    REQUEST_ID,
    Format,
    JsonLines,
    Level,
    TextLines,
    install,
)
from app.storage.database import Store
from tests.app.frozen import frozen
from tests.app.here import here
from tests.app.service import Service, two_layers
from tests.waiting import until


def lines(service: Service) -> list[dict[str, Any]]:
    return [json.loads(line) for line in service.log.read_text().splitlines()]


def about(service: Service, request_id: str) -> list[dict[str, Any]]:
    return [line for line in lines(service) if line.get("request_id") == request_id]


def access(service: Service, request_id: str) -> dict[str, Any]:
    """Return the line of a request, which is written after its answer."""

    def found() -> list[dict[str, Any]]:
        lines = about(service, request_id)
        return [line for line in lines if line["logger"] == "interlace.access"]

    until(found)
    (line,) = found()
    return line


@contextmanager
def installed(form: Format, level: Level, file: StringIO | None = None) -> Iterator[StringIO]:
    """Log in this process as a server does."""
    root = logging.getLogger()
    names = [None, "interlace", "uvicorn"]
    levels = {name: logging.getLogger(name).level for name in names}
    handlers, hooks = root.handlers, (sys.excepthook, threading.excepthook)
    with redirect_stderr(file or StringIO()) as written:
        try:
            install(form, level)
            yield written
        finally:
            root.handlers = handlers
            sys.excepthook, threading.excepthook = hooks
            logging.captureWarnings(capture=False)
            for name, was in levels.items():
                logging.getLogger(name).setLevel(was)


def test_each_line_is_an_object(service: Service) -> None:
    service.client.get("/nowhere", headers={"x-request-id": "a-name"})
    for line in lines(service):
        assert list(line)[:4] == ["time", "level", "logger", "message"]
        assert datetime.fromisoformat(line["time"]).utcoffset().total_seconds() == 0
    assert access(service, "a-name")["status"] == 404
    assert len(about(service, "a-name")) == 1


def test_a_request_is_logged_when_it_is_over(service: Service) -> None:
    answer = service.client.post("/v1/plans?tag=t&wait=9", json=two_layers(seed=77))
    line = access(service, answer.headers["x-request-id"])
    assert line["method"] == "POST"
    assert line["path"] == line["route"] == "/v1/plans"
    assert line["status"] == answer.status_code == 201
    assert line["duration_ms"] > 0
    assert line["bytes_read"] == int(answer.request.headers["content-length"])
    assert line["bytes"] == len(answer.content)


def test_a_job_is_logged_with_its_request(service: Service) -> None:
    answer = service.client.post(
        "/v1/plans", json=two_layers(seed=78), headers={"x-request-id": "of-a-job"}
    )
    access(service, "of-a-job")
    found = [line for line in about(service, "of-a-job") if "job_id" in line]
    assert found
    assert {line["job_id"] for line in found} == {answer.json()["id"]}


@pytest.mark.parametrize("path", ["/healthz", "/nowhere", "/v1/plans/x", "/docs", "/metrics", "/"])
def test_every_answer_has_a_name(service: Service, path: str) -> None:
    names = {service.client.get(path).headers["x-request-id"] for _ in range(3)}
    assert len(names) == 3
    assert all(re.fullmatch(r"[0-9a-f]{16}", name) for name in names)


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [
        ("a", True),
        ("!~" * 64, True),
        ("x" * 129, False),
        ("", False),
        ("two words", False),
        ("tab\there", False),
        (b"\xc3\xa9", False),
    ],
)
def test_a_fit_name_is_taken(service: Service, given: Any, is_taken: bool) -> None:
    for path in ("/healthz", "/nowhere"):
        answer = service.client.get(path, headers=[("x-request-id", given)])
        assert (answer.headers["x-request-id"] == given) == is_taken
        assert answer.headers["x-request-id"]


@pytest.mark.live
def test_a_failure_inside_has_its_name_and_its_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(_store: Store) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(Store, "check", check)
    with installed("json", "info") as written, frozen(tmp_path, monkeypatch) as server:
        url = "http://{}:{}/readyz".format(*server.address)
        named = {"x-request-id": "of-a-bug"}
        answer = httpx2.get(url, headers=named, trust_env=False, timeout=None)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert answer.headers["x-request-id"] == "of-a-bug"
    assert answer.headers["x-content-type-options"] == "nosniff"
    found = [json.loads(line) for line in written.getvalue().splitlines()]
    found = [line for line in found if line.get("request_id") == "of-a-bug"]
    assert {line.get("status") for line in found} == {500, None}
    (trace,) = [line["exception"] for line in found if "exception" in line]
    assert trace.startswith("Traceback")
    assert trace.rstrip().endswith("RuntimeError: no such luck")


def test_nothing_secret_is_logged(service: Service) -> None:
    body = two_layers()
    body["graph"]["name"] = "geheim-name"
    headers = {"authorization": "Bearer geheim-token", "cookie": "a=geheim-cookie"}
    answer = service.client.post("/v1/plans?tag=geheim-tag", json=body, headers=headers)
    assert answer.status_code == 201
    body["graph"]["ops"][0]["geheim-field"] = 1
    assert service.client.post("/v1/plans", json=body, headers=headers).status_code == 422
    assert "geheim" not in service.log.read_text()


def test_text_for_people(tmp_path: Path) -> None:
    with installed("text", "info") as written, here(tmp_path) as client:
        client.get("/v1/plans/a%0Ab?wait=0", headers={"x-request-id": "a-name"})
    (line,) = [line for line in written.getvalue().splitlines() if "a-name" in line]
    assert re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z INFO    interlace.access: GET ", line)
    assert "path=/v1/plans/a%0Ab" in line
    assert " status=404 " in line


def test_only_what_is_wrong(tmp_path: Path) -> None:
    with installed("text", "warning") as written, here(tmp_path) as client:
        client.get("/healthz")
        assert written.getvalue() == ""
        logging.getLogger("uvicorn.error").warning("It burns.")
        assert "It burns." in written.getvalue()


@pytest.mark.live
def test_all_that_a_server_logs_is_objects(one_worker: Service) -> None:
    """Also for those who look for bugs."""
    one_worker.client.get("/healthz", headers={"x-request-id": "of-debug"})
    access(one_worker, "of-debug")
    assert any(line["logger"].startswith("uvicorn") for line in lines(one_worker))


class FullOnce(StringIO):
    """A file on a disk that has room again after one line."""

    is_full = True

    def write(self, text: str) -> int:
        if self.is_full:
            self.is_full = False
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def test_a_full_disk_costs_a_line_and_no_more() -> None:
    """What broke it, told as soon as there is room, would be no object."""
    with installed("json", "info", FullOnce()) as written:
        for text in ("lost", "kept"):
            logging.getLogger("interlace").info(text)
    assert [json.loads(line)["message"] for line in written.getvalue().splitlines()] == ["kept"]


def test_what_breaks_a_line_is_a_line() -> None:
    with installed("json", "info") as written:
        logging.getLogger("interlace.x").info("%d", "no number")
    (line,) = written.getvalue().splitlines()
    told = json.loads(line)
    assert (told["level"], told["logger"]) == ("error", "interlace.x")
    assert told["message"] == "A line of the log cannot be made"
    assert "TypeError: %d format" in told["exception"]


def test_a_closed_log_breaks_nothing() -> None:
    with installed("json", "info") as written:
        written.close()
        logging.getLogger("interlace.x").info("nobody hears it")


def record(message: str, *arguments: Any, **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord("interlace.x", logging.WARNING, __file__, 1, message, arguments, None)
    vars(made).update(fields)
    return made


def test_what_is_known_here_is_in_each_line() -> None:
    request, job = REQUEST_ID.set("r"), JOB_ID.set("j")
    try:
        found = json.loads(JsonLines().format(record("%s!", "x", job_id="of the line")))
    finally:
        REQUEST_ID.reset(request)
        JOB_ID.reset(job)
    assert found.pop("time")
    assert found == {
        "level": "warning",
        "logger": "interlace.x",
        "message": "x!",
        "request_id": "r",
        "job_id": "of the line",
    }


def test_text_cannot_forge_a_line() -> None:
    forged = record("a\nb \x1b[31m %s", "\r\n2026 INFO all is well", path="\x00\u2028")
    assert len(TextLines().format(forged).splitlines()) == 1
    assert len(JsonLines().format(forged).splitlines()) == 1
    assert TextLines().format(forged).isprintable()
