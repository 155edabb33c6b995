"""sbatch after a question: Slurm's commands are recorded ones, the service is real."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.service import ROOT, Json, Service

SCRIPT = ROOT / "client" / "examples" / "slurm_allocate.py"
TOPOLOGY = """\
SwitchName=rack1 Nodes=gpu[01-04]
SwitchName=rack2 Nodes=gpu[05-08]
SwitchName=spine Switches=rack[1-2]
"""
FIGURES: Json = {
    "gpus": 8,
    "node_gbps": 3600,
    "level_gbps": {"node": 400},
    "oversubscription": {"leaf": 8},
}
JOB: Json = {"nodes": 2, "compute_us": 80_000, "gradient_bytes": 2_000_000_000}
#: A job over both racks, which says what it does, and one that does not.
RUNNING = """\
17|gpu[02,06]|{"compute_us": 90000, "gradient_bytes": 3000000000, "nodes": 2}
18|gpu08|a comment of another kind
"""
#: Each prints what it was recorded with; sbatch writes down what it was called with.
COMMANDS = {
    "sinfo": 'printf "gpu01\\ngpu01\\ngpu03\\ngpu04\\ngpu05\\ngpu07\\n"',
    "squeue": f"cat <<'END'\n{RUNNING}END",
    "scontrol": '[ "$1 $2 $3" = "show hostnames gpu[02,06]" ] && printf "gpu02\\ngpu06\\n"',
    "sbatch": 'printf "%s\\n" "$@" >sbatch.txt; cat "${SLURM_HOSTFILE:-/dev/null}" >order.txt',
}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with Slurm's commands, the topology, and the figures that it lacks."""
    (tmp_path / "topology.conf").write_text(TOPOLOGY)
    (tmp_path / "figures.json").write_text(json.dumps(FIGURES))
    (tmp_path / "bin").mkdir()
    for name, does in COMMANDS.items():
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/sh\nset -e\n{does}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def submitted(desk: Path, url: str, job: Json, *flags: str) -> "subprocess.CompletedProcess[str]":
    """Submit a script, in the folder of the cluster."""
    paths = ["--topology", "topology.conf", "--figures", "figures.json"]
    command = [str(SCRIPT), "--service", url, *paths, "--job", json.dumps(job), *flags]
    found = {"PATH": f"{desk / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    found["PYTHONPATH"] = os.pathsep.join([str(ROOT / "client"), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-W", "error", *command, "--", "--time=10", "train.sh"],
        cwd=desk,
        env=os.environ | found,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.live
def test_it_takes_nodes_that_share_no_link(service: Service, desk: Path) -> None:
    done = submitted(desk, str(service.client.base_url), JOB, "--tasks-per-node", "2")
    assert done.returncode == 0, done.stderr
    asked = (desk / "sbatch.txt").read_text().splitlines()
    nodes = asked[asked.index("--nodelist") + 1].split(",")
    assert set(nodes) <= {"gpu01", "gpu03", "gpu04"}, "one rack, and nobody else's uplink"
    order = (desk / "order.txt").read_text().split()
    assert order == [nodes[0], nodes[0], nodes[1], nodes[1]]
    assert asked[asked.index("--distribution") + 1] == "arbitrary"
    assert asked[-2:] == ["--time=10", "train.sh"]
    assert json.loads(asked[asked.index("--comment") + 1]) == JOB, "so that others know it"
    assert "interlace: 1 jobs do not say what they do" in done.stderr
    assert "interlace: 2 nodes" in done.stderr


@pytest.mark.live
def test_without_an_answer_sbatch_chooses(service: Service, desk: Path) -> None:
    wrong = submitted(desk, str(service.client.base_url), JOB | {"nodes": 6})
    nowhere = submitted(desk, "http://127.0.0.1:9", JOB)
    for done, why in ((wrong, "6 nodes"), (nowhere, "127.0.0.1:9")):
        assert done.returncode == 0, done.stderr
        assert "interlace: sbatch chooses the nodes:" in done.stderr
        assert why in done.stderr
        assert "--nodelist" not in (desk / "sbatch.txt").read_text()
        assert not (desk / "order.txt").read_text()
