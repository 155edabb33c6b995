"""What one of two workers does to compare planned training with DistributedDataParallel."""

import copy
import io
import pickle
import warnings
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel
from torch.utils.checkpoint import checkpoint

from interlace_client.torch import PlanAdvice, PlannedDDP, Trial, UnusablePlan, measure_window
from interlace_client.torch.drift.replanning import written
from tests.torch.networks import Tied, words
from tests.torch.planned_pair import (
    Loss,
    Make,
    MakeOptimizer,
    Pair,
    dealt,
    draw,
    is_pending,
    momentum,
    of_convolutions,
    of_image,
    of_linears,
    same,
    square,
)
from tests.torch.workers import go_through


def plain(folder: Path, rank: int) -> None:
    for barrier in (False, True):
        pair = Pair(rank, barrier=barrier)
        pair.train(range(4))
        for step in range(4, 8):
            pair.backward(step)
            pair.step()
            assert is_pending(pair.ours) != barrier
            pair.compare()


def optimizers(folder: Path, rank: int) -> None:
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
        groups,
    ]
    for make in makers:
        pair = Pair(rank, optimizer=make)
        pair.backward(0)
        pair.step()
        pair.backward(1)
        pair.step()
        assert is_pending(pair.ours)
        pair.train(range(2, 4))


def schedulers(folder: Path, rank: int) -> None:
    for is_made_before in (True, False):
        made: list[Any] = []

        def make(model: nn.Module, *, is_made_before: bool = is_made_before) -> Any:
            optimizer = torch.optim.AdamW(model.parameters(), 0.01, weight_decay=0.1)
            if is_made_before:
                made.append(torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.3))  # noqa: B023
            return optimizer

        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "lr_scheduler.step() before optimizer.step()"
            pair = Pair(rank, optimizer=make)
            if not is_made_before:
                made += [torch.optim.lr_scheduler.StepLR(o, 2, 0.3) for o in pair.optimizers]
            for step in range(7):
                pair.backward(step)
                pair.step()
                for scheduler in made:
                    scheduler.step()  # before the updates of the step are made
        assert is_pending(pair.ours)
        pair.compare()


def parts_and_windows(folder: Path, rank: int) -> None:
    in_parts = lambda model: dealt(model, 2, 3)
    Pair(rank, plan=in_parts).train(range(5))
    Pair(rank, plan=in_parts, barrier=True).train(range(5))
    Pair(rank, plan=in_parts, window=3).train(range(5))


def accumulation(folder: Path, rank: int) -> None:
    pair = Pair(rank)
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


def several_passes_before_a_step(folder: Path, rank: int) -> None:
    pair = Pair(rank)
    for step in range(4):
        for micro in range(3):  # each is sent; nothing is zeroed in between
            pair.backward(10 * step + micro)
        pair.step(set_to_none=step % 2 == 0)
    pair.compare()


def gradients_are_kept(folder: Path, rank: int) -> None:
    pair = Pair(rank)
    for step in range(4):
        pair.backward(step)
        for optimizer in pair.optimizers:
            optimizer.step()  # and no zero_grad: gradients add up over steps
    pair.compare()


def zeroing(folder: Path, rank: int) -> None:
    pair = Pair(rank)
    pair.train(range(3), set_to_none=False)
    for step in range(3, 7):
        losses = [square(model, step, rank) for model in pair.both]
        for optimizer, model in zip(pair.optimizers, pair.both, strict=True):
            model.zero_grad() if step % 2 else optimizer.zero_grad()
        for loss, optimizer in zip(losses, pair.optimizers, strict=True):
            loss.backward()
            optimizer.step()
    pair.compare()


def clipping_by_global_norm(folder: Path, rank: int) -> None:
    pair = Pair(rank)
    pair.train(range(2))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for step in range(2, 5):
            pair.backward(step, lambda m, s, r: 50 * square(m, s, r))
            norms = [nn.utils.clip_grad_norm_(m.parameters(), 0.1) for m in pair.both]
            assert norms[0] > 0.1
            assert torch.equal(*norms)
            pair.step()
    (said,) = [str(w.message) for w in told if "such a step" in str(w.message)]
    assert said.startswith("Gradients are read while they are on their way (by clipping")
    pair.compare()


