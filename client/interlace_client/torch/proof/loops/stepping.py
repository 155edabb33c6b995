"""Loops that step in many ways."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

from interlace_client.torch.proof.networks import SumOfTypes, of_linears
from interlace_client.torch.proof.outcomes import NotHere
from interlace_client.torch.proof.pair import (
    Loss,
    MakeOptimizer,
    TrainedPair,
    dealt,
    is_pending,
    of_types,
    same,
    square,
)
from interlace_client.torch.proof.site import Site
from interlace_client.torch.runtime.planned import PlannedDDP


def plain(site: Site) -> None:
    """Train, with the barrier and without; updates are on their way after each step."""
    for barrier in (False, True):
        pair = TrainedPair(site, barrier=barrier)
        pair.train(range(4))
        for step in range(4, 8):
            pair.backward(step)
            pair.step()
            assert is_pending(pair.ours) != barrier
            pair.compare()


def optimizers(site: Site) -> None:
    """Step by optimizers of several kinds: looped, foreach, fused, in groups."""

    def groups(model: nn.Module) -> torch.optim.Optimizer:
        weights = [p for p in model.parameters() if p.dim() > 1]
        biases = [p for p in model.parameters() if p.dim() == 1]
        return torch.optim.AdamW(
            [{"params": weights}, {"params": biases, "weight_decay": 0.0, "lr": 0.02}], 0.01
        )

    makers: list[MakeOptimizer] = [
        lambda m: torch.optim.SGD(m.parameters(), 0.05, nesterov=True, momentum=0.9, foreach=True),
        lambda m: torch.optim.Adam(m.parameters(), 0.01, foreach=False),
        lambda m: torch.optim.Adam(m.parameters(), 0.01, foreach=True, amsgrad=True),
        lambda m: torch.optim.Adam(m.parameters(), 0.01, fused=True),
        lambda m: torch.optim.Adam(m.parameters(), torch.tensor(0.01), foreach=False),
        lambda m: torch.optim.RMSprop(m.parameters(), 0.01),
        lambda m: torch.optim.Adagrad(m.parameters(), 0.01),
        lambda m: torch.optim.Adafactor(m.parameters(), 0.01),
        groups,
    ]
    for make in makers:
        pair = TrainedPair(site, optimizer=make)
        pair.backward(0)
        pair.step()
        pair.backward(1)
        pair.step()
        assert is_pending(pair.ours)
        pair.train(range(2, 4))


def schedulers(site: Site) -> None:
    """Change the learning rate before the updates of the step are made."""
    for is_made_before in (True, False):
        made: list[Any] = []

        def make(model: nn.Module, *, is_made_before: bool = is_made_before) -> Any:
            optimizer = torch.optim.AdamW(model.parameters(), 0.01, weight_decay=0.1)
            if is_made_before:
                made.append(torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.3))  # noqa: B023
            return optimizer

        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "lr_scheduler.step() before optimizer.step()"
            pair = TrainedPair(site, optimizer=make)
            if not is_made_before:
                made += [torch.optim.lr_scheduler.StepLR(o, 2, 0.3) for o in pair.optimizers]
            for step in range(7):
                pair.backward(step)
                pair.step()
                for scheduler in made:
                    scheduler.step()  # before the updates of the step are made
        assert is_pending(pair.ours)
        pair.compare()


def parts_and_windows(site: Site) -> None:
    """Cut buckets in parts that take turns, and have several launches under way."""
    in_parts = lambda model: dealt(model, 2, 3)
    TrainedPair(site, plan=in_parts).train(range(5))
    TrainedPair(site, plan=in_parts, barrier=True).train(range(5))
    TrainedPair(site, plan=in_parts, window=3).train(range(5))


def accumulation(site: Site) -> None:
    """Add gradients up without sending them, and once more after they were sent."""
    pair = TrainedPair(site)
    for step in range(5):
        with pair.ours.no_sync(), pair.theirs.no_sync():
            for micro in range(2):
                pair.backward(10 * step + micro)
        pair.backward(10 * step + 2)
        pair.step(set_to_none=step % 2 == 0)
    pair.compare()
    pair.backward(90)
    with pair.ours.no_sync(), pair.theirs.no_sync():
        pair.backward(91)  # after what has been sent, and may be on its way
    mine, other = ([p.grad for p in model.parameters()] for model in pair.both)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.equal(*(nn.utils.parameters_to_vector(grads) for grads in (mine, other)))


def several_passes_before_a_step(site: Site) -> None:
    """Send each of several passes before a step."""
    pair = TrainedPair(site)
    for step in range(4):
        for micro in range(3):  # each is sent; nothing is zeroed in between
            pair.backward(10 * step + micro)
        pair.step(set_to_none=step % 2 == 0)
    pair.compare()


def gradients_are_kept(site: Site) -> None:
    """Never zero gradients."""
    pair = TrainedPair(site)
    for step in range(4):
        pair.backward(step)
        for optimizer in pair.optimizers:
            optimizer.step()  # and no zero_grad: gradients add up over steps
    pair.compare()


def zeroing(site: Site) -> None:
    """Zero gradients in place, and between the passes."""
    pair = TrainedPair(site)
    pair.train(range(3), set_to_none=False)
    for step in range(3, 7):
        losses = [square(model, pair.sample(step)) for model in pair.both]
        for optimizer, model in zip(pair.optimizers, pair.both):
            model.zero_grad() if step % 2 else optimizer.zero_grad()
        for loss, optimizer in zip(losses, pair.optimizers):
            loss.backward()
            optimizer.step()
    pair.compare()


def groups_added_later(site: Site) -> None:
    """Give the optimizer more parameters after some steps."""
    pair = TrainedPair(site, optimizer=lambda m: torch.optim.AdamW(m[:2].parameters(), 0.01))
    for step in range(3):
        pair.backward(step)
        pair.step()
    for optimizer, model in zip(pair.optimizers, pair.both):
        optimizer.add_param_group({"params": list(model.module[2:].parameters()), "lr": 0.1})
    for model in pair.both:
        model.zero_grad()
    pair.train(range(3, 7))


def two_optimizers(site: Site) -> None:
    """Step by two optimizers, in either order."""
    pair = TrainedPair(
        site, optimizer=lambda m: torch.optim.SGD(m[:2].parameters(), 0.05, momentum=0.9)
    )
    pair.ours.detach()
    second = [torch.optim.Adam(m.module[2:].parameters(), 0.01) for m in pair.both]
    module = pair.ours.module
    both = [pair.optimizers[0], second[0]]
    pair.both[0] = pair.ours = PlannedDDP(module, both, dealt(module, 2, 2))
    for step in range(7):
        pair.backward(step)
        for mine, other in zip(pair.optimizers, second):
            mine.step()
            if step % 2:
                mine.zero_grad()
                other.step()
            else:
                other.step()
                mine.zero_grad()
            other.zero_grad()
        if step == 5:
            for model in pair.both:  # between the two steps, of a bucket that both have
                model.module[0].weight.sum()
    pair.compare()
    for mine, other in zip(*(o.state_dict()["state"].values() for o in second)):
        assert torch.equal(mine["exp_avg"], other["exp_avg"])


def step_hooks_and_closures(site: Site) -> None:
    """Hear of each step, and step by a closure."""
    pair = TrainedPair(site)
    pair.train(range(2))
    calls: list[list[Any]] = [[], []]
    for optimizer, called in zip(pair.optimizers, calls):
        optimizer.register_step_pre_hook(lambda *_, c=called: c.append("pre"))
        optimizer.register_step_post_hook(
            lambda o, *_, c=called: c.append(o.param_groups[0]["params"][0].sum().item())
        )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pair.train(range(2, 5))
    assert any("SGD has step hooks" in str(w.message) for w in told)
    assert calls[0] == calls[1]
    assert calls[0].count("pre") == 3

    pair = TrainedPair(site, optimizer=lambda m: torch.optim.LBFGS(m.parameters(), 0.1, max_iter=3))
    for step in range(3):
        for optimizer, model in zip(pair.optimizers, pair.both):

            def closure(optimizer: Any = optimizer, model: Any = model, step: int = step) -> Any:
                optimizer.zero_grad()
                loss = square(model, pair.sample(step))
                loss.backward()
                return loss

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                optimizer.step(closure)
    same(pair.ours, pair.theirs)


def sharpness_aware(site: Site) -> None:
    """Step by the gradient a little way uphill: two backward passes, the first not a step's."""
    pair = TrainedPair(site)
    for step in range(4):
        moved = []
        pair.backward(step)
        for model, optimizer in zip(pair.both, pair.optimizers):
            held = [p for p in model.parameters() if p.grad is not None]
            norm = torch.stack([p.grad.norm() for p in held]).norm()
            ways = [p.grad * (0.05 / norm) for p in held]
            with torch.no_grad():
                torch._foreach_add_(held, ways)
            moved.append((held, ways))
            optimizer.zero_grad()
        pair.backward(step)
        for held, ways in moved:
            with torch.no_grad():
                torch._foreach_sub_(held, ways)
        pair.step()
    pair.compare()


def compressed_gradients(site: Site) -> None:
    """Send gradients in half the bits, by PyTorch's hooks."""
    if site.ranks > 2:
        raise NotHere("Sums of more than two numbers of so few bits depend on their order.")
    hooks = (default_hooks.fp16_compress_hook, default_hooks.bf16_compress_hook)
    for hook in (*hooks, default_hooks.allreduce_hook):
        for make in (of_linears, SumOfTypes):
            pair = TrainedPair(site, make, plan=lambda m: dealt(m, 2, 3))
            loss_of: Loss = square if make is of_linears else of_types
            pair.ours.register_comm_hook(None, hook)
            unnamed = lambda state, bucket, hook=hook: hook(state, bucket)
            pair.theirs.register_comm_hook(None, unnamed)  # by name it refuses some over gloo
            pair.train(range(5), loss_of)
            pair.ours.install(dealt(pair.ours.module, 3))
            pair.train(range(5, 7), loss_of)
