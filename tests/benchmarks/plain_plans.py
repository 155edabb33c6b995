"""Plans compiled and as plain Python: the same launches, cell by cell.

``python -m tests.benchmarks.plain_plans --cells 8`` takes every eighth cell of the suite;
PROTOCOL.md says what is compared.
"""

import argparse
from importlib import import_module
from itertools import product
from types import ModuleType
from typing import Any

from tests.plain import plain

MODULES = ("solver.planning.plan", "solver.costs", "tests.benchmarks.suite")


def plans_of(cells: int, modules: list[ModuleType]) -> dict[str, Any]:
    """Plan cells of the suite with some modules: times and launches of each, by its name."""
    planning, costs, suite = modules
    grid = list(product(suite.graphs(), suite.STARTUPS, suite.RATES, suite.WORKERS))[::cells]
    found = {}
    for (name, graph), startup, rate, workers in grid:
        cost = costs.cost_of(costs.Cluster(workers, rate, startup))
        made = planning.plan(graph, costs.alike(cost), planning.Options(baselines=()))
        launches = [(each.bucket, each.bytes) for each in made.launches]
        label = f"{name}, {startup} us, {rate} Gbit/s, {workers} workers"
        found[label] = made.iteration_time_us, made.lower_bound_us, made.status, launches
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=8)
    cells = parser.parse_args().cells
    compiled = plans_of(cells, [import_module(name) for name in MODULES])
    other = plans_of(cells, plain(*MODULES))
    differ = [label for label, one in compiled.items() if other[label] != one]
    print(f"{len(compiled)} cells; of another plan: {len(differ)}", *differ, sep="\n  ")


if __name__ == "__main__":
    main()
