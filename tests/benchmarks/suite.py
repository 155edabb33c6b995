"""The joint fusion over a fixed suite: gaps, policies, more effort, CP-SAT, time.

Run it with ``make suite``; PROTOCOL.md says what is measured. ``--cells N`` takes every N-th cell.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from solver.chain import Chain, chain_of
from solver.costs import Cluster, Cost, alike, cost_of
from solver.graph import Graph
from solver.models import MODELS
from solver.models.layers import Layer, iteration
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.planning.result import Plan
from solver.policies import POLICIES
from solver.policies.choice import Choice
from solver.traces import READERS, TraceOptions

SHARED = Path(__file__).parents[3] / "shared/data/pipedream_graph/msr-fiddle+pipedream"
PROFILES = ("vgg16", "resnet50", "densenet121", "gnmt")
#: The models that stay the suite's when others are added, so that its figures can be compared.
GENERATED = ("vgg16", "resnet50", "t5_small", "llama_7b")
STARTUPS, RATES, WORKERS = (50, 500, 2000, 6000), (10, 25, 100), (8, 16, 64)
#: Tensors up to which CP-SAT is asked, and for how long.
EXACT, EXACT_S = 16, 20.0
#: Of the best time: ten times the effort.
LONGER = Options(baselines=(), effort=10, time_limit_s=600, launch_tolerance=0)


@dataclass(frozen=True)
class Cell:
    """One graph on one cluster, and what came out.

    ``plan`` has the best time, ``few`` is what is returned with the default tolerance.
    """

    graph: str
    startup: int
    rate: int
    workers: int
    plan: Plan
    few: Plan
    seconds: float
    effort: float | None
    exact: float | None

    @property
    def name(self) -> str:
        return f"{self.graph}, {self.startup} us, {self.rate} Gbit/s, {self.workers} workers"

    def over(self, policy: str) -> float:
        """How much longer a policy takes than the plan."""
        return next(b.speedup or 1.0 for b in self.plan.baselines if b.policy == policy) - 1


def graphs() -> Iterator[tuple[str, Graph]]:
    """PipeDream's profiles where they lie beside the checkout, then generated models."""
    for name in PROFILES:
        path = SHARED / f"{name}.graph.txt"
        if path.is_file():
            yield (
                f"pipedream {name}",
                READERS["pipedream"]([path.read_bytes()], TraceOptions(name)).graph,
            )
    for name in GENERATED:
        yield name, MODELS[name]()


def solve(
    name: str, graph: Graph, startup: int, rate: int, workers: int, *, best_known: bool
) -> Cell:
    cost = cost_of(Cluster(workers, rate, startup))
    began = time.perf_counter()
    few = plan(graph, alike(cost), Options(baselines=()))
    seconds = time.perf_counter() - began
    policies = tuple(Choice(name) for name in POLICIES)
    found = plan(graph, alike(cost), Options(baselines=policies, launch_tolerance=0))
    longer = exact = None
    if best_known and found.status != "optimal":
        more = plan(graph, alike(cost), LONGER)
        longer = more.iteration_time_us
        exact = cp_sat(chain_of(graph), cost) if len(graph.collectives) <= EXACT else None
    return Cell(name, startup, rate, workers, found, few, seconds, longer, exact)


