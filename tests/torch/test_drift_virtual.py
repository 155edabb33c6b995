"""Steering in virtual time: what it measures, when it plans anew, which plan is in use then."""

import json

import pytest

pytest.importorskip("torch")

from interlace_client.torch.trial.turns import MOST_STEPS
from tests.torch.virtual_training import COMPUTE, Run, Scripted, whole


@pytest.mark.parametrize("barrier", [False, True])
def test_simulated_with_fresh_figures_the_step_is_the_measured_one(barrier):
    """Though nothing of the graph's times is right, and the table is of another link."""
    run = Run(barrier=barrier)
    for op in run.graph["ops"]:
        if op["kind"] == "compute":
            op["duration_us"] = op["duration_us"] * 3 + 7
    run.link.rate /= 1.6
    run.step(12)
    assert run.steering.figures.compute_us == pytest.approx(COMPUTE)
    assert run.planner.simulated[0] == pytest.approx(run.times[10], rel=2e-3)


def test_half_the_link_is_noticed_and_planned_for():
    run = Run()
    run.step(60)
    assert [each.why for each in run.taken] == ["start", "better_plan"]
    (trial,) = run.steering.trials
    assert trial.kept == 1
    assert trial.arms[1].median_us == pytest.approx(run.times[-1])
    assert trial.gain == pytest.approx(trial.promised, rel=0.02)
    planned, settled = len(run.planner.plans), run.times[-1]
    run.link.rate /= 2
    run.step(90)
    assert len(run.planner.plans) > planned
    assert run.times[-1] > 1.3 * settled
    cluster = {**run.cluster, "table": run.link.table()}
    best = run.planner.plan(run.graph, cluster, barrier=False)
    assert run.times[-1] <= 1.05 * run.planner.simulate(run.graph, cluster, best, barrier=False)


def test_a_link_that_becomes_slow_has_another_plan_taken():
    """Of many buckets while launches cost nothing much, of few when their start-up is dear."""
    run = Run(rate=125.0)
    run.step(60)
    before = run.taken[-1]
    run.link.startup, run.link.rate = 900.0, 37.5
    run.step(150)  # at first all launches count as slower by one factor, then each size by its own
    first = run.taken[run.taken.index(before) + 1]
    assert first.why == "drift"
    assert "times as long as planned for; a step should take" in first.sentence
    assert 60 < first.from_step <= 60 + 20 + MOST_STEPS
    cluster = {**run.cluster, "table": run.link.table()}
    best = run.planner.plan(run.graph, cluster, barrier=False)
    assert run.times[-1] <= 1.05 * run.planner.simulate(run.graph, cluster, best, barrier=False)


def test_slow_steps_among_others_change_nothing():
    run = Run()
    run.step(60)
    planned, taken = len(run.planner.plans), len(run.taken)
    for _ in range(6):
        run.compute_takes(4.0)
        run.step(2)
        run.compute_takes(1.0)
        run.step(3)
    assert max(run.times[60:]) > 2 * run.times[59]
    assert (len(run.planner.plans), len(run.taken)) == (planned, taken)


def test_compute_that_becomes_slow_is_planned_for():
    run = Run()
    run.step(60)
    planned = len(run.planner.plans)
    run.compute_takes(1.5)
    run.step(20)
    assert len(run.planner.plans) > planned
    assert run.steering.figures.compute_us == pytest.approx(1.5 * COMPUTE)


def test_a_plan_that_is_worse_loses_its_trial_and_is_not_tried_again():
    good, bad = whole((4,), (3, 2), (1, 0)), whole((4, 3, 2, 1, 0))
    run = Run(planner=Scripted({3: 100.0, 1: 50.0}, bad), plan=good)
    run.step(160)
    assert [each.why for each in run.taken] == ["start"]
    assert len(run.model.plan.buckets) == 3
    assert run.times[-1] == pytest.approx(run.times[8])
    (trial,) = run.steering.trials
    assert (trial.kept, trial.promised) == (0, 2.0)
    assert trial.gain_high < 1
    assert trial.sentence.startswith("The plan of before goes on: the new plan does not beat it.")
    assert run.planner.asked == 1


