"""The snippet for PyTorch, run by two workers; where PyTorch is installed."""

import subprocess
import sys

import pytest

from solver.costs import Affine, alike
from solver.exports import EXPORTS, ExplicitPlan
from solver.models.layers import Layer, iteration
from solver.planning.explicit import ExplicitBucket, ExplicitPart

# 7 layers with weights (w) and biases (b); the buckets end within a layer and span several.
SIZES = [
    (f"{i}.{name}", 64 * 64 if name == "weight" else 64)
    for i in range(6)
    for name in ("weight", "bias")
]

WORKER = """
import runpy
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

folder, rank, caps = sys.argv[1], int(sys.argv[2]), [float(cap) for cap in sys.argv[3:]]
dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)


def model(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(6)))


snippet = runpy.run_path(f"{folder}/ddp_buckets.py")
ours, theirs = model(rank), model(0)  # worker 1 is given the parameters of worker 0
reducer = snippet["Buckets"](ours)
try:
    wrapped = DistributedDataParallel(theirs, bucket_cap_mb_list=caps)
except TypeError:  # before PyTorch 2.13
    wrapped = DistributedDataParallel(theirs)
steps = [torch.optim.SGD(found.parameters(), 0.1) for found in (ours, theirs)]
for step in range(3):
    torch.manual_seed(10 * step + rank)
    batch = torch.randn(8, 64)
    ours(batch).square().mean().backward()
    reducer.wait()
    wrapped(batch).square().mean().backward()
    for optimizer in steps:
        optimizer.step()
        optimizer.zero_grad()
for mine, other in zip(ours.parameters(), theirs.parameters()):
    assert torch.allclose(mine, other), "not what DistributedDataParallel learns"
print(wrapped._get_ddp_logging_data()["rebuilt_bucket_sizes"])
try:
    snippet["Buckets"](torch.nn.Linear(2, 2))
except ValueError as error:
    print(error)
ours[0](batch).sum().backward()
try:
    reducer.wait()
except RuntimeError as error:
    print(error)
"""


def given_plan():
    names = [name for name, _ in SIZES][::-1]
    cuts = [names[:3], names[3:4], names[4:9], names[9:]]
    sizes = dict(SIZES)
    buckets = [
        ExplicitBucket(f"b{k}", tuple(f"grad:{n}" for n in cut)) for k, cut in enumerate(cuts)
    ]
    parts = [ExplicitPart(f"b{k}", 4 * sum(sizes[n] for n in cut)) for k, cut in enumerate(cuts)]
    return ExplicitPlan(tuple(buckets), tuple(parts))


def test_two_workers_learn_what_ddp_learns(tmp_path):
    torch = pytest.importorskip("torch")
    layers = [Layer(name, 1.0, 1.0, ((name, 4 * size),)) for name, size in SIZES]
    found = EXPORTS["ddp"](iteration("linear", layers), alike(Affine(0.0, 1e-6)), given_plan())
    for name, content in found.files.items():
        (tmp_path / name).write_text(str(content))
    (tmp_path / "worker.py").write_text(WORKER)
    sizes = [part.bytes for part in given_plan().parts]
    caps = [str(size / 2**20) for size in sizes]
    workers = [
        subprocess.Popen(
            [sys.executable, str(tmp_path / "worker.py"), str(tmp_path), str(rank), *caps],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [worker.communicate(timeout=120) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    for worker, (out, err) in zip(workers, said, strict=True):
        assert worker.returncode == 0, err
        rebuilt, unknown, unused = out.splitlines()
        if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13):
            assert [int(size) for size in rebuilt.split(",")] == sizes
        assert unknown.startswith("The plan has parameters that the model has not: ['0.bias'")
        assert unused == "Bucket 0 has parameters without a gradient."
