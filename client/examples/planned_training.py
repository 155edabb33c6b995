"""Train a model whose gradients travel as planned: the ordinary loop, and what a plan adds to it.

Run by torchrun, with gloo on CPUs and NCCL on GPUs:

    torchrun --nproc-per-node 2 planned_training.py --service http://planner:8000

Without ``--service`` the command ``interlace`` of this machine makes the plan. Where nobody makes
one, nothing is to be gained, or the plan's own steps do not show the gain, training goes on with
DistributedDataParallel.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from statistics import median
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy

from interlace_client.torch import (
    NoAnswer,
    PlannedDDP,
    Planner,
    Trial,
    calibrate,
    make_plan,
    measure_window,
)
from interlace_client.torch.capture import capture, measure_overlap

if TYPE_CHECKING:
    from interlace_client.torch.overlap import Overlap

CLASSES, BATCH = 10, 32


def network(width: int, layers: int) -> nn.Module:
    """Make layers of width x width, and one that chooses a class."""
    hidden = [each for _ in range(layers) for each in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(width, CLASSES))


def loss_of(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    """Make a forward pass."""
    return cross_entropy(model(batch), batch.sum(1).long() % CLASSES)


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: torch.Tensor) -> None:
    """Take a step, as in any loop."""
    loss_of(model, batch).backward()
    optimizer.step()
    optimizer.zero_grad()


def tried(
    model: PlannedDDP,
    optimizer: torch.optim.Optimizer,
    batch: torch.Tensor,
    overlap: Overlap,
    given: argparse.Namespace,
) -> None:
    """Have the model take the best plan, or DistributedDataParallel when none is better."""
    recording = capture(model, lambda: train_step(model, optimizer, batch), optimizer)
    recording = recording.with_overlap(overlap)
    gradients = sum(tensor.bytes for tensor in recording.tensors)
    limit_s = given.calibration_s
    calibration = calibrate(sizes=gradients, limit_s=limit_s, window=model.window)
    for note in [*recording.notes, *calibration.notes]:
        say(note)
    try:
        advice = make_plan(recording, calibration, Planner(given.service, given.search_s))
    except NoAnswer as error:
        say(f"No plan: {error}")
        return model.hand_over()
    say(advice.sentence)
    if not advice.is_worth:
        return model.hand_over()
    trial = Trial(model, advice)
    while trial.outcome is None:
        train_step(model, optimizer, batch)
    say(trial.outcome.sentence)
    return None


def timed(
    model: nn.Module, optimizer: torch.optim.Optimizer, batch: torch.Tensor, steps: int
) -> float:
    """Train some steps; return the median time of one [ms]."""
    times = []
    for _ in range(steps):
        began = time.perf_counter()
        train_step(model, optimizer, batch)
        if batch.is_cuda:
            torch.cuda.synchronize()
        times.append((time.perf_counter() - began) * 1e3)
    return median(times)


def say(text: str) -> None:
    """Print a line, once for all ranks."""
    if dist.get_rank() == 0:
        print(text, flush=True)


def train(given: argparse.Namespace, device: str) -> None:
    """Train, plan, and train on."""
    net = network(given.width, given.layers).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    batch = torch.rand(BATCH, given.width, device=device)

    overlap = measure_overlap(net, lambda: loss_of(net, batch).backward())
    optimizer.zero_grad()
    model = PlannedDDP(net, optimizer)  # for now the buckets of DistributedDataParallel
    say(f"{timed(model, optimizer, batch, given.steps):.1f} ms a step before")
    say(measure_window(model, lambda: train_step(model, optimizer, batch)).sentence)
    tried(model, optimizer, batch, overlap, given)
    by = "by the plan" if model.is_planned else "in DistributedDataParallel"
    say(f"{timed(model, optimizer, batch, given.steps):.1f} ms a step {by}")
    model.detach()  # the last updates arrive


def main() -> None:
    """Join the other ranks, train, and leave them."""
    parser = argparse.ArgumentParser(description="Train with a plan.")
    parser.add_argument("--service", help="URL of an Interlace service; else the command is run")
    parser.add_argument("--steps", type=int, default=20, help="before the plan, and after it")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--calibration-s", type=float, default=30, help="the most it may take")
    parser.add_argument("--search-s", type=float, default=10, help="for a better plan, at most")
    given = parser.parse_args()
    has_gpu = torch.cuda.is_available()
    if has_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if has_gpu else "gloo")
    device = "cuda" if has_gpu else "cpu"
    train(given, device)
    gc.collect()  # without models and their launches, groups end their threads before the process
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
