"""Throughput through parameter servers: curves beside formulas, and speed beside SimPy.

Run it with ``python -m tests.benchmarks.parameter_server``; PROTOCOL.md says what is measured.
"""

import argparse
import time
from collections.abc import Generator

import simpy

from solver.parameter_server.links import ServerLinks
from solver.parameter_server.options import ThroughputOptions
from solver.parameter_server.record import RunOptions
from solver.parameter_server.run import run_steps
from solver.parameter_server.steps import SERVER, WORKER, ServerStep
from solver.parameter_server.throughput import predict
from solver.units import bytes_per_us
from tests.training_steps import layered

#: Computing prevails, then the network [us of a batch, Gbit/s].
MODELS = {
    "computing prevails: 225 ms a batch of 32, 10 Gbit/s": (225_000.0, 10.0),
    "the network prevails: 225 ms a batch of 32, 1 Gbit/s": (225_000.0, 1.0),
    "the network prevails: 15 ms a batch of 32, 10 Gbit/s": (15_000.0, 10.0),
}
COUNTS = (1, 2, 3, 4, 6, 8, 12, 16)


def print_curves(steps: int) -> None:
    for name, (compute_us, gbps) in MODELS.items():
        step = layered(compute_us=compute_us, update_us=50.0)
        options = ThroughputOptions(COUNTS, (gbps,), 32, steps=steps, dropped=steps // 20)
        start = time.perf_counter()
        answer = predict([step], options)
        elapsed = time.perf_counter() - start
        print(f"\n{name}; {steps:,} steps, {len(step.ops)} ops, {elapsed:.0f} s")
        names = ("low", "high", "lin", "cynthia", "bound")
        columns = ("workers", "examples/s", *names)
        print("".join(f"{column:>12}" for column in columns), "  limited by")
        for row in answer.rows:
            others = (getattr(row, f"{name}_examples_per_s") for name in names)
            rates = (row.examples_per_s, *others)
            values = "".join(f"{rate:>12.1f}" for rate in rates)
            print(f"{row.workers:>12}{values}   {row.limited_by or '-'}")
        print(answer.knees[0].text)


def by_simpy(step: ServerStep, workers: int, gbps: float, count: int) -> tuple[float, int]:
    """Run steps in SimPy: a process for each op; return the time [us], and how many ops ended.

    Cores are resources of each worker, links of all; a link carries one transfer at a time.
    """
    env = simpy.Environment()
    rate = bytes_per_us(gbps)
    links = {op.resource: simpy.Resource(env) for op in step.ops if op.is_transfer}
    ended = 0

    def worker() -> Generator[simpy.Event]:
        cores = {WORKER: simpy.Resource(env), SERVER: simpy.Resource(env)}
        resources = cores | links

        def op(i: int, done: list[simpy.Event]) -> Generator[simpy.Event]:
            nonlocal ended
            for j in step.preds[i]:
                yield done[j]
            each = step.ops[i]
            with resources[each.resource].request() as turn:
                yield turn
                yield env.timeout(each.bytes / rate if each.bytes else each.duration_us)
            ended += 1
            done[i].succeed()

        for _ in range(count):
            done = [env.event() for _ in step.ops]
            for i in range(len(step.ops)):
                env.process(op(i, done))
            yield env.all_of(done)

    for _ in range(workers):
        env.process(worker())
    env.run()
    return env.now, ended


def print_speed(workers: int, steps: int, simpy_steps: int) -> None:
    step = layered(update_us=50.0)
    run = run_steps([step], 1, ServerLinks(10.0, None), RunOptions(2, 0))
    assert abs(run.end - by_simpy(step, 1, 10.0, 2)[0]) < 1
    start = time.process_time()
    events = run_steps(
        [step], workers, ServerLinks(10.0), RunOptions(steps, 50, spread=0.05)
    ).events
    ours = time.process_time() - start
    print(f"\n{workers} workers x {steps:,} steps x {len(step.ops)} ops, one server, one core:")
    print(f"  ours   {events:>11,} services {ours:>8.1f} s {events / ours:>10,.0f}/s")
    start = time.process_time()
    _, ended = by_simpy(step, workers, 10.0, simpy_steps)
    other = time.process_time() - start
    print(f"  SimPy  {ended:>11,} services {other:>8.1f} s {ended / other:>10,.0f}/s")
    print(f"  {events / ours / (ended / other):.1f} x as many a second")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--simpy-steps", type=int, default=20)
    arguments = parser.parse_args()
    print_speed(16, 1000, arguments.simpy_steps)
    print_curves(arguments.steps)
