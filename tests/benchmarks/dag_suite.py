"""Plans of general graphs against CP-SAT, and how long the large ones take.

Run it with ``python -m tests.benchmarks.dag_suite``; PROTOCOL.md says what is measured.
"""

import argparse
import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from solver import models
from solver.chain import chain_of
from solver.costs import Affine, ChannelCost, Network, alike
from solver.graph import NETWORK
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.planning.result import Plan
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from tests.dag_graphs import Case, case
from tests.dag_oracles import Exact, exact, problem_of

#: Costs of the large graphs' lanes: 20 us a launch, 100 Gbit/s, and 1,200 Gbit/s elsewhere.
NEAR, FAR = Affine(20.0, 8 / 1_200_000), Affine(20.0, 8 / 100_000)
REPEATS = 20


@dataclass(frozen=True)
class Row:
    """One graph, its plan, and what CP-SAT proved: no longer than the plan, in this many parts."""

    case: Case
    plan: Plan
    seconds: float
    exact: Exact
    parts: int

    @property
    def gap(self) -> float:
        """How much longer the plan takes than CP-SAT's optimum; 0 when CP-SAT has nothing better.

        None of at most two parts a bucket may be as short as a plan of three.
        """
        return self.plan.iteration_time_us / (self.exact.value or self.plan.iteration_time_us) - 1


def solve(seed: int, limit_s: float, effort: int) -> Row:
    """Plan a graph, and ask for the optimum of two parts a bucket, or else of one."""
    drawn = case(seed)
    began = time.perf_counter()
    found = plan(
        drawn.graph, drawn.network, Options(baselines=(), effort=effort, launch_tolerance=0)
    )
    seconds = time.perf_counter() - began
    problem = problem_of(drawn, found.iteration_time_us)
    for parts in (2, 1):
        answer = exact([problem], parts, limit_s, workers=2)[0]
        if answer.closed:
            break
    return Row(drawn, found, seconds, answer, parts)


def dump(row: Row, folder: Path) -> None:
    """Write a graph, its plan and CP-SAT's launches, as JSON."""
    graph = row.case.graph
    ids = [op.id for op in graph.ops]
    content = {
        "name": row.case.name,
        "ops": [
            {
                "id": op.id,
                "kind": op.kind,
                "duration_us": op.duration_us,
                "bytes": op.bytes,
                "after": op.after,
                "channel": op.channel,
                "stream": op.stream,
            }
            for op in graph.ops
        ],
        "costs": [[*lane, cost.startup, cost.per_byte] for lane, cost in row.case.costs.items()],
        "plan": {
            "iteration_time_us": row.plan.iteration_time_us,
            "lower_bound_us": row.plan.lower_bound_us,
            "launches": [
                [next(b.tensors for b in row.plan.buckets if b.id == part.bucket), part.bytes]
                for part in row.plan.parts
            ],
        },
        "cp_sat": {
            "iteration_time_us": row.exact.value,
            "parts": row.parts,
            "launches": [[[ids[i] for i in bucket], size] for bucket, size in row.exact.launches],
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{row.case.name.replace(' ', '-')}.json").write_text(json.dumps(content, indent=1))


def report(rows: list[Row]) -> None:
    print(
        f"\n{'graphs':<14}{'count':>6}{'closed':>8}{'cut':>6}{'optimal':>9}{'gap mean':>10}"
        f"{'worst':>9}{'to bound':>10}{'worst':>9}{'median s':>10}{'worst s':>9}"
    )
    for family in dict.fromkeys(row.case.name.split()[0] for row in rows):
        _row(family, [row for row in rows if row.case.name.startswith(family)])
    _row("all", rows)
    print("\nwhere CP-SAT is better:")
    for row in sorted(rows, key=lambda row: -row.gap):
        if row.gap > 0:
            print(
                f"  {row.case.name}: {row.gap:.2%}, plan {row.plan.iteration_time_us:g} us, "
                f"CP-SAT {row.exact.value:g} us in {row.parts} part(s) a bucket at most, "
                f"{'optimal' if row.exact.closed else 'not closed'}"
            )


def _row(name: str, rows: list[Row]) -> None:
    closed = [row for row in rows if row.exact.closed]
    gaps = [row.gap for row in closed] or [0.0]
    bounds = [row.plan.gap or 0.0 for row in rows]
    seconds = [row.seconds for row in rows]
    print(
        f"{name:<14}{len(rows):>6}{len(closed):>8}{sum(row.parts == 2 for row in closed):>6}"
        f"{sum(row.plan.status == 'optimal' for row in rows):>9}"
        f"{statistics.mean(gaps):>10.3%}{max(gaps):>9.3%}"
        f"{statistics.mean(bounds):>10.3%}{max(bounds):>9.3%}"
        f"{statistics.median(seconds):>10.3f}{max(seconds):>9.3f}",
        flush=True,
    )


def sharded() -> None:
    """Plan the 7-billion-parameter FSDP iteration."""
    graph = models.fsdp_llama_7b()

    @Network
    def network(lane: ChannelCost) -> Affine:
        return FAR if lane.channel == NETWORK else NEAR

    began = time.perf_counter()
    found = plan(graph, network, Options(baselines=(), launch_tolerance=0))
    seconds = time.perf_counter() - began
    print(
        f"\nfsdp_llama_7b: {len(graph.collectives)} collectives, {len(graph.ops)} ops, "
        f"{len(chain_of(graph).channels)} channels: planned in {seconds:.2f} s, "
        f"{found.iteration_time_us:.0f} us, gap {found.gap:.3%}"
    )
    for name in ("wfbp", "tictac"):
        theirs = simulate(graph, network, POLICIES[name]).iteration_time
        print(f"  {name}: {theirs:.0f} us, {theirs / found.iteration_time_us - 1:+.3%}")


def simulated() -> None:
    """Simulate the generated ResNet-50, best of several."""
    graph = models.resnet50()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        simulate(graph, alike(FAR), POLICIES["wfbp"])
        times.append(time.perf_counter() - began)
    print(
        f"\nsimulate resnet50 ({len(graph.collectives)} collectives, {len(graph.ops)} ops): "
        f"{min(times) * 1e3:.2f} ms, best of {REPEATS}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=60, help="how many random graphs")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--limit-s", type=float, default=20.0, help="time of CP-SAT for each model")
    parser.add_argument("--effort", type=int, default=1, help="of the plans")
    parser.add_argument("--worst", type=Path, help="folder for the five worst graphs")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.graphs)
    rows = [solve(seed, arguments.limit_s, arguments.effort) for seed in seeds]
    report(rows)
    if arguments.worst:
        for row in sorted(rows, key=lambda row: -row.gap)[:5]:
            if row.gap > 0:
                dump(row, arguments.worst)
    sharded()
    simulated()


if __name__ == "__main__":
    main()
