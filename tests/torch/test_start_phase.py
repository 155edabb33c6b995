"""Steps held to a phase, on a clock of their own."""

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from interlace_client.torch import PlannedDDP
from interlace_client.torch.runtime.start_phase import StartPhase
from interlace_client.torch.trial.window import measure_window
from tests.torch.virtual_time import Channel, Clock


def begins(step_us: float, steps: int, offset_us: float = 30.0, period_us: float = 100.0):
    """Say when steps begin that all take so long."""
    clock = Clock()

    def sleep(seconds: float) -> None:
        clock.now += seconds * 1e6

    phase = StartPhase(offset_us, period_us, clock=lambda: clock.now, sleep=sleep)
    found = []
    for _ in range(steps):
        phase.wait()
        found.append(clock.now)
        clock.now += step_us
    return phase, found


def test_steps_that_are_shorter_begin_at_their_times():
    phase, found = begins(80.0, 5)
    assert found == pytest.approx([30.0, 130.0, 230.0, 330.0, 430.0])
    assert (phase.aligned, phase.waited_us) == (5, pytest.approx(30.0 + 4 * 20.0))


def test_steps_that_drift_are_late_by_a_little_and_then_wait():
    _, found = begins(102.0, 6)
    assert found == pytest.approx([30.0, 132.0, 234.0, 430.0, 532.0, 634.0])


@pytest.mark.parametrize(("offset", "period"), [(0.0, 0.0), (0.0, -1.0), (-1.0, 9.0), (9.0, 9.0)])
def test_times_outside_of_a_period_are_refused(offset, period):
    with pytest.raises(ValueError, match=r"of steps must be"):
        StartPhase(offset, period)


def test_a_run_waits_before_each_step_but_the_first():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    planned = PlannedDDP(model, optimizer, transport=Channel(Clock(), lambda _: 1.0))
    waits: list[float] = []
    planned.hold_phase(0.0, 1e6)
    assert planned.phase is not None
    now = [5e5]
    planned.phase = StartPhase(0.0, 1e6, clock=lambda: now[0], sleep=waits.append)
    for _ in range(3):
        planned(torch.zeros(1, 2)).sum().backward()
        optimizer.step()
    assert waits == [0.5, 0.5]
    with pytest.raises(ValueError, match="held to a phase"):
        measure_window(planned, lambda: None)
    planned.between_steps = lambda: None
    with pytest.raises(RuntimeError, match="A trial or Steering measures the steps"):
        planned.hold_phase(0.0, 1e6)