def gradients_read_in_other_ways(folder: Path, rank: int) -> None:
    pair = Pair(rank)
    pair.train(range(2))
    readers = [
        lambda g: g.norm(),
        lambda g: g.data.clone(),
        lambda g: g.numpy().copy(),
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


def gradients_taken_away(folder: Path, rank: int) -> None:
    """As losses of self-distillation do in the first epochs with the last layer's."""
    pair = Pair(rank)
    for step in range(5):
        pair.backward(step)
        if step < 4:
            for model in pair.both:
                model.module[-1].weight.grad = None
                model.module[0].bias.grad = (
                    torch.ones(16) if step == 2 else model.module[0].bias.grad
                )
        pair.step()
    pair.compare()


def gradient_scaler(folder: Path, rank: int) -> None:
    fused = lambda m: torch.optim.AdamW(m.parameters(), 0.01, fused=True)
    for make in (momentum, fused):
        pair = Pair(rank, optimizer=make)
        scalers = [
            torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=2) for _ in range(2)
        ]
        scales = []
        for step in range(7):
            for scaler, model in zip(scalers, pair.both, strict=True):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = square(model, step, rank)
                if step == 3 and rank == 1:
                    loss = loss * float("inf")  # of one rank; both must leave the step out
                scaler.scale(loss.float()).backward()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for scaler, optimizer, model in zip(
                    scalers, pair.optimizers, pair.both, strict=True
                ):
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


def autocast(folder: Path, rank: int) -> None:
    def loss_of(model: nn.Module, step: int, rank: int) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return square(model, step, rank)

    pair = Pair(rank)
    pair.train(range(5), loss_of)
    pair = Pair(rank)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for step in range(3):
            pair.backward(step)
    pair.step()
    pair.compare()


class Branches(nn.Module):
    """A first layer, one of two branches, and a layer that is never used."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.a, self.b, self.never = (nn.Linear(8, 8) for _ in range(4))

    def forward(self, batch, branch):
        return {"a": self.a, "b": self.b, "no": nn.Identity()}[branch](self.first(batch))


def taking(branch: str) -> Loss:
    return lambda m, step, rank: m(draw(step, rank, 4, 8), branch).square().mean()


def unused_parameters(folder: Path, rank: int) -> None:
    adam = lambda m: torch.optim.AdamW(m.parameters(), 0.01, weight_decay=0.1)
    for make in (momentum, adam):
        for period in (1, 2, 9):  # of steps after which gradients become None, not zeros
            pair = Pair(rank, Branches, make, find_unused_parameters=True)
            first = pair.ours.module.never.weight.detach().clone()
            used = ["ab", "aa", "bb", "no", "ba", "aa", "ab", "no"]  # each rank's, by step
            for step, branches in enumerate(used):
                branch = "no" if branches == "no" else branches[rank]
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
                    pair.backward(50 + step, taking("no" if early == "no" else early[rank]))
                pair.backward(60 + step, taking("no" if late == "no" else late[rank]))
                pair.step(set_to_none=step % period == 0)
            pair.compare()


def shared_and_frozen_parameters(folder: Path, rank: int) -> None:
    pair = Pair(rank, Tied)
    pair.train(range(4), lambda m, step, rank: m(words(step, rank)))

    def half_frozen() -> nn.Module:
        model = of_linears()
        model[1].requires_grad_(requires_grad=False)
        return model

    pair = Pair(rank, half_frozen)
    pair.train(range(4))
    everything = lambda m: torch.optim.SGD(m.parameters(), 0.05, weight_decay=0.1)
    pair = Pair(rank, half_frozen, everything)
    pair.train(range(4))


class Bypassing(nn.Module):
    """Uses of parameters that do not go through the forward pass of their own modules."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 2, dropout=0.0)
        self.recurrent = nn.LSTM(16, 16)
        self.listed = nn.ParameterList([nn.Parameter(torch.randn(16)) for _ in range(2)])
        self.inner = nn.Linear(16, 16)
        self.seldom = nn.Linear(16, 16)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(16, 16))
        self.later = nn.Linear(16, 16)
        self.held = {"out of sight": [self.later.weight, self.later.bias]}

    def forward(self, batch, step):
        hidden = batch.unsqueeze(1) * self.listed[0]
        hidden, _ = self.attention(hidden, hidden, hidden)
        hidden, _ = self.recurrent(hidden)
        hidden = self.normed(hidden) * self.listed[1]
        others = {name: 2 * p for name, p in self.inner.named_parameters()}
        hidden = torch.func.functional_call(self.inner, others, (hidden,))
        weight, bias = HELD[id(self)] if step % 3 == 1 else self.held["out of sight"]
        hidden = nn.functional.linear(hidden, weight, bias)
        return self.seldom(hidden) if step % 2 else hidden


HELD: dict[int, list[nn.Parameter]] = {}


