"""The example under torchrun: with a plan of the command, and where nobody makes one."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
PROGRAM = "tests.torch.example_worker"


def trained(*flags: str) -> str:
    """Train two layers for two steps; return what was printed."""
    run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    small = ["--layers", "2", "--width", "64", "--steps", "2", "--calibration-s", "1"]
    done = subprocess.run(
        [sys.executable, *run, PROGRAM, *small, *flags],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    # one that is left may abort the process at its exit: see tests.ending
    assert done.stderr.count("threads left: 0.") == 2, done.stderr
    return done.stdout


def test_with_a_plan():
    said = trained("--search-s", "1").splitlines()
    assert "ms a step before" in said[0]
    assert "2 workers over gloo." in said
    (advice,) = [line for line in said if line.startswith("The step is planned to take")]
    tried = [line for line in said if line.startswith(("The plan is kept.", "DistributedData"))]
    assert len(tried) == ("keep that" not in advice)
    is_kept = tried and tried[0].startswith("The plan is kept.")
    used = "by the plan" if is_kept else "in DistributedDataParallel"
    assert said[-1].endswith(f" ms a step {used}")


def test_without_one():
    said = trained("--service", "ftp://nobody").splitlines()
    (reason,) = [line for line in said if line.startswith("No plan: ")]
    assert "ftp://nobody gave no answer" in reason
    assert said[-1].endswith(" ms a step in DistributedDataParallel")
