"""What the hooks of planned training cost a step, beside DistributedDataParallel's.

    python -m tests.benchmarks.hooks [--ranks 1] [--rounds 40] [--wall] [--profile]

One bucket, or DistributedDataParallel's own: there is nothing to gain, and what differs is the work
of the hooks. Both train the same model in one process a rank, in turns, a step each; said is the
median of the paired differences over the median step of DistributedDataParallel, in the processor
time of the process, or with ``--wall`` in time, which wants a quiet machine.
"""

import argparse
import cProfile
import os
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch import BucketPlan, PlannedDDP, whole_buckets


def of_convolutions(blocks: int = 45) -> tuple[nn.Module, torch.Tensor]:
    """Make a network of 46 convolutions with 184 parameters, 0.5 million numbers."""
    block = lambda: nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        *(block() for _ in range(blocks)),
        nn.Flatten(1),
        nn.LazyLinear(10),
    ), torch.randn(8, 3, 12, 12)


def of_a_thousand() -> tuple[nn.Module, torch.Tensor]:
    """Make the same of 250 convolutions with 1,000 parameters, 2.4 million numbers."""
    return of_convolutions(249)


def of_transformer() -> tuple[nn.Module, torch.Tensor]:
    """Make a Transformer of 6 layers with 72 parameters, 4.7 million numbers."""
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), torch.randn(4, 64, 256)


def one_bucket(model: nn.Module) -> BucketPlan:
    """Send all gradients as one."""
    sizes = [(name, p.numel() * p.element_size()) for name, p in model.named_parameters()]
    return whole_buckets([sizes[::-1]])


def steps(
    wrap: Callable[[nn.Module, torch.optim.Optimizer], nn.Module], make, clock: Callable[[], float]
) -> Iterator[float]:
    """Train without end, and give what each step took of the process [us]."""
    torch.manual_seed(0)
    model, batch = make()
    model(batch)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4, momentum=0.9)
    wrapped = wrap(model, optimizer)
    while True:
        began = clock()
        wrapped(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        yield (clock() - began) * 1e6


def measure(rank: int, arguments: argparse.Namespace, store: str) -> None:
    """Be a rank."""
    torch.set_num_threads(1)
    clock = time.perf_counter if arguments.wall else time.process_time
    init = f"file://{store}"
    dist.init_process_group("gloo", init_method=init, rank=rank, world_size=arguments.ranks)
    stock = lambda model, _: DistributedDataParallel(model)
    ways = {
        "one bucket": (
            lambda model, _: DistributedDataParallel(model, bucket_cap_mb=10_000),
            one_bucket,
        ),
        "buckets of DistributedDataParallel": (stock, lambda _: None),
    }
    for make in (of_convolutions, of_a_thousand, of_transformer):
        for name, (theirs, plan) in ways.items():
            for barrier in (False, True):
                ours = lambda model, optimizer, plan=plan, barrier=barrier: PlannedDDP(
                    model, optimizer, plan(model), barrier=barrier
                )
                pair = steps(ours, make, clock), steps(theirs, make, clock)
                for _ in range(5):  # the first are slower
                    [next(each) for each in pair]
                times = [[next(each) for each in pair] for _ in range(arguments.rounds)]
                base = statistics.median(other for _, other in times)
                more = statistics.median(mine - other for mine, other in times)
                if rank == 0:
                    form = "barrier" if barrier else "per parameter"
                    print(
                        f"{make.__name__:16} {name:36} {form:14} {base / 1e3:8.2f} ms"
                        f" {more:+8.0f} us {more / base:+7.2%}"
                    )
                if arguments.profile and not barrier:
                    profile = cProfile.Profile()
                    profile.enable()
                    for _ in range(20):
                        next(pair[0])
                    profile.disable()
                    if rank == 0:
                        pstats.Stats(profile).sort_stats("tottime").print_stats(18)
    dist.destroy_process_group()


def main() -> None:
    """Measure on ranks of this machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(measure, (arguments, f"{folder}/store"), arguments.ranks)


if __name__ == "__main__":
    main()