def uses_that_bypass_modules(folder: Path, rank: int) -> None:
    pair = Pair(rank, Bypassing, find_unused_parameters=True, plan=lambda m: dealt(m, 20))
    for model in pair.both:
        HELD[id(model.module)] = model.module.held["out of sight"]
    pair.train(range(9), lambda m, step, rank: m(draw(step, rank, 4, 16), step).square().mean())


def lists_kept_by_the_user(folder: Path, rank: int) -> None:
    """An average of the weights over a list of parameters that was made once."""
    pair = Pair(rank)
    kept = [list(model.parameters()) for model in pair.both]
    averages = [[p.detach().clone() for p in parameters] for parameters in kept]
    for step in range(5):
        pair.backward(step)
        pair.step()
        for average, parameters in zip(averages, kept, strict=True):
            for mean, p in zip(average, parameters, strict=True):
                mean.mul_(0.9).add_(p.detach() if step % 2 else p.data, alpha=0.1)
        for mine, other in zip(*averages, strict=True):
            assert torch.equal(mine, other)
    pair.compare()
    for step in range(5, 8):
        pair.backward(step)
        pair.step()
        assert is_pending(pair.ours)
        norms = [torch.stack(torch._foreach_norm(parameters)) for parameters in kept]
        assert torch.equal(*norms)
        assert not is_pending(pair.ours)


def reading_after_a_step(folder: Path, rank: int) -> None:
    pair = Pair(rank)
    pair.train(range(2))
    readers = [
        lambda m: copy.deepcopy(m)[0].weight,
        lambda m: copy.deepcopy(m[0].weight),
        lambda m: pickle.loads(pickle.dumps(m))[0].weight,
        lambda m: _saved(m)[0].weight,
        lambda m: _saved(m.state_dict())["0.weight"],
        lambda m: m[0].weight.detach(),
        lambda m: m._parameters or m[0]._parameters["weight"],
        lambda m: m[0].get_parameter("weight"),
        lambda m: m[0].weight.data,
        lambda m: m[0].weight.numpy(force=True),
        lambda m: torch.nn.utils.parameters_to_vector(m.parameters()),
        lambda m: torch.func.functional_call(m, dict(m.named_parameters()), torch.ones(1, 16)),
        lambda m: copy.deepcopy(m).double()[0].weight,
        lambda m: torch.func.vmap(m)(torch.ones(3, 16)),
        lambda m: torch.func.stack_module_state([m])[0]["0.weight"],
        lambda m: torch.export.export(m, (torch.ones(1, 16),)).state_dict["0.weight"],
    ]
    for step, read in enumerate(readers):
        pair.backward(step)
        pair.step()
        assert is_pending(pair.ours)
        mine, other = (torch.as_tensor(read(m)) for m in (pair.ours.module, pair.theirs.module))
        assert torch.equal(mine, other), f"reader {step}"
        pair.compare()


def _saved(value: Any) -> Any:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def compiled_parts(folder: Path, rank: int) -> None:
    def inner(model: nn.Module) -> nn.Module:
        model[1] = torch.compile(model[1], backend="aot_eager")
        return model

    def in_place(model: nn.Module) -> nn.Module:
        model[2].compile(backend="aot_eager")
        return model

    def forward(model: nn.Module) -> nn.Module:
        model[2].forward = torch.compile(model[2].forward, backend="aot_eager")
        return model

    whole = lambda model: torch.compile(model, backend="aot_eager")
    for compiled in (inner, in_place, forward, whole):
        pair = Pair(rank, compiled=compiled)
        pair.train(range(5))
    pair = Pair(rank)
    planned = pair.ours
    pair.both[0] = torch.compile(pair.ours, backend="aot_eager")
    for step in range(5):
        pair.backward(step)
        pair.step()
    pair.both[0] = planned
    pair.compare()


def scripted_parts(folder: Path, rank: int) -> None:
    def inner(model: nn.Module) -> nn.Module:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model[1] = torch.jit.script(model[1])
        return model

    pair = Pair(rank, compiled=inner)
    pair.train(range(5))


def checkpoints(folder: Path, rank: int) -> None:
    class Checkpointed(nn.Module):
        def __init__(self, *, use_reentrant: bool) -> None:
            super().__init__()
            self.layers = of_linears()
            self.use_reentrant = use_reentrant

        def forward(self, batch):
            hidden = batch.requires_grad_()
            for layer in self.layers:
                hidden = checkpoint(layer, hidden, use_reentrant=self.use_reentrant)
            return hidden

    for use_reentrant in (False, True):
        pair = Pair(rank, lambda: Checkpointed(use_reentrant=use_reentrant))  # noqa: B023
        pair.train(range(5))
    # DistributedDataParallel refuses these two together
    torch.manual_seed(rank)
    model = Checkpointed(use_reentrant=True)
    optimizer = momentum(model)
    pair = Pair(rank, lambda: Checkpointed(use_reentrant=False))
    pair.both[0] = PlannedDDP(model, optimizer, dealt(model), find_unused_parameters=True)
    pair.optimizers[0] = optimizer
    for step in range(4):
        pair.backward(step)
        pair.step()
    same(pair.both[0], pair.theirs)


