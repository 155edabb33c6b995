"""Robust plans over the suite: their p95 beside that of every policy, and what they cost.

``python -m tests.benchmarks.robust --cells 60``: PROTOCOL.md says what is measured.
"""

import argparse
import statistics
import time
from itertools import product

from solver.costs import Cluster, network_of
from solver.evidence.robustness import Robustness, RobustOptions
from solver.planning.options import Options
from solver.planning.plan import plan
from tests.benchmarks.suite import RATES, STARTUPS, WORKERS, graphs


def measured(count: int, draws: int) -> list[tuple[str, Robustness]]:
    """Plan so many cells of the suite robustly, in even steps through its order."""
    cells = list(product(graphs(), STARTUPS, RATES, WORKERS))
    count = min(count, len(cells))
    found = []
    for place in range(count):
        (name, graph), startup, rate, workers = cells[place * len(cells) // count]
        began = time.process_time()
        options = Options(baselines=(), robust=RobustOptions("p95", draws))
        planned = plan(graph, network_of(Cluster(workers, rate, startup)), options)
        robustness = planned.robust
        assert robustness is not None, "it was asked for"
        label = f"{name}, {startup} us, {rate} Gbit/s, {workers} workers"
        found.append((label, robustness))
        best = min(robustness.rivals, key=lambda rival: rival.value_us)
        print(
            f"{label:52} {robustness.plan_us / robustness.without_us - 1:+8.3%} "
            f"{robustness.plan_us / best.value_us - 1:+8.3%} {best.policy:14} "
            f"{robustness.nominal_cost or 0:+8.3%} {time.process_time() - began:6.1f} s",
            flush=True,
        )
    return found


def main() -> None:
    """Print a line a cell, and the figures of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=60)
    parser.add_argument("--draws", type=int, default=200)
    given = parser.parse_args()
    print(f"{'p95':52} {'without':>8} {'best policy':>23} {'nominal':>8}")
    rows = measured(given.cells, given.draws)
    worse = [
        (label, rival.policy, row.plan_us / rival.value_us - 1)
        for label, row in rows
        for rival in row.rivals
        if row.plan_us > rival.value_us * (1 + 1e-7)
    ]
    print(f"cells {len(rows)}, worse than a policy in {len({label for label, *_ in worse})}")
    for label, policy, share in worse:
        print(f"  {label}: {policy} {share:+.3%}")
    costs = [row.nominal_cost or 0.0 for _, row in rows]
    gains = [1 - row.plan_us / row.without_us for _, row in rows]
    print(f"nominal cost: mean {statistics.mean(costs):.3%}, most {max(costs):.3%}")
    print(f"p95 gained over the plan without: mean {statistics.mean(gains):.3%}, {max(gains):.3%}")


if __name__ == "__main__":
    main()
