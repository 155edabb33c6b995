"""What one of two workers does to compare the exported buckets with DistributedDataParallel."""

import copy
import runpy
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from interlace_client.torch.proof.networks import Tied
from interlace_client.torch.proof.site import DrawnBatch
from solver.costs import Affine, alike
from solver.exports import EXPORTS, ExplicitPlan
from solver.models.layers import Layer, iteration
from solver.planning.explicit import ExplicitBucket, ExplicitPart
from tests.torch.workers import go_through


def exported(folder: Path, names: list[list[str]], model: nn.Module) -> dict[str, Any]:
    """Export buckets of these names, and run the file."""
    known = dict(model.named_parameters(remove_duplicate=False))
    sizes = {n: known[n].numel() * 4 if n in known else 4 for names in names for n in names}
    layers = [Layer(name, 1.0, 1.0, ((name, size),)) for name, size in sizes.items()]
    buckets = [ExplicitBucket(f"b{k}", tuple(f"grad:{n}" for n in b)) for k, b in enumerate(names)]
    parts = [ExplicitPart(f"b{k}", sum(sizes[n] for n in b)) for k, b in enumerate(names)]
    plan = ExplicitPlan(tuple(buckets), tuple(parts))
    found = EXPORTS["ddp"](iteration("model", layers), alike(Affine(0.0, 1e-6)), plan)
    (folder / "ddp_buckets.py").write_text(str(found.files["ddp_buckets.py"]))
    return runpy.run_path(str(folder / "ddp_buckets.py"))


def dealt(model: nn.Module, count: int = 3) -> list[list[str]]:
    """Deal names to buckets like cards, so that no bucket is a run of the backward pass."""
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    return [names[k::count] for k in range(min(count, len(names)))]


def of_linears(width: int = 16) -> nn.Module:
    return nn.Sequential(*(nn.Linear(width, width) for _ in range(4)))


def data(step: int, rank: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(100 * step + rank))


class Pair:
    """The same model twice: with the exported buckets, and under DistributedDataParallel."""

    def __init__(self, folder: Path, rank: int, make, options=None, **ddp: Any) -> None:
        options = options or {}
        torch.manual_seed(rank)  # worker 1 starts from other weights
        self.ours = make()
        torch.manual_seed(rank)
        self.theirs = make()
        snippet = exported(folder, dealt(self.ours), self.ours)
        self.reducer = snippet["Buckets"](self.ours, **options)
        shared = {k: v for k, v in options.items() if k != "group"}
        self.wrapped = DistributedDataParallel(self.theirs, **shared, **ddp)
        self.same()
        self.optimizers = [
            torch.optim.SGD([p for p in m.parameters() if p.requires_grad], 0.05, momentum=0.9)
            for m in (self.ours, self.theirs)
        ]

    def backward(self, loss_of) -> None:
        loss_of(self.ours).backward()
        loss_of(self.wrapped).backward()

    def same(self) -> None:
        """Compare parameters, gradients and buffers bit for bit."""
        for (name, mine), (other_name, other) in zip(
            self.ours.named_parameters(), self.theirs.named_parameters(), strict=True
        ):
            assert name.removeprefix("_orig_mod.") == other_name.removeprefix("_orig_mod.")
            assert torch.equal(mine, other), f"{name} differs"
            assert (mine.grad is None) == (other.grad is None), f"gradient of {name}"
            if mine.grad is not None:
                assert torch.equal(mine.grad, other.grad), f"gradient of {name} differs"
                assert mine.grad.stride() == other.grad.stride(), f"layout of {name}"
        for (name, mine), other in zip(
            self.ours.named_buffers(), self.theirs.buffers(), strict=True
        ):
            assert torch.equal(mine, other), f"buffer {name} differs"

    def step(self, *, set_to_none: bool = True) -> None:
        self.same()
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=set_to_none)
        self.same()


def same_on_both(model: nn.Module) -> None:
    for tensor in model.parameters():
        first = tensor.detach().clone()
        dist.broadcast(first, src=0)
        assert torch.equal(first, tensor), "the workers have different weights"


