"""Loops that do something with gradients between the backward pass and the step."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch import nn

from interlace_client.torch.proof.networks import Branches, SumOfTypes
from interlace_client.torch.proof.pair import (
    MakeOptimizer,
    TrainedPair,
    dealt,
    is_pending,
    momentum,
    of_types,
    square,
    taking,
)
from interlace_client.torch.proof.site import DrawnBatch, Site


def clipping_by_global_norm(site: Site) -> None:
    """Clip by the norm of all gradients, which is said once."""
    pair = TrainedPair(site)
    pair.train(range(2))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for step in range(2, 5):
            pair.backward(step, lambda m, sample: 50 * square(m, sample))
            norms = [nn.utils.clip_grad_norm_(m.parameters(), 0.1) for m in pair.both]
            assert norms[0] > 0.1
            assert torch.equal(*norms)
            pair.step()
    (said,) = [str(w.message) for w in told if "such a step" in str(w.message)]
    assert said.startswith("Gradients are read while they are on their way (by clipping")
    pair.compare()


def gradients_read_in_other_ways(site: Site) -> None:
    """Read gradients in ten ways while they are on their way."""
    pair = TrainedPair(site)
    pair.train(range(2))
    readers: list[Callable[[torch.Tensor], Any]] = [
        lambda g: g.norm(),
        lambda g: g.data.clone(),
        lambda g: g.numpy(force=True).copy(),
        copy.deepcopy,
        lambda g: torch._foreach_norm([g])[0],
        lambda g: torch.stack([g]),
        lambda g: pickle.loads(pickle.dumps(g)),
        repr,
        lambda g: list(g.flatten()),
        torch.from_dlpack,
    ]
    for step, read in enumerate(readers):
        pair.backward(step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mine, other = (read(m[-1].weight.grad) for m in (pair.ours.module, pair.theirs.module))
        assert str(mine) == str(other)
        pair.step()
    pair.compare()


def gradients_taken_away(site: Site) -> None:
    """Take gradients away, as self-distillation does with the last layer's in its first epochs."""
    pair = TrainedPair(site)
    for step in range(5):
        pair.backward(step)
        if step < 4:
            for model in pair.both:
                model.module[-1].weight.grad = None
                model.module[0].bias.grad = (
                    torch.ones(16, device=site.device) if step == 2 else model.module[0].bias.grad
                )
        pair.step()
    pair.compare()


def gradients_zeroed_and_read(site: Site) -> None:
    """Read, set and take away gradients that were zeroed while updates were on their way."""
    pair = TrainedPair(site)
    kept = [list(model.parameters()) for model in pair.both]
    given = {1, 3, 4, 5}
    for step in range(6):
        pair.backward(step)
        pair.step()
        assert is_pending(pair.ours) == (step > 0)
        for first, second, *others in kept:
            assert all(p.grad is None for p in (first, second, *others))
            first.grad = torch.ones(first.shape, device=site.device) if step in given else None
            if step == 3:
                del second.grad
        if step == 4:
            for optimizer in pair.optimizers:
                optimizer.step()
        for first, *others in kept:
            assert (first.grad is not None) == (step in given)
            first.grad = first.grad if step == 5 else None
            assert all(p.grad is None for p in others)
    pair.compare()


def gradients_written_by_hand(site: Site) -> None:
    """Zero, scale, clip, send and replace gradients between the backward pass and the step."""

    def replace(gradient: torch.Tensor) -> None:
        gradient.data = gradient * 2

    writers: list[Callable[[torch.Tensor], object]] = [
        lambda g: g.zero_(),
        lambda g: g.data.mul_(2),
        lambda g: g.clamp_(-(2.0**-10), 2.0**-10),
        lambda g: dist.broadcast(g, src=1),
        replace,
    ]
    for write in writers:
        pair = TrainedPair(site)
        for step in range(7):
            pair.backward(step)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for model in pair.both:
                    for p in (model.module[0].weight, model.module[-1].bias):
                        write(p.grad)
            if step % 3:
                pair.step(set_to_none=step % 2 == 0)
        pair.compare()


def gradient_scaler(site: Site) -> None:
    """Scale losses; a step with an infinity on one rank is left out on all."""
    fused: MakeOptimizer = lambda m: torch.optim.AdamW(m.parameters(), 0.01, fused=True)
    for make in (momentum, fused):
        pair = TrainedPair(site, optimizer=make)
        scalers = [
            torch.amp.GradScaler(site.device.type, init_scale=2.0**12, growth_interval=2)
            for _ in range(2)
        ]
        scales = []
        for step in range(7):
            for scaler, model in zip(scalers, pair.both):
                with torch.autocast(site.device.type, dtype=torch.bfloat16):
                    loss = square(model, pair.sample(step))
                if step == 3 and site.rank == 1:
                    loss = loss * float("inf")  # of one rank; both must leave the step out
                scaler.scale(loss.float()).backward()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for scaler, optimizer, model in zip(scalers, pair.optimizers, pair.both):
                    if step % 2:
                        scaler.unscale_(optimizer)
                        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                    scaler.step(optimizer)
                    scaler.update()
                    optimizer.zero_grad()
            assert scalers[0].get_scale() == scalers[1].get_scale()
            scales.append(scalers[0].get_scale())
        assert scales[3] < scales[2]
        pair.compare()


def autocast(site: Site) -> None:
    """Compute in another type of numbers."""

    def loss_of(model: nn.Module, sample: DrawnBatch) -> torch.Tensor:
        with torch.autocast(site.device.type, dtype=torch.bfloat16):
            return square(model, sample)

    pair = TrainedPair(site)
    pair.train(range(5), loss_of)
    pair = TrainedPair(site)
    with torch.autocast(site.device.type, dtype=torch.bfloat16):
        for step in range(3):
            pair.backward(step)
    pair.step()
    pair.compare()


def unused_parameters(site: Site) -> None:
    """Leave parameters out, on some ranks or on all."""
    adam: MakeOptimizer = lambda m: torch.optim.AdamW(m.parameters(), 0.01, weight_decay=0.1)
    for make in (momentum, adam):
        for period in (1, 2, 9):  # of steps after which gradients become None, not zeros
            pair = TrainedPair(site, Branches, make, find_unused_parameters=True)
            first = pair.ours.module.never.weight.detach().clone()
            used = ["ab", "aa", "bb", "no", "ba", "aa", "ab", "no"]  # each rank's, by step
            for step, branches in enumerate(used):
                branch = "no" if branches == "no" else branches[site.rank % 2]
                pair.backward(step, taking(branch))
                if step % 3 == 2:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        pair.compare()
                pair.step(set_to_none=step % period == 0)
            pair.compare()
            assert torch.equal(
                pair.ours.module.never.weight, first
            )  # weight decay does not step it
            for step, (early, late) in enumerate([("ab", "bb"), ("no", "ab"), ("aa", "bb")]):
                with pair.ours.no_sync(), pair.theirs.no_sync():
                    pair.backward(
                        50 + step, taking("no" if early == "no" else early[site.rank % 2])
                    )
                pair.backward(60 + step, taking("no" if late == "no" else late[site.rank % 2]))
                pair.step(set_to_none=step % period == 0)
            pair.compare()


def several_types(site: Site) -> None:
    """Train layers of three types of numbers in one bucket."""
    for count, parts in ((1, 3), (2, 1), (2, 7)):
        pair = TrainedPair(site, SumOfTypes, plan=lambda m: dealt(m, count, parts))  # noqa: B023
        pair.train(range(4), of_types)
