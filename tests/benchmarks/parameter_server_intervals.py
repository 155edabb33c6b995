"""How often the interval of a prediction's throughput holds the value of a run 50 times as long.

Run it with ``python -m tests.benchmarks.parameter_server_intervals``; PROTOCOL.md says what is
measured.
"""

import argparse
from typing import Any, Final

from solver.parameter_server.interval import drifts, pace_of
from solver.parameter_server.options import ThroughputOptions
from solver.parameter_server.prepared import prepare, run_of
from solver.parameter_server.record import StepsRun
from solver.parameter_server.steps import (
    DOWNLINK,
    SERVER,
    UPLINK,
    WORKER,
    ServerStep,
    StepOp,
    build_step,
)

#: A byte a microsecond.
GBPS = 0.008
LONGER = 50


def step_of(compute_us: float, servers: int = 1) -> ServerStep:
    """Return a step of two layers on each server, 50 bytes each way and 10 us an update."""
    names = [""] if servers == 1 else [f":{s}" for s in range(servers)]
    parts = [(name, layer) for name in names for layer in range(2)]
    pulls = [StepOp(f"d{n}{k}", DOWNLINK + n, None, 50) for n, k in parts]
    ops = [*pulls, StepOp("c", WORKER, compute_us, None, tuple(op.id for op in pulls))]
    for n, k in parts:
        ops.append(StepOp(f"u{n}{k}", UPLINK + n, None, 50, ("c",)))
        ops.append(StepOp(f"s{n}{k}", SERVER + n, 10.0, None, (f"u{n}{k}",)))
    return build_step(ops)


#: Profiled steps, workers, further options.
CASES: Final[dict[str, tuple[list[ServerStep], int, dict[str, Any]]]] = {
    "computing prevails": ([step_of(1000.0)], 4, {}),
    "balanced": ([step_of(500.0)], 4, {}),
    "steps differ": ([step_of(200.0), step_of(500.0), step_of(300.0)], 4, {}),
    "in step": ([step_of(200.0)], 4, {"synchronous": True}),
    "in step, steps differ": ([step_of(200.0), step_of(500.0)], 4, {"synchronous": True}),
    "the network prevails": ([step_of(100.0)], 4, {}),
    "the network prevails, 8 workers": ([step_of(100.0)], 8, {}),
    "nearly alike": ([step_of(300.0)], 4, {"spread": 0.01}),
    "two servers": ([step_of(300.0, 2)], 4, {}),
    "three servers": ([step_of(300.0, 3)], 4, {}),
}


def print_coverage(name: str, steps: int, runs: int) -> None:
    profiled, workers, fields = CASES[name]

    def run(seed: int, count: int) -> StepsRun:
        options = ThroughputOptions(
            (workers,), (GBPS,), 1, steps=count, dropped=count // 20, seed=seed, **fields
        )
        return run_of(prepare(profiled, options), options, GBPS, workers)

    long_run = pace_of(run(runs, LONGER * steps)).mean_us
    held = given = noted = 0
    for seed in range(runs):
        short = run(seed, steps)
        mean, half = pace_of(short)
        noted += drifts(short)
        if half is not None:
            given += 1
            held += abs(mean - long_run) <= half
    print(f"{name:<34}{held / max(given, 1):>8.1%} of {given}; {noted} noted as not settled")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=200)
    arguments = parser.parse_args()
    for each in CASES:
        print_coverage(each, arguments.steps, arguments.runs)
