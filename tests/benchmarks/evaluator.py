"""How many plans a second the compiled evaluator executes, beside the judge in Python."""

import time
from collections.abc import Callable
from functools import partial
from math import inf

from solver.chain import chain_of
from solver.fusion.general.annealing.problem import IS_COMPILED
from solver.fusion.general.flat import plan_of, problem_of
from solver.fusion.general.judge import GraphJudge
from solver.policies import POLICIES
from solver.simulation.engine import costs_of, simulate
from tests.families import FAMILIES, drawn, network

#: Collectives of the graphs, and for how long each evaluator runs [s of CPU].
SIZE, ENOUGH_S = 150, 0.2


def speeds() -> str:
    """Time both on the same plan of each family: each tensor alone, first in, first out."""
    how = "compiled" if IS_COMPILED else "not compiled"
    lines = [f"plans/s at {SIZE} collectives, {how}, and by the judge in Python"]
    for family in FAMILIES:
        graph, net = drawn(family, SIZE), network(50, 100)
        chain = chain_of(graph)
        judge = GraphJudge(graph, chain, costs_of(chain, net))
        lists = judge.split(simulate(graph, net, POLICIES["wfbp"]).plan)
        plan = plan_of(problem_of(judge), list(map(len, lists)), lists)
        fast = _per_second(partial(plan.execute, inf))
        plain = _per_second(partial(judge.value, lists))
        nodes = len(judge.durations)
        lines.append(
            f"  {family:<14}{nodes:>6} ops{fast:>12,.0f}{plain:>10,.0f}{fast / plain:>7.0f} x"
        )
    return "\n".join(lines)


def _per_second(execute: Callable[[], float]) -> float:
    """Count executions in some CPU time."""
    count, began = 0, time.process_time()
    while time.process_time() - began < ENOUGH_S:
        for _ in range(20):
            execute()
        count += 20
    return count / (time.process_time() - began)


if __name__ == "__main__":
    print(speeds())
