"""How often trials of two plans are right in real training: the verdict beside 200 more steps.

    python -m tests.benchmarks.trials [--repetitions 10] [--mbit 2000] [--buckets 2] [--more 200]

Two workers that compute on this machine's cores, over the paced group of the testbed: no root. One
bucket is the plan of before, and one of ``--buckets`` the new one; each repetition tries them
as Steering does and then trains more steps under both, in turns of ten. A verdict is right where
what is kept takes at most 1 % more than the other in these. Said is also what the noise of steps is
like: the tests of the decision plant noise of that kind.
"""

import argparse
import os
import tempfile
import warnings
from math import log
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn

from interlace_client.torch import BucketPlan, PlannedDDP, whole_buckets
from interlace_client.torch.trial.outcome import ArmTimes, TrialOutcome
from interlace_client.torch.trial.turns import Turns
from tests.testbed.pacing import PACED, Ring, register

#: Steps of a turn after a trial, of which the first two do not count.
_TURN, _WARM = 12, 2


def main() -> None:
    """Train on two workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--mbit", type=float, default=2000.0)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--buckets", type=int, default=2)
    parser.add_argument("--more", type=int, default=200, help="steps after each trial")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_train, (Path(folder, "store"), given), nprocs=2)


class _Training:
    """A run on one worker, and its plans."""

    def __init__(self, group: Any, width: int, layers: int, buckets: int) -> None:
        stack = [each for _ in range(layers) for each in (nn.Linear(width, width), nn.ReLU())]
        self.module = nn.Sequential(*stack)
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=0.01)
        sizes = [(n, p.numel() * p.element_size()) for n, p in self.module.named_parameters()]
        sizes.reverse()
        size = -(-len(sizes) // buckets)
        cut = [sizes[k : k + size] for k in range(0, len(sizes), size)]
        self.plans = [whole_buckets([sizes]), whole_buckets(cut)]
        self.planned = PlannedDDP(self.module, self.optimizer, self.plans[0], process_group=group)
        self.rows = torch.rand(64, width)

    def step(self) -> float:
        """Train a step; return what it took, of the slowest worker [us]."""
        began = perf_counter()
        self.planned(self.rows).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return 1e6 * (perf_counter() - began)

    def use(self, plan: BucketPlan) -> None:
        if self.planned.plan != plan:
            self.planned.install(plan)


def _slowest(times: list[list[float]]) -> list[list[float]]:
    workers: list[Any] = [None, None]
    dist.all_gather_object(workers, times)
    return [[max(steps) for steps in zip(*arm, strict=True)] for arm in zip(*workers, strict=True)]


def _tried(run: _Training) -> tuple[TrialOutcome, int]:
    arms = [
        ArmTimes(name, is_plan=True, steps_us=())
        for name in ("The plan of one bucket", "The new plan")
    ]
    turns = Turns(arms, rival=0)
    while True:
        run.use(run.plans[turns.arm])
        if turns.note(run.step()):
            outcome = turns.look(_slowest(turns.times))
            if outcome is not None:
                return outcome, turns.steps


def _later(run: _Training, steps: int) -> list[list[float]]:
    times: list[list[float]] = [[], []]
    for turn in range(steps // (_TURN - _WARM)):
        arm = (turn + 1) // 2 % 2
        run.use(run.plans[arm])
        times[arm] += [run.step() for _ in range(_TURN)][_WARM:]
    return _slowest(times)


def _train(rank: int, store: Path, given: argparse.Namespace) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    register(Ring(2, given.mbit))
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    run = _Training(dist.new_group([0, 1], backend=PACED), given.width, given.layers, given.buckets)
    for _ in range(5):
        run.step()
    right, noise = 0, []
    for _ in range(given.repetitions):
        outcome, steps = _tried(run)
        later = _later(run, given.more)
        medians = [median(arm) for arm in later]
        above = medians[outcome.kept] / min(medians) - 1
        right += above <= 0.01
        noise += [
            log(time / middle) for arm, middle in zip(later, medians, strict=True) for time in arm
        ]
        if rank == 0:
            told = ", ".join(f"{each / 1e3:.1f}" for each in medians)
            print(f"{steps} steps: {outcome.sentence} Then {told} ms: {above:.1%} above the best.")
    if rank == 0:
        noise.sort()
        at = {
            share: noise[int(share * (len(noise) - 1))] for share in (0.05, 0.25, 0.75, 0.95, 0.99)
        }
        print(f"Right in {right} of {given.repetitions}.")
        print("Steps beside their median, by share:", {k: f"{v:+.3f}" for k, v in at.items()})
    run.planned.detach()
    dist.barrier()


if __name__ == "__main__":
    main()
