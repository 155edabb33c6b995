"""Loops that save, load, average, change plans and leave."""

from __future__ import annotations

import copy
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

from interlace_client.torch.plans import UnusablePlan
from interlace_client.torch.proof.loops.parameters import reloaded
from interlace_client.torch.proof.networks import of_convolutions, of_linears
from interlace_client.torch.proof.pair import (
    MakeOptimizer,
    TrainedPair,
    dealt,
    is_pending,
    of_image,
    same,
)
from interlace_client.torch.proof.site import Site


def state_dicts(site: Site) -> None:
    """Continue each from the other's checkpoint, taken in the middle of training."""
    adam: MakeOptimizer = lambda m: torch.optim.Adam(m.parameters(), 0.01)
    pair = TrainedPair(site, of_convolutions, adam)
    for step in range(3):
        pair.backward(step, of_image)
        pair.step()
    models = [reloaded(model.state_dict()) for model in pair.both]
    optimizers = [reloaded(optimizer.state_dict()) for optimizer in pair.optimizers]
    pair.backward(3, of_image)
    pair.step()
    for model, optimizer, k in zip(pair.both, pair.optimizers, (1, 0)):
        model.load_state_dict(models[k])
        optimizer.load_state_dict(optimizers[k])
    pair.compare()
    pair.train(range(4, 8), of_image)


def distributed_checkpoints(site: Site) -> None:
    """Continue each from the other's states for torch.distributed.checkpoint."""
    adam: MakeOptimizer = lambda m: torch.optim.Adam(m.parameters(), 0.01)
    pair = TrainedPair(site, of_convolutions, adam)
    for step in range(3):
        pair.backward(step, of_image)
        pair.step()
    assert is_pending(pair.ours)
    held = [
        get_state_dict(model, optimizer)
        for model, optimizer in zip((pair.ours.module, pair.theirs), pair.optimizers)
    ]
    assert [list(states) for states in held[0]] == [list(states) for states in held[1]]
    kept = copy.deepcopy(held)
    pair.train(range(3, 6), of_image)
    for model, optimizer, k in zip((pair.ours.module, pair.theirs), pair.optimizers, (1, 0)):
        states, steps = kept[k]
        set_state_dict(model, optimizer, model_state_dict=states, optim_state_dict=steps)
    pair.compare()
    pair.train(range(6, 9), of_image)


def evaluation_and_averages(site: Site) -> None:
    """Evaluate in two modes and average weights after each step."""
    pair = TrainedPair(site, of_convolutions)
    averages = [AveragedModel(model.module) for model in pair.both]
    for step in range(6):
        pair.backward(step, of_image)
        pair.step()
        for average, model in zip(averages, pair.both):
            average.update_parameters(model.module)
            model.eval()
        images = pair.sample(step).normal(2, 3, 8, 8)
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
    for mine, other in zip(*(a.parameters() for a in averages)):
        assert torch.equal(mine, other)
    pair.compare()


def another_plan(site: Site) -> None:
    """Take another plan between steps, and inside one."""
    pair = TrainedPair(site)
    for step in range(8):
        pair.backward(step)
        if step == 3:
            pair.ours.install(dealt(pair.ours.module, 2, 2))  # its gradients are there
        pair.step()
        if step in {1, 5}:
            pair.ours.install(dealt(pair.ours.module, 5 - step // 2, step + 1))
    assert is_pending(pair.ours)
    pair.compare()
    try:
        pair.ours.install(dealt(of_linears(8)))
    except UnusablePlan as error:
        assert "not of this model" in str(error)  # noqa: PT017 - no pytest here
    else:
        raise AssertionError("A plan of another model was taken.")
    pair.train(range(8, 10))


def a_group_of_its_own(site: Site) -> None:
    """Train on a group of the user."""
    pair = TrainedPair(site, process_group=dist.new_group(list(range(site.ranks))))
    pair.train(range(3))


def groups_of_some_ranks(site: Site) -> None:
    """Train a model on every other rank, and one on all, with gradients summed over the former."""
    groups = [dist.new_group(list(range(k, site.ranks, 2))) for k in range(2)]
    group = groups[site.rank % 2]
    some, all_ranks = TrainedPair(site, process_group=group), TrainedPair(site)
    for step in range(6):
        for pair in (some, all_ranks):
            pair.backward(step)
        for model in all_ranks.both if step % 2 else ():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                dist.all_reduce(model.module[-1].weight.grad, group=group)
        for pair in (all_ranks, some):
            pair.step()
    some.compare()
    all_ranks.compare()


def taken_off(site: Site) -> None:
    """Take the runtime off, and go on in DistributedDataParallel."""
    pair = TrainedPair(site)
    pair.train(range(3))
    for step in range(3):
        pair.backward(step)
        pair.step()
    before = [len(p._backward_hooks or ()) for p in pair.ours.module.parameters()]
    module = pair.ours.detach()
    after = [len(p._backward_hooks or ()) for p in module.parameters()]
    assert [n - 1 for n in before] == after, "hooks are left"
    assert type(module[0]._parameters) is dict
    assert type(module[0].weight) is nn.Parameter
    assert "step" not in vars(pair.optimizers[0])
    wrapped = DistributedDataParallel(module)
    pair.both[0] = wrapped
    for step in range(3, 6):
        pair.backward(step)
        pair.step()
    same(wrapped, pair.theirs)
