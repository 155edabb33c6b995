"""What one of two workers does while its run is steered."""

import logging
from pathlib import Path
from threading import Event

import pytest
import torch
import torch.distributed as dist
from torch import nn

from interlace_client.torch import PlannedDDP, whole_buckets
from interlace_client.torch.drift import Steering
from interlace_client.torch.drift.recorder import host_clock
from interlace_client.torch.drift.replanning import written
from interlace_client.torch.proof.networks import of_linears
from interlace_client.torch.proof.pair import momentum, square
from interlace_client.torch.proof.site import DrawnBatch
from tests.torch.workers import go_through

TABLE = [[64, 10.0], [4096, 20.0], [65536, 100.0]]
CLUSTER = {"workers": 2, "algorithm": "table", "table": TABLE}


def sizes_of(model: nn.Module) -> dict[str, int]:
    return {name: p.numel() * p.element_size() for name, p in model.named_parameters()}


def graph_of(model: nn.Module) -> dict:
    """Write a graph of a model; steering finds its durations."""
    ops = [
        {"id": f"grad:{name}", "kind": "all_reduce", "bytes": size, "after": []}
        for name, size in sizes_of(model).items()
    ]
    return {"ops": [*ops, {"id": "between", "kind": "compute", "duration_us": 100.0}]}


def alone(model: nn.Module) -> dict:
    """Write the plan in which each parameter goes alone."""
    sizes = sizes_of(model)
    return written(whole_buckets([[each] for each in reversed(sizes.items())]), sizes)


class Scripted:
    """Answers with a plan; more buckets take less time. May be held up, or fail."""

    def __init__(self, answer: dict | Exception, *, is_held: bool = False) -> None:
        self.answer, self.asked, self.go = answer, Event(), Event()
        if not is_held:
            self.go.set()

    def plan(self, graph, cluster, *, barrier):
        self.asked.set()
        assert self.go.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        us = self.simulate(graph, cluster, self.answer, barrier=barrier)
        return {**self.answer, "iteration_time_us": us}

    def simulate(self, graph, cluster, plan, *, barrier):
        return 1000.0 / len(plan["buckets"])


#: What a step takes by a plan of so many buckets [us]: what it really takes is nothing beside.
FASTER, SLOWER = {1: 2e9, 8: 1e9}, {1: 1e9, 8: 2e9}


class Steered:
    """A run that is steered, beside the same one that is not."""

    def __init__(self, rank: int, make_planner, pace_us=FASTER) -> None:
        self.rank, self.pace_us, self.slept_us = rank, pace_us, 0.0
        self.models, self.optimizers = [], []
        for _ in range(2):
            torch.manual_seed(rank)
            model = of_linears()
            self.optimizers.append(momentum(model))
            self.models.append(PlannedDDP(model, self.optimizers[-1]))
        plain = self.models[0].module
        self.planner = make_planner(plain)
        # only the first plan is asked for: what such small steps take is noise
        self.steering = Steering(
            self.models[0],
            self.planner,
            graph_of(plain),
            CLUSTER,
            threshold=1e6,
            clock=lambda: host_clock() + self.slept_us,
        )
        self.done = 0

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.slept_us += self.pace_us[len(self.models[0].plan.buckets)]
            for model, optimizer in zip(self.models, self.optimizers, strict=True):
                square(model, DrawnBatch(self.done, self.rank)).backward()
                optimizer.step()
                optimizer.zero_grad()
            self.done += 1

    def finish(self) -> list[int]:
        """End; check that all ranks have the parameters of the other run, and took the same."""
        self.steering.close()
        ours, theirs = ([p.detach().clone() for p in model.parameters()] for model in self.models)
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
        mine: list = [(each.from_step, each.why, each.sentence) for each in self.steering.taken]
        mine += [each.report() for each in self.steering.trials]
        others = [None, None]
        dist.all_gather_object(others, mine)
        assert others[0] == others[1]
        for model in self.models:
            model.detach()
        return [each.from_step for each in self.steering.taken]

    def wait_planned(self) -> None:
        """Have the first rank wait until its planner has answered."""
        if self.rank == 0:
            assert self.planner.asked.wait()
            assert self.steering._judge.planning.wait()


