"""What one of two workers does to see what is refused, and what trials keep."""

import subprocess
import sys
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms import Join
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from interlace_client.torch import PlanAdvice, PlannedDDP, Trial, UnusablePlan, measure_window
from interlace_client.torch.drift.replanning import written
from interlace_client.torch.proof.networks import Branches, of_convolutions, of_linears
from interlace_client.torch.proof.pair import TrainedPair, dealt, momentum, of_image, square, taking
from interlace_client.torch.proof.site import DrawnBatch, Site
from tests.ending import leave
from tests.torch.workers import ROOT, go_through


def at(folder: Path, rank: int) -> Site:
    return Site(rank, 2, torch.device("cpu"), folder)


class Counting(torch.optim.SGD):
    """Its steps depend on how many it has made, which it keeps in its options."""

    def step(self, closure=None):
        for group in self.param_groups:
            group["made"] = group.get("made", 0) + 1
            group["lr"] = 0.1 / group["made"]
        return super().step(closure)


def steps_that_cannot_be_cut(folder: Path, rank: int) -> None:
    pair = TrainedPair(at(folder, rank), optimizer=lambda m: Counting(m.parameters(), 0.1))
    with pytest.warns(UserWarning, match="Counting changes more than parameters and their state"):
        pair.train(range(4))


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


