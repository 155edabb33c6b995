"""Predicted steps beside measured ones: real compute, launches of a known time, no network."""

from __future__ import annotations

import time
from statistics import median
from typing import Any, Callable

import torch
from torch import nn

from interlace_client.torch.advice import PlanAdvice, make_plan
from interlace_client.torch.calibration.result import ALL_REDUCE, Calibration
from interlace_client.torch.calibration.table import time_of
from interlace_client.torch.capture import capture
from interlace_client.torch.planner import NoAnswer, Planner
from interlace_client.torch.plans import reversed_buckets
from interlace_client.torch.proof.outcomes import NotHere
from interlace_client.torch.proof.pacing import PacedChannel
from interlace_client.torch.proof.site import DrawnBatch, Site
from interlace_client.torch.runtime.planned import PlannedDDP

#: How long communication takes beside all compute of a step.
_SHARES = (0.5, 1.0)
#: What a launch costs besides its bytes [us].
_STARTUP_US = 50.0
#: Within which a prediction holds on a GPU. On a CPU no time decides: others use its cores.
_WITHIN = 0.1
#: Steps that do not count, and that do.
_WARM, _MEASURED = 3, 20


def _layers(site: Site) -> tuple[nn.Module, torch.Tensor]:
    """Make a model, and a batch of it."""
    width, depth, rows = (1024, 24, 2048) if site.is_cuda else (256, 8, 256)
    if site.is_short:
        width, depth, rows = 64, 4, 64
    torch.manual_seed(0)
    blocks = [each for _ in range(depth) for each in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*blocks).to(site.device), DrawnBatch(0, 0, site.device).normal(rows, width)


def predicted(share: float, site: Site) -> dict[str, Any]:
    """Plan a step, and take it, by the plan and by DistributedDataParallel's buckets."""
    model, batch = _layers(site)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)
    channel = PacedChannel(site.device, lambda _: 0.0)
    planned = PlannedDDP(model, optimizer, transport=channel)

    def step() -> None:
        planned(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    recording = capture(planned, step, optimizer)
    total = sum(tensor.bytes for tensor in recording.tensors)
    rate = total / (share * recording.compute_us)
    sizes = (1024, max(2048, total))
    table = tuple((size, _STARTUP_US + size / rate) for size in sizes)
    channel.cost = lambda size: time_of(table, size)
    calibration = Calibration(2, {ALL_REDUCE: table}, {}, None, 0.0, ())
    try:
        planner = Planner(site.planner, time_limit_s=2 if site.is_short else 20)
        advice = make_plan(recording, calibration, planner)
    except NoAnswer as error:
        raise NotHere(f"Nobody makes a plan: {error}") from error
    figures: dict[str, Any] = {"compute [ms]": round(recording.compute_us / 1e3, 3)}
    off = {}
    for name, install, planned_us in _arms(planned, advice):
        install()
        took = _measure(step, site)
        figures[f"{name}, measured [ms]"] = round(took / 1e3, 3)
        if planned_us is not None:
            figures[f"{name}, predicted [ms]"] = round(planned_us / 1e3, 3)
            off[name] = took / planned_us - 1
            figures[f"{name}, off [%]"] = round(100 * off[name], 1)
    planned.detach()
    if site.is_cuda:
        wrong = [name for name, each in off.items() if abs(each) > _WITHIN]
        assert not wrong, f"off by more than {_WITHIN:.0%}: {', '.join(wrong)}; {figures}"
    return figures


def _arms(
    planned: PlannedDDP, advice: PlanAdvice
) -> list[tuple[str, Callable[[], None], float | None]]:
    """Return what is measured, how it is installed, and what it was predicted to take [us]."""
    sizes = [(name, p.numel() * p.element_size()) for name, p in planned.module.named_parameters()]
    return [
        ("plan", lambda: planned.install(advice.plan, barrier=False), advice.plan_us),
        (
            "DistributedDataParallel's buckets",
            lambda: planned.install(reversed_buckets(sizes), barrier=True),
            advice.today_us,
        ),
    ]


def _measure(step: Callable[[], None], site: Site) -> float:
    """Return the time of a step [us]: on a GPU the mean of steps the host does not wait between."""
    warm, measured = (1, 3) if site.is_short else (_WARM, _MEASURED)
    for _ in range(warm):
        step()
    site.sync()
    times = []
    began = time.perf_counter()
    for _ in range(measured):
        step()
        times.append(time.perf_counter())
    site.sync()
    if site.is_cuda:
        return (time.perf_counter() - began) / measured * 1e6
    return median(after - before for before, after in zip([began, *times], times)) * 1e6


def _with(share: float) -> Callable[[Site], dict[str, Any]]:
    return lambda site: predicted(share, site)


CHECKS: dict[str, Callable[[Site], Any]] = {
    f"predicted[communication {share:g} of compute]": _with(share) for share in _SHARES
}
