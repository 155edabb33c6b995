"""The job_submit plugin in Lua itself, with a table of Slurm's fields, beside commands of Slurm."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.service import ROOT, Service
from tests.client.test_slurm_allocate import SLURM, TOPOLOGY, TWO

EXAMPLES = ROOT / "client/examples"
LUA = next(filter(None, map(shutil.which, ("lua5.4", "lua5.3", "lua"))), None)
#: Slurm's own side: it calls the plugin, and this prints what became of the job.
SLURMCTLD = """\
slurm = {SUCCESS = 0, ERROR = -1, log_info = function(...) print(string.format(...)) end}
assert(dofile(arg[1]) == slurm.SUCCESS)
local job = {comment = arg[2], req_nodes = arg[3], environment = {}}
assert(slurm_job_submit(job, {}, 1000) == slurm.SUCCESS)
for _, name in ipairs({"req_nodes", "min_nodes", "max_nodes", "comment"}) do
  print(name .. "=" .. tostring(job[name]))
end
print("on=" .. tostring(job.environment.INTERLACE_NODES))
"""
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(LUA is None or shutil.which("curl") is None, reason="no Lua, or no curl"),
]


def state(folder: Path) -> Path:
    """Have the state written from what Slurm's commands print."""
    for name in ("sinfo", "squeue", "scontrol"):
        (folder / name).write_text(SLURM)
        (folder / name).chmod(0o755)
    (folder / "jobs").write_text(f"5|gpu[03-04,20]|interlace:{json.dumps(TWO)}\n")
    (folder / "topology.json").write_text(json.dumps(TOPOLOGY))
    path = folder / "state.json"
    ran = subprocess.run(
        [
            *(sys.executable, "-W", "error", str(EXAMPLES / "slurm_state.py")),
            *("--topology", str(folder / "topology.json"), "--state", str(path)),
        ],
        env={
            "PATH": f"{folder}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "client"),
            "LOG": str(folder / "log"),
            "JOBS": str(folder / "jobs"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return path


def submitted(folder: Path, url: str, path: Path, comment: str, nodes: str = "") -> dict[str, str]:
    """Return the fields of a job after the plugin, and what it logged."""
    (folder / "slurmctld.lua").write_text(SLURMCTLD)
    assert LUA is not None
    ran = subprocess.run(
        [LUA, str(folder / "slurmctld.lua"), str(EXAMPLES / "job_submit.lua"), comment, nodes],
        env={
            "PATH": os.environ["PATH"],
            "INTERLACE_SERVICE": url,
            "INTERLACE_STATE": str(path),
            "INTERLACE_WAIT_S": "3600",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    fields = dict(line.split("=", 1) for line in lines[-5:])
    return {**fields, "log": "\n".join(lines[:-5])}


def test_the_job_gets_the_nodes_that_are_ranked_first(service: Service, tmp_path: Path) -> None:
    url = str(service.client.base_url).rstrip("/")
    path = state(tmp_path)
    body = {"nodes": 2, **TWO}
    job = submitted(tmp_path, url, path, f"interlace:{json.dumps(body)}")
    assert job["req_nodes"] in ("gpu01,gpu02", "gpu35,gpu36")
    assert (job["min_nodes"], job["max_nodes"]) == ("2", "2")
    on = job["on"].split()
    assert json.loads(job["comment"].removeprefix("interlace:")) == {**body, "on": on}
    assert job["req_nodes"] == ",".join(on)


@pytest.mark.parametrize(
    ("comment", "nodes", "log"),
    [
        ("sweep 7", "", ""),  # another's comment
        ('interlace:{"nodes": 2, "compute_us": 1, "gradient_bytes": 8}', "gpu09", ""),  # has nodes
        ('interlace:{"nodes": 2', "", "no answer"),  # no JSON
        ("interlace:$(touch /tmp/no) `id`", "", "no answer"),  # and no command
        ('interlace:{"nodes": 60, "compute_us": 1, "gradient_bytes": 8}', "", "no answer"),
    ],
)
def test_other_jobs_are_submitted_as_they_are(
    service: Service, tmp_path: Path, comment: str, nodes: str, log: str
) -> None:
    url = str(service.client.base_url).rstrip("/")
    job = submitted(tmp_path, url, state(tmp_path), comment, nodes)
    assert (job["comment"], job["req_nodes"], job["min_nodes"]) == (comment, nodes, "nil")
    assert log in job["log"]


def test_without_a_state_or_a_service_the_job_is_submitted_as_it_is(tmp_path: Path) -> None:
    comment = f"interlace:{json.dumps({'nodes': 2, **TWO})}"
    job = submitted(tmp_path, "http://127.0.0.1:9", tmp_path / "none", comment)
    assert (job["comment"], job["req_nodes"]) == (comment, "")
    assert "no state" in job["log"]
    job = submitted(tmp_path, "http://127.0.0.1:9", state(tmp_path), comment)
    assert (job["comment"], job["req_nodes"]) == (comment, "")
    assert "no answer" in job["log"]