def cp_sat(chain: Chain, cost: Cost) -> float | None:
    """Best time without parts [us], when CP-SAT closes; in whole us, so up to n us above."""
    (startup, per_byte) = cost.minorants(1)[0]
    request = {
        "problem": {
            "release": np.ceil(chain.release).astype(int).tolist(),
            "work": np.ceil(per_byte * chain.bytes).astype(int).tolist(),
            "tail": np.ceil(chain.tail).astype(int).tolist(),
        },
        "startup": round(startup),
        "limit_s": EXACT_S,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.cp_sat"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    return max(chain.compute_time, float(answer["value"])) if answer["closed"] else None


def report(cells: list[Cell]) -> None:
    print(
        f"\n{'graph':<22}{'cells':>6}{'optimal':>9}{'gap mean':>10}{'worst':>9}"
        f"{'pace +':>9}{'ddp_p +':>9}{'10x':>9}{'median s':>10}{'worst s':>9}"
    )
    for name in dict.fromkeys(cell.graph for cell in cells):
        _row(name, [cell for cell in cells if cell.graph == name])
    _row("all", cells)
    print("\nlaunches of the best time, and of the plan that is returned:")
    for name in [*dict.fromkeys(cell.graph for cell in cells), "all"]:
        _launches(name, [cell for cell in cells if name in (cell.graph, "all")])
    worse = [c.name for c in cells for b in c.plan.baselines if (b.speedup or 1) < 1 - 1e-7]
    print(f"\ncells where a policy beats the plan: {len(worse)}")
    known = [(c, min(t for t in (c.effort, c.exact) if t)) for c in cells if c.effort]
    if known:
        above = [c.plan.iteration_time_us / best - 1 for c, best in known]
        print(
            f"above the best known (ten times the effort, CP-SAT), {len(known)} cells that are "
            f"not proven optimal: at most {max(above):.3%}"
        )
    closed = [c for c in cells if c.exact]
    if closed:
        ratio = [c.exact / c.plan.iteration_time_us - 1 for c in closed if c.exact]
        print(
            f"CP-SAT without parts closed on {len(closed)} cells: "
            f"{min(ratio):+.3%} to {max(ratio):+.3%} against the plan"
        )
    slow = [c.over("pace") for c in cells if "resnet50" in c.graph and c.startup >= 2000]
    if slow:
        print(f"pace above joint on ResNet-50 at 2 ms or more: {_spread(slow)}")
        own = [c.over("pace") for c in cells if c.graph == "resnet50" and c.startup >= 2000]
        print(f"  of these, the generated ResNet-50: {_spread(own)}")
    print("\ncells with a gap above 2 %:")
    for cell in sorted(cells, key=lambda c: -(c.plan.gap or 0)):
        if (cell.plan.gap or 0) > 0.02:
            line = f"  {cell.name}: {cell.plan.gap:.2%}, plan {cell.plan.iteration_time_us:.0f} us"
            line += f", bound {cell.plan.lower_bound_us:.0f} us ({cell.plan.bound.kind})"
            line += f", ten times the effort {cell.effort:.0f} us" if cell.effort else ""
            line += f", CP-SAT without parts {cell.exact:.0f} us" if cell.exact else ""
            print(line)


def _launches(name: str, cells: list[Cell]) -> None:
    counts = [(len(cell.plan.launches), len(cell.few.launches)) for cell in cells]
    best, few = zip(*counts, strict=True)
    longer = max(c.few.iteration_time_us / c.plan.iteration_time_us - 1 for c in cells)
    print(
        f"  {name:<22} median {statistics.median(best):g} and {statistics.median(few):g}, most "
        f"{max(best)} and {max(few)}; of each {statistics.median(b / a for a, b in counts):.2f} in "
        f"the median; at most {longer:.3%} longer"
    )


def _spread(values: list[float]) -> str:
    return f"mean {np.mean(values):.2%}, {min(values):.2%} to {max(values):.2%}"


def _row(name: str, cells: list[Cell]) -> None:
    gaps = [cell.plan.gap or 0.0 for cell in cells]
    seconds = [cell.seconds for cell in cells]
    effort = [c.plan.iteration_time_us / c.effort - 1 for c in cells if c.effort] or [0.0]
    print(
        f"{name:<22}{len(cells):>6}{sum(c.plan.status == 'optimal' for c in cells):>9}"
        f"{np.mean(gaps):>10.3%}{max(gaps):>9.3%}"
        f"{np.mean([c.over('pace') for c in cells]):>9.2%}"
        f"{np.mean([c.over('ddp_priority') for c in cells]):>9.2%}{max(effort):>9.3%}"
        f"{statistics.median(seconds):>10.3f}{max(seconds):>9.3f}",
        flush=True,
    )


def many_tensors() -> None:
    """3,000 layers drawn with seed 0: one plan, and one of ten times the effort."""
    generator = np.random.default_rng(0)
    layers = [
        Layer(
            f"layer{i}",
            float(generator.integers(20, 200)),
            float(generator.integers(40, 400)),
            ((f"layer{i}", int(generator.integers(1, 2_000_000))),),
        )
        for i in range(3000)
    ]
    graph = iteration("3,000 layers", layers)
    print("\n3,000 tensors, 16 workers")
    for startup, rate in ((0, 10), (50, 10), (500, 25), (2000, 100)):
        cost = cost_of(Cluster(16, rate, startup))
        began = time.perf_counter()
        once = plan(graph, alike(cost), Options(baselines=(), launch_tolerance=0))
        seconds = time.perf_counter() - began
        few = plan(graph, alike(cost), Options(baselines=(), launch_tolerance=0.002))
        more = plan(graph, alike(cost), LONGER)
        print(
            f"  {startup} us, {rate} Gbit/s: {seconds:.1f} s, gap {once.gap:.3%}, "
            f"{once.iteration_time_us / more.iteration_time_us - 1:+.3%} against effort 10; "
            f"{len(once.launches):,} launches, {len(few.launches):,} within 0.2 %",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1, help="take every N-th cell")
    parser.add_argument(
        "--best-known", action="store_true", help="also ten times the effort, and CP-SAT"
    )
    parser.add_argument("--large", action="store_true", help="3,000 tensors too")
    arguments = parser.parse_args()
    cells = []
    everything = product(graphs(), STARTUPS, RATES, WORKERS)
    for i, ((name, graph), startup, rate, workers) in enumerate(everything):
        if i % arguments.cells == 0:
            known = arguments.best_known
            cells.append(solve(name, graph, startup, rate, workers, best_known=known))
            if sys.stderr.isatty():
                print(f"\r{len(cells)} cells", end="", file=sys.stderr)
    report(cells)
    if arguments.large:
        many_tensors()


if __name__ == "__main__":
    main()
