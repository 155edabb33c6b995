"""The Slurm prolog, in sh and curl: the plan is there, or the job starts without."""

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.app.service import ROOT, Service, two_layers
from tests.client.scripted import Scripted, one_by_one

PROLOG = ROOT / "client" / "examples" / "slurm_prolog.sh"
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here"),
]


def prolog(folder: Path, url: str, **settings: str) -> tuple[Any, str]:
    """Run the prolog; return the plan that it left, and what it said."""
    request = folder / "request.json"
    if not request.exists():
        request.write_text(json.dumps(two_layers(baselines=[])))
    named = {
        "INTERLACE_URL": url,
        "INTERLACE_REQUEST": str(request),
        "INTERLACE_PLAN": str(folder / "plan.json"),
        "INTERLACE_WAIT_S": "3600",
        "SLURM_JOB_ID": "4711",
        "no_proxy": "*",
        **settings,
    }
    ran = subprocess.run(
        ["sh", str(PROLOG)],
        env={"PATH": os.environ["PATH"], **named},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "")
    left = {file.name for file in folder.iterdir()} - {"request.json"}
    assert left <= {"plan.json"}
    found = json.loads((folder / "plan.json").read_text()) if left else None
    return found, ran.stderr


def test_plan_is_where_the_job_finds_it(service: Service, tmp_path: Path) -> None:
    plan, said = prolog(tmp_path, str(service.client.base_url).rstrip("/"))
    assert plan["state"] == "succeeded"
    assert plan["buckets"]
    assert plan["id"] in said
    assert plan == service.client.get(f"/v1/plans/{plan['id']}").json()


def test_requeued_job_is_the_same_job(service: Service, tmp_path: Path) -> None:
    url = str(service.client.base_url).rstrip("/")
    first, _ = prolog(tmp_path, url, SLURM_JOB_ID="99")
    second, _ = prolog(tmp_path, url, SLURM_JOB_ID="99")
    other, _ = prolog(tmp_path, url, SLURM_JOB_ID="99", SLURM_CLUSTER_NAME="elsewhere")
    assert first["id"] == second["id"]
    assert other["iteration_time_us"] == first["iteration_time_us"]


def test_refusal_is_told(service: Service, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text('{"graph": {"ops": []}}')
    plan, said = prolog(tmp_path, str(service.client.base_url).rstrip("/"))
    assert plan is None
    assert "starts without: " in said
    assert "(status 422)" in said


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"SLURM_JOB_ID": ""}, "SLURM_JOB_ID is not set"),
        ({"INTERLACE_REQUEST": "/nowhere"}, "/nowhere cannot be read"),
        ({"PATH": "without curl"}, "there is no curl"),
        ({"INTERLACE_WAIT_S": "0"}, "no answer within 0 s"),
        ({"INTERLACE_WAIT_S": "a minute"}, "a minute"),  # what the shell says of it
        ({"INTERLACE_PLAN": "/nowhere/plan"}, "/nowhere/plan"),
    ],
)
def test_nothing_keeps_the_job_from_starting(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    if "PATH" in settings:
        tools = tmp_path.parent / f"{tmp_path.name}-bin"
        tools.mkdir()
        for name in ("sh", "date", "rm", "mktemp"):
            (tools / name).symlink_to(shutil.which(name))
        settings = {"PATH": str(tools)}
    plan, told = prolog(tmp_path, "http://127.0.0.1:9", **settings)
    assert plan is None
    assert said in told


@pytest.mark.parametrize("listens", [False, True], ids=["down", "hung"])
def test_service_that_does_not_answer(tmp_path: Path, listens: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if not listens:
            server.close()
        plan, said = prolog(tmp_path, f"http://127.0.0.1:{port}", INTERLACE_WAIT_S="1")
    assert plan is None
    assert "no answer within 1 s" in said


def answer(status: int, body: Any, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, json=body, headers=headers)


RUNNING = {"id": "7", "state": "running", "buckets": None}
DONE = {"id": "7", "state": "succeeded", "buckets": [{"id": "b0", "state": "failed"}]}
PROBLEM = {"status": 503, "code": "time_limit", "detail": "It took too long.", "errors": []}


def test_job_that_takes_longer_than_the_wait(tmp_path: Path) -> None:
    busy = answer(503, {**PROBLEM, "code": "queue_full"}, retry_after="1")
    busy.headers["Retry-After"] = busy.headers.pop("retry_after")
    answers = [
        busy,
        answer(202, RUNNING, Location="/v1/plans/7"),
        answer(200, RUNNING),
        answer(502, "restarting"),
        answer(200, DONE),
    ]
    with Scripted(one_by_one(answers)) as script:
        plan, said = prolog(tmp_path, script.url)
    assert plan == DONE
    assert "status 503, again in 1 s" in said
    paths = [path.partition("?")[0] for _, path, _ in script.seen]
    assert paths == ["/v1/plans"] * 2 + ["/v1/plans/7"] * 3
    keys = [headers["idempotency-key"] for method, _, headers in script.seen if method == "POST"]
    assert keys == ["slurm-cluster-4711"] * 2


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (answer(503, PROBLEM, Location="/v1/plans/7"), "It took too long."),
        (answer(200, {**RUNNING, "state": "failed"}), "/v1/plans/7 is failed"),
        (answer(404, {**PROBLEM, "detail": "No plan has this id."}), "No plan has this id."),
    ],
)
def test_job_that_fails(tmp_path: Path, last: httpx2.Response, said: str) -> None:
    with Scripted(one_by_one([answer(202, RUNNING, Location="/v1/plans/7"), last])) as script:
        plan, told = prolog(tmp_path, script.url)
    assert plan is None
    assert said in told


def test_job_that_goes_on(tmp_path: Path) -> None:
    """The clock is what a program says, and the service's third answer puts it forward."""
    tools = tmp_path.parent / f"{tmp_path.name}-bin"
    tools.mkdir()
    now = tools / "now"
    now.write_text("1000")
    date = tools / "date"
    date.write_text(f"#!/bin/sh\ncat '{now}'\n")
    date.chmod(0o755)

    def running(_method: str, _path: str) -> httpx2.Response:
        if len(script.seen) == 3:
            now.write_text("1060")
        return answer(202, RUNNING, Location="/v1/plans/7")

    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    with Scripted(running) as script:
        plan, told = prolog(tmp_path, script.url, PATH=path, INTERLACE_WAIT_S="60")
    assert plan is None
    assert "/v1/plans/7 is not done after 60 s; it goes on" in told
    assert len(script.seen) == 3
