"""HLO text through every door: the command, the service, Python."""

import json
import re
from pathlib import Path

import interlace
from solver.costs import Cluster, network_of
from solver.programs.problem import ProgramProblem
from solver.traces import TraceOptions, read_trace
from tests.app.command import Run
from tests.app.here import here
from tests.app.service import ROOT, faults

TEXT = ROOT / "tests" / "data" / "hlo_tensor_parallel.txt"
PATH = "/v1/graphs"
FAST = ("--device", "h100", "--bandwidth-gbps", "3600", "--startup-us", "5")


def test_the_command_plans_and_exports_a_program(tmp_path: Path, run: Run) -> None:
    plan, out = tmp_path / "plan.json", tmp_path / "xla"
    done = run("plan", str(TEXT), *FAST, "--out", str(plan))
    assert done.returncode == 0, done.stderr
    assert "XLA's scheduler" in done.stdout
    assert "Read from an hlo file: 32 ops, 7 collectives" in done.stdout
    assert "  assumed: 25 ops of compute take what a roofline of h100 says" in done.stdout
    assert "  warnings: No collective has a start and a done" in done.stdout
    answer = json.loads(plan.read_text())
    assert answer["headline"]["gains"][0]["over"] == "xla_lhs"
    assert any("a roofline of h100" in said for said in answer["report"]["assumed"])
    written = run(
        "export", str(TEXT), *FAST, "--plan", str(plan), "--format", "xla", "--out", str(out)
    )
    assert written.returncode == 0, written.stderr
    flags = (out / "xla.env").read_text()
    assert "--xla_gpu_pgle_profile_file_or_directory_path=costs.pbtxt" in flags
    costs = dict(re.findall(r'name: "(.+?)" cost_us: (\S+)', (out / "costs.pbtxt").read_text()))
    assert costs.keys() <= set(
        re.findall(r"^  (?:ROOT )?%(\S+) = ", TEXT.read_text(), re.MULTILINE)
    )
    assert len(costs) > 20
    again = run("import", str(TEXT), str(out / "costs.pbtxt"), "--json")
    assert json.loads(again.stdout)["report"]["format"] == "hlo"


def test_the_command_says_what_is_missing_and_whose_device_it_is(tmp_path: Path, run: Run) -> None:
    refused = run("plan", str(TEXT))
    assert (refused.returncode, "--device" in refused.stderr) == (1, True)
    unknown = run("plan", str(TEXT), "--device", "h10")
    assert (unknown.returncode, unknown.stderr.startswith("interlace: --device: ")) == (2, True)
    profile = tmp_path / "graph.txt"
    profile.write_text(
        "node1 -- A -- forward_compute_time=1, backward_compute_time=2, parameter_size=4\n"
    )
    other = run("plan", str(profile), "--device", "h100")
    assert "of HLO text alone; the files are of pipedream" in other.stderr
    graph = tmp_path / "graph.json"
    graph.write_text(json.dumps({"ops": []}))
    assert run("plan", str(graph), "--device", "h100").returncode == 2


def test_the_service_reads_a_program_of_a_device(tmp_path: Path) -> None:
    with here(tmp_path) as client:
        headers = {"prefer": "wait=0"}
        text = TEXT.read_bytes()
        job = client.post(PATH, content=text, params={"device": "h100"}, headers=headers)
        assert job.status_code == 202, job.text
        assert client.get("/v1/limits").status_code == 200
        wrong = client.post(PATH, content=text, params={"device": "x" * 10_000}, headers=headers)
        assert faults(wrong) == {("/query/device", "out_of_range")}


def test_python_plans_a_program() -> None:
    text = TEXT.with_name("hlo_data_parallel.txt").read_bytes()
    trace = read_trace([text], TraceOptions("step", device="h100"))
    cluster = Cluster(8, bandwidth_gbps=3600.0, startup_us=5.0)
    planned = interlace.plan_program(ProgramProblem(trace.graph, network_of(cluster)))
    assert planned.run.iteration_time >= planned.bound.value_us
    assert interlace.program_headline(planned).gains[0].over == "xla_lhs"
