"""The launcher for torchrun: one rank asks, all get the plan, training always starts."""

import importlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.app.service import ROOT, Json, Service, two_layers
from tests.client.fake import PLAN
from tests.client.scripted import Scripted

LAUNCHER = ROOT / "client" / "examples" / "torchrun_launcher.py"
WITHOUT = "training with the framework's own buckets\n"
NOWHERE = "http://127.0.0.1:9"


def asked(folder: Path, **cluster: float) -> Path:
    """Write a request; return where."""
    body = two_layers(baselines=[])
    body["cluster"] |= cluster
    path = folder / "request.json"
    path.write_text(json.dumps(body))
    return path


def started(rank: int, **options: object) -> subprocess.Popen[str]:
    """Start a rank as torchrun does that was given neither a run's id nor a port."""
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    known = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "3"}
    run = {"TORCHELASTIC_RUN_ID": "none", "MASTER_PORT": "29500"}
    path = os.pathsep.join([str(ROOT / "client"), str(ROOT)])
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(LAUNCHER), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **known, **run, "PYTHONPATH": path},
        text=True,
    )


def ended(ranks: Sequence[subprocess.Popen[str]]) -> list[tuple[str, str]]:
    """Return what each printed and complained of."""
    told = [rank.communicate() for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * len(ranks), told
    return told


def launched(folder: Path, service: str, world: int = 3, **options: Any) -> list[tuple[str, str]]:
    """Run all ranks, the asking one started last; return what each printed and complained of."""
    known: Json = {"request": folder / "request.json", "plan": folder / "plan", "job": "4711"}
    every = {"service": service, **known, **options}
    return ended([started(rank, **every) for rank in reversed(range(world))])


@pytest.fixture
def rank_0(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the rank that asks, inside this process; give its exit code and what it printed."""
    monkeypatch.syspath_prepend(LAUNCHER.parent)
    launcher = importlib.import_module(LAUNCHER.stem)
    monkeypatch.setenv("RANK", "0")

    def run(**options: object) -> tuple[int, str, str]:
        words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        monkeypatch.setattr(sys, "argv", [LAUNCHER.name, *words])
        try:
            launcher.main()
        except SystemExit as exit_:
            return (int(exit_.code or 0), *capsys.readouterr())
        return (0, *capsys.readouterr())

    return run


def test_all_ranks_train_with_one_plan(service: Service, tmp_path: Path) -> None:
    asked(tmp_path)
    (tmp_path / "plan").write_text("not of a launcher")
    tagged: Any = {"tag": "torchrun", "limit": 200}
    before = len(service.client.get("/v1/plans", params=tagged).json()["plans"])
    told = launched(tmp_path, str(service.client.base_url))
    assert len({out for out, _ in told}) == 1, told
    assert told[0][0].startswith("training with ")
    plan = json.loads((tmp_path / "plan").read_text())["plan"]
    assert f"{plan['iteration_time_us']:.1f} us" in told[0][0]
    assert all(error == "" for _, error in told)
    assert len(service.client.get("/v1/plans", params=tagged).json()["plans"]) == before + 1


def test_second_run_takes_the_second_plan(service: Service, tmp_path: Path) -> None:
    url = str(service.client.base_url)
    options: Json = {"service": url, "plan": tmp_path / "plan", "request": asked(tmp_path)}
    ((first, _),) = ended([started(0, job="1", **options)])
    asked(tmp_path, startup_us=900)
    waits = started(1, job="2", **options)
    with pytest.raises(subprocess.TimeoutExpired):  # long enough to find the first plan
        waits.wait(1.5)
    (second, _), (other, _) = ended([started(0, job="2", **options), waits])
    assert second == other
    assert second.startswith("training with ")
    assert first.startswith("training with ")
    assert first != second


def test_plan_of_another_job_is_gone_before_rank_0_asks(tmp_path: Path) -> None:
    asked(tmp_path)
    plan = tmp_path / "plan"
    plan.write_text(json.dumps({"job": "1", "plan": PLAN}))
    was_there = []

    def refuse(_method: str, _path: str) -> httpx2.Response:
        was_there.append(plan.exists())
        return httpx2.Response(404, content=b"")

    with Scripted(refuse) as server:
        ((out, _),) = launched(tmp_path, server.url, world=1, job="2")
    assert out == WITHOUT
    assert was_there == [False]
    assert json.loads(plan.read_text()) == {"job": "2", "plan": None}


def test_ranks_started_again_take_the_same_plan(service: Service, tmp_path: Path) -> None:
    asked(tmp_path)
    ((first, _),) = launched(tmp_path, str(service.client.base_url), world=1)
    told = launched(tmp_path, NOWHERE, world=2)  # rank 0 alone would find no plan now
    assert {out for out, _ in told} == {first}
    assert first.startswith("training with ")


@pytest.mark.parametrize("listens", [False, True], ids=["down", "hung"])
def test_training_starts_without_the_service(tmp_path: Path, listens: bool) -> None:
    asked(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        if not listens:
            server.close()
        told = launched(tmp_path, url, timeout_s=1)
    assert {out for out, _ in told} == {WITHOUT}
    assert f"[rank 0] POST {url}/v1/plans: " in told[-1][1]
    assert "There is no plan." in told[-1][1]


@pytest.mark.parametrize(
    ("content", "service", "why"),
    [
        (None, NOWHERE, "No such file or directory"),
        (b'{"graph": ', NOWHERE, "Expecting value"),
        (b"\xff", NOWHERE, "invalid start byte"),
        (b'{"graph": NaN}', NOWHERE, "not JSON compliant"),
        (b"{}", "planner:8000", "is no URL"),
    ],
)
def test_training_starts_without_a_request(
    tmp_path: Path, rank_0: Any, content: bytes | None, service: str, why: str
) -> None:
    request, plan = tmp_path / "request.json", tmp_path / "plan"
    if content is not None:
        request.write_bytes(content)
    code, out, error = rank_0(service=service, request=request, plan=plan, job="1", timeout_s=5)
    assert (code, out) == (0, WITHOUT)
    assert json.loads(plan.read_text()) == {"job": "1", "plan": None}
    assert error.startswith("[rank 0] ")
    assert why in error
    assert "There is no plan." in error
    assert "Traceback" not in error


def test_plan_that_cannot_be_shared_is_not_used(
    service: Service, tmp_path: Path, rank_0: Any
) -> None:
    place = {"service": service.client.base_url, "plan": tmp_path / "nowhere" / "plan"}
    code, out, error = rank_0(**place, request=asked(tmp_path), job="1")
    assert (code, out) == (0, WITHOUT)
    assert "the other ranks cannot have it" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("job", [None, "", " "])
def test_job_must_be_named(tmp_path: Path, rank_0: Any, job: str | None) -> None:
    word = {} if job is None else {"job": job}
    code, _, error = rank_0(
        service=NOWHERE, request=asked(tmp_path), plan=tmp_path / "plan", **word
    )
    assert code == 2
    assert "--job" in error