def plain(folder: Path, rank: int) -> None:
    pair = Pair(folder, rank, of_linears)
    for step in range(5):
        pair.backward(lambda m, step=step: m(data(step, rank, 8, 16)).square().mean())
        pair.reducer.wait()
        pair.step()
    same_on_both(pair.ours)


def accumulation(folder: Path, rank: int) -> None:
    pair = Pair(folder, rank, of_linears)
    for step in range(4):
        with pair.reducer.no_sync(), pair.wrapped.no_sync():
            for micro in range(2):
                batch = data(10 * step + micro, rank, 8, 16)
                pair.backward(lambda m, batch=batch: m(batch).square().mean())
        batch = data(10 * step + 2, rank, 8, 16)
        pair.backward(lambda m, batch=batch: m(batch).square().mean())
        pair.reducer.wait()
        pair.step(set_to_none=step % 2 == 0)
    same_on_both(pair.ours)


def several_waits_in_a_step(folder: Path, rank: int) -> None:
    pair = Pair(folder, rank, of_linears)
    for step in range(3):
        for micro in range(3):  # each pass is sent; nothing is zeroed in between
            batch = data(10 * step + micro, rank, 8, 16)
            pair.backward(lambda m, batch=batch: m(batch).square().mean())
            pair.reducer.wait()
        pair.step()