def buffers(folder: Path, rank: int, make: Make = of_convolutions, **options: Any) -> None:
    pair = Pair(rank, make, **options)
    for step in range(6):
        if step % 2:
            with pair.ours.no_sync(), pair.theirs.no_sync():
                for micro in range(2):
                    pair.backward(step + 30 * micro, of_image)
        pair.backward(step, of_image)
        pair.step()
        if step % 3 == 1:
            with torch.no_grad():
                seen = []
                for model in pair.both:
                    model.eval()
                    seen.append(model(draw(step, rank, 2, 3, 8, 8)))
                    model.train()
            assert torch.equal(*seen)
    pair.compare()


def buffers_of_each_rank(folder: Path, rank: int) -> None:
    pair = Pair(rank, of_convolutions, broadcast_buffers=False)
    for step in range(4):
        pair.backward(step, of_image)
        pair.step()
    mine, other = (model.module[1].running_mean for model in pair.both)
    assert torch.equal(mine, other)
    first = mine.clone()
    dist.broadcast(first, src=0)
    assert rank == 0 or not torch.equal(first, mine)


def channels_last(folder: Path, rank: int) -> None:
    buffers(folder, rank, lambda: of_convolutions().to(memory_format=torch.channels_last))


def buffers_written_after_a_step(folder: Path, rank: int) -> None:
    pair = Pair(rank, of_convolutions)
    kept = [copy.deepcopy(model.state_dict()) for model in pair.both]
    for step in range(5):
        pair.backward(step, of_image)
        pair.step()
        if step == 2:
            for model, state in zip(pair.both, kept, strict=True):
                model.load_state_dict(state)
        if step == 3:
            for model in pair.both:
                model.module[1].reset_running_stats()
    pair.backward(6, of_image)
    pair.compare()


def state_dicts(folder: Path, rank: int) -> None:
    """Each continues from the other's checkpoint, taken in the middle of training."""
    adam = lambda m: torch.optim.Adam(m.parameters(), 0.01)
    pair = Pair(rank, of_convolutions, adam)
    for step in range(3):
        pair.backward(step, of_image)
        pair.step()
    models = [_saved(model.state_dict()) for model in pair.both]
    optimizers = [_saved(optimizer.state_dict()) for optimizer in pair.optimizers]
    pair.backward(3, of_image)
    pair.step()
    for model, optimizer, k in zip(pair.both, pair.optimizers, (1, 0), strict=True):
        model.load_state_dict(models[k])
        optimizer.load_state_dict(optimizers[k])
    pair.compare()
    pair.train(range(4, 8), of_image)


def distributed_checkpoints(folder: Path, rank: int) -> None:
    """Names and states of torch.distributed.checkpoint are those of DistributedDataParallel."""
    adam = lambda m: torch.optim.Adam(m.parameters(), 0.01)
    pair = Pair(rank, of_convolutions, adam)
    for step in range(3):
        pair.backward(step, of_image)
        pair.step()
    assert is_pending(pair.ours)
    held = [
        get_state_dict(model, optimizer)
        for model, optimizer in zip((pair.ours.module, pair.theirs), pair.optimizers, strict=True)
    ]
    assert [list(states) for states in held[0]] == [list(states) for states in held[1]]
    kept = copy.deepcopy(held)
    pair.train(range(3, 6), of_image)
    for model, optimizer, k in zip(
        (pair.ours.module, pair.theirs), pair.optimizers, (1, 0), strict=True
    ):
        states, steps = kept[k]
        set_state_dict(model, optimizer, model_state_dict=states, optim_state_dict=steps)
    pair.compare()
    pair.train(range(6, 9), of_image)


