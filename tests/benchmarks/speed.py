"""How fast the solver and the service are, each beside something else run in the same minute.

Run it with ``make bench``; PROTOCOL.md says what is measured. Figures are medians of repeats.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Generator
from functools import partial
from heapq import heapify, heappop
from pathlib import Path

import numpy as np
import simpy
from scipy import sparse
from scipy.optimize import linprog

from solver.chain import chain_of
from solver.costs import Cluster, alike, cost_of
from solver.fusion.chain.maxmin import max_min
from solver.models import MODELS
from solver.policies import POLICIES
from solver.schedule import Jobs, jackson, lp
from solver.schedule.execute import cut_at_releases
from solver.simulation.engine import Noise, iteration_time, simulate, timer
from solver.traces import READERS, TraceOptions
from tests import oracles
from tests.app.service import running

RESNET = "shared/data/pipedream_graph/msr-fiddle+pipedream/resnet50.graph.txt"


def median_ms(
    work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Median time of some work [ms], after one run that does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return statistics.median(times) * 1000


def row(name: str, ours: float, beside: str, other: float) -> None:
    print(f"{name:<58}{ours:>10.2f} ms   {ours / other:>8.3f} x  {beside} ({other:.1f} ms)")


def drawn(count: int, horizon: int, longest: int, seed: int) -> Jobs:
    """Jobs in whole slots, releases ascending."""
    rng = np.random.default_rng(seed)
    return Jobs(
        np.sort(rng.integers(0, horizon, count)).astype(float),
        rng.integers(1, longest, count).astype(float),
        rng.integers(0, horizon, count).astype(float),
    )


def bench_jackson() -> None:
    jobs = drawn(10_000, 1_000_000, 200, 0)
    keys = [(-tail, i) for i, tail in enumerate(jobs.tail.tolist())]

    def heapsort() -> None:
        heap = list(keys)
        heapify(heap)
        while heap:
            heappop(heap)

    row(
        "jackson, 10,000 collectives",
        median_ms(partial(jackson, jobs), 9),
        "heapq on their tails",
        median_ms(heapsort, 9),
    )


def bench_lp() -> None:
    jobs = drawn(160, 1400, 25, 0)
    value = int(lp(jobs).value)

    def slot_by_slot() -> None:
        """One solve at the optimum, a variable for each job and slot, by scipy's HiGHS."""
        low = jobs.release.astype(int)
        count = value - jobs.tail.astype(int) - low
        job = np.repeat(np.arange(len(jobs)), count)
        slot = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + low[job]
        ones, columns = np.ones(job.size), np.arange(job.size)
        serve = sparse.csr_array((ones, (job, columns)), shape=(len(jobs), job.size))
        room = sparse.csr_array((ones, (slot, columns)), shape=(value, job.size))
        linprog(  # type: ignore[call-overload]  # sparse matrices are fine
            np.zeros(job.size),
            A_eq=serve,
            b_eq=jobs.duration,
            A_ub=room,
            b_ub=np.ones(value),
        )

    row(
        f"lp, 160 collectives, {value} slots, both proofs",
        median_ms(partial(lp, jobs), 3),
        "one solve slot by slot (scipy)",
        median_ms(slot_by_slot, 1),
    )


def resnet_profile() -> tuple[str, str]:
    """PipeDream's ResNet-50 when the shared folder is there, else the generated one's name."""
    path = Path(__file__).parents[3] / RESNET
    return ("PipeDream ResNet-50", path.read_text()) if path.is_file() else ("generated", "")


def bench_max_min() -> None:
    name, text = resnet_profile()
    graph = (
        READERS["pipedream"]([text.encode()], TraceOptions(name)).graph
        if text
        else MODELS["resnet50"]()
    )
    cost = cost_of(Cluster(12, 10, 50))
    chain = chain_of(graph)

    def read_again() -> None:
        graph.memo.clear()
        chain_of(graph)

    order = partial(cut_at_releases, cost=cost)
    row(
        f"maxmin + jackson over all R, {name} ({len(chain)} tensors)",
        median_ms(lambda: max_min(chain, cost, order), 9),
        "reading the longest paths alone",
        median_ms(read_again, 9),
    )


def bench_post() -> None:
    name, text = resnet_profile()
    graph = (
        READERS["pipedream"]([text.encode()], TraceOptions(name)).graph
        if text
        else MODELS["resnet50"]()
    )
    ops = [
        {"id": op.id, "kind": op.kind, "after": list(op.after)}
        | ({"bytes": op.bytes} if op.bytes else {"duration_us": op.duration_us})
        for op in graph.ops
    ]
    body = json.dumps(
        {
            "graph": {"name": name, "ops": ops},
            "cluster": {"workers": 12, "bandwidth_gbps": 10, "startup_us": 50},
        }
    ).encode()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as service:

        def post() -> None:
            assert service.post_raw(body).status_code == 201

        def health() -> None:
            assert service.client.get("/healthz").status_code == 200

        row(
            f"POST to 201, {name}, warm server",
            median_ms(post, 15),
            "GET /healthz",
            median_ms(health, 15),
        )


def bench_simulate() -> None:
    graph = MODELS["llama_7b"]()
    cost = cost_of(Cluster(8, 10, 50))
    how = graph, alike(cost), POLICIES["wfbp"]
    events = simulate(*how).events
    noise = Noise(graph.durations, (1.0,) * len(graph.collectives))
    ours: dict[str, Callable[[], object]] = {
        f"simulate LLaMA-7B, FIFO, {events} events, its timeline": partial(simulate, *how),
        "the same, its time alone": partial(iteration_time, *how),
        "the same, its time alone, one noise after another": partial(timer(*how), noise),
    }

    def by_simpy() -> float:
        """Run the same iteration: a process for each op, the channel a resource."""
        env = simpy.Environment()
        channel = simpy.Resource(env)
        done = [env.event() for _ in graph.ops]

        def run(i: int) -> Generator[simpy.Event]:
            for j in graph.preds[i]:
                yield done[j]
            if size := graph.ops[i].bytes:
                with channel.request() as turn:
                    yield turn
                    yield env.timeout(cost.time(size))
            else:
                yield env.timeout(graph.durations[i])
            done[i].succeed()

        for i in range(len(graph.ops)):
            env.process(run(i))
        env.run()
        return float(env.now)

    assert abs(by_simpy() - simulate(graph, alike(cost), POLICIES["wfbp"]).iteration_time) < 1
    other = median_ms(by_simpy, 9, time.process_time)
    for name, work in ours.items():
        time_ms = median_ms(work, 99, time.process_time)
        row(name, time_ms, "SimPy", other)
        print(f"{'':<58}{events / time_ms * 1000:>10,.0f} events/s")


def bench_cp_sat() -> None:
    problems = [drawn(6, 12, 6, seed) for seed in range(20)]
    values, seconds = oracles.cp_sat_values(problems)
    assert values == [lp(problem).value for problem in problems]
    row(
        "lp, 20 problems of 6 jobs, some 30 slots",
        median_ms(lambda: [lp(problem) for problem in problems], 3),
        "CP-SAT, one worker",
        seconds * 1000,
    )


if __name__ == "__main__":
    bench_jackson()
    bench_lp()
    bench_max_min()
    bench_simulate()
    bench_cp_sat()
    bench_post()
