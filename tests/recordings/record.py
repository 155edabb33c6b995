"""Record small training jobs with the PyTorch profiler: gloo on CPU, one process a rank.

``python -m tests.recordings.record FOLDER [JOB ...]`` writes for each job
``FOLDER/JOB/rank0.json.gz`` and so on, ``FOLDER/JOB/sent.json``: what one step of it sends, worked
out from the shapes of the network and not from the recording, and ``FOLDER/JOB/parameters.json``.
Needs torch 2.13.
"""

import gzip
import json
import os
import socket
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.multiprocessing.spawn import start_processes
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

WARM_UP, STEPS = 2, 3
WIDTH, HIDDEN, BLOCKS, BATCH = 256, 1024, 3, 64
#: Bytes of the parameters of a block, and of what it hands to the next.
BLOCK = 4 * (WIDTH * HIDDEN + HIDDEN + HIDDEN * WIDTH + WIDTH)
ACTIVATION = 4 * BATCH * WIDTH
#: What tells about the machine and not about the run.
LEFT = {"traceName", "trace_id", "host_name", "deviceProperties"}


@dataclass(frozen=True)
class Sent:
    """What one step sends of one kind in one group: bytes of whole tensors."""

    kind: str
    bytes: int
    workers: int
    channel: str


class Block(nn.Module):
    """Two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down(torch.relu(self.up(x)))
        return out


@dataclass(frozen=True)
class Training:
    """A model with its optimizer, and how many batches it takes before it steps."""

    model: Any
    optimizer: Any
    batches: int = 1


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(*(Block() for _ in range(BLOCKS)))


def sgd(model: nn.Module) -> Any:
    return torch.optim.SGD(model.parameters(), lr=0.01)


def ddp() -> Training:
    model = DistributedDataParallel(network(), bucket_cap_mb=2)
    return Training(model, sgd(model))


def accumulation() -> Training:
    model = DistributedDataParallel(network(), bucket_cap_mb=2)
    return Training(model, sgd(model), batches=2)


def zero1() -> Training:
    model = DistributedDataParallel(network(), bucket_cap_mb=2)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.01)
    return Training(model, optimizer)


def fsdp1() -> Training:
    cpu = torch.device("cpu")
    blocks = (FullyShardedDataParallel(block, device_id=cpu) for block in network())
    model = FullyShardedDataParallel(nn.Sequential(*blocks), device_id=cpu)
    return Training(model, sgd(model))


def fsdp2() -> Training:
    return _fully_sharded(init_device_mesh("cpu", (2,), mesh_dim_names=("fsdp",)))


def hsdp() -> Training:
    return _fully_sharded(init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard")))


def _fully_sharded(mesh: DeviceMesh) -> Training:
    model = network()
    for part in (*model, model):
        fully_shard(part, mesh=mesh)
    return Training(model, sgd(model))


def tp() -> Training:
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    model = network()
    for block in model:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return Training(model, sgd(model))


@dataclass(frozen=True)
class Job:
    """How many ranks train what, and what a step of it sends."""

    ranks: int
    make: Callable[[], Training]
    sent: tuple[Sent, ...]


def _sharded(workers: int, channel: str) -> tuple[Sent, ...]:
    return (
        Sent("all_gather", 2 * BLOCKS * BLOCK, workers, channel),
        Sent("reduce_scatter", BLOCKS * BLOCK, workers, channel),
    )


GRADIENTS = Sent("all_reduce", BLOCKS * BLOCK, 2, "network")
JOBS = {
    "ddp": Job(2, ddp, (GRADIENTS,)),
    "accumulation": Job(2, accumulation, (GRADIENTS,)),
    "zero1": Job(2, zero1, (GRADIENTS, Sent("broadcast", BLOCKS * BLOCK, 2, "network"))),
    "fsdp1": Job(2, fsdp1, _sharded(2, "network")),
    "fsdp2": Job(2, fsdp2, _sharded(2, "network")),
    "tp": Job(2, tp, (Sent("all_reduce", (2 * BLOCKS - 1) * ACTIVATION, 2, "network"),)),
    "hsdp": Job(
        4,
        hsdp,
        (
            *_sharded(2, "shard"),
            Sent("all_reduce", BLOCKS * BLOCK // 2, 2, "replicate"),
        ),
    ),
}


def train(rank: int, name: str, port: int, folder: Path) -> None:
    """Train as one rank and write its trace."""
    job = JOBS[name]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=job.ranks)
    training = job.make()
    plan = schedule(wait=0, warmup=WARM_UP, active=STEPS, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True) as prof:
        for _ in range(WARM_UP + STEPS):
            training.optimizer.zero_grad()
            for batch in range(training.batches):
                is_last = batch + 1 == training.batches
                with nullcontext() if is_last else training.model.no_sync():
                    training.model(torch.randn(BATCH, WIDTH)).square().mean().backward()
            training.optimizer.step()
            prof.step()
    path = folder / f"raw{rank}.json"
    prof.export_chrome_trace(str(path))
    trace = {key: value for key, value in json.loads(path.read_text()).items() if key not in LEFT}
    text = json.dumps(trace, separators=(",", ":")).encode()
    (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))
    path.unlink()
    if rank == 0:
        sizes = [[n, p.numel() * p.element_size()] for n, p in network().named_parameters()]
        (folder / "parameters.json").write_text(json.dumps(sizes) + "\n")
    dist.destroy_process_group()


def record(name: str, folder: Path) -> Path:
    """Run a job and return the folder of its traces.

    Ranks are forks: importing PyTorch takes longer than training.
    """
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start_processes(train, (name, port, place), JOBS[name].ranks, start_method="fork")
    (place / "sent.json").write_text(json.dumps([asdict(sent) for sent in JOBS[name].sent]) + "\n")
    return place


if __name__ == "__main__":
    for job in sys.argv[2:] or JOBS:
        print(record(job, Path(sys.argv[1])))
