"""Write the graph of a small transformer on many GPUs as a request for a plan, on a laptop.

Run ``python capture_compiled.py plan.json 256``, then ``interlace plan plan.json``. No GPU, no
weights: tensors are fake, and so are the other ranks.
"""

import sys

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.nn.utils import parametrize

from interlace_client.torch.compiled import Costs, capture_compiled, fake_ranks

WIDTH, HEADS, LAYERS, TOKENS, BATCH = 1024, 8, 4, 512, 2


class ShardedParameter(nn.Module):  # type: ignore[misc]  # PyTorch, which lint does without
    """A sharded parameter, gathered when it is used; its gradient is reduced and scattered."""

    def forward(self, weight: DTensor) -> torch.Tensor:
        """Return the whole parameter."""
        whole = weight.redistribute(placements=[Replicate()])
        return whole.to_local(grad_placements=[Partial("avg")])


class TransformerLayer(nn.Module):  # type: ignore[misc]  # PyTorch, which lint does without
    """A transformer's layer."""

    def __init__(self) -> None:
        super().__init__()
        self.into = nn.Linear(WIDTH, 3 * WIDTH, bias=False, dtype=torch.bfloat16)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False, dtype=torch.bfloat16)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False, dtype=torch.bfloat16)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False, dtype=torch.bfloat16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend, then transform each token."""
        heads = [
            part.view(BATCH, TOKENS, HEADS, -1).transpose(1, 2)
            for part in self.into(x).chunk(3, dim=-1)
        ]
        scores = heads[0] @ heads[1].transpose(-1, -2) / (WIDTH / HEADS) ** 0.5
        mixed = torch.softmax(scores, dim=-1) @ heads[2]
        x = x + self.out(mixed.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))
        return x + self.down(torch.relu(self.up(x)))


def sharded(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """Shard each parameter over all ranks, as FSDP does."""
    ranks = mesh.size()
    for module in list(model.modules()):
        for name, weight in list(module.named_parameters(recurse=False)):
            local = weight.detach().chunk(ranks)[0].clone()
            shard = DTensor.from_local(local, mesh, [Shard(0)], run_check=False)
            setattr(module, name, nn.Parameter(shard))
            parametrize.register_parametrization(module, name, ShardedParameter(), unsafe=True)
    return model


def main(path: str, ranks: int) -> None:
    """Capture both passes and say what was assumed."""
    with fake_ranks(ranks):
        mesh = init_device_mesh("cpu", (ranks,))  # of real tensors
        with FakeTensorMode(allow_non_fake_inputs=True):
            model = sharded(nn.Sequential(*(TransformerLayer() for _ in range(LAYERS))), mesh)
            inputs = torch.empty(BATCH, TOKENS, WIDTH, dtype=torch.bfloat16)
        captured = capture_compiled(
            model, [inputs], name=f"transformer on {ranks} GPUs", costs=Costs(gpu="h100")
        )
    captured.write(path)
    report = captured.report
    print(f"{report.ops} ops, {report.collectives} collectives, {report.buffers} buffers")
    print(f"{report.compute_us / 1e3:.3f} ms of compute; written to {path}")
    for note in report.notes:
        print(note)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
