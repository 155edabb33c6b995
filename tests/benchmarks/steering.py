"""A steered run whose link becomes half as fast: when it is noticed, and what a step takes then.

    python -m tests.benchmarks.steering [--halve-at 60] [--steps 140]

Two workers whose compute sleeps, over the paced group of the testbed: no root, one machine. Planned
by the command in a process of its own. Said are the median step of each plan, why it was taken, and
the plan that is made for the new link from scratch, with the compute that was measured.
"""

import argparse
import logging
import os
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing

from interlace_client.torch import PlannedDDP, Planner, Steering
from interlace_client.torch.drift.refreshed import fresh_graph
from solver.models.layers import Layer
from tests.testbed.pacing import PACED, Ring, register
from tests.testbed.sleeping import Rest, sleeping
from tests.torch.virtual_training import graph_of

#: Bytes of each layer's gradient, and what its passes take [us].
BYTES = (
    *(40_000, 150_000, 300_000, 600_000, 1_000_000),
    *(1_200_000, 2_000_000, 2_400_000, 3_000_000, 1_500_000),
)
FORWARD_US, BACKWARD_US = 12_000.0, 22_000.0
MBIT = 400.0


def main() -> None:
    """Train on two workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--halve-at", type=int, default=60)
    parser.add_argument("--steps", type=int, default=140)
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(
            _train, (Path(folder, "store"), arguments.halve_at, arguments.steps), nprocs=2
        )


def _train(rank: int, store: Path, halve_at: int, steps: int) -> None:
    if rank == 0:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    ring = Ring(2, MBIT)
    register(ring)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    group = dist.new_group([0, 1], backend=PACED)
    layers = [
        Layer(f"{k}", FORWARD_US, BACKWARD_US, (("weight", size),)) for k, size in enumerate(BYTES)
    ]
    model = sleeping(layers, rank, Rest())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    planned = PlannedDDP(model, optimizer, process_group=group)
    planner, graph, times = Planner(time_limit_s=2), graph_of(layers), []
    with Steering(planned, planner, graph, _cluster(ring)) as steering:
        for step in range(steps):
            if step == halve_at:
                ring.mbit /= 2
            began = time.perf_counter()
            planned(torch.zeros((), requires_grad=True)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            times.append(1e6 * (time.perf_counter() - began))
    planned.drain()
    if rank == 0:
        ends = [*(each.from_step for each in steering.taken[1:]), steps]
        for taken, end in zip(steering.taken, ends, strict=True):
            for begin, last in ((taken.from_step, min(end, halve_at)), (halve_at, end)):
                own = times[max(begin, taken.from_step) + 2 : last]
                if own:
                    print(f"steps to {last}: {median(own):.0f} us under: {taken.sentence}")
        fresh = fresh_graph(graph, steering.figures) if steering.figures else graph
        best = planner.plan(fresh, _cluster(ring))["iteration_time_us"]
        print(f"planned from scratch for the link as it is, a step should take {best:.0f} us")
    dist.barrier()


def _cluster(ring: Ring) -> dict[str, Any]:
    table = [[2**k, ring(2**k)] for k in range(10, 26)]
    return {"workers": 2, "algorithm": "table", "table": table}


if __name__ == "__main__":
    main()