def passes_beside_the_run(folder: Path, rank: int) -> None:
    """The module itself, called after a step: the first rank's statistics keep what it adds."""

    def trained(*, is_planned: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
        sgd = torch.optim.SGD(net.parameters(), 0.1)
        model = PlannedDDP(net, sgd) if is_planned else DistributedDataParallel(net)
        draws = torch.Generator().manual_seed(rank)
        for _ in range(4):
            batch = torch.randn(6, 4, generator=draws)
            model(batch).square().mean().backward()
            sgd.step()
            sgd.zero_grad()
            net(2 * batch)
        if is_planned:
            model.detach()
        return [tensor.detach().clone() for tensor in (*net.parameters(), *net.buffers())]

    ours, theirs = trained(is_planned=True), trained(is_planned=False)
    alike = ours if rank == 0 else ours[:6]  # the other's statistics are its own until a step's end
    assert all(torch.equal(a, b) for a, b in zip(alike, theirs, strict=False))


def trials(folder: Path, rank: int) -> None:
    """All arms train as DistributedDataParallel does; what is slower on any rank goes."""
    by_turns = lambda m, sample: taking("ab"[(sample.step + sample.rank) % 3 % 2])(m, sample)
    for planned_us, is_kept, make, loss_of in (
        (1.0, True, Centred, square),
        (1.0 + 0.5 * rank, False, Branches, by_turns),
    ):
        pair = TrainedPair(at(folder, rank), make, find_unused_parameters=make is Branches)
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
                assert torch.equal(
                    *(loss_of(model, pair.sample(200 + step)) for model in pair.both)
                )
            used.append((pair.ours.is_planned, pair.ours.plan == dealt(pair.ours.module)))
            assert list(pair.ours.state_dict()) == names
            now += planned_us if pair.ours.is_planned else 1.2
            made |= {pair.ours._stand_in.ddp} - {None}
            pair.step(set_to_none=step % 5 > 0)
            with torch.no_grad():  # and the buffer moves
                assert torch.equal(
                    *(loss_of(model, pair.sample(300 + step)) for model in pair.both)
                )
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
        assert trial.advice.is_worth is is_kept
        assert trial.advice.sentence.startswith(f"{outcome.sentence} Before the trial: ")
        pair.ours.install(dealt(pair.ours.module, 2))
        assert pair.ours.is_planned
        assert not made
        pair.train(range(50, 53), loss_of)
        module = pair.ours.detach()
        assert not any(p._backward_hooks for p in module.parameters())


def trials_that_end(folder: Path, rank: int) -> None:
    """What a trial cannot try is refused on all ranks; who takes a plan himself ends it."""
    pair = TrainedPair(at(folder, rank))
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
    pair = TrainedPair(at(folder, rank))
    now, step = 0.0, 0
    pace_us = {1: 1.2, 2: 1.0 + rank, 4: 1.1}

    def trained() -> None:
        nonlocal now, step
        pair.train(range(step, step + 1))
        now, step = now + pace_us[pair.ours.window], step + 1

    found = measure_window(pair.ours, trained, clock=lambda: now)
    assert step == 28
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
    sharing = of_linears()
    sharing[1].bias = first.module[0].bias
    shared = "sends the gradients of '1.bias'"
    refused(RuntimeError, shared, lambda: PlannedDDP(sharing))
    again = first.detach()
    PlannedDDP(sharing).detach()
    PlannedDDP(again)
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
    refused(
        TypeError,
        "PlannedDDP sends the gradients already",
        lambda: square(around, DrawnBatch(0, rank)),
    )
    inside = nn.Sequential(nn.Linear(2, 2), DistributedDataParallel(nn.Linear(2, 2)))
    refused(
        TypeError, "DistributedDataParallel at '1' sends gradients too", lambda: PlannedDDP(inside)
    )
    refused(TypeError, "PlannedDDP at '0' sends", lambda: PlannedDDP(nn.Sequential(planned)))
    refused(TypeError, r"Compile the model before it is wrapped", planned.compile)
    other = lambda: planned.register_comm_hook(None, print)
    refused(NotImplementedError, "print would send other bytes than planned", other)
    for hook in (powerSGD_hook.powerSGD_hook, powerSGD_hook.batched_powerSGD_hook):
        state = powerSGD_hook.PowerSGDState(None)
        compressed = lambda hook=hook, state=state: planned.register_comm_hook(state, hook)
        refused(
            NotImplementedError, "powerSGD_hook would send other bytes than planned", compressed
        )


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
            of_image(model, DrawnBatch(step, rank)).backward()
            optimizer.step()
            optimizer.zero_grad()
    states = [model.module.state_dict() for model, _ in both]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    own = states[0]["0.bias"].clone()
    assert not torch.equal(own, before)
    dist.broadcast(own, src=0)
    assert torch.equal(own, states[0]["0.bias"]) == (rank == 0)


def hooks(folder: Path, rank: int) -> None:
    planned = PlannedDDP(of_linears(), ())
    fp16 = default_hooks.fp16_compress_hook
    group = dist.new_group([0, 1])
    refused(ValueError, "another process group", lambda: planned.register_comm_hook(group, fp16))
    mine = default_hooks.bf16_compress_hook if rank else fp16
    there = r"Ranks \[1\] have another plan than rank 0"
    refused(RuntimeError, there, lambda: planned.register_comm_hook(None, mine))
    planned.register_comm_hook(dist.group.WORLD, fp16)
    again = lambda: planned.register_comm_hook(None, fp16)
    refused(RuntimeError, "registered already", again)


def hooks_in_both(folder: Path, rank: int) -> None:
    """A hook goes with the gradients when DistributedDataParallel takes them over."""
    pair = TrainedPair(at(folder, rank))
    bf16 = default_hooks.bf16_compress_hook
    pair.ours.register_comm_hook(None, bf16)
    pair.theirs.register_comm_hook(None, lambda state, bucket: bf16(state, bucket))  # noqa: PLW0108
    for take in (lambda m: m.hand_over(), lambda m: m.install(dealt(m.module, 2))):
        pair.train(range(3))
        take(pair.ours)
    pair.train(range(3, 5))


def hooks_of_some_ranks(folder: Path, rank: int) -> None:
    """A hook sums over the run's ranks, whoever sends the gradients."""
    groups = [dist.new_group([each]) for each in range(2)]
    trained = []
    for is_handed_over in (False, True):
        torch.manual_seed(0)
        module = of_linears()
        optimizer = momentum(module)
        planned = PlannedDDP(module, optimizer, process_group=groups[rank])
        planned.register_comm_hook(None, default_hooks.bf16_compress_hook)
        if is_handed_over:
            planned.hand_over()
        for step in range(3):
            square(planned, DrawnBatch(step, rank)).backward()
            optimizer.step()
            optimizer.zero_grad()
        trained.append(planned.state_dict())
    assert all(torch.equal(value, trained[1][name]) for name, value in trained[0].items())


def other_collectives(folder: Path, rank: int) -> None:
    """Made in another order on one rank: found when the step is over."""
    module = of_linears()
    optimizer = momentum(module)
    planned = PlannedDDP(module, optimizer, dealt(module))
    own = [dist.new_group([each]) for each in range(2)][rank]
    planned.watch_order(3)
    metric = lambda: dist.all_reduce(torch.ones(1), async_op=True)

    def step(k: int, *, is_late: bool) -> None:
        loss = square(planned, DrawnBatch(k, rank))
        hook = module[1].weight.register_post_accumulate_grad_hook(
            lambda _: works.append(metric()) if not is_late else None
        )
        works: list[Any] = []
        loss.backward()
        if is_late:
            works.append(metric())
        for work in works:
            work.wait()
        hook.remove()
        optimizer.step()

    step(0, is_late=False)
    for _ in range(rank):  # of a group that nobody else is in
        dist.all_reduce(torch.ones(1), group=own)
    step(1, is_late=False)
    step(2, is_late=rank == 1)
    refused(
        RuntimeError,
        r"Launch 0 of the step comes after 1 collectives of another .* and after 0 on rank 1",
        lambda: step(3, is_late=False),
    )


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
    refused(RuntimeError, there, lambda: planned.install(planned.plan, window=2 + rank))
    refused(RuntimeError, there, lambda: measure_window(planned, print, range(1, 3 + rank)))
    refused(ValueError, "got window=0", lambda: PlannedDDP(of_linears(), (), window=0))
    refused(ValueError, "Name the windows", lambda: measure_window(planned, print, ()))
    square(planned, DrawnBatch(0, rank)).backward()
    planned.drain()


def what_is_refused(folder: Path, rank: int) -> None:
    planned = PlannedDDP(Branches(), ())
    refused(NotImplementedError, "same number of steps on every rank", planned.join)
    refused(NotImplementedError, "same number of steps on every rank", lambda: Join([planned]))
    taking("a")(planned, DrawnBatch(0, rank)).backward()
    message = "4 of 8 parameters got no gradient .*'b.weight'.*find_unused_parameters=True"
    refused(RuntimeError, message, planned.drain)
    refused(RuntimeError, message, lambda: taking("a")(planned, DrawnBatch(0, rank)))
    model = nn.Embedding(11, 4, sparse=True)
    sparse = PlannedDDP(model, ())
    refused(
        RuntimeError, "sparse gradient", lambda: sparse(DrawnBatch(0, 0).words(6)).sum().backward()
    )
    model = of_linears()
    PlannedDDP(model, momentum(model))
    layers = lambda: checkpoint(
        model[0],
        checkpoint(model[0], DrawnBatch(0, 0).normal(1, 16).requires_grad_(), use_reentrant=True),
        use_reentrant=True,
    )
    refused(RuntimeError, "second gradient|inside a backward", lambda: layers().sum().backward())


def passes_that_fail(folder: Path, rank: int) -> None:
    """Said at the next forward pass; the run lets go of the module, and another takes it."""
    said = "a pass that failed, detach\\(\\) and wrap the module anew"
    for is_static in (False, True):
        pair = TrainedPair(at(folder, rank), static_graph=is_static)
        module, optimizer = pair.ours.module, pair.optimizers[0]
        failing = module[1].weight.register_hook(lambda _: 1 / 0)
        loss = square(pair.ours, DrawnBatch(0, rank))
        refused(ZeroDivisionError, "", loss.backward)
        failing.remove()
        refused(RuntimeError, said, lambda: square(pair.ours, DrawnBatch(1, rank)))  # noqa: B023
        refused(RuntimeError, said, pair.ours.detach)
        assert all(type(p) is nn.Parameter and p.grad is None for p in module.parameters())
        pair.both[0] = pair.ours = PlannedDDP(module, optimizer, dealt(module))
        pair.train(range(3))


def graphs_of_gradients(folder: Path, rank: int) -> None:
    """As DistributedDataParallel, which says less; what sends nothing may have them."""
    for k, said in enumerate(("gradients that have a graph are not averaged", "")):
        pair = TrainedPair(at(folder, rank))
        with pair.both[k].no_sync():
            square(pair.both[k], DrawnBatch(0, rank)).backward(create_graph=True)
        pair.both[k].zero_grad()
        loss = square(pair.both[k], DrawnBatch(1, rank))
        refused(RuntimeError, said, lambda: loss.backward(create_graph=True))  # noqa: B023


def memory_written_past_the_run(folder: Path, rank: int) -> None:
    """What has shared a parameter's memory since before a step, and is written after it."""
    pair = TrainedPair(at(folder, rank))
    pair.train(range(2))
    for is_drained in (True, False):
        held = [model.module.state_dict() for model in pair.both]
        pair.backward(2)
        pair.step()
        if is_drained:
            pair.ours.drain()
        for each in held:
            each["1.weight"].mul_(2)
        if is_drained:
            pair.train(range(3, 5))
    said = "'1.weight': written while an update was on its way"
    refused(RuntimeError, said, lambda: square(pair.ours, DrawnBatch(3, rank)))
    refused(RuntimeError, said, pair.ours.drain)
    refused(RuntimeError, said, pair.ours.detach)


def a_worker_that_is_replaced(folder: Path, rank: int) -> None:
    """As fault-tolerant launchers do: the other rank trains on in the same process."""
    dist.barrier()
    dist.destroy_process_group()
    again = folder.parent / "again"
    if rank == 0:
        train_again(again, 0)
        return
    command = [sys.executable, "-m", "tests.torch.planned_worker", "again", str(again)]
    subprocess.run(command, check=True, cwd=ROOT)
    dist.init_process_group("gloo", init_method=f"file://{folder}/alone", rank=0, world_size=1)


def train_again(store: Path, rank: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    TrainedPair(at(store.parent, rank)).train(range(3))


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        ignored_parameters,
        passes_beside_the_run,
        steps_that_cannot_be_cut,
        trials,
        windows,
        trials_that_end,
        plans_of_other_models,
        wrappers,
        hooks,
        hooks_in_both,
        hooks_of_some_ranks,
        other_collectives,
        sharded_parameters,
        ranks_that_differ,
        what_is_refused,
        passes_that_fail,
        graphs_of_gradients,
        memory_written_past_the_run,
        a_worker_that_is_replaced,  # the last: the group of the others has ended
    )
}

if __name__ == "__main__":
    if sys.argv[1] == "again":
        train_again(Path(sys.argv[2]), 1)
        leave()
    else:
        go_through(SCENARIOS)
