"""Record the execution trace and the profiler's trace of one run: gloo on CPU, PyTorch 2.

Usage: ``python tests/data/pytorch_et_record.py FOLDER`` writes ``et_gloo.json.gz`` and
``et_gloo_kineto.json.gz`` of the first of two ranks: two steps of a small network in
DistributedDataParallel. The profiler records no shapes, so sizes are in the execution trace alone.
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
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, schedule

WARM_UP, STEPS = 2, 2
KEPT = {"traceEvents", "distributedInfo", "schemaVersion", "schema", "nodes"}


def train(rank, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29512")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    network = nn.Sequential(
        nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    model = DistributedDataParallel(network, bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    paths = {name: folder / f"{name}{rank}.json" for name in ("et_gloo", "et_gloo_kineto")}
    observer = ExecutionTraceObserver().register_callback(str(paths["et_gloo"]))
    plan = schedule(wait=0, warmup=WARM_UP, active=STEPS, repeat=1)
    with profile(
        activities=[ProfilerActivity.CPU], schedule=plan, execution_trace_observer=observer
    ) as prof:
        for _ in range(WARM_UP + STEPS):
            optimizer.zero_grad()
            model(torch.randn(64, 256)).square().mean().backward()
            optimizer.step()
            prof.step()
    prof.export_chrome_trace(str(paths["et_gloo_kineto"]))
    for name, path in paths.items():
        trace = {key: value for key, value in json.loads(path.read_text()).items() if key in KEPT}
        text = json.dumps(trace, separators=(",", ":")).encode()
        if rank == 0:
            (folder / f"{name}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))
        path.unlink()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, (Path(sys.argv[1]),), nprocs=2)
