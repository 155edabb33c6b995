"""What one of two workers does to get the plan that the first one asks for."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch.distributed as dist

from interlace_client.torch.advice import make_plan
from interlace_client.torch.planner import NoAnswer
from tests.torch.workers import go_through

ANSWER = {
    "iteration_time_us": 80.0,
    "headline": {
        "gains": [
            {
                "over": "ddp",
                "barrier": barrier,
                "today_us": 100.0,
                "gain": 0.2,
                "verdict": "worth_it",
                "why": "It saves at least 10 %.",
                "bucket_cap_mb": None,
            }
            for barrier in (True, False)
        ]
    },
}
CALIBRATION: Any = SimpleNamespace(
    cluster={"workers": 2}, tables={"all_reduce": ((1000, 50.0), (3000, 150.0))}
)


class Scripted:
    """A planner that only the first worker may ask."""

    def __init__(self, rank: int, error: Exception | None = None) -> None:
        self.rank, self.error = rank, error
        self.asked: list[Any] = []

    def plan(self, graph, cluster, *, barrier):
        assert self.rank == 0
        self.asked.append((graph, cluster, barrier))
        if self.error:
            raise self.error
        return ANSWER


def recording(slowdown: float | None = None, launches: float | None = None) -> Any:
    return SimpleNamespace(
        graph={"ops": []},
        compute_slowdown=slowdown,
        launch_slowdown=launches,
        compute_us=100.0,
        tensors=[SimpleNamespace(bytes=1000)] * 2,
    )


def all_have_the_answer(folder: Path, rank: int) -> None:
    planner: Any = Scripted(rank)
    found = make_plan(recording(), CALIBRATION, planner, barrier=True)
    assert planner.asked == ([({"ops": []}, {"workers": 2}, True)] if rank == 0 else [])
    assert (found.plan, found.barrier) == (ANSWER, True)
    assert found.gain == pytest.approx(0.2)


def slowed_compute_goes_to_the_planner(folder: Path, rank: int) -> None:
    planner: Any = Scripted(rank)
    make_plan(recording(1.25), CALIBRATION, planner)
    if rank == 0:
        assert planner.asked == [({"ops": []}, {"workers": 2, "compute_slowdown": 1.25}, False)]
    make_plan(recording(2.0, 1.25), CALIBRATION, planner)  # launches take 100 us, as compute does
    if rank == 0:
        assert planner.asked[1][1]["compute_slowdown"] == pytest.approx(0.8 / 0.3)


def all_have_the_reason(folder: Path, rank: int) -> None:
    for error, said in (
        (NoAnswer("Nobody is there."), "Nobody is there."),
        (KeyError("ops"), r"KeyError\('ops'\)"),
    ):
        planner: Any = Scripted(rank, error)
        with pytest.raises(NoAnswer, match=said):
            make_plan(recording(), CALIBRATION, planner)


def of_another_group(folder: Path, rank: int) -> None:
    group = dist.new_group([0, 1])
    planner: Any = Scripted(rank)
    assert make_plan(recording(), CALIBRATION, planner, process_group=group).is_worth


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        all_have_the_answer,
        slowed_compute_goes_to_the_planner,
        all_have_the_reason,
        of_another_group,
    )
}

if __name__ == "__main__":
    go_through(SCENARIOS)
