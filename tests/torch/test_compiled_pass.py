"""A planned program in torch.compile, on two ranks of gloo."""

import os
import subprocess
import sys

import pytest

from tests.torch.workers import ROOT, names_in, outcomes

pytest.importorskip("torch")

PROGRAM = "tests.torch.compiled_pass_worker"
EXAMPLE = ROOT / "client" / "examples" / "compiled_training.py"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Have what inductor compiles in a folder of our own, each kernel once for all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture(scope="module")
def went(kernels, tmp_path_factory):
    return outcomes(PROGRAM, tmp_path_factory.mktemp("compiled"))


@pytest.mark.parametrize("name", names_in(PROGRAM))
def test_it_trains_compiled(went, name):
    assert went.get(name, "not reached") == ""


def test_the_example_captures_plans_and_trains(kernels):
    path = os.pathsep.join(map(str, (ROOT, ROOT / "client")))  # this checkout's code
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, *run, str(EXAMPLE), "--steps", "2", "--search-s", "1"],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    forward, backward, *rest = done.stdout.splitlines()
    assert forward.startswith("8 collectives in 6 launches: ")
    assert backward.startswith("8 collectives in ")
    assert rest == [
        "2 graphs written, 0 steps elsewhere than planned",
        "Losses and gradients of 2 steps are the same.",
    ]