def evaluation_and_averages(folder: Path, rank: int) -> None:
    pair = Pair(rank, of_convolutions)
    averages = [AveragedModel(model.module) for model in pair.both]
    for step in range(6):
        pair.backward(step, of_image)
        pair.step()
        for average, model in zip(averages, pair.both, strict=True):
            average.update_parameters(model.module)
            model.eval()
        images = draw(step, rank, 2, 3, 8, 8)
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                assert torch.equal(*(model(images) for model in pair.both))
                assert torch.equal(*(model.module(images) for model in pair.both))
        for model in pair.both:
            model.train()
        pair.backward(20 + step, of_image)
        pair.step()
        with torch.inference_mode():  # the updates are made in there
            assert torch.equal(*(model.module.eval()(images) for model in pair.both))
        for model in pair.both:
            model.train()
    for mine, other in zip(*(a.parameters() for a in averages), strict=True):
        assert torch.equal(mine, other)
    pair.compare()


def groups_added_later(folder: Path, rank: int) -> None:
    pair = Pair(rank, optimizer=lambda m: torch.optim.AdamW(m[:2].parameters(), 0.01))
    for step in range(3):
        pair.backward(step)
        pair.step()
    for optimizer, model in zip(pair.optimizers, pair.both, strict=True):
        optimizer.add_param_group({"params": list(model.module[2:].parameters()), "lr": 0.1})
    for model in pair.both:
        model.zero_grad()
    pair.train(range(3, 7))


def two_optimizers(folder: Path, rank: int) -> None:
    pair = Pair(rank, optimizer=lambda m: torch.optim.SGD(m[:2].parameters(), 0.05, momentum=0.9))
    pair.ours.detach()
    second = [torch.optim.Adam(m.module[2:].parameters(), 0.01) for m in pair.both]
    module = pair.ours.module
    both = [pair.optimizers[0], second[0]]
    pair.both[0] = pair.ours = PlannedDDP(module, both, dealt(module, 2, 2))
    for step in range(7):
        pair.backward(step)
        for mine, other in zip(pair.optimizers, second, strict=True):
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
    for mine, other in zip(*(o.state_dict()["state"].values() for o in second), strict=True):
        assert torch.equal(mine["exp_avg"], other["exp_avg"])


def step_hooks_and_closures(folder: Path, rank: int) -> None:
    pair = Pair(rank)
    pair.train(range(2))
    calls: list[list[Any]] = [[], []]
    for optimizer, called in zip(pair.optimizers, calls, strict=True):
        optimizer.register_step_pre_hook(lambda *_, c=called: c.append("pre"))
        optimizer.register_step_post_hook(
            lambda o, *_, c=called: c.append(o.param_groups[0]["params"][0].sum().item())
        )
    with pytest.warns(UserWarning, match="SGD has step hooks"):
        pair.train(range(2, 5))
    assert calls[0] == calls[1]
    assert calls[0].count("pre") == 3

    pair = Pair(rank, optimizer=lambda m: torch.optim.LBFGS(m.parameters(), 0.1, max_iter=3))
    for step in range(3):
        for optimizer, model in zip(pair.optimizers, pair.both, strict=True):

            def closure(optimizer=optimizer, model=model, step=step):
                optimizer.zero_grad()
                loss = square(model, step, rank)
                loss.backward()
                return loss

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                optimizer.step(closure)
    same(pair.ours, pair.theirs)


class Counting(torch.optim.SGD):
    """Its steps depend on how many it has made, which it keeps in its options."""

    def step(self, closure=None):
        for group in self.param_groups:
            group["made"] = group.get("made", 0) + 1
            group["lr"] = 0.1 / group["made"]
        return super().step(closure)


def steps_that_cannot_be_cut(folder: Path, rank: int) -> None:
    pair = Pair(rank, optimizer=lambda m: Counting(m.parameters(), 0.1))
    with pytest.warns(UserWarning, match="Counting changes more than parameters and their state"):
        pair.train(range(4))


