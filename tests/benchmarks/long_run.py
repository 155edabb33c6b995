"""A long steered run with kills, restarts and drift: whether it hangs, and whether it grows.

    python -m tests.benchmarks.long_run [--steps 2000] [--kills 4] [--timeout-s 20]

Two workers train a small model over gloo, steered: a planner of this process answers with one plan
after another, and one worker's compute drifts, so that plans are tried all the time. After a share
of the steps one of the two is killed, at a step that is drawn; the other must end with an error
within the timeout, and both start anew from the last checkpoint. Said of each life of a worker: its
steps, trials, memory, threads and open files after its first tenth and at its end.
"""

import argparse
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

#: A checkpoint is written every so many steps.
_EVERY = 25


def main() -> None:
    """Begin workers until all steps are done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--timeout-s", type=float, default=20.0)
    parser.add_argument("--life-s", type=float, default=540.0, help="watchdog of one life")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--die-at", type=int, default=-1, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        _train(Path(given.worker[0]), int(given.worker[1]), given)
    else:
        _supervise(given)


def _supervise(given: argparse.Namespace) -> None:
    random = Random(0)
    part = given.steps // (given.kills + 1)
    kills = [k * part + random.randrange(part) for k in range(given.kills)]
    hangs = 0
    with tempfile.TemporaryDirectory() as folder:
        for life, die_at in enumerate([*kills, -1]):
            own = Path(folder, str(life))
            own.mkdir()
            began = time.monotonic()
            workers = [
                _begin(own, rank, die_at if rank == life % 2 else -1, given) for rank in (0, 1)
            ]
            killed = workers[life % 2]
            if die_at >= 0:
                killed.wait(given.life_s)
                since = time.monotonic()
                try:
                    workers[1 - life % 2].wait(given.timeout_s + 30)
                except subprocess.TimeoutExpired:
                    hangs += 1
                print(
                    f"Killed at step {die_at}; the other ended "
                    f"{time.monotonic() - since:.1f} s later."
                )
            for worker in workers:
                try:
                    worker.wait(given.life_s)
                except subprocess.TimeoutExpired:
                    hangs += 1
                    worker.kill()
            codes = [worker.returncode for worker in workers]
            print(f"Life {life}: {time.monotonic() - began:.0f} s, returns {codes}")
            for rank in (0, 1):
                path = own / f"{rank}.json"
                print(f"  worker {rank}:", path.read_text() if path.exists() else "killed")
    print(f"Hangs: {hangs}.")


def _begin(
    own: Path, rank: int, die_at: int, given: argparse.Namespace
) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.benchmarks.long_run", "--worker", str(own), str(rank)]
    command += ["--die-at", str(die_at), "--steps", str(given.steps)]
    command += ["--timeout-s", str(given.timeout_s)]
    return subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})


class _Alternating:
    """Plans of one bucket and of many in turns; each is said to be far better than the other."""

    def __init__(self, plans: list[dict[str, Any]]) -> None:
        self._plans, self._asked = plans, 0

    def plan(self, graph: Any, cluster: Any, *, barrier: bool) -> dict[str, Any]:
        self._asked += 1
        return {**self._plans[self._asked % 2], "iteration_time_us": 50.0}

    def simulate(self, graph: Any, cluster: Any, plan: Any, *, barrier: bool) -> float:
        return 100.0


def _sizes() -> dict[str, int]:
    """Return what this process holds: memory [KiB], threads, open files."""
    status = Path("/proc/self/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return {
        "memory_kib": int(fields["VmRSS"].split()[0]),
        "threads": int(fields["Threads"]),
        "files": len(list(Path("/proc/self/fd").iterdir())),
    }


def _train(own: Path, rank: int, given: argparse.Namespace) -> None:
    """Be a worker: train from the last checkpoint on."""
    import torch  # noqa: PLC0415 - the supervisor does without
    import torch.distributed as dist  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    from interlace_client.torch import PlannedDDP, Steering, whole_buckets  # noqa: PLC0415
    from interlace_client.torch.drift.replanning import written  # noqa: PLC0415

    logging.getLogger("interlace_client").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{own}/store",
        rank=rank,
        world_size=2,
        timeout=timedelta(seconds=given.timeout_s),
    )
    model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    checkpoint, first = own.parent / "checkpoint", 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    sizes = {name: p.numel() * p.element_size() for name, p in model.named_parameters()}
    turned = list(reversed(sizes.items()))
    plans = [written(whole_buckets(each), sizes) for each in ([turned], [[one] for one in turned])]
    ops = [
        {"id": f"grad:{name}", "kind": "all_reduce", "bytes": size, "after": []}
        for name, size in sizes.items()
    ]
    graph = {"ops": [*ops, {"id": "between", "kind": "compute", "duration_us": 100.0}]}
    cluster = {"workers": 2, "algorithm": "table", "table": [[64, 10.0], [65536, 100.0]]}
    planned = PlannedDDP(model, optimizer, plans[0])
    steering = Steering(planned, _Alternating(plans), graph, cluster)
    early, rows = None, torch.rand(16, 64)
    began = time.monotonic()
    for step in range(first, given.steps):
        if step == given.die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if step // 100 % 2 and rank:
            time.sleep(0.002)
        try:
            planned(rows).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        except RuntimeError as error:
            _say(own, rank, step - first, steering, early, str(error)[:80])
            os._exit(3)
        if step == first + 60:
            early = _sizes()
        if step % _EVERY == 0 and rank == 0:
            state = {"model": planned.module.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "step": step + 1}, own / "saved")
            (own / "saved").rename(checkpoint)
    _say(own, rank, given.steps - first, steering, early, f"{time.monotonic() - began:.0f} s")
    steering.close()
    planned.detach()
    dist.barrier()
    os._exit(0)  # without the threads of groups that are left


def _say(
    own: Path, rank: int, steps: int, steering: Any, early: dict[str, int] | None, why: str
) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told: dict[str, Any] = {
        "steps": steps,
        "trials": len(steering.trials),
        "plans": len(steering.taken),
    }
    told |= {"early": early, "end": _sizes(), "peak_kib": peak, "why": why}
    (own / f"{rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
