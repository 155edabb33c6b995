"""One rank: the runtime changes nothing, needs no more memory, and says what it cannot do."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any, Callable

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch.proof.models import MODELS
from interlace_client.torch.proof.networks import of_linears
from interlace_client.torch.proof.outcomes import NotHere
from interlace_client.torch.proof.pair import Loss, Make, TrainedPair, dealt, momentum, square
from interlace_client.torch.proof.site import DrawnBatch, Site
from interlace_client.torch.runtime.planned import PlannedDDP

#: Steps that are compared.
_STEPS = 6
#: Layers and width of the model whose memory is counted, and with --short: gradients of 134 MB.
_LAYERS, _WIDTH = 32, 1024
#: How much more memory than DistributedDataParallel's is more.
_MORE = 1.02
#: For how many cycles a stream is kept busy, so that who does not wait reads too early.
_CYCLES = 20_000_000


def equals_plain(name: str, site: Site) -> dict[str, Any]:
    """Train a model plain, in DistributedDataParallel and by a plan: bit for bit the same."""
    make, loss_of = MODELS[name]
    return _compared(make, loss_of, site)


def _compared(make: Make, loss_of: Loss, site: Site) -> dict[str, Any]:
    wraps: dict[str, Callable[[nn.Module, Any], Any]] = {
        "plain": lambda model, _: model,
        "DistributedDataParallel": lambda model, _: DistributedDataParallel(model),
        "PlannedDDP": lambda model, optimizer: PlannedDDP(model, optimizer, dealt(model, 3, 2)),
    }
    learned = {}
    for way, wrap in wraps.items():
        torch.manual_seed(0)
        model = make().to(site.device)
        optimizer = momentum(model)
        wrapped = wrap(model, optimizer)
        for step in range(_STEPS):
            loss_of(wrapped, DrawnBatch(step, site.rank, site.device)).backward()
            optimizer.step()
            optimizer.zero_grad()
        learned[way] = {key: value.clone() for key, value in model.state_dict().items()}
        if way == "PlannedDDP":
            wrapped.detach()
    for way, state in learned.items():
        for key, value in learned["plain"].items():
            assert torch.equal(state[key], value), f"{key} differs in {way}"
    return {"tensors": len(learned["plain"]), "steps": _STEPS}


class TwoStreams(nn.Module):
    """Two branches, of which one runs on a stream of its own, forwards and backwards."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(16, 16), nn.Linear(16, 16)
        self.here, self.there = of_linears(), of_linears()
        self.streams: list[Any] = []

    def forward(self, rows: torch.Tensor) -> Any:
        """Run both branches at once, the second behind a long kernel."""
        if not self.streams:
            self.streams.append(torch.cuda.Stream())
        side, current = self.streams[0], torch.cuda.current_stream()
        hidden = self.first(rows)
        side.wait_stream(current)
        with torch.cuda.stream(side):
            hidden.record_stream(side)
            slow = _Slow.apply(hidden)
            there = self.there(slow)
        here = self.here(hidden)
        current.wait_stream(side)
        there.record_stream(current)
        return self.last(here + there)


class _Slow(torch.autograd.Function):
    """Passes numbers on after a long kernel, both ways."""

    @staticmethod
    def forward(_: Any, hidden: torch.Tensor) -> torch.Tensor:
        torch.cuda._sleep(_CYCLES)
        return hidden.clone()

    @staticmethod
    def backward(_: Any, *gradients: torch.Tensor) -> torch.Tensor:
        torch.cuda._sleep(_CYCLES)
        return gradients[0].clone()


def two_streams(site: Site) -> dict[str, Any]:
    """Train a model whose branches run on two streams, with buckets that mix them."""
    if not site.is_cuda:
        raise NotHere("Streams are of GPUs.")
    return _compared(TwoStreams, square, site)


def no_host_synchronisation(site: Site) -> dict[str, Any]:
    """Train with PyTorch set to refuse calls that wait for the GPU."""
    if not site.is_cuda:
        raise NotHere("Only on a GPU the host runs ahead.")
    for find_unused in (False, True):
        pair = TrainedPair(site, find_unused_parameters=find_unused)
        pair.train(range(4))  # the first steps compare optimizers and the order of collectives
        samples = [pair.sample(step) for step in range(4, 8)]
        rows = [sample.normal(8, 16) for sample in samples]
        torch.cuda.set_sync_debug_mode("error")
        try:
            for each in rows:
                pair.ours(each).square().mean().backward()
                pair.optimizers[0].step()
                pair.optimizers[0].zero_grad()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        pair.ours.detach()
    return {}


def capture_is_refused(site: Site) -> dict[str, Any]:
    """Capture a step in a CUDA graph: a sentence, and training goes on."""
    if not site.is_cuda:
        raise NotHere("CUDA graphs are of GPUs.")
    pair = TrainedPair(site)
    pair.train(range(2))
    rows = pair.sample(2).normal(8, 16)
    said = ""
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            pair.ours(rows)
    except RuntimeError as error:
        said = str(error)
    assert "CUDA graph" in said, f"not refused: {said or 'no error'}"
    pair.train(range(2, 5))
    return {}


def memory(site: Site) -> dict[str, Any]:
    """Compare the most memory that is held, plain, in DistributedDataParallel and by a plan."""
    if not site.is_cuda:
        raise NotHere("Only the allocator of GPUs counts its memory.")
    layers = 8 if site.is_short else _LAYERS
    wraps: dict[str, Callable[[nn.Module, Any], Any]] = {
        "plain": lambda model, _: model,
        "DDP": lambda model, _: DistributedDataParallel(model),
        "DDP as views": lambda model, _: DistributedDataParallel(
            model, gradient_as_bucket_view=True
        ),
        "planned": PlannedDDP,
    }
    figures: dict[str, Any] = {}
    for name, wrap in wraps.items():
        gc.collect()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated(site.device)
        model = nn.Sequential(*(nn.Linear(_WIDTH, _WIDTH) for _ in range(layers))).to(site.device)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
        wrapped = wrap(model, optimizer)
        for steps, what in ((2, "first steps"), (4, "later steps")):
            torch.cuda.reset_peak_memory_stats(site.device)
            for step in range(steps):
                rows = DrawnBatch(step, site.rank, site.device).normal(8, _WIDTH)
                wrapped(rows).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
            site.sync()
            most = torch.cuda.max_memory_allocated(site.device) - before
            figures[f"{name}, {what} [MB]"] = round(most / 1e6, 1)
        if isinstance(wrapped, PlannedDDP):
            wrapped.detach()
        del model, optimizer, wrapped, rows
    ours, theirs = figures["planned, later steps [MB]"], figures["DDP, later steps [MB]"]
    assert ours <= theirs * _MORE, f"more memory than DistributedDataParallel: {figures}"
    return figures


CHECKS: dict[str, Callable[[Site], Any]] = {
    **{f"equals_plain[{name}]": partial(equals_plain, name) for name in MODELS},
    **{
        check.__name__: check
        for check in (two_streams, no_host_synchronisation, capture_is_refused, memory)
    },
}
