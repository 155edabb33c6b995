"""Train a compiled, sharded transformer as planned: capture, plan, compile again, compare.

Run by torchrun, with gloo on CPUs:

    torchrun --nproc-per-node 2 compiled_training.py

The command ``interlace`` of rank 0's machine makes the plans, or ``--service`` does.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc
from torch import nn

from interlace_client.torch import NoAnswer, Planner
from interlace_client.torch.compiled import (
    CaptureCompiled,
    CapturedGraph,
    CompiledPlan,
    Costs,
    Fabric,
    Gpu,
    PlannedPass,
    read_program,
    running,
)

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH, TOKENS, BATCH = 64, 16, 2

#: Assumed: a core of 10 GFLOP/s and 10 GB/s, a loopback of 10 Gbit/s, 100 us a launch.
COSTS = Costs(
    gpu=Gpu(0.01, 0.01, 0.01, 0.01, 10, "assumed, a core of a CPU"),
    fabric=Fabric(node_gpus=2, startup_us=100.0),
)


class GatherWeight(torch.autograd.Function):  # type: ignore[misc]  # PyTorch, as below
    """A whole weight of its shards; its gradient is summed into shards."""

    @staticmethod
    def forward(_: Any, shard: torch.Tensor) -> torch.Tensor:
        """Gather."""
        return fc.all_gather_tensor(shard, 0, dist.group.WORLD)

    @staticmethod
    def backward(_: Any, grad: torch.Tensor) -> torch.Tensor:
        """Sum, and keep the own shard."""
        return fc.reduce_scatter_tensor(grad.contiguous(), "sum", 0, dist.group.WORLD)


class ShardedLayer(nn.Module):  # type: ignore[misc]  # PyTorch, which lint does without
    """A transformer's layer, each weight sharded over all ranks."""

    def __init__(self) -> None:
        super().__init__()
        for name, rows in (("qkv", 3), ("out", 1), ("up", 2), ("down", 2)):
            shard = torch.randn(rows * WIDTH // dist.get_world_size(), WIDTH) / 8
            setattr(self, name, nn.Parameter(shard))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend, then transform each token."""
        q, k, v = (x @ GatherWeight.apply(self.qkv).t()).chunk(3, -1)
        x = x + (q @ k.transpose(-1, -2) / 8).softmax(-1) @ v @ GatherWeight.apply(self.out).t()
        return x + torch.relu(x @ GatherWeight.apply(self.up).t()) @ GatherWeight.apply(self.down)


def trained(layers: int, steps: int, compiling: Callable[..., Any] | PlannedPass) -> list[Any]:
    """Train from the same start, compiled through a pass; return all losses and gradients."""
    torch.compiler.reset()
    torch.manual_seed(dist.get_rank())
    model = nn.Sequential(*(ShardedLayer() for _ in range(layers)))
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    seen = []
    with running(compiling):
        for k in range(steps):
            batch = torch.randn(BATCH, TOKENS, WIDTH, generator=torch.Generator().manual_seed(k))
            loss = compiled(batch).square().mean()
            loss.backward()
            seen += [loss.detach().clone(), *(p.grad.clone() for p in model.parameters())]
            optimizer.step()
            optimizer.zero_grad()
    return seen


def planned(captured: list[CapturedGraph], planner: Planner) -> list[CompiledPlan]:
    """Plan each graph on rank 0; all ranks take the same plans."""
    said: list[Any] = [None]
    if dist.get_rank() == 0:
        try:
            said = [[planner.program(graph.request) for graph in captured]]
        except NoAnswer as error:
            said = [str(error)]
    dist.broadcast_object_list(said)
    if isinstance(said[0], str):
        raise SystemExit(f"No plan: {said[0]}")
    for answer in said[0]:
        times = [answer[f"{name}_us"] / 1e3 for name in ("iteration_time", "lower_bound")]
        launches = f"{sum(len(b['tensors']) for b in answer['buckets'])} collectives in "
        launches += f"{len(answer['buckets'])} launches"
        say(f"{launches}: {times[0]:.3f} ms, no program is below {times[1]:.3f} ms")
    return [
        read_program(answer, graph.fingerprint)
        for graph, answer in zip(captured, said[0], strict=True)
    ]


def say(text: str) -> None:
    """Print a line, once for all ranks."""
    if dist.get_rank() == 0:
        print(text, flush=True)


def main() -> None:
    """Train without plans and with them, and compare."""
    parser = argparse.ArgumentParser(description="Train a compiled model with a plan.")
    parser.add_argument("--service", help="URL of an Interlace service; else the command is run")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--search-s", type=float, default=2, help="for each graph, at most")
    given = parser.parse_args()
    dist.init_process_group("gloo")
    capture = CaptureCompiled("transformer", COSTS)
    before = trained(given.layers, given.steps, capture)
    plans = planned(capture.sending(), Planner(given.service, given.search_s))
    compiling = PlannedPass(plans)
    after = trained(given.layers, given.steps, compiling)
    elsewhere = sum(written.differing for written in compiling.written)
    say(f"{len(compiling.written)} graphs written, {elsewhere} steps elsewhere than planned")
    same = all(map(torch.equal, before, after))
    say(f"Losses and gradients of {given.steps} steps are {'the same' if same else 'DIFFERENT'}.")
    dist.destroy_process_group()
    if not same:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