def test_plans_that_lose_are_tried_ever_less_often():
    """Though every check finds other figures, and asks for another plan."""
    run = Run(planner=Scripted({2: 100.0, 1: 50.0}, whole((4, 3, 2, 1, 0))))
    for k in range(60):
        run.compute_takes(1.0 + k % 2)
        run.step(10)
    assert 1 <= len(run.steering.trials) <= 8
    assert all(trial.kept == 0 for trial in run.steering.trials)
    assert len(run.taken) == 1


def test_who_steers_a_run_is_the_only_one_to_change_its_plans():
    run = Run()
    run.step(12)
    for change in (lambda: run.model.install(whole((4, 3, 2, 1, 0))), run.model.hand_over):
        with pytest.raises(RuntimeError, match=r"Steering watches this run, .* close"):
            change()
    run.step(48)
    assert [each.why for each in run.taken] == ["start", "better_plan"]
    run.steering.close()
    run.model.install(whole((4, 3, 2, 1, 0)))
    assert len(run.model.plan.buckets) == 1


def test_a_planner_that_fails_is_asked_again_ever_less_often():
    run = Run(planner=Scripted({2: 100.0}, RuntimeError("no route to host")))
    run.step(200)
    assert len(run.taken) == 1
    assert 3 <= run.planner.asked <= 6
    run.planner.answer = whole((4,), (3,), (2, 1, 0))
    run.planner.times[3] = 50.0
    run.step(200)
    assert len(run.steering.trials) == 1


def test_a_plan_of_another_model_is_refused(caplog):
    plan = whole((4, 3), (2, 1, 0))
    plan["buckets"][0]["tensors"][0] = "grad:other.weight"
    run = Run(planner=Scripted({2: 100.0}, plan))
    run.step(30)
    assert len(run.taken) == 1
    assert "other.weight" in caplog.text
    assert run.times[-1] == pytest.approx(run.times[5])


def test_all_steps_and_plans_are_written_down(tmp_path):
    path = tmp_path / "run.jsonl"
    run = Run(history=path)
    run.step(60)
    run.steering.close("stopped")
    told = [json.loads(line) for line in path.read_text().splitlines()]
    steps = [each["step"] for each in told if "step" in each]
    taken = run.taken[1].from_step
    (trial,) = (each["trial"] for each in told if "trial" in each)
    assert trial["before_step"] == taken
    assert [arm["name"] for arm in trial["arms"]] == ["The plan of before", "The new plan"]
    assert (trial["kept"], trial["why"]) == (1, run.steering.trials[0].sentence)
    assert [each["step"] for each in steps] == [*range(1, taken - 22), *range(taken, 60)]
    assert {each["plan"] for each in steps} == {0, 1}
    assert told[-1] == {"end": "stopped"}
    plans = [each["plan"] for each in told if "plan" in each]
    assert [each["from_step"] for each in plans] == [0, taken]
    last = steps[-1]
    assert last["measured_us"] == pytest.approx(run.times[-1])
    assert last["predicted_us"] == pytest.approx(last["measured_us"], rel=0.02)


def test_a_history_that_fails_is_said_once(tmp_path, caplog):
    run = Run(history=tmp_path / "none" / "run.jsonl")
    run.step(30)
    run.steering.close()
    assert caplog.text.count("The history of the run has gaps") == 1


def test_a_trial_that_is_under_way_at_the_end_comes_to_nothing():
    run = Run()
    run.step(20)
    plan = run.model.plan
    run.steering.close()
    run.step(30)
    assert run.steering.trials == []
    assert len(run.taken) == 1
    assert run.model.plan == plan


def test_nothing_is_heard_after_the_end():
    run = Run()
    run.steering.close()
    run.steering.close()
    run.step(12)
    assert run.steering.figures is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"graph": {"ops": []}}, "no op 'grad:NAME' for 5 of 5 parameters: '0.weight'"),
        ({"cluster": {"table": [[1024, 5.0]]}}, "no table of two sizes or more"),
        ({"cluster": {"table": None}}, "no table of two sizes or more"),
    ],
)
def test_what_cannot_be_steered_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        Run(**options)