def another_plan(folder: Path, rank: int) -> None:
    pair = Pair(rank)
    for step in range(8):
        pair.backward(step)
        if step == 3:
            pair.ours.install(dealt(pair.ours.module, 2, 2))  # its gradients are there
        pair.step()
        if step in {1, 5}:
            pair.ours.install(dealt(pair.ours.module, 5 - step // 2, step + 1))
    assert is_pending(pair.ours)
    pair.compare()
    wrong = dealt(of_linears(8))
    refused(UnusablePlan, "not of this model", lambda: pair.ours.install(wrong))
    pair.train(range(8, 10))


class Centred(nn.Module):
    """Subtracts a running mean of its batches: a buffer that is another on each rank."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = of_linears()
        self.register_buffer("mean", torch.zeros(16))

    def forward(self, batch):
        hidden = self.layers(batch - self.mean)
        if self.training:
            self.mean.mul_(0.9).add_(batch.mean(0))
        return hidden


def trials(folder: Path, rank: int) -> None:
    """All arms train as DistributedDataParallel does; what is slower on any rank goes."""
    by_turns = lambda m, step, rank: taking("ab"[(step + rank) % 3 % 2])(m, step, rank)
    for planned_us, is_kept, make, loss_of in (
        (1.0, True, Centred, square),
        (1.0 + 0.5 * rank, False, Branches, by_turns),
    ):
        pair = Pair(rank, make, find_unused_parameters=make is Branches)
        pair.train(range(2), loss_of)
        now, used, made = 0.0, [], weakref.WeakSet[DistributedDataParallel]()
        trial = Trial(pair.ours, advice_on(pair.ours), clock=lambda: now)  # noqa: B023
        names = list(pair.theirs.state_dict())
        for step in range(2, 2 + 41 + 3):
            if make is Centred:
                with pair.ours.no_sync(), pair.theirs.no_sync():
                    pair.backward(100 + step, loss_of)
            pair.backward(step, loss_of)
            if make is Branches:  # a pass without a backward pass
                assert torch.equal(*(loss_of(model, 200 + step, rank) for model in pair.both))
            used.append((pair.ours.is_planned, pair.ours.plan == dealt(pair.ours.module)))
            assert list(pair.ours.state_dict()) == names
            now += planned_us if pair.ours.is_planned else 1.2
            made |= {pair.ours._ddp} - {None}
            pair.step(set_to_none=step % 5 > 0)
            with torch.no_grad():  # and the buffer moves
                assert torch.equal(*(loss_of(model, 300 + step, rank) for model in pair.both))
        outcome = trial.outcome
        assert outcome is not None
        assert [arm.is_plan for arm in outcome.arms] == [False, False, True, True]
        assert all(len(arm.steps_us) == 6 for arm in outcome.arms)
        assert outcome.is_planned is is_kept is pair.ours.is_planned
        assert outcome.gain == pytest.approx(1.2 / (1.0 if is_kept else 1.5))
        assert outcome.promised == pytest.approx(1.25)
        assert len(set(used)) == 2  # by DistributedDataParallel, and by the plan
        assert len(made) == (not is_kept)  # one that is left would send gradients again
        pair.compare()
        kept = "The plan is kept" if is_kept else "DistributedDataParallel"
        assert outcome.sentence.startswith(kept)
        pair.ours.install(dealt(pair.ours.module, 2))
        assert pair.ours.is_planned
        assert not made
        pair.train(range(50, 53), loss_of)
        module = pair.ours.detach()
        assert not any(p._backward_hooks for p in module.parameters())


def trials_that_end(folder: Path, rank: int) -> None:
    """What a trial cannot try is refused on all ranks; who takes a plan himself ends it."""
    pair = Pair(rank)
    advice = advice_on(pair.ours)
    wrong = advice_on(PlannedDDP(of_linears(8)))
    refused(UnusablePlan, "not of this model", lambda: Trial(pair.ours, wrong))
    mixed = [advice, wrong, replace(advice, barrier=True), replace(advice, tuned_cap_mb=None)]
    for other in mixed[1:]:
        its = other if rank else advice
        refused(RuntimeError, r"Ranks \[1\]", lambda: Trial(pair.ours, its))  # noqa: B023
    alone = PlannedDDP(of_linears(), ())
    refused(ValueError, "was given no optimizer", lambda: Trial(alone, advice))
    trial = Trial(pair.ours, advice)
    refused(ValueError, "Another trial", lambda: Trial(pair.ours, advice))
    for step in range(44):
        pair.backward(step)
        if step == 3:
            pair.ours.install(dealt(pair.ours.module, 2))
        assert pair.ours.is_planned is (step == 0 or step >= 3)
        pair.step()
    assert trial.outcome is None
    pair.compare()


def windows(folder: Path, rank: int) -> None:
    """The run trains on as it did, in the window that is fast on all ranks."""
    pair = Pair(rank)
    now, step = 0.0, 0
    pace_us = {1: 1.2, 2: 1.0 + rank, 4: 1.1}

    def trained() -> None:
        nonlocal now, step
        pair.train(range(step, step + 1))
        now, step = now + pace_us[pair.ours.window], step + 1

    found = measure_window(pair.ours, trained, clock=lambda: now)
    assert step == 30
    assert found.median_us == pytest.approx({1: 1.2e6, 2: 2e6, 4: 1.1e6})
    assert found.window == pair.ours.window == 4
    pair.train(range(30, 33))
    trial = Trial(pair.ours, advice_on(pair.ours))
    refused(ValueError, "measure the window before", lambda: measure_window(pair.ours, trained))
    for each in range(33, 75):
        pair.backward(each)
        pair.step()
    assert trial.outcome is not None
    assert [arm.name for arm in trial.outcome.arms[2:]] == [
        "The plan with 4 launches at once",
        "The plan",
    ]
    pair.compare()
    pair.ours.hand_over()
    refused(ValueError, "DistributedDataParallel sends", lambda: measure_window(pair.ours, trained))
    pair.ours.detach()


def advice_on(model: PlannedDDP) -> PlanAdvice:
    """Advise what is dealt, with a best cap of DistributedDataParallel that is not its default."""
    sizes = {name: p.numel() * p.element_size() for name, p in model.module.named_parameters()}
    plan = written(dealt(model.module), sizes)
    return PlanAdvice(
        plan, False, 4.0, 5.4, 5.0, 1.0, verdict="worth_it", is_worth=True, sentence=""
    )


def several_types(folder: Path, rank: int) -> None:
    def make() -> nn.Module:
        return nn.ModuleList(
            [nn.Linear(8, 8), nn.Linear(8, 8).double(), nn.Linear(8, 8).bfloat16()]
        )

    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = make()

        def forward(self, batch):
            outputs = (layer(batch.to(layer.weight.dtype)) for layer in self.layers)
            return sum(each.float().square().mean() for each in outputs)

    loss_of = lambda m, step, rank: m(draw(step, rank, 4, 8))
    for count, parts in ((1, 3), (2, 1), (2, 7)):
        pair = Pair(rank, Sum, plan=lambda m: dealt(m, count, parts))  # noqa: B023
        pair.train(range(4), loss_of)


def a_group_of_its_own(folder: Path, rank: int) -> None:
    pair = Pair(rank, process_group=dist.new_group([0, 1]))
    pair.train(range(3))


def taken_off(folder: Path, rank: int) -> None:
    pair = Pair(rank)
    pair.train(range(3))
    for step in range(3):
        pair.backward(step)
        pair.step()
    module = pair.ours.detach()
    assert not module[0].weight._backward_hooks
    assert type(module[0]._parameters) is dict
    assert type(module[0].weight) is nn.Parameter
    assert "step" not in vars(pair.optimizers[0])
    wrapped = DistributedDataParallel(module)
    pair.both[0] = wrapped
    for step in range(3, 6):
        pair.backward(step)
        pair.step()
    same(wrapped, pair.theirs)


def refused(error: type[Exception], pattern: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=pattern):
        call()


def plans_of_other_models(folder: Path, rank: int) -> None:
    model = of_linears()
    other = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16))
    other.add_module("extra", nn.Linear(2, 2))
    other[0].weight.requires_grad_(requires_grad=False)
    faults = (
        r"3 in the plan, but no parameter that needs a gradient: .*'0.weight'.*'3.weight'.*"
        r"2 in the model, but not in the plan: 'extra.weight', 'extra.bias'"
    )
    refused(UnusablePlan, faults, lambda: PlannedDDP(other, (), dealt(model)))
    refused(
        UnusablePlan,
        "bytes in the plan and",
        lambda: PlannedDDP(model.double(), (), dealt(of_linears())),
    )
    wrapped = DistributedDataParallel(of_linears())
    refused(TypeError, "Give the module itself", lambda: PlannedDDP(wrapped))
    first = PlannedDDP(other)
    refused(RuntimeError, r"Another PlannedDDP .* detach\(\)", lambda: PlannedDDP(other))
    PlannedDDP(first.detach())
    lazy = nn.Sequential(nn.LazyLinear(3))
    refused(ValueError, "Parameters without a shape yet: '0.bias|weight'", lambda: PlannedDDP(lazy))


def wrappers(folder: Path, rank: int) -> None:
    """As Accelerate, Trainer and Lightning make them, inside and outside."""
    planned = PlannedDDP(of_linears(), ())
    refused(
        TypeError,
        "PlannedDDP sends the gradients already",
        lambda: DistributedDataParallel(planned),
    )
    around = DistributedDataParallel(nn.Sequential(planned))
    refused(TypeError, "PlannedDDP sends the gradients already", lambda: square(around, 0, rank))
    inside = nn.Sequential(nn.Linear(2, 2), DistributedDataParallel(nn.Linear(2, 2)))
    refused(
        TypeError, "DistributedDataParallel at '1' sends gradients too", lambda: PlannedDDP(inside)
    )
    refused(TypeError, "PlannedDDP at '0' sends", lambda: PlannedDDP(nn.Sequential(planned)))
    refused(TypeError, r"Compile the model before it is wrapped", planned.compile)
    refused(NotImplementedError, "in their own type", planned.register_comm_hook)


def sharded_parameters(folder: Path, rank: int) -> None:
    model = of_linears()
    mesh = init_device_mesh("cpu", (2,))
    fully_shard(model[1], mesh=mesh)
    refused(
        TypeError,
        r"2 parameters are sharded \(DTensor\): '1.weight', '1.bias'. fully_shard",
        lambda: PlannedDDP(model, ()),
    )


def ignored_parameters(folder: Path, rank: int) -> None:
    """Those that DistributedDataParallel leaves to each rank, and their buffers."""

    def make() -> nn.Module:
        model = of_convolutions()
        model._ddp_params_and_buffers_to_ignore = ["0.bias", "1.running_mean"]
        return model

    both: list[Any] = []
    for is_planned in (True, False):
        torch.manual_seed(rank)
        module = make()
        optimizer = momentum(module)
        wrapped = (
            PlannedDDP(module, optimizer, dealt(module))
            if is_planned
            else DistributedDataParallel(module)
        )
        both.append((wrapped, optimizer))
    before = both[0][0].module[0].bias.detach().clone()
    for step in range(4):
        for model, optimizer in both:
            of_image(model, step, rank).backward()
            optimizer.step()
            optimizer.zero_grad()
    states = [model.module.state_dict() for model, _ in both]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    own = states[0]["0.bias"].clone()
    assert not torch.equal(own, before)
    dist.broadcast(own, src=0)
    assert torch.equal(own, states[0]["0.bias"]) == (rank == 0)


def ranks_that_differ(folder: Path, rank: int) -> None:
    model = of_linears()
    there = r"Ranks \[1\] have another plan than rank 0"
    refused(RuntimeError, there, lambda: PlannedDDP(model, (), dealt(model, 2 + rank)))
    wider = of_linears(16 + rank)
    refused(RuntimeError, there, lambda: PlannedDDP(wider, ()))
    refused(RuntimeError, there, lambda: PlannedDDP(wider, (), dealt(of_linears(16))))
    other = lambda: PlannedDDP(model, (), find_unused_parameters=rank == 1)
    refused(RuntimeError, there, other)
    planned = PlannedDDP(model, ())
    refused(RuntimeError, there, lambda: planned.install(dealt(model, 2 + rank)))
    square(planned, 0, rank).backward()
    planned.drain()


def what_is_refused(folder: Path, rank: int) -> None:
    planned = PlannedDDP(Branches(), ())
    refused(NotImplementedError, "same number of steps on every rank", planned.join)
    taking("a")(planned, 0, rank).backward()
    message = "4 of 8 parameters got no gradient .*'b.weight'.*find_unused_parameters=True"
    refused(RuntimeError, message, planned.drain)
    refused(RuntimeError, message, lambda: taking("a")(planned, 0, rank))
    model = nn.Embedding(11, 4, sparse=True)
    sparse = PlannedDDP(model, ())
    refused(RuntimeError, "sparse gradient", lambda: sparse(words(0, 0)).sum().backward())
    model = of_linears()
    PlannedDDP(model, momentum(model))
    layers = lambda: checkpoint(
        model[0],
        checkpoint(model[0], draw(0, 0, 1, 16).requires_grad_(), use_reentrant=True),
        use_reentrant=True,
    )
    refused(RuntimeError, "second gradient|inside a backward", lambda: layers().sum().backward())


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        plain,
        optimizers,
        schedulers,
        parts_and_windows,
        accumulation,
        several_passes_before_a_step,
        gradients_are_kept,
        zeroing,
        clipping_by_global_norm,
        gradients_read_in_other_ways,
        gradients_taken_away,
        gradient_scaler,
        autocast,
        unused_parameters,
        shared_and_frozen_parameters,
        ignored_parameters,
        uses_that_bypass_modules,
        lists_kept_by_the_user,
        reading_after_a_step,
        compiled_parts,
        scripted_parts,
        checkpoints,
        buffers,
        buffers_of_each_rank,
        channels_last,
        buffers_written_after_a_step,
        state_dicts,
        distributed_checkpoints,
        evaluation_and_averages,
        groups_added_later,
        two_optimizers,
        step_hooks_and_closures,
        steps_that_cannot_be_cut,
        another_plan,
        trials,
        windows,
        trials_that_end,
        several_types,
        a_group_of_its_own,
        taken_off,
        plans_of_other_models,
        wrappers,
        sharded_parameters,
        ranks_that_differ,
        what_is_refused,
    )
}

if __name__ == "__main__":
    go_through(SCENARIOS)