def a_better_plan_is_taken_at_the_same_step(_folder: Path, rank: int) -> None:
    run = Steered(rank, lambda model: Scripted(alone(model)))
    run.step(12)
    run.wait_planned()
    run.step(30)
    assert run.finish() == [0, 16 + 22]
    assert len(run.models[0].plan.buckets) == 8
    assert len(run.models[1].plan.buckets) == 1


def a_slow_planner_is_not_waited_for(_folder: Path, rank: int) -> None:
    run = Steered(rank, lambda model: Scripted(alone(model), is_held=True))
    run.step(27)
    assert len(run.steering.taken) == 1
    run.planner.go.set()
    run.wait_planned()
    run.step(28)
    assert run.finish() == [0, 31 + 22]


def a_plan_that_is_slower_on_one_rank_is_left(_folder: Path, rank: int) -> None:
    pace_us = SLOWER if rank else FASTER
    run = Steered(rank, lambda model: Scripted(alone(model)), pace_us)
    run.step(12)
    run.wait_planned()
    run.step(34)
    (trial,) = run.steering.trials
    assert [arm.median_us for arm in trial.arms] == pytest.approx([2e9, 2e9], rel=0.01)
    assert trial.kept == 0
    assert run.finish() == [0]
    assert len(run.models[0].plan.buckets) == 1


def nobody_else_changes_plans(_folder: Path, rank: int) -> None:
    run = Steered(rank, lambda model: Scripted(alone(model)))
    run.step(12)
    run.wait_planned()
    run.step(6)  # a trial has begun
    for change in (lambda: run.models[0].install(run.models[0].plan), run.models[0].hand_over):
        with pytest.raises(RuntimeError, match="Steering watches this run"):
            change()
    run.step(22)
    assert run.finish() == [0, 16 + 22]


def a_failing_planner_changes_nothing(_folder: Path, rank: int) -> None:
    run = Steered(rank, lambda model: Scripted(RuntimeError("no planner")))
    run.step(12)
    run.wait_planned()
    run.step(12)
    assert run.finish() == [0]


def a_plan_of_another_model_changes_nothing(_folder: Path, rank: int) -> None:
    run = Steered(rank, lambda model: Scripted(alone(of_linears(8))))
    run.step(12)
    run.wait_planned()
    run.step(12)
    assert run.finish() == [0]


def what_cannot_be_steered_is_refused_by_both(_folder: Path, rank: int) -> None:
    model = PlannedDDP(of_linears())
    for graph, cluster, said in (
        ({"ops": []}, CLUSTER, "no op 'grad:NAME' for 8 of 8"),
        (graph_of(model.module), {"workers": 2}, "no table"),
    ):
        with pytest.raises(ValueError, match=said):
            # only the first rank has them
            Steering(model, None, graph if rank == 0 else {}, cluster if rank == 0 else {})
    model.hand_over()
    with pytest.raises(ValueError, match="DistributedDataParallel sends the gradients"):
        Steering(model, None, graph_of(model.module), CLUSTER)
    model.install(model.plan)
    model.between_steps = lambda: None  # as a trial watches
    with pytest.raises(ValueError, match="A trial of this run is under way"):
        Steering(model, None, graph_of(model.module), CLUSTER)
    model.detach()


def a_loop_that_clips_is_under_the_barrier(_folder: Path, rank: int) -> None:
    torch.manual_seed(rank)
    model = of_linears()
    optimizer = momentum(model)
    planned = PlannedDDP(model, optimizer)
    steering = Steering(planned, Scripted(alone(model)), graph_of(model), CLUSTER, check_every=3)

    def train() -> None:
        for step in range(8):
            square(planned, DrawnBatch(step, rank)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

    with pytest.warns(UserWarning, match="Gradients are read"):
        train()
    assert steering.figures.barrier
    steering.close()
    planned.detach()


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        a_better_plan_is_taken_at_the_same_step,
        a_slow_planner_is_not_waited_for,
        a_plan_that_is_slower_on_one_rank_is_left,
        nobody_else_changes_plans,
        a_failing_planner_changes_nothing,
        a_plan_of_another_model_changes_nothing,
        what_cannot_be_steered_is_refused_by_both,
        a_loop_that_clips_is_under_the_barrier,
    )
}

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    go_through(SCENARIOS)