class Branches(nn.Module):
    """A first layer, one of two branches, and a layer that is never used."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.a, self.b, self.never = (nn.Linear(8, 8) for _ in range(4))

    def forward(self, batch, branch):
        return {"a": self.a, "b": self.b, "no": nn.Identity()}[branch](self.first(batch))


def unused_parameters(folder: Path, rank: int, **options: Any) -> None:
    options |= {"find_unused_parameters": True}
    pair = Pair(folder, rank, Branches, options)
    used = ["ab", "aa", "bb", "no", "ba", "aa"]  # the branch of each worker, by step
    for step, branches in enumerate(used):
        branch = "no" if branches == "no" else branches[rank]
        batch = data(step, rank, 4, 8)
        pair.backward(lambda m, x=batch, branch=branch: m(x, branch).square().mean())
        pair.reducer.wait()
        assert pair.ours.never.weight.grad is None
        pair.step(set_to_none=step % 2 == 0)
    for step, (early, late) in enumerate([("ab", "bb"), ("no", "ab"), ("aa", "bb"), ("bb", "no")]):
        with pair.reducer.no_sync(), pair.wrapped.no_sync():
            branch = "no" if early == "no" else early[rank]
            pair.backward(lambda m, b=branch: m(data(50, rank, 4, 8), b).square().mean())
        branch = "no" if late == "no" else late[rank]
        pair.backward(lambda m, b=branch: m(data(60, rank, 4, 8), b).square().mean())
        pair.reducer.wait()
        pair.step(set_to_none=step % 2 == 0)
    same_on_both(pair.ours)


def unused_parameters_in_views(folder: Path, rank: int) -> None:
    unused_parameters(folder, rank, gradient_as_bucket_view=True)


def shared_parameters(folder: Path, rank: int) -> None:
    pair = Pair(folder, rank, Tied)
    for step in range(4):
        pair.backward(lambda m, step=step: m(DrawnBatch(step, rank).words(6)))
        pair.reducer.wait()
        pair.step()
    pair.reducer.remove()
    by_second_name = [["head.weight", "layer.weight"], ["layer.bias"]]
    again = exported(folder, by_second_name, pair.ours)["Buckets"](pair.ours)
    pair.backward(lambda m: m(DrawnBatch(9, rank).words(6)))
    again.wait()
    pair.step()
    again.remove()
    both = [["head.weight", "embedding.weight"], ["layer.weight", "layer.bias"]]
    refused(
        ValueError,
        "more than once .*: '(head|embedding).weight', '(head|embedding).weight'",
        lambda: exported(folder, both, pair.ours)["Buckets"](pair.ours),
    )


def frozen_parameters(folder: Path, rank: int) -> None:
    def make() -> nn.Module:
        model = of_linears()
        for parameter in model[1].parameters():
            parameter.requires_grad_(False)
        return model

    pair = Pair(folder, rank, make)
    for step in range(3):
        pair.backward(lambda m, step=step: m(data(step, rank, 8, 16)).square().mean())
        pair.reducer.wait()
        assert pair.ours[1].weight.grad is None
        pair.step()
    same_on_both(pair.ours)  # the frozen ones too are worker 0's


def gradient_scaler(folder: Path, rank: int) -> None:
    pair = Pair(folder, rank, of_linears)
    scalers = [torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=2) for _ in range(2)]
    scales = []
    for step in range(6):
        models = (pair.ours, pair.wrapped)
        for scaler, model in zip(scalers, models, strict=True):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(data(step, rank, 8, 16)).float().square().mean()
            if step == 3 and rank == 1:
                loss = loss * float("inf")  # of one worker; both must leave the step out
            scaler.scale(loss).backward()
        pair.reducer.wait()
        for scaler, optimizer, model in zip(scalers, pair.optimizers, models, strict=True):
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        pair.same()
        assert scalers[0].get_scale() == scalers[1].get_scale()
        scales.append(scalers[0].get_scale())
    assert scales[3] == scales[2] / 2
    same_on_both(pair.ours)


def clipping_by_global_norm(folder: Path, rank: int) -> None:
    pair = Pair(folder, rank, of_linears)
    for step in range(4):
        pair.backward(lambda m, step=step: 50 * m(data(step, rank, 8, 16)).square().mean())
        pair.reducer.wait()
        norms = [nn.utils.clip_grad_norm_(m.parameters(), 0.1) for m in (pair.ours, pair.theirs)]
        assert norms[0] > 0.1
        assert torch.equal(*norms)
        pair.step()


def of_convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 4, 3), nn.BatchNorm2d(4)
    )


def buffers(folder: Path, rank: int, make=of_convolutions, **options: Any) -> None:
    pair = Pair(folder, rank, make, options)
    for step in range(5):
        if step % 2:
            with pair.reducer.no_sync(), pair.wrapped.no_sync():
                for micro in range(2):
                    batch = data(step + 30 * micro, rank, 2, 3, 8, 8)
                    pair.backward(lambda m, batch=batch: m(batch).square().mean())
        pair.backward(lambda m, step=step: m(data(step, rank, 2, 3, 8, 8)).square().mean())
        pair.reducer.wait()
        pair.step()
        with torch.no_grad():
            for model in (pair.ours, pair.wrapped):
                model.eval()
                model(data(step, rank, 2, 3, 8, 8))
                model.train()
        pair.same()


def buffers_of_each_worker(folder: Path, rank: int) -> None:
    buffers(folder, rank, broadcast_buffers=False)


def channels_last(folder: Path, rank: int) -> None:
    make = lambda: of_convolutions().to(memory_format=torch.channels_last)
    buffers(folder, rank, make)


def gradients_as_views(folder: Path, rank: int) -> None:
    pair = Pair(folder, rank, of_linears, {"gradient_as_bucket_view": True})
    memory = set()
    for step in range(5):
        if step % 2:
            with pair.reducer.no_sync(), pair.wrapped.no_sync():
                pair.backward(lambda m: m(data(77, rank, 8, 16)).square().mean())
        pair.backward(lambda m, step=step: m(data(step, rank, 8, 16)).square().mean())
        pair.reducer.wait()
        memory.add(pair.ours[0].weight.grad.data_ptr())
        pair.step(set_to_none=step < 2)
    assert len(memory) == 1


def checkpoints(folder: Path, rank: int) -> None:
    pair = Pair(folder, rank, of_linears)

    def loss_of(model: nn.Module, step: int) -> torch.Tensor:
        layers = model.module if isinstance(model, DistributedDataParallel) else model
        with torch.no_grad():
            model(data(step, rank, 1, 16))  # DistributedDataParallel is called once a step
        hidden = data(step, rank, 8, 16)
        for layer in layers:
            hidden = checkpoint(layer, hidden, use_reentrant=False)
        return hidden.square().mean()

    for step in range(3):
        loss_of(pair.ours, step).backward()
        pair.reducer.wait()
        pair.wrapped(data(step, rank, 8, 16)).square().mean().backward()
        pair.step()


def several_types(folder: Path, rank: int) -> None:
    def make() -> nn.Module:
        return nn.ModuleList(
            [nn.Linear(8, 8), nn.Linear(8, 8).double(), nn.Linear(8, 8).bfloat16()]
        )

    def loss_of(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        return sum(layer(batch.to(layer.weight.dtype)).float().square().mean() for layer in model)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.manual_seed(rank)
        ours = make()
        reducer = exported(folder, dealt(ours, 2), ours)["Buckets"](ours)
    assert "2 buckets hold several types, and are sent as 6." in [str(w.message) for w in told]
    torch.manual_seed(rank)
    theirs = make()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        other.data.copy_(mine.data)
    for step in range(3):
        batch = data(step, rank, 4, 8)
        loss_of(ours, batch).backward()
        reducer.wait()
        loss_of(theirs, batch).backward()
        for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            other.grad.mul_(0.5)
            dist.all_reduce(other.grad)
            assert torch.equal(mine.grad, other.grad)
        ours.zero_grad()
        theirs.zero_grad()


def a_group_of_its_own(folder: Path, rank: int) -> None:
    group = dist.new_group([0, 1])
    pair = Pair(folder, rank, of_linears, {"group": group}, process_group=group)
    pair.backward(lambda m: m(data(1, rank, 8, 16)).square().mean())
    pair.reducer.wait()
    pair.step()


def a_compiled_model(folder: Path, rank: int) -> None:
    pair = Pair(folder, rank, of_linears)
    pair.reducer.remove()
    compiled = torch.compile(pair.ours, backend="aot_eager")
    names = [[n.removeprefix("_orig_mod.") for n in names] for names in dealt(compiled)]
    pair.reducer = exported(folder, names, pair.ours)["Buckets"](compiled)
    for step in range(2):
        compiled(data(step, rank, 8, 16)).square().mean().backward()
        pair.reducer.wait()
        pair.wrapped(data(step, rank, 8, 16)).square().mean().backward()
        pair.step()


def a_copy_of_the_model(folder: Path, rank: int) -> None:
    pair = Pair(folder, rank, of_convolutions)
    copied = copy.deepcopy(pair.ours)
    if rank == 0:  # a copy is on its own: it waits for no other worker
        copied(data(0, rank, 2, 3, 8, 8)).mean().backward()
    pair.backward(lambda m: m(data(0, rank, 2, 3, 8, 8)).square().mean())
    pair.reducer.wait()
    pair.step()


def caps_make_the_plans_buckets(folder: Path, rank: int) -> None:
    names = [name for name, _ in of_linears().named_parameters()][::-1]
    cuts = [names[:3], names[3:4], names[4:7], names[7:]]
    model = of_linears()
    known = dict(model.named_parameters())
    exported(folder, cuts, model)
    caps = [sum(known[n].numel() * 4 for n in cut) / 2**20 for cut in cuts]
    wrapped = DistributedDataParallel(model, bucket_cap_mb_list=caps)
    for step in range(3):
        wrapped(data(step, rank, 8, 16)).square().mean().backward()
    sizes = wrapped._get_ddp_logging_data()["rebuilt_bucket_sizes"]
    assert [int(size) for size in sizes.split(",")] == [round(cap * 2**20) for cap in caps]


def refused(error: type[Exception], pattern: str, call) -> None:
    with pytest.raises(error, match=pattern):
        call()


def planned(folder: Path, model: nn.Module, **options: Any) -> Any:
    return exported(folder, dealt(model), model)["Buckets"](model, **options)


def a_second_backward_pass(folder: Path, rank: int) -> None:
    model = of_linears()
    planned(folder, model)
    loss_of = lambda: model(data(0, rank, 8, 16)).square().mean()
    loss_of().backward()
    message = r"'\d\.(weight|bias)' got a second gradient.* no_sync\(\)"
    refused(RuntimeError, message, lambda: loss_of().backward())


def a_later_pass_that_is_not_sent(folder: Path, rank: int) -> None:
    model = of_linears()
    reducer = planned(folder, model)
    loss_of = lambda: model(data(0, rank, 8, 16)).square().mean()
    loss_of().backward()
    with reducer.no_sync():
        refused(RuntimeError, "got a second gradient", lambda: loss_of().backward())


def waiting_too_early(folder: Path, rank: int) -> None:
    model = of_linears()
    reducer = planned(folder, model)
    refused(RuntimeError, "8 of 8 parameters got no gradient", reducer.wait)
    with reducer.no_sync():
        model(data(0, rank, 8, 16)).square().mean().backward()
        refused(RuntimeError, r"wait\(\) in no_sync\(\)", reducer.wait)
    refused(RuntimeError, "8 of 8 parameters got no gradient", reducer.wait)


def unused_parameters_that_nobody_expects(folder: Path, rank: int) -> None:
    model = Branches()
    reducer = planned(folder, model)
    model(data(0, rank, 4, 8), "a").square().mean().backward()
    message = "4 of 8 parameters got no .*'b.bias'.*find_unused_parameters=True"
    refused(RuntimeError, message, reducer.wait)


def sparse_gradients(folder: Path, rank: int) -> None:
    model = nn.Embedding(11, 4, sparse=True)
    planned(folder, model)
    refused(
        RuntimeError,
        "'weight' has a sparse gradient",
        lambda: model(DrawnBatch(0, 0).words(6)).sum().backward(),
    )


def buckets_twice(folder: Path, rank: int) -> None:
    model = of_linears()
    first = planned(folder, model)
    refused(RuntimeError, r"Other Buckets send .* remove\(\)", lambda: planned(folder, model))
    first.remove()
    second = planned(folder, model)
    model(data(0, rank, 8, 16)).square().mean().backward()
    second.wait()
    own = model[0].weight.grad.clone()
    dist.broadcast(own, src=0)
    assert torch.equal(own, model[0].weight.grad)


def other_models(folder: Path, rank: int) -> None:
    model = of_linears()
    snippet = exported(folder, dealt(model), model)
    wrapped = DistributedDataParallel(of_linears())
    refused(TypeError, "Give the module itself", lambda: snippet["Buckets"](wrapped))
    other = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16))
    other.add_module("extra", nn.Linear(2, 2))
    other[0].weight.requires_grad_(False)
    faults = (
        "not in the model: '3.(weight|bias)', '3.(weight|bias)'; "
        "without requires_grad.*: '0.weight'; "
        r"in the model, and not in the plan: 'extra.weight', 'extra.bias'\."
    )
    refused(ValueError, faults, lambda: snippet["Buckets"](other))
    split = of_linears()
    split[0].to("meta")
    refused(ValueError, "on several devices", lambda: snippet["Buckets"](split))


def other_plans_of_the_other_worker(folder: Path, rank: int) -> None:
    model = of_linears()
    names = dealt(model, 3 - rank)
    make = exported(folder, names, model)["Buckets"]
    refused(RuntimeError, r"Workers \[1\] have another plan or model", lambda: make(model))


def many_names(folder: Path, rank: int) -> None:
    model = of_linears()
    make = exported(folder, dealt(model), model)["Buckets"]
    other = nn.Linear(2, 2)
    refused(ValueError, "not in the model: .* and 3 more; in the model", lambda: make(other))


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        plain,
        accumulation,
        several_waits_in_a_step,
        unused_parameters,
        unused_parameters_in_views,
        shared_parameters,
        frozen_parameters,
        gradient_scaler,
        clipping_by_global_norm,
        buffers,
        buffers_of_each_worker,
        channels_last,
        gradients_as_views,
        checkpoints,
        several_types,
        a_group_of_its_own,
        a_compiled_model,
        a_copy_of_the_model,
        caps_make_the_plans_buckets,
        a_second_backward_pass,
        a_later_pass_that_is_not_sent,
        waiting_too_early,
        unused_parameters_that_nobody_expects,
        sparse_gradients,
        buckets_twice,
        other_models,
        other_plans_of_the_other_worker,
        many_names,
    )
}

if __name__ == "__main__":
    go_through(SCENARIOS)
