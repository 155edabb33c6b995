"""Loops that touch what the optimizer has, or what it steps, while updates are on their way."""

from __future__ import annotations

import copy
import io
from collections import defaultdict
from typing import Any, Callable

import torch
import torch.distributed as dist

from interlace_client.torch.proof.pair import MakeOptimizer, TrainedPair, is_pending
from interlace_client.torch.proof.site import Site

#: What is done with a model and its optimizer after a step.
Touch = Callable[[Any, torch.optim.Optimizer], object]


def optimizer_states(site: Site) -> None:
    """Clear, replace, change and copy the optimizer's state between steps."""

    def replace(_: Any, optimizer: torch.optim.Optimizer) -> None:
        optimizer.state = defaultdict(dict)

    def change(_: Any, optimizer: torch.optim.Optimizer) -> None:
        for each in optimizer.state.values():
            each["exp_avg_sq"].mul_(2)

    def pickled(_: Any, optimizer: torch.optim.Optimizer) -> None:
        file = io.BytesIO()
        torch.save(optimizer, file)
        file.seek(0)
        put(optimizer, torch.load(file, weights_only=False))

    def put(optimizer: torch.optim.Optimizer, copied: torch.optim.Optimizer) -> None:
        """Have a copy's averages, twice as large: of the step before they would be others."""
        assert type(copied) is torch.optim.AdamW
        own = [p for group in optimizer.param_groups for p in group["params"]]
        theirs = [p for group in copied.param_groups for p in group["params"]]
        for p, other in zip(own, theirs):
            optimizer.state[p]["exp_avg"] = 2 * copied.state[other]["exp_avg"]

    first: Callable[[Any], torch.Tensor] = lambda m: m.module[0].weight
    touches: list[Touch] = [
        lambda _, optimizer: optimizer.state.clear(),
        lambda m, optimizer: optimizer.state.pop(first(m)),
        lambda m, optimizer: optimizer.state[first(m)]["exp_avg"].zero_(),
        replace,
        change,
        pickled,
        lambda _, optimizer: put(optimizer, copy.deepcopy(optimizer)),
    ]
    for touch in touches:
        _touched(site, touch)


def options(site: Site) -> None:
    """Change options and groups between steps, and go back to a state of before."""

    def change(_: Any, optimizer: torch.optim.Optimizer) -> None:
        optimizer.param_groups[0].update(betas=(0.5, 0.9), weight_decay=0.3)
        optimizer.param_groups[0]["lr"] *= 0.5

    def regroup(_: Any, optimizer: torch.optim.Optimizer) -> None:
        members = [p for group in optimizer.param_groups for p in group["params"]]
        optimizer.param_groups.clear()
        optimizer.add_param_group({"params": members[:3], "lr": 0.1})
        optimizer.add_param_group({"params": members[3:]})

    def anew(_: Any, optimizer: torch.optim.Optimizer) -> None:
        optimizer.param_groups = [{**group, "lr": 0.03} for group in optimizer.param_groups]

    held: dict[int, Any] = {}

    def go_back(_: Any, optimizer: torch.optim.Optimizer) -> None:
        kept = held.setdefault(id(optimizer), copy.deepcopy(optimizer.state_dict()))
        optimizer.load_state_dict(copy.deepcopy(kept))

    for touch in (change, regroup, anew, go_back):
        _touched(site, touch)
    in_tensor: MakeOptimizer = lambda m: torch.optim.Adam(
        m.parameters(), torch.tensor(0.01), foreach=False
    )
    _touched(site, lambda _, optimizer: optimizer.param_groups[0]["lr"].mul_(0.5), in_tensor)


def parameters_written(site: Site) -> None:
    """Write parameters of a list made once: by hand, from an average, by collectives."""
    averages: dict[int, list[torch.Tensor]] = {}

    def average(held: list[torch.nn.Parameter]) -> None:
        means = averages.setdefault(id(held[0]), [p.detach().clone() for p in held])
        for mean, p in zip(means, held):
            mean.lerp_(p.detach(), 0.1)
            p.data.copy_(mean)

    def replace(held: list[torch.nn.Parameter]) -> None:
        for p, shape in zip(held, shapes):
            p.data = torch.full(shape, 0.1, device=site.device)

    def send(held: list[torch.nn.Parameter]) -> None:
        with torch.no_grad():
            for p in held:
                dist.broadcast(p, src=1)

    writers = (
        average,
        replace,
        send,
        lambda held: [p.data.clamp_(-0.1, 0.1) for p in held],
        lambda held: torch._foreach_mul_([p.data for p in held], 0.5),
    )
    for write in writers:
        pair = _started(site)
        lists = [list(model.parameters()) for model in pair.both]
        shapes = [p.shape for p in lists[0]]
        for step in range(2, 6):
            pair.backward(step)
            pair.step()
            for held in lists:
                write(held)
        pair.train(range(6, 8))


def steps_left_out(site: Site) -> None:
    """Leave steps out, with their gradients dropped or kept, and make some twice."""
    pair = _started(site)
    for step in range(2, 10):
        pair.backward(step)
        if step % 3:
            pair.step()
        elif step % 2:
            for optimizer in pair.optimizers:
                optimizer.zero_grad()
        if step % 4 == 0:
            for optimizer in pair.optimizers:
                optimizer.step()
    pair.compare()


def kept_and_drained(site: Site) -> None:
    """Read and write what was kept since before a step, ``.data`` and state, after ``drain()``."""
    pair = _started(site)
    states = [
        [optimizer.state[p] for p in model.parameters()]
        for optimizer, model in zip(pair.optimizers, pair.both)
    ]
    shared = [[p.data for p in model.parameters()] for model in pair.both]
    for step in range(2, 7):
        pair.backward(step)
        pair.step()
        assert is_pending(pair.ours)
        pair.ours.drain()
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(*shared))
        for mine, theirs in zip(*states):
            assert all(torch.equal(value, theirs[name]) for name, value in mine.items())
        for parameters, state in zip(shared, states):
            parameters[0].mul_(1.25)
            state[-1]["exp_avg"].mul_(0.5)
    pair.compare()


def _adam(model: torch.nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), 0.01, weight_decay=0.1)


def _started(site: Site, make: MakeOptimizer = _adam) -> TrainedPair:
    """Make a pair whose next steps leave updates on their way."""
    pair = TrainedPair(site, optimizer=make)
    pair.train(range(2))
    return pair


def _touched(site: Site, touch: Touch, make: MakeOptimizer = _adam) -> None:
    """Train with something done after each step."""
    pair = _started(site, make)
    for step in range(2, 6):
        pair.backward(step)
        pair.step()
        assert is_pending(pair.ours) or step > 2, "the first touch finds nothing on its way"
        for model, optimizer in zip(pair.both, pair.optimizers):
            touch(model, optimizer)
    pair.compare()
    pair.train(range(6, 8))
