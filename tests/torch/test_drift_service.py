"""A steered run that a real service plans, and whose history it keeps."""

import pytest

pytest.importorskip("torch")

from interlace_client import Client
from interlace_client.torch import Planner
from interlace_client.torch.drift import ServiceRun
from tests.torch.virtual_training import Run


def test_a_service_plans_and_keeps_what_was_measured(service, patient):
    url = str(service.client.base_url)
    history = ServiceRun(url, name="five layers")
    run = Run(planner=Planner(url), history=history)
    run.step(60)
    run.steering.close()
    with Client(url) as client:
        told = client.read_run(history.id)
    assert (told.name, told.state, told.ended_why) == ("five layers", "ended", "finished")
    taken = run.taken[1].from_step
    assert [step.step for step in told.history] == [*range(1, taken - 22), *range(taken, 60)]
    (trial,) = told.trials
    assert (trial.before_step, trial.kept) == (taken, 1)
    assert [arm.is_plan for arm in trial.arms] == [True, True]
    assert trial.why == run.steering.trials[0].sentence
    assert [plan.why for plan in told.plans] == ["start", "better_plan"]
    assert told.plans[1].from_step == taken
    assert told.plans[1].predicted_us == pytest.approx(run.times[-1], rel=0.02)
    assert told.plans[1].error.median < 0.05
