"""Record the small traces of this folder: two ranks with gloo on CPU, PyTorch 2.

Usage: ``python tests/data/kineto_record.py FOLDER`` writes ``kineto_gloo_0.json.gz`` and
``kineto_gloo_1.json.gz``, three steps of a small network in DistributedDataParallel, and
``kineto_parameters.json``, names and bytes in order of registration.
"""

import gzip
import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

WARM_UP, STEPS = 2, 3
#: What tells about the machine and not about the run.
LEFT = {"traceName", "trace_id", "host_name", "deviceProperties"}


def train(rank, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    network = nn.Sequential(
        nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    model = DistributedDataParallel(network, bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    plan = schedule(wait=0, warmup=WARM_UP, active=STEPS, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True) as prof:
        for _ in range(WARM_UP + STEPS):
            optimizer.zero_grad()
            model(torch.randn(64, 256)).square().mean().backward()
            optimizer.step()
            prof.step()
    path = folder / f"raw{rank}.json"
    prof.export_chrome_trace(str(path))
    trace = {key: value for key, value in json.loads(path.read_text()).items() if key not in LEFT}
    text = json.dumps(trace, separators=(",", ":")).encode()
    (folder / f"kineto_gloo_{rank}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))
    path.unlink()
    if rank == 0:
        sizes = [[name, 4 * p.numel()] for name, p in network.named_parameters()]
        (folder / "kineto_parameters.json").write_text(json.dumps(sizes) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, (Path(sys.argv[1]),), nprocs=2)
