"""A job is submitted to Slurm on the nodes that are ranked first, or as it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.service import ROOT, Service

PROGRAM = ROOT / "client/examples/slurm_allocate.py"
CONF = ROOT / "tests/data/topologies/topology.conf"
TWO = {"compute_us": 80_000, "gradient_bytes": 2_000_000_000}
#: What Slurm's commands print; a stranger to sinfo, squeue, scontrol and sbatch fails.
SLURM = """\
#!/bin/sh
printf '%s\\n' "$0 $*" >>"$LOG"
case "${0##*/} $*" in
  'sinfo -h -N -t idle -o %N') printf '%s\\n' gpu01 gpu02 gpu02 gpu19 gpu35 gpu36 ;;
  'squeue -h -t running -o %i|%N|%k') cat "$JOBS" ;;
  'scontrol show hostnames gpu[50-52]') printf '%s\\n' gpu50 gpu51 gpu52 ;;
  'scontrol show hostnames gpu[03-04,20]') printf '%s\\n' gpu03 gpu04 gpu20 ;;
  sbatch*) echo 'Submitted batch job 7' ;;
  *) exit 9 ;;
esac
"""
TOPOLOGY = {
    "slurm_file": str(CONF),
    "node_gbps": 3600,
    "level_gbps": {"node": 400},
    "oversubscription": {"leaf": 16, "spine": 2},
}
pytestmark = pytest.mark.live


def submitted(folder: Path, url: str, nodes: int, comment: str = "(null)") -> tuple[str, str, Path]:
    """Submit a job; return what sbatch was given, what was said, and the host file."""
    for name in ("sinfo", "squeue", "scontrol", "sbatch"):
        (folder / name).write_text(SLURM)
        (folder / name).chmod(0o755)
    jobs = folder / "jobs"
    jobs.write_text(f"5|gpu[03-04,20]|interlace:{json.dumps(TWO)}\n6|gpu[50-52]|{comment}\n")
    (folder / "topology.json").write_text(json.dumps(TOPOLOGY))
    (folder / "job.json").write_text(json.dumps({"nodes": nodes, **TWO}))
    ran = subprocess.run(
        [
            *(sys.executable, "-W", "error", str(PROGRAM), "--service", url),
            *("--topology", str(folder / "topology.json"), "--job", str(folder / "job.json")),
            *("--hostfile", str(folder / "hosts"), "--tasks-per-node", "2"),
            *("--wait", "3600"),
            *("--", "--time=5", "train.sh"),
        ],
        env={
            "PATH": f"{folder}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "client"),
            "LOG": str(folder / "log"),
            "JOBS": str(jobs),
            "no_proxy": "*",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "Submitted batch job 7\n"), ran.stderr
    last = (folder / "log").read_text().splitlines()[-1]
    return last.partition("/sbatch ")[2], ran.stderr, folder / "hosts"


def test_the_job_goes_to_the_idle_nodes_that_share_a_rack(service: Service, tmp_path: Path) -> None:
    given, said, hosts = submitted(tmp_path, str(service.client.base_url).rstrip("/"), 2)
    flags, _, comment = given.partition(" --comment=interlace:")
    assert flags in ("--nodes=2 --nodelist=gpu01,gpu02", "--nodes=2 --nodelist=gpu35,gpu36")
    own, _, rest = comment.partition("} ")
    assert rest == "--time=5 train.sh"
    on = flags.rpartition("=")[2].split(",")
    assert json.loads(own + "}") == {"nodes": 2, **TWO, "on": on}
    assert hosts.read_text().split() == [on[0], on[0], on[1], on[1]]
    assert "not known: 6" in said


def test_without_an_answer_the_job_is_submitted_as_it_is(service: Service, tmp_path: Path) -> None:
    url = str(service.client.base_url).rstrip("/")
    given, said, hosts = submitted(tmp_path, url, 6)  # five are idle
    assert given == "--time=5 train.sh"
    assert "has 5 free" in said
    assert not hosts.exists()
    given, said, hosts = submitted(tmp_path, "http://127.0.0.1:9", 2)
    assert given == "--time=5 train.sh"
    assert "submitted without nodes" in said


def test_a_comment_that_is_no_job_keeps_no_other_job_from_an_answer(
    service: Service, tmp_path: Path
) -> None:
    url = str(service.client.base_url).rstrip("/")
    given, said, hosts = submitted(tmp_path, url, 2, 'interlace:{"compute_us":-1}')
    assert "--nodelist=gpu" in given
    assert "/running/1" in said
    assert hosts.exists()
