"""The real server in a child process, and the request that the tests vary."""

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2

from app.jobs.kinds import KINDS
from app.operations.settings import Settings
from app.services.examples import TWO_LAYERS
from app.storage.database import Store

ROOT = Path(__file__).parents[2]
Json = dict[str, Any]
#: A client that waits for the end of what it asks, and has everything made anew.
PATIENT = {"prefer": "wait=60", "cache-control": "no-store", "x-interlace-request": "1"}


@dataclass(frozen=True)
class Service:
    """A running server; ``ended`` waits for its end, and returns its exit code."""

    client: httpx2.Client
    log: Path
    process: int
    ended: Callable[[], int]
    database_url: str | None = None

    def store(self) -> Store:
        """Return what it has in its database; to be closed."""
        folder = self.log.parent
        return Store(Settings(data_dir=folder, database_url=self.database_url), is_migrated=True)

    def warmed(self) -> "Service":
        """Return it when it has done a job: the processes of jobs are there."""
        self.post(two_layers(seed=4_711_000))
        return self

    def post(self, body: Any, path: str = "/v1/plans") -> httpx2.Response:
        """Post until the job has ended, on a machine with other things to do."""
        return posted(self.client, path, json=body)

    def post_raw(self, content: Any, media_type: str = "application/json") -> httpx2.Response:
        return self.client.post("/v1/plans", content=content, headers={"content-type": media_type})


def posted(client: httpx2.Client, path: str, **how: Any) -> httpx2.Response:
    """Post until the job has ended: one job, whose client waits for it again and again."""
    headers = {"idempotency-key": uuid4().hex}
    answer = client.post(path, headers=headers, **how)
    while answer.status_code == HTTPStatus.ACCEPTED:
        answer = client.post(path, headers=headers, **how)
    return answer


def environment(data_dir: Path, **settings: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("INTERLACE_", "COV_"))}
    return {**kept, "INTERLACE_DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT), **settings}


#: Names a file that gets a line for each server that the tests start.
STARTS = "INTERLACE_TEST_STARTS"
_MAIN = """
from app.cli.main import main
if __name__ == "__main__":
    main()
"""


@contextmanager
def running(
    data_dir: Path,
    script: str = "",
    *flags: str,
    database_url: str | None = None,
    **settings: str,
) -> Iterator[Service]:
    """Run ``interlace serve`` on a free port; its log is ``server.log``.

    A script may change constants or functions of the server before it starts. Nothing but the
    address is on standard output.
    """
    note_start()
    log = data_dir / "server.log"
    if database_url is not None:
        settings["INTERLACE_DATABASE_URL"] = database_url
    program = ["-c", script + _MAIN] if script else ["-m", "app"]
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", *program, "serve", "--port", "0", *flags],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(data_dir, **settings),
        )
    try:
        line = first_line(process)
        assert line.startswith("Serving on http://127.0.0.1:"), log.read_text()
        with httpx2.Client(
            base_url=line.split()[-1], headers=PATIENT, timeout=None, trust_env=False
        ) as client:
            yield Service(client, log, process.pid, process.wait, database_url)
    finally:
        with process:  # whatever comes: what is not waited for is told in some later test
            process.terminate()
            try:
                more, _ = process.communicate()
            finally:
                process.kill()
    assert not more


#: The servers that several tests ask, as long as they run.
_SHARED: list[Service] = []


@contextmanager
def for_many(*what: Any, **how: Any) -> Iterator[Service]:
    """Run a server for many tests, as :func:`running` does, and expect that it never failed."""
    with running(*what, **how) as found:
        _SHARED.append(found.warmed())
        try:
            yield found
        finally:
            _SHARED.remove(found)
        assert "Traceback" not in found.log.read_text(), "the server failed inside"


def cancel_what_is_left() -> None:
    """Cancel what a test has left at work on shared servers: the next may wait for idle ones."""
    for server in _SHARED:
        left = server.client.get("/v1/jobs?state=running&state=queued&limit=200")
        for job in left.json()["jobs"] if left.is_success else []:
            server.client.post(f"{KINDS[job['kind']].prefix}/{job['id']}/cancel")


def note_start() -> None:
    """Count a server that is started."""
    if file := os.environ.get(STARTS):
        with Path(file).open("a") as starts:
            starts.write(os.environ.get("PYTEST_CURRENT_TEST", "no test") + "\n")


def first_line(process: subprocess.Popen[bytes]) -> str:
    """Return the first line that a program prints, in one piece; empty when it ends without."""
    assert process.stdout is not None
    return os.read(process.stdout.fileno(), 10_000).decode()


def two_layers(**options: Any) -> Json:
    """Return the request of the contract."""
    body = copy.deepcopy(TWO_LAYERS)
    body["options"] |= options
    return body


def faults(answer: httpx2.Response) -> set[tuple[str, str]]:
    """Return pointer and code of each fault, after checking that the answer is a problem."""
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["status"] == answer.status_code
    assert problem["type"] == "about:blank"
    assert problem["title"]
    assert problem["detail"]
    assert all(fault["detail"] for fault in problem["errors"])
    return {(fault["pointer"], fault["code"]) for fault in problem["errors"]}
