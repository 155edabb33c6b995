"""Apply exported units to the network that was recorded, on one worker, and train a step."""

import runpy
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor

from tests.ending import leave
from tests.recordings.record import WIDTH, network


def train(folder: Path) -> None:
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    shard = runpy.run_path(str(folder / "fsdp_units.py"))["shard"]
    model = shard(network(), mesh=dist.init_device_mesh("cpu", (1,)))
    model(torch.ones(2, WIDTH)).square().mean().backward()
    assert all(isinstance(each.grad, DTensor) for each in model.parameters())


if __name__ == "__main__":
    train(Path(sys.argv[1]))
    leave()
