"""From a recording to files that apply its plan: every kind of training, and no flag."""

import json
import runpy
import subprocess
import sys
from collections import Counter

import pytest

pytest.importorskip("torch")

from solver.graph import COMPUTE, NETWORK
from tests.app.command import runner
from tests.torch.test_recordings import RANKS


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run the command; what it prints when it succeeds, its errors when it is refused."""
    command = runner(tmp_path, monkeypatch, capfd)

    def done(*arguments, refused=False):
        found = command(*map(str, arguments))
        assert (found.returncode != 0) == refused, found.stderr
        return " ".join(found.stderr.split()) if refused else found.stdout

    return done


def files_of(recordings, job):
    return sorted((recordings / job).glob("rank*.json.gz"))


def sent_by(recordings, job):
    sent = json.loads((recordings / job / "sent.json").read_text())
    return Counter({(one["kind"], one["channel"]): one["bytes"] for one in sent})


@pytest.mark.parametrize("job", RANKS)
def test_from_ranks_to_files(recordings, run, tmp_path, job):
    files, sent = files_of(recordings, job), sent_by(recordings, job)
    read: Counter = Counter()
    for op in json.loads(run("import", *files, "--json"))["graph"]["ops"]:
        if op["kind"] != COMPUTE:
            read[op["kind"], op.get("channel", NETWORK)] += op["bytes"]
    assert read == sent
    plan = tmp_path / "plan.json"
    plan.write_text(run("plan", *files, "--json"))
    answer = json.loads(plan.read_text())
    planned: Counter = Counter()
    for bucket in answer["buckets"]:
        planned[bucket["kind"], bucket["channel"]] += bucket["bytes"]
    assert planned == sent
    assert answer["lower_bound_us"] <= answer["iteration_time_us"]
    report = answer["report"]
    assert report["recorded_us"] == pytest.approx(report["measured_us"], rel=0.03)
    assert answer["evidence"]["recorded_us"] == report["measured_us"]
    workers = answer["request"]["cluster"]["workers"]
    assert [row["workers"] for row in json.loads(run("predict", *files, "--json"))["rows"]] == [
        workers
    ]
    assert json.loads(run("sweep", *files, "--json"))["cells"]
    run("export", *files, "--plan", plan, "--format", "chakra", "--out", tmp_path / "et")
    assert (tmp_path / "et" / "plan.0.et").stat().st_size > 0


@pytest.mark.parametrize("job", ["ddp", "accumulation"])
def test_buckets_for_ddp_need_the_parameters(recordings, run, tmp_path, job):
    files, out = files_of(recordings, job), tmp_path / "ddp"
    export = ("export", *files, "--format", "ddp", "--out", out)
    assert "--parameters" in run(*export, refused=True)
    named = recordings / job / "parameters.json"
    sizes = json.loads(named.read_text())
    run(*export, "--parameters", named)
    buckets = runpy.run_path(str(out / "ddp_buckets.py"))["BUCKETS"]
    assert sorted(name for bucket in buckets for name in bucket) == sorted(n for n, _ in sizes)


@pytest.mark.parametrize("job", ["fsdp2", "hsdp"])
def test_units_for_fsdp2_are_the_models(recordings, run, tmp_path, job):
    files, out, plan = files_of(recordings, job), tmp_path / "units", tmp_path / "plan.json"
    plan.write_text(run("plan", *files, "--json"))
    run("export", *files, "--plan", plan, "--format", "fsdp", "--out", out)
    units = json.loads((out / "units.json").read_text())["units"]
    assert [name for unit in units for name in unit["modules"]] == ["0", "1", "2"]
    command = [sys.executable, "-m", "tests.torch.units_worker", str(out)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("job", ["fsdp1", "zero1"])
def test_what_names_no_units_is_refused(recordings, run, tmp_path, job):
    files = files_of(recordings, job)
    said = run("export", *files, "--format", "fsdp", "--out", tmp_path / "out", refused=True)
    assert ("FullyShardedDataParallel (FSDP1)" in said) == (job == "fsdp1")
    assert ("this is no FSDP" in said) == (job == "zero1")


def test_the_slowest_rank_is_the_one_that_is_read(recordings, run):
    files = files_of(recordings, "ddp")
    alike = {run("import", *files, "--json", "--rank", rank) for rank in ("0", "1")}
    assert run("import", *files, "--json", "--rank", "slowest") in alike
    assert len(alike) == 2
