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
    advice = advice_of(plan, barrier=barrier, least_gain=0.0)
    over = {gain["over"]: gain for gain in plan["headline"]["gains"] if gain["barrier"] is barrier}
    assert advice.today_us == over["ddp"]["today_us"]
    assert advice.tuned_us == over["ddp_tuned"]["today_us"]
    assert advice.gain == pytest.approx(over["ddp"]["gain"])
    assert advice.is_worth is (over["ddp"]["verdict"] == "worth_it")
    if barrier:  # as DistributedDataParallel runs
        assert advice.today_us == pytest.approx(plan["baselines"][0]["iteration_time_us"])
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
    assert (found.today_us, found.gain, found.verdict, found.is_worth) == (None, None, None, False)
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
    with pytest.raises(NoAnswer, match=r"interlace plan did not end within 0\.4 s"):
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


def gain_of(over, plan_us, today_us, verdict, why, cap=None):
    return {
        "over": over,
        "barrier": False,
        "today_us": today_us,
        "gain": 1 - plan_us / today_us if today_us else None,
        "verdict": verdict,
        "why": why,
        "bucket_cap_mb": cap,
    }


@pytest.mark.parametrize(
    ("plan_us", "verdict", "least_gain", "is_worth", "said"),
    [
        (520e3, "worth_it", 0.0, True, "23.5% less, 20.0% less than that at its best (bucket_cap"),
        (520e3, "worth_it", 0.2, True, "_mb=50): worth it. So it is."),
        (520e3, "worth_it", 0.25, False, "less than the 25.0% asked for, keep that."),
        (520e3, "too_close", 0.0, False, "too close to say, keep that. So it is."),
        (675e3, "nothing", 0.0, False, "0.7% less, 3.8% more than that at its best"),
        (675e3, "unreachable", 0.0, False, "not reachable, keep that. So it is."),
        (700e3, "too_close", 0.0, False, "680.0 ms: 2.9% more, 7.7% more than"),
    ],
)
def test_a_plan_is_worth_what_the_verdict_says(plan_us, verdict, least_gain, is_worth, said):
    gains = [
        gain_of("ddp", plan_us, 680e3, verdict, "So it is."),
        gain_of("ddp_tuned", plan_us, 650e3, "too_close", "Not of that.", 50.0),
        {**gain_of("ddp", 1.0, 2.0, "worth_it", "Of another barrier."), "barrier": True},
    ]
    answer = {"iteration_time_us": plan_us, "headline": {"gains": gains}}
    found = advice_of(answer, barrier=False, least_gain=least_gain)
    assert (found.is_worth, found.verdict) == (is_worth, verdict)
    assert (found.today_us, found.tuned_us) == (680e3, 650e3)
    assert said in found.sentence


def test_of_a_plan_without_ddp_beside_it_nothing_is_promised():
    gains = [gain_of("fifo", 1.0, 2.0, "worth_it", "Nobody runs that here.")]
    found = advice_of(
        {"iteration_time_us": 1.0, "headline": {"gains": gains}}, barrier=False, least_gain=0.0
    )
    assert (found.is_worth, found.verdict) == (False, None)
    nothing = gain_of("ddp", 0.0, 0.0, None, "Nothing takes time.")
    answer = {"iteration_time_us": 0.0, "headline": {"gains": [nothing]}}
    found = advice_of(answer, barrier=False, least_gain=0.0)
    assert found.sentence.endswith("0.0% less: keep that. Nothing takes time.")
