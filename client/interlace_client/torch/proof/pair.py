"""The same training twice, by a plan and under DistributedDataParallel, compared bit for bit.

Of two ranks a sum has one order only. Of four the gradients are rounded to a grid on which every
order of a sum has the same result.
"""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch.plans import BucketLaunch, BucketPlan, GradientBucket
from interlace_client.torch.proof.networks import of_linears
from interlace_client.torch.proof.site import DrawnBatch, Site
from interlace_client.torch.runtime.planned import PlannedDDP

Loss = Callable[[nn.Module, DrawnBatch], torch.Tensor]
Make = Callable[[], nn.Module]
MakeOptimizer = Callable[[nn.Module], torch.optim.Optimizer]

#: Of how many ranks a sum is the same in every order.
_ONE_ORDER = 2
#: The grid of gradients where there are more: its steps a unit, and the largest of few digits.
_STEPS, _COARSE, _MOST = 2.0**10, 2.0**3, 1.0
#: What the runtime's options are, besides those of DistributedDataParallel.
_OURS = frozenset({"barrier", "window"})


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


def square(model: nn.Module, sample: DrawnBatch) -> torch.Tensor:
    """Return the mean square of what a model of rows makes."""
    return model(sample.normal(8, 16)).square().mean()


def of_image(model: nn.Module, sample: DrawnBatch) -> torch.Tensor:
    """Return the mean square of what a model of images makes."""
    return model(sample.normal(2, 3, 8, 8)).square().mean()


def of_types(model: nn.Module, sample: DrawnBatch) -> torch.Tensor:
    """Return the loss of a model of several types of numbers."""
    return model(sample.normal(4, 8))


def taking(branch: str) -> Loss:
    """Make the loss of a pass through a branch."""
    return lambda m, sample: m(sample.normal(4, 8), branch).square().mean()


def momentum(model: nn.Module) -> torch.optim.Optimizer:
    """Make an optimizer with state and weight decay."""
    trained = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.SGD(trained, 0.05, momentum=0.9, weight_decay=0.01)


class TrainedPair:
    """The same training twice: by a plan, and under DistributedDataParallel.

    Parameters
    ----------
    site
        Where.
    make, optimizer
        The model, and the optimizer of it.
    plan
        Makes the plan of a model.
    compiled
        What is done to the planned one before it is wrapped.
    options
        Of PlannedDDP; those that DistributedDataParallel has are its, too.
    """

    def __init__(
        self,
        site: Site,
        make: Make = of_linears,
        optimizer: MakeOptimizer = momentum,
        *,
        plan: Callable[[nn.Module], BucketPlan] = dealt,
        compiled: Callable[[nn.Module], nn.Module] = lambda model: model,
        **options: Any,
    ) -> None:
        self.site = site
        shared = {k: v for k, v in options.items() if k not in _OURS}
        made = [placed(make, site) for _ in range(2)]
        self.optimizers = [optimizer(each) for each in made]
        ours = compiled(made[0])
        self.ours = PlannedDDP(ours, self.optimizers[0], plan(ours), **options)
        self.theirs = DistributedDataParallel(made[1], **shared)
        self.both: list[Any] = [self.ours, self.theirs]
        self.compare()

    def sample(self, step: int) -> DrawnBatch:
        """Return the batch of a step."""
        return DrawnBatch(step, self.site.rank, self.site.device)

    def backward(self, step: int, loss_of: Loss = square) -> list[torch.Tensor]:
        """Make both passes of both."""
        losses = [loss_of(model, self.sample(step)) for model in self.both]
        assert torch.equal(*losses), f"loss of step {step}: {losses}"
        for loss in losses:
            loss.backward()
        return losses

    def step(self, *, set_to_none: bool = True) -> None:
        """Make both steps."""
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
        same(self.ours, self.theirs, self.ours.process_group)
        self.ours.drain()
        for (name, mine), other in zip(self.ours.named_parameters(), self.theirs.parameters()):
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


def same(mine: nn.Module, other: nn.Module, group: Any = None) -> None:
    """Compare state dicts bit for bit, and with those of the first rank of a group; None is all."""
    ours, theirs = mine.state_dict(), other.state_dict()
    assert len(ours) == len(theirs)
    for (name, value), (other_name, expected) in zip(ours.items(), theirs.items()):
        assert name.replace("_orig_mod.", "") == other_name
        assert torch.equal(value, expected), f"{name} differs"
    for name, value in mine.named_parameters():
        first = value.detach().clone()
        source = dist.get_process_group_ranks(group or dist.group.WORLD)[0]
        dist.broadcast(first, src=source, group=group)
        assert torch.equal(first, value), f"{name} is another one on rank {source}"


def is_pending(model: Any) -> bool:
    """Tell whether updates are on their way: else a loop shows less than it seems to."""
    return bool(model._arrivals.waiting)


def placed(make: Make, site: Site) -> nn.Module:
    """Make a model where it is trained, with other weights on each rank.

    Of more than two ranks gradients are rounded, so that their sum has no rounding itself.
    """
    torch.manual_seed(site.rank)
    model = make().to(site.device)
    for p in model.parameters() if site.ranks > _ONE_ORDER else ():
        if p.requires_grad:
            p.register_hook(_on_grid)
    return model


def _on_grid(gradient: torch.Tensor) -> torch.Tensor:
    if gradient.element_size() < 4:  # noqa: PLR2004 - bytes of a float32; fewer have few digits
        return (gradient.clamp(-_MOST, _MOST) * _COARSE).round() / _COARSE
    return (gradient * _STEPS).round() / _STEPS
