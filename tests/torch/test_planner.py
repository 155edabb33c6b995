"""Planners beside the real service and the real command; and what a plan is worth."""

import copy
import sys
from pathlib import Path
from typing import Any

import pytest

from app.services.examples import CLUSTER, TWO_LAYERS
from tests.app.long import search
from tests.torch import workers

pytest.importorskip("torch")

from interlace_client import Client
from interlace_client.torch import planner as planners
from interlace_client.torch.advice import advice_of
from interlace_client.torch.planner import NoAnswer, Planner

PROGRAM = "tests.torch.planner_worker"
GRAPH: Any = TWO_LAYERS["graph"]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    return workers.outcomes(PROGRAM, tmp_path_factory.mktemp("planner"))


@pytest.mark.parametrize("name", workers.names_in(PROGRAM))
def test_two_workers(outcomes, name):
    assert name in outcomes, "not reached: a scenario before it failed or hung"
    assert outcomes[name] == ""


@pytest.fixture(params=["service", "command"])
def planner(request: pytest.FixtureRequest, patient: None) -> Planner:
    if request.param == "command":
        return Planner(time_limit_s=5)
    service = request.getfixturevalue("service")
    return Planner(str(service.client.base_url), time_limit_s=5)


@pytest.mark.parametrize("barrier", [False, True])
def test_a_plan_and_its_simulation(planner, barrier):
    plan = planner.plan(GRAPH, CLUSTER, barrier=barrier)
    assert plan["request"]["options"]["barrier"] is barrier
    sent = [name for bucket in plan["buckets"] for name in bucket["tensors"]]
    assert sorted(sent) == ["g1", "g2"]
    assert plan["headline"]["policy"] == "ddp"
    assert advice_of(plan, barrier=barrier, least_gain=0.02).today_us == pytest.approx(
        plan["baselines"][0]["iteration_time_us"]
    )
    took = planner.simulate(GRAPH, CLUSTER, plan, barrier=barrier)
    assert took == pytest.approx(plan["iteration_time_us"])
    slower = planner.simulate(GRAPH, {**CLUSTER, "bandwidth_gbps": 0.1}, plan, barrier=barrier)
    assert slower > 2 * took


def test_faults_are_sentences(planner):
    graph = copy.deepcopy(GRAPH)
    graph["ops"][0]["after"] = ["nothing"]
    with pytest.raises(NoAnswer, match=r"/graph/ops/0/after/0: .*'nothing': no such op") as caught:
        planner.plan(graph, {**CLUSTER, "workers": 0})
    assert "/cluster/workers: Cluster: workers must be" in str(caught.value)


def test_nobody_answers():
    with pytest.raises(NoAnswer, match=r"http://127\.0\.0\.1:9 gave no answer"):
        Planner("http://127.0.0.1:9").plan(GRAPH, CLUSTER)
    with pytest.raises(NoAnswer, match="ftp://x gave no answer"):
        Planner("ftp://x").plan(GRAPH, CLUSTER)


def test_the_best_so_far_where_the_time_is_up(service, monkeypatch, clock):
    """It is up as soon as a plan was told of."""

    def hear(progress):
        if progress.incumbent_us:
            clock.ahead_s = 7_200.0

    class Told(Client):
        def plan(self, *args, **how):
            return super().plan(*args, on_progress=hear, **how)

    monkeypatch.setattr(planners, "Client", Told)
    monkeypatch.setattr(planners, "_MORE_S", 3_600)
    body = search()
    plan = Planner(str(service.client.base_url), 60).plan(body["graph"], body["cluster"])
    assert plan["buckets"]
    assert plan["headline"] is None
    found = advice_of(plan, barrier=False, least_gain=0.02)
    assert (found.today_us, found.gain, found.is_worth) == (None, None, True)
    assert "not known" in found.sentence


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a program in the place of the command."""

    def put(text: str) -> Path:
        path: Path = tmp_path / "interlace"
        path.write_text(f"#!{sys.executable}\n{text}\n")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        return path

    return put


def test_a_command_that_takes_too_long(program, monkeypatch):
    program("import time; time.sleep(600)")
    monkeypatch.setattr(planners, "_MORE_S", 0)
    with pytest.raises(NoAnswer, match=r"interlace plan did not end within 0\.2 s"):
        Planner(time_limit_s=0.2).plan(GRAPH, CLUSTER)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('hello')", "printed no JSON"),
        ("raise SystemExit(7)", "failed: exit code 7"),
        ("import sys; sys.exit('interlace: no space')", "failed: interlace: no space"),
    ],
)
def test_a_command_that_fails(program, text, said):
    program(text)
    with pytest.raises(NoAnswer, match=said):
        Planner().plan(GRAPH, CLUSTER)


def test_a_command_that_cannot_be_run(program):
    program("").write_text("#!/nowhere/at/all\n")
    with pytest.raises(NoAnswer, match="cannot be run"):
        Planner().plan(GRAPH, CLUSTER)


def test_no_command(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoAnswer, match=r"neither in .* nor on the path: install .* service"):
        Planner().plan(GRAPH, CLUSTER)


@pytest.mark.parametrize(
    ("plan_us", "today_us", "is_worth", "said"),
    [
        (520e3, 680e3, True, "to take 520.0 ms, with DistributedDataParallel 680.0 ms: 23.5% less"),
        (675e3, 680e3, False, "too little to gain, keep that"),
        (700e3, 680e3, False, "too little to gain, keep that"),
        (0.0, 0.0, False, "too little to gain"),
    ],
)
def test_what_a_plan_is_worth(plan_us, today_us, is_worth, said):
    gains = [
        {"barrier": True, "today_us": today_us},
        {"barrier": False, "today_us": 1.0},  # nobody runs that
    ]
    answer = {"iteration_time_us": plan_us, "headline": {"gains": gains}}
    found = advice_of(answer, barrier=False, least_gain=0.02)
    assert (found.is_worth, found.today_us) == (is_worth, today_us)
    assert said in found.sentence
