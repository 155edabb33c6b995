"""A rank a device: what launches cost, and whether a plan gains anything, by its own trial."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.distributed as dist
from torch import nn

from interlace_client.torch.advice import make_plan
from interlace_client.torch.calibration import calibrate
from interlace_client.torch.capture import capture, measure_slowdown
from interlace_client.torch.planner import NoAnswer, Planner
from interlace_client.torch.proof.models import Decoder, ResidualBlocks
from interlace_client.torch.proof.outcomes import NotHere
from interlace_client.torch.proof.pair import Loss, Make, of_image
from interlace_client.torch.proof.site import DrawnBatch, Site
from interlace_client.torch.runtime.planned import PlannedDDP
from interlace_client.torch.trial import Trial


def _perceptron() -> nn.Module:
    layers = [each for _ in range(8) for each in (nn.Linear(512, 512), nn.ReLU())]
    return nn.Sequential(*layers)


def _of_rows(model: nn.Module, sample: DrawnBatch) -> torch.Tensor:
    return model(sample.normal(64, 512)).square().mean()


def _of_words(model: nn.Module, sample: DrawnBatch) -> torch.Tensor:
    return model(sample.words(8, 64))


#: By name: the first is the one of a short proof.
_MODELS: dict[str, tuple[Make, Loss]] = {
    "perceptron": (_perceptron, _of_rows),
    "residual": (ResidualBlocks, of_image),
    "decoder": (Decoder, _of_words),
}


def launches(site: Site) -> dict[str, Any]:
    """Measure what launches cost."""
    calibration = calibrate(sizes=2**20 if site.is_short else 64 * 2**20, limit_s=_limit_s(site))
    table = calibration.tables["all_reduce"]
    apart = calibration.apart
    return {
        **{f"{size} bytes [us]": round(us, 1) for size, us in table},
        **({} if apart is None else {"rounds apart [%]": round(100 * apart, 1)}),
    }


def _limit_s(site: Site) -> float:
    return 2.0 if site.is_short else 15.0


def plan_beside_ddp(name: str, site: Site) -> dict[str, Any]:
    """Capture, calibrate, plan and try: the five lines of the documentation."""
    if site.is_short and name != next(iter(_MODELS)):
        raise NotHere("Left out of a short proof.")
    make, loss_of = _MODELS[name]
    torch.manual_seed(0)
    model = make().to(site.device)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)
    sample = DrawnBatch(0, site.rank, site.device)
    slowdown = measure_slowdown(model, lambda: loss_of(model, sample).backward())
    optimizer.zero_grad()
    planned = PlannedDDP(model, optimizer)

    def step() -> None:
        loss_of(planned, sample).backward()
        optimizer.step()
        optimizer.zero_grad()

    recording = capture(planned, step, optimizer).with_slowdown(slowdown)
    gradients = sum(tensor.bytes for tensor in recording.tensors)
    calibration = calibrate(sizes=gradients, limit_s=_limit_s(site))
    try:
        planner = Planner(site.planner, time_limit_s=2 if site.is_short else 10)
        advice = make_plan(recording, calibration, planner)
    except NoAnswer as error:
        raise NotHere(f"Nobody makes a plan: {error}") from error
    trial = Trial(planned, advice)
    while trial.outcome is None:
        step()
    planned.detach()
    for key, value in model.named_parameters():
        first = value.detach().clone()
        dist.broadcast(first, src=0)
        assert torch.equal(first, value), f"{key} is another one on rank 0"
    return {
        "compute slow-down": round(slowdown, 3),
        "planned [ms]": round(advice.plan_us / 1e3, 3),
        "advice": advice.sentence,
        "kept": "the plan" if trial.outcome.is_planned else "DistributedDataParallel",
        "trial": trial.outcome.sentence,
        **{f"{arm.name} [ms]": round(arm.median_us / 1e3, 3) for arm in trial.outcome.arms},
    }


def _with(name: str) -> Callable[[Site], dict[str, Any]]:
    return lambda site: plan_beside_ddp(name, site)


CHECKS: dict[str, Callable[[Site], Any]] = {
    "launches": launches,
    **{f"plan_beside_ddp[{name}]": _with(name) for name in _MODELS},
}
