"""The launcher for torchrun: one rank asks, all get the plan, training always starts."""

import importlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
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


def launched(folder: Path, service: str, **options: Any) -> list[tuple[str, str]]:
    """Run all ranks, the asking one started last; return what each printed and complained of."""
    known: Json = {"request": folder / "request.json", "plan": folder / "plan", "job": "4711"}
    every = {"service": service, "timeout_s": 3_600, **known, **options}
    return ended([started(rank, **every) for rank in reversed(range(3))])


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The launcher as a module."""
    monkeypatch.syspath_prepend(LAUNCHER.parent)
    return importlib.import_module(LAUNCHER.stem)


@pytest.fixture
def inside(
    launcher: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Run a rank inside this process; give its exit code and what it printed."""

    def run(rank: int, **options: object) -> tuple[int, str, str]:
        monkeypatch.setenv("RANK", str(rank))
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


def test_second_run_takes_the_second_plan(
    service: Service,
    tmp_path: Path,
    launcher: ModuleType,
    inside: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other rank is there first: it waits, and only then does its run's first rank begin."""
    url = str(service.client.base_url)
    options: Json = {"service": url, "plan": tmp_path / "plan", "timeout_s": 3_600}
    options["request"] = asked(tmp_path)
    _, first, _ = inside(0, job="1", **options)
    asked(tmp_path, startup_us=900)
    seconds: list[str] = []

    def sleep(_seconds: float) -> None:
        seconds.append(inside(0, job="2", **options)[1])

    time = SimpleNamespace(monotonic=lambda: 0.0, sleep=sleep)
    monkeypatch.setattr(launcher, "time", time)
    _, other, _ = inside(1, job="2", **options)
    (second,) = seconds
    assert second == other
    assert second.startswith("training with ")
    assert first.startswith("training with ")
    assert first != second


@pytest.mark.live
def test_plan_of_another_job_is_gone_before_rank_0_asks(tmp_path: Path, inside: Any) -> None:
    plan = tmp_path / "plan"
    plan.write_text(json.dumps({"job": "1", "plan": PLAN}))
    was_there = []

    def refuse(_method: str, _path: str) -> httpx2.Response:
        was_there.append(plan.exists())
        return httpx2.Response(404, content=b"")

    with Scripted(refuse) as server:
        request = asked(tmp_path)
        _, out, _ = inside(0, service=server.url, request=request, plan=plan, job="2")
    assert out == WITHOUT
    assert was_there == [False]
    assert json.loads(plan.read_text()) == {"job": "2", "plan": None}


def test_ranks_started_again_take_the_same_plan(
    service: Service, tmp_path: Path, inside: Any
) -> None:
    options: Json = {"request": asked(tmp_path), "plan": tmp_path / "plan", "job": "4711"}
    _, first, _ = inside(0, service=service.client.base_url, timeout_s=3_600, **options)
    for rank in (1, 0):  # rank 0 alone would find no plan now
        assert inside(rank, service=NOWHERE, **options)[1] == first
    assert first.startswith("training with ")


@pytest.mark.live
def test_training_starts_without_the_service(tmp_path: Path) -> None:
    """It hangs; no rank waits longer than it may."""
    asked(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        told = launched(tmp_path, url, timeout_s=1)
    assert {out for out, _ in told} == {WITHOUT}
    assert f"[rank 0] POST {url}/v1/plans: " in told[-1][1]
    assert "There is no plan." in told[-1][1]


@pytest.mark.live
def test_training_starts_when_the_service_is_down(tmp_path: Path, inside: Any) -> None:
    options: Json = {"request": asked(tmp_path), "plan": tmp_path / "plan", "job": "4711"}
    _, out, error = inside(0, service=NOWHERE, timeout_s=1, **options)
    assert out == WITHOUT
    assert f"[rank 0] POST {NOWHERE}/v1/plans: " in error
    assert inside(1, service=NOWHERE, **options)[1] == WITHOUT


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
    tmp_path: Path, inside: Any, content: bytes | None, service: str, why: str
) -> None:
    request, plan = tmp_path / "request.json", tmp_path / "plan"
    if content is not None:
        request.write_bytes(content)
    code, out, error = inside(0, service=service, request=request, plan=plan, job="1", timeout_s=5)
    assert (code, out) == (0, WITHOUT)
    assert json.loads(plan.read_text()) == {"job": "1", "plan": None}
    assert error.startswith("[rank 0] ")
    assert why in error
    assert "There is no plan." in error
    assert "Traceback" not in error


def test_plan_that_cannot_be_shared_is_not_used(
    service: Service, tmp_path: Path, inside: Any
) -> None:
    place = {
        "service": service.client.base_url,
        "timeout_s": 3_600,
        "plan": tmp_path / "nowhere" / "plan",
    }
    code, out, error = inside(0, **place, request=asked(tmp_path), job="1")
    assert (code, out) == (0, WITHOUT)
    assert "the other ranks cannot have it" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("job", [None, "", " "])
def test_job_must_be_named(tmp_path: Path, inside: Any, job: str | None) -> None:
    word = {} if job is None else {"job": job}
    code, _, error = inside(
        0, service=NOWHERE, request=asked(tmp_path), plan=tmp_path / "plan", **word
    )
    assert code == 2
    assert "--job" in error
