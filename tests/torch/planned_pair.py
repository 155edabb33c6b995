"""The same training twice, by a plan and under DistributedDataParallel, and models for it."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch import BucketPlan, PlannedDDP
from interlace_client.torch.plans import BucketLaunch, GradientBucket

Loss = Callable[[nn.Module, int, int], torch.Tensor]
Make = Callable[[], nn.Module]
MakeOptimizer = Callable[[nn.Module], torch.optim.Optimizer]


def draw(step: int, rank: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(100 * step + rank))


def dealt(model: nn.Module, count: int = 3, parts: int = 1) -> BucketPlan:
    """Deal parameters to buckets like cards, each in parts that take turns with the others'."""
    ignored = getattr(model, "_ddp_params_and_buffers_to_ignore", ())
    known = {
        n.replace("_orig_mod.", ""): p.numel() * p.element_size()
        for n, p in model.named_parameters()
        if p.requires_grad and n not in ignored
    }
    names = list(known)
    groups = [tuple(names[k::count]) for k in range(min(count, len(names)))]
    buckets = tuple(GradientBucket(f"b{k}", group) for k, group in enumerate(groups))
    launches = []
    for part in range(parts):
        for k, group in enumerate(groups):
            size = sum(known[n] for n in group)
            cuts = [size * p // parts for p in range(parts + 1)]
            launches.append(BucketLaunch(k, cuts[part], cuts[part + 1] - cuts[part]))
    return BucketPlan(buckets, tuple(launches))


def of_linears(width: int = 16) -> nn.Module:
    return nn.Sequential(*(nn.Linear(width, width) for _ in range(4)))


def of_convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 4, 3), nn.BatchNorm2d(4)
    )


def square(model: nn.Module, step: int, rank: int) -> torch.Tensor:
    return model(draw(step, rank, 8, 16)).square().mean()


def of_image(model: nn.Module, step: int, rank: int) -> torch.Tensor:
    return model(draw(step, rank, 2, 3, 8, 8)).square().mean()


def momentum(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(
        [p for p in model.parameters() if p.requires_grad], 0.05, momentum=0.9, weight_decay=0.01
    )


class Pair:
    """The same training twice: by a plan, and under DistributedDataParallel."""

    def __init__(
        self,
        rank: int,
        make: Make = of_linears,
        optimizer: MakeOptimizer = momentum,
        *,
        plan: Callable[[nn.Module], BucketPlan] = dealt,
        compiled: Callable[[nn.Module], nn.Module] = lambda model: model,
        **options: Any,
    ) -> None:
        self.rank = rank
        shared = {k: v for k, v in options.items() if k not in {"barrier", "window"}}
        torch.manual_seed(rank)  # rank 1 starts from other weights
        ours = make()
        torch.manual_seed(rank)
        theirs = make()
        self.optimizers = [optimizer(ours), optimizer(theirs)]
        ours = compiled(ours)
        self.ours = PlannedDDP(ours, self.optimizers[0], plan(ours), **options)
        self.theirs = DistributedDataParallel(theirs, **shared)
        self.both: list[Any] = [self.ours, self.theirs]
        self.compare()

    def backward(self, step: int, loss_of: Loss = square) -> list[torch.Tensor]:
        losses = [loss_of(model, step, self.rank) for model in self.both]
        assert torch.equal(*losses), f"loss of step {step}: {losses}"
        for loss in losses:
            loss.backward()
        return losses

    def step(self, *, set_to_none: bool = True) -> None:
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=set_to_none)

    def train(self, steps: range, loss_of: Loss = square, **options: Any) -> None:
        """Train without ever looking, and compare at the end."""
        for step in steps:
            self.backward(step, loss_of)
            self.step(**options)
        self.compare()

    def compare(self) -> None:
        """Compare parameters, gradients, buffers and the optimizers' states bit for bit."""
        same(self.ours, self.theirs)
        self.ours.drain()
        for (name, mine), other in zip(
            self.ours.named_parameters(), self.theirs.parameters(), strict=True
        ):
            assert (mine.grad is None) == (other.grad is None), f"gradient of {name}"
            if mine.grad is not None:
                assert torch.equal(mine.grad, other.grad), f"gradient of {name} differs"
                assert mine.grad.stride() == other.grad.stride(), f"layout of {name}"
        mine, other = (optimizer.state_dict() for optimizer in self.optimizers)
        assert mine["param_groups"] == other["param_groups"]
        assert mine["state"].keys() == other["state"].keys()
        for key, state in mine["state"].items():
            for what, value in state.items():
                theirs = other["state"][key][what]
                assert value is theirs is None or torch.equal(value, theirs), f"{what} of {key}"


def same(mine: nn.Module, other: nn.Module) -> None:
    """Compare state dicts bit for bit, and with those of rank 0."""
    ours, theirs = mine.state_dict(), other.state_dict()
    for (name, value), (other_name, expected) in zip(ours.items(), theirs.items(), strict=True):
        assert name.replace("_orig_mod.", "") == other_name
        assert torch.equal(value, expected), f"{name} differs"
    for name, value in mine.named_parameters():
        first = value.detach().clone()
        dist.broadcast(first, src=0)
        assert torch.equal(first, value), f"{name} is another one on rank 0"


def is_pending(model: nn.Module) -> bool:
    """Tell whether updates are on their way: else a test shows less than it seems to."""
    return bool(model._arrivals.waiting)
