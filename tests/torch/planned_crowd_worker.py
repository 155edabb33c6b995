"""What one of several workers does whose gradients come in any order, late, or not at all."""

import random
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch import BucketPlan, PlannedDDP
from interlace_client.torch.proof.networks import of_linears
from interlace_client.torch.proof.pair import dealt, momentum, square
from interlace_client.torch.proof.site import DrawnBatch
from tests.torch.workers import go_through

#: How many steps with random order, and after how many another plan is taken.
STEPS, AFTER = int(sys.argv[4]) if len(sys.argv) > 4 else 40, 17


def as_under_ddp(folder: Path, rank: int) -> None:
    """Within the rounding of sums in another order; of two workers there is only one."""
    torch.manual_seed(0)
    ours, theirs = of_linears(), of_linears()
    theirs.load_state_dict(ours.state_dict())
    optimizer, other = momentum(ours), momentum(theirs)
    planned = PlannedDDP(ours, optimizer, dealt(ours, 3, 2))
    wrapped = DistributedDataParallel(theirs)
    for step in range(6):
        for model, each in ((planned, optimizer), (wrapped, other)):
            square(model, DrawnBatch(step, rank)).backward()
            each.step()
            each.zero_grad()
    for mine, expected in zip(planned.parameters(), wrapped.parameters(), strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-5, atol=1e-7)


class Crossroads(nn.Module):
    """Branches that are taken in any order, by some ranks and not by others."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList(nn.Linear(8, 8) for _ in range(count))
        self.last = nn.Linear(8, 8)

    def forward(self, batch, branches):
        hidden = [Late.apply(self.branches[k](batch)) for k in branches]
        return self.last(torch.stack([batch, *hidden]).sum(0))


class Late(torch.autograd.Function):
    """Passes a gradient on, now and then later than it could."""

    chance = random.Random()

    @staticmethod
    def forward(ctx, tensor):
        return tensor.clone()

    @staticmethod
    def backward(ctx, gradient):
        if Late.chance.random() < 0.1:
            time.sleep(Late.chance.random() / 500)
        return gradient


def drawn(model: nn.Module, chance: random.Random) -> BucketPlan:
    return dealt(model, chance.randint(1, 6), chance.randint(1, 4))


def any_order(folder: Path, rank: int) -> None:
    own, common = random.Random(rank), random.Random(-1)
    Late.chance = random.Random(rank)
    torch.manual_seed(0)
    model = Crossroads(6)
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    planned = PlannedDDP(model, optimizer, drawn(model, common), find_unused_parameters=True)
    for step in range(STEPS):
        branches = own.sample(range(6), own.randint(0, 6))
        loss = planned(DrawnBatch(step, rank).normal(4, 8), branches).square().mean()
        same_on_all(model)  # updates have been made by the forward pass, and the rest is now
        loss.backward()
        if own.random() < 0.1:
            time.sleep(own.random() / 200)
        optimizer.step()
        optimizer.zero_grad(set_to_none=common.random() < 0.9)
        if step % AFTER == AFTER - 1:
            planned.install(drawn(model, common))
    same_on_all(model)


def same_on_all(model: nn.Module) -> None:
    mine = nn.utils.parameters_to_vector(model.parameters()).detach()
    first = mine.clone()
    dist.broadcast(first, src=0)
    assert torch.equal(mine, first), "other parameters than rank 0"


def trained(model: nn.Module, **options: Any) -> tuple[PlannedDDP, torch.optim.Optimizer]:
    optimizer = momentum(model)
    planned = PlannedDDP(model, optimizer, dealt(model), **options)
    for step in range(2):
        square(planned, DrawnBatch(step, 0)).backward()
        optimizer.step()
        optimizer.zero_grad()
    return planned, optimizer


def one_rank_stops(folder: Path, rank: int) -> None:
    planned, _ = trained(of_linears(), timeout=timedelta(hours=1))
    planned.drain()
    transport: Any = planned._sending.transport
    assert transport.group.options._timeout == timedelta(hours=1)
    transport.group._set_default_timeout(timedelta(seconds=2))  # trained in peace
    if rank != 1:
        square(planned, DrawnBatch(2, rank)).backward()
        with pytest.raises(RuntimeError, match=r"'b\d' was not summed: a rank has left, or"):
            planned.drain()
    dist.barrier()


def one_rank_leaves(folder: Path, rank: int) -> None:
    model = nn.Sequential(nn.Linear(16, 16), Stumble(), nn.Linear(16, 16), nn.Linear(16, 16))
    planned, optimizer = trained(model)
    Stumble.falls = rank == 1
    if rank == 1:  # in the middle of a backward pass; its process ends with this scenario
        with pytest.raises(ZeroDivisionError):
            square(planned, DrawnBatch(2, rank)).backward()
        return

    def go_on() -> None:
        square(planned, DrawnBatch(2, rank)).backward()
        optimizer.step()
        square(planned, DrawnBatch(3, rank))

    with pytest.raises(RuntimeError, match="was not summed: a rank has left"):
        go_on()


class Stumble(nn.Module):
    falls = False

    def forward(self, batch):
        return _Stumble.apply(batch)


class _Stumble(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        return tensor.clone()

    @staticmethod
    def backward(ctx, gradient):
        if Stumble.falls:
            raise ZeroDivisionError
        return gradient


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        as_under_ddp,
        any_order,
        one_rank_stops,
        one_rank_leaves,
    )
}

if __name__ == "__main__":
    go_through(SCENARIOS)
