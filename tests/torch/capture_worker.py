"""What one of two workers does to compare recordings over ranks, and beside communication."""

import json
import warnings
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch import PlannedDDP
from interlace_client.torch.capture import (
    Capture,
    RanksDiffer,
    Unrecorded,
    capture,
    measure_overlap,
    measure_slowdown,
)
from solver.traces.kineto.gradients import split_parameters
from tests.torch.captured import planned
from tests.torch.workers import go_through

WIDTH = 16


class Crossed(nn.Module):
    """Layers that are registered in another order than they run."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(WIDTH, 3 * WIDTH)
        self.first = nn.Linear(WIDTH, 2 * WIDTH)
        self.middle = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.last(torch.relu(self.middle(torch.relu(self.first(x)))))
        return out


def loop(model: nn.Module, optimizer: torch.optim.Optimizer):
    def step() -> None:
        optimizer.zero_grad()
        model(torch.randn(4, WIDTH)).square().mean().backward()
        optimizer.step()

    return step


def of_crossed() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = Crossed()
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


def all_ranks_have_the_same(folder: Path, rank: int) -> None:
    model, optimizer = of_crossed()
    recording = capture(model, loop(model, optimizer), optimizer)
    found: list = [None, None]
    dist.all_gather_object(found, recording)
    assert found[0] == found[1]
    assert recording.ranks == 2
    assert all(len(spread) == 2 for spread in recording.spread_us.values())
    assert recording.waited_us == 0
    assert planned(recording).compute_time_us == pytest.approx(recording.compute_us)


def in_ddp(folder: Path, rank: int) -> None:
    model, optimizer = of_crossed()
    plain = capture(model, loop(model, optimizer), optimizer)
    ddp = DistributedDataParallel(model, bucket_cap_mb=0.001)
    recording = capture(ddp, loop(ddp, optimizer), optimizer)
    assert recording.tensors == plain.tensors
    assert recording.first_uses == plain.first_uses
    assert recording.ready_order == plain.ready_order
    assert recording.waited_us > 0
    assert any("DistributedDataParallel communicated meanwhile" in n for n in recording.notes)
    assert any(note.endswith("than alone.") for note in recording.notes)


def accumulating_in_ddp(folder: Path, rank: int) -> None:
    model, optimizer = of_crossed()
    ddp = DistributedDataParallel(model)
    step = loop(ddp, optimizer)
    recorder = Capture(ddp, optimizer, steps=4)
    while not recorder.is_done:
        with ddp.no_sync():
            ddp(torch.randn(4, WIDTH)).square().mean().backward()
        step()
    recording = recorder.recording()
    assert recording.passes == 2
    assert recording.graph["ops"][-1]["id"] == "accumulation"


def the_written_parameters_split_ddps_buckets(folder: Path, rank: int) -> None:
    model, optimizer = of_crossed()
    ddp = DistributedDataParallel(model, bucket_cap_mb=0.001)
    sizes: list[int] = []

    def hook(state: None, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        sizes.append(bucket.buffer().numel() * bucket.buffer().element_size())
        return (
            dist.all_reduce(bucket.buffer(), async_op=True)
            .get_future()
            .then(lambda done: done.value()[0] / 2)
        )

    ddp.register_comm_hook(None, hook)
    recording = capture(ddp, loop(ddp, optimizer), optimizer)
    sizes.clear()
    loop(ddp, optimizer)()
    recording.write_parameters(folder / "parameters.json")
    written = [tuple(row) for row in json.loads((folder / "parameters.json").read_text())]
    split = split_parameters(sizes, written)
    assert split is not None
    order = [name for bucket in split for name, _ in bucket]
    assert [name.split(".")[0] for name in order] == [
        *("last", "last"),
        *("middle", "middle"),
        *("first", "first"),
    ]
    registered = [(tensor.name, tensor.bytes) for tensor in recording.tensors]
    assert split_parameters(sizes, registered) != split


def in_a_planned_model(folder: Path, rank: int) -> None:
    model, optimizer = of_crossed()
    plain = capture(model, loop(model, optimizer), optimizer)
    run = PlannedDDP(model, optimizer)
    step = loop(run, optimizer)
    step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as: a hook makes the steps wait
        recording = capture(run, step, optimizer)
    assert not run.barrier
    assert recording.tensors == plain.tensors
    assert recording.first_uses == plain.first_uses
    assert recording.waited_us > 0
    step()
    run.detach()


def models_that_differ(folder: Path, rank: int) -> None:
    model, optimizer = of_crossed()
    if rank:
        model.last = nn.Linear(WIDTH, WIDTH)
        model.more = nn.Linear(2, 2)
    with pytest.raises(RanksDiffer) as refused:
        capture(model, loop(model, optimizer), optimizer)
    said = str(refused.value)
    assert "Rank 1 has 'more.weight', rank 0 has not." in said
    assert "'last.weight' is 48 x 16 of float32 on rank 0 and 16 x 16 of float32 on rank 1" in said


def a_rank_that_is_not_done(folder: Path, rank: int) -> None:
    model, optimizer = of_crossed()
    recorder = Capture(model, optimizer, steps=3)
    step = loop(model, optimizer)
    for _ in range(3 - rank):
        step()
    with pytest.raises(Unrecorded, match="Rank 1: 2 of 3 steps are recorded"):
        recorder.recording()
    recorder.stop()


def a_slowdown(folder: Path, rank: int) -> None:
    model, optimizer = of_crossed()
    step = loop(model, optimizer)
    factor = measure_slowdown(model, step, steps=3)
    assert factor >= 1
    found: list = [None, None]
    dist.all_gather_object(found, factor)
    assert found[0] == found[1]
    recording = capture(model, step, optimizer).with_slowdown(factor)
    assert recording.compute_slowdown == factor
    overlap = measure_overlap(model, step, steps=3, window=4)
    assert min(overlap.compute, overlap.launches) >= 1
    recording = recording.with_overlap(overlap)
    both = recording.compute_slowdown, recording.launch_slowdown
    assert both == (overlap.compute, overlap.launches)
    with pytest.raises(ValueError, match="communicate themselves, in DistributedDataParallel"):
        measure_slowdown(DistributedDataParallel(model), step)
    alone = [dist.new_group([each]) for each in range(2)]
    with pytest.raises(ValueError, match="takes two ranks"):
        measure_slowdown(model, step, process_group=alone[rank])


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        all_ranks_have_the_same,
        in_ddp,
        accumulating_in_ddp,
        the_written_parameters_split_ddps_buckets,
        in_a_planned_model,
        models_that_differ,
        a_rank_that_is_not_done,
        a_slowdown,
    )
}

if __name__ == "__main__":
    go_through(SCENARIOS)
