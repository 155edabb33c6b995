"""Loops that use and read parameters in many ways while updates are on their way."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from typing import Any, Callable

import torch
from torch import nn

from interlace_client.torch.proof.networks import (
    HELD,
    Branches,
    Bypassing,
    Checkpointed,
    Tied,
    of_linears,
)
from interlace_client.torch.proof.pair import (
    Loss,
    MakeOptimizer,
    TrainedPair,
    dealt,
    is_pending,
    momentum,
    placed,
    same,
    square,
    taking,
)
from interlace_client.torch.proof.site import Site
from interlace_client.torch.runtime.planned import PlannedDDP


def reloaded(value: Any) -> Any:
    """Save a value and load it."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def shared_and_frozen_parameters(site: Site) -> None:
    """Train a layer that is used twice, tied weights, and frozen ones."""
    pair = TrainedPair(site, Tied)
    pair.train(range(4), lambda m, sample: m(sample.words(6)))

    def half_frozen() -> nn.Module:
        model = of_linears()
        model[1].requires_grad_(requires_grad=False)
        return model

    pair = TrainedPair(site, half_frozen)
    pair.train(range(4))
    everything: MakeOptimizer = lambda m: torch.optim.SGD(m.parameters(), 0.05, weight_decay=0.1)
    pair = TrainedPair(site, half_frozen, everything)
    pair.train(range(4))


def uses_that_bypass_modules(site: Site) -> None:
    """Use parameters past the forward pass of their own modules."""
    pair = TrainedPair(site, Bypassing, find_unused_parameters=True, plan=lambda m: dealt(m, 20))
    for model in pair.both:
        HELD[id(model.module)] = model.module.held["out of sight"]
    pair.train(range(9), lambda m, sample: m(sample.normal(4, 16), sample.step).square().mean())


def lists_kept_by_the_user(site: Site) -> None:
    """Average weights over a list of parameters that was made once."""
    pair = TrainedPair(site)
    kept = [list(model.parameters()) for model in pair.both]
    averages = [[p.detach().clone() for p in parameters] for parameters in kept]
    for step in range(5):
        pair.backward(step)
        pair.step()
        for average, parameters in zip(averages, kept):
            for mean, p in zip(average, parameters):
                mean.mul_(0.9).add_(p.detach() if step % 2 else p.data, alpha=0.1)
        for mine, other in zip(*averages):
            assert torch.equal(mine, other)
    pair.compare()
    for step in range(5, 8):
        pair.backward(step)
        pair.step()
        assert is_pending(pair.ours)
        norms = [torch.stack(torch._foreach_norm(parameters)) for parameters in kept]
        assert torch.equal(*norms)
        assert not is_pending(pair.ours)


def reading_after_a_step(site: Site) -> None:
    """Read parameters in sixteen ways while updates are on their way."""
    pair = TrainedPair(site)
    pair.train(range(2))
    rows = pair.sample(0).normal(3, 16)
    readers: list[Callable[[Any], Any]] = [
        lambda m: copy.deepcopy(m)[0].weight,
        lambda m: copy.deepcopy(m[0].weight),
        lambda m: pickle.loads(pickle.dumps(m))[0].weight,
        lambda m: reloaded(m)[0].weight,
        lambda m: reloaded(m.state_dict())["0.weight"],
        lambda m: m[0].weight.detach(),
        lambda m: m._parameters or m[0]._parameters["weight"],
        lambda m: m[0].get_parameter("weight"),
        lambda m: m[0].weight.data,
        lambda m: m[0].weight.numpy(force=True),
        lambda m: torch.nn.utils.parameters_to_vector(m.parameters()),
        lambda m: torch.func.functional_call(m, dict(m.named_parameters()), rows),
        lambda m: copy.deepcopy(m).double()[0].weight,
        lambda m: torch.func.vmap(m)(rows),
        lambda m: torch.func.stack_module_state([m])[0]["0.weight"],
        lambda m: torch.export.export(m, (rows,)).state_dict["0.weight"],
    ]
    for step, read in enumerate(readers):
        pair.backward(step)
        pair.step()
        assert is_pending(pair.ours)
        mine, other = (torch.as_tensor(read(m)) for m in (pair.ours.module, pair.theirs.module))
        assert torch.equal(mine, other), f"reader {step}"
        pair.compare()


def compiled_parts(site: Site) -> None:
    """Compile a part, in place, its forward pass, the whole, and the wrapped."""

    def inner(model: nn.Module) -> nn.Module:
        model[1] = torch.compile(model[1], backend="aot_eager")
        return model

    def in_place(model: nn.Module) -> nn.Module:
        model[2].compile(backend="aot_eager")
        return model

    def forward(model: nn.Module) -> nn.Module:
        model[2].forward = torch.compile(model[2].forward, backend="aot_eager")
        return model

    whole: Callable[[nn.Module], nn.Module] = lambda model: torch.compile(
        model, backend="aot_eager"
    )
    for compiled in (inner, in_place, forward, whole):
        pair = TrainedPair(site, compiled=compiled)
        pair.train(range(5))
    pair = TrainedPair(site)
    planned = pair.ours
    pair.both[0] = torch.compile(pair.ours, backend="aot_eager")
    for step in range(5):
        pair.backward(step)
        pair.step()
    pair.both[0] = planned
    pair.compare()


def scripted_parts(site: Site) -> None:
    """Script a part."""

    def inner(model: nn.Module) -> nn.Module:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model[1] = torch.jit.script(model[1])
        return model

    pair = TrainedPair(site, compiled=inner)
    pair.train(range(5))


def checkpoints(site: Site) -> None:
    """Compute activations again in the backward pass."""
    for use_reentrant in (False, True):
        pair = TrainedPair(site, lambda: Checkpointed(use_reentrant=use_reentrant))  # noqa: B023
        pair.train(range(5))
    # DistributedDataParallel refuses these two together
    model = placed(lambda: Checkpointed(use_reentrant=True), site)
    optimizer = momentum(model)
    pair = TrainedPair(site, lambda: Checkpointed(use_reentrant=False))
    pair.both[0] = PlannedDDP(model, optimizer, dealt(model), find_unused_parameters=True)
    pair.optimizers[0] = optimizer
    for step in range(4):
        pair.backward(step)
        pair.step()
    same(pair.both[0], pair.theirs)


def static_graphs(site: Site) -> None:
    """Train the same graph in each step: checkpoints used twice, parameters left out."""
    twice: Loss = lambda model, sample: square(model, sample) + square(model.module, sample)
    for loss_of in (square, twice):
        pair = TrainedPair(site, lambda: Checkpointed(use_reentrant=True), static_graph=True)
        pair.train(range(3), loss_of)
        with pair.ours.no_sync(), pair.theirs.no_sync():
            pair.backward(3, loss_of)
        pair.train(range(4, 7), loss_of)
        pair.ours.install(dealt(pair.ours.module, 2, 2))
        pair.train(range(7, 9), loss_of)
    for unused in ("b", "ba"):  # the same on both, another on each
        pair = TrainedPair(site, Branches, static_graph=True)
        pair.train(range(5), taking("ab".replace(unused[site.rank % len(unused)], "")))
