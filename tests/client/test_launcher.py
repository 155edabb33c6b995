"""The launcher for torchrun: one rank asks, all get the plan, training always starts."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.app.service import ROOT, Service, two_layers

LAUNCHER = ROOT / "client" / "examples" / "torchrun_launcher.py"
WORLD = 3


def launched(folder: Path, service: str, timeout_s: float = 60) -> list[tuple[str, str]]:
    """Start all ranks, the asking one last; return what each printed and complained of."""
    request = folder / "request.json"
    request.write_text(json.dumps(two_layers(baselines=[])))
    options = {
        "--service": service,
        "--request": str(request),
        "--plan": str(folder / "plan"),
        "--timeout-s": str(timeout_s),
    }
    command = [sys.executable, "-W", "error", str(LAUNCHER)]
    ranks = []
    for rank in reversed(range(WORLD)):
        known = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(WORLD)}
        run = {"TORCHELASTIC_RUN_ID": "run 7", "MASTER_PORT": "29500"}
        path = os.pathsep.join([str(ROOT / "client"), str(ROOT)])
        ranks.append(
            subprocess.Popen(
                [*command, *(word for option in options.items() for word in option)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **known, **run, "PYTHONPATH": path},
                text=True,
            )
        )
    told = [rank.communicate(timeout=60) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * WORLD, told
    return told


def test_all_ranks_train_with_one_plan(service: Service, tmp_path: Path) -> None:
    (tmp_path / "plan").write_text(json.dumps({"job": "an earlier run", "plan": {}}))
    tagged: Any = {"tag": "torchrun", "limit": 200}
    before = len(service.client.get("/v1/plans", params=tagged).json()["plans"])
    told = launched(tmp_path, str(service.client.base_url))
    assert len({out for out, _ in told}) == 1, told
    assert told[0][0].startswith("training with ")
    plan = json.loads((tmp_path / "plan").read_text())["plan"]
    assert f"{plan['iteration_time_us']:.1f} us" in told[0][0]
    assert all(error == "" for _, error in told)
    assert len(service.client.get("/v1/plans", params=tagged).json()["plans"]) == before + 1


@pytest.mark.parametrize("listens", [False, True], ids=["down", "hung"])
def test_training_starts_without_the_service(tmp_path: Path, listens: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if not listens:
            server.close()
        told = launched(tmp_path, f"http://127.0.0.1:{port}", timeout_s=1)
    assert {out for out, _ in told} == {"training with the framework's own buckets\n"}
    assert "[rank 0] POST /v1/plans: " in told[-1][1]
    assert "There is no plan." in told[-1][1]
