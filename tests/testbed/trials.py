"""Trials in training runs: what was promised, what the trial kept, and what the next steps say."""

import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

import torch.distributed as dist

from interlace_client.torch import (
    Calibration,
    PlanAdvice,
    PlannedDDP,
    Planner,
    Trial,
    WindowTimes,
    make_plan,
    measure_window,
)
from tests.testbed.jobs import Job

#: After a trial each arm makes steps in so many rounds: some to warm up, and some that count.
ROUNDS, _WARM, _COUNTED = 5, 3, 8


def try_out(
    job: Job,
    recording: Any,
    calibration: Calibration,
    group: Any,
    trials: int,
    window: int,
) -> list[dict[str, Any]]:
    """Make a plan, try it a few times, and measure all arms at length after each trial."""
    advice = make_plan(recording, calibration, Planner(), process_group=group)
    return [_tried(job, advice, group, window) for _ in range(trials)]


def window_of(job: Job, group: Any) -> WindowTimes:
    """Measure in a run's steps how many launches should be under way at once."""
    planned, step = _run(job, group, 1)
    windows = measure_window(planned, step)
    planned.detach()
    return windows


def _run(job: Job, group: Any, window: int) -> tuple[PlannedDDP, Callable[[], None]]:
    """Begin a run, and say what trains a step of it."""
    model = job.model()
    optimizer = job.optimizer(model.parameters())
    planned = PlannedDDP(model, optimizer, process_group=group, window=window)

    def step() -> None:
        job.loss(planned).backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(_WARM):
        step()
    return planned, step


def _tried(job: Job, advice: PlanAdvice, group: Any, window: int) -> dict[str, Any]:
    planned, step = _run(job, group, window)
    trial = Trial(planned, advice)
    while trial.outcome is None:
        step()
    outcome = trial.outcome
    times: list[list[float]] = [[] for _ in outcome.arms]
    for _ in range(ROUNDS):
        for k in range(len(outcome.arms)):
            trial._use(k)
            times[k] += _timed(step)
    planned.detach()
    workers: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(workers, times)
    slowest = [
        [max(steps) for steps in zip(*arm, strict=True)] for arm in zip(*workers, strict=True)
    ]
    later = [median(steps) for steps in slowest]
    return {
        "advice": advice.sentence,
        "verdict": advice.verdict,
        "promised": outcome.promised,
        "sentence": outcome.sentence,
        "gains": [outcome.gain_low, outcome.gain, outcome.gain_high],
        "arms": [
            {"name": a.name, "is_plan": a.is_plan, "tried_us": a.median_us} for a in outcome.arms
        ],
        "kept": outcome.kept,
        "later_us": later,
        "above_best": later[outcome.kept] / min(later) - 1,
    }


def _timed(step: Callable[[], None]) -> list[float]:
    """Time steps from one return of the loop's body to the next [us]."""
    for _ in range(_WARM):
        step()
    ends = [time.perf_counter()]
    for _ in range(_COUNTED):
        step()
        ends.append(time.perf_counter())
    return [(end - begin) * 1e6 for begin, end in pairwise(ends)]
