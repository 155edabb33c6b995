"""Plain annealing over the launches of any graph: a rival of the search, to know it by.

Shares no code with the solver's search: random changes of a plan, each executed whole, in lists.
What the rival needs of the solver are graphs, and the cost of a launch.
"""

import math
import random
from typing import NamedTuple

from solver.costs import Network
from solver.graph import Graph
from tests.dag_oracles import Launch
from tests.plain_moves import change
from tests.plain_plans import execute, first, problem_of

#: The temperature falls from the first to the last of these shares of a plan's time.
HOT, COLD = 1e-3, 1e-5


class Found(NamedTuple):
    """The best plan that was seen: its time [us], and launches in each channel's order."""

    time: float
    launches: list[Launch]


def search(graph: Graph, network: Network, moves: int, seed: int = 0) -> Found:
    """Look at so many random changes, and take what is better, or not much worse at first.

    Begins with every collective alone and whole, in the order of the longest paths that lead to
    them. Equal arguments give equal plans. A look is O(ops + edges + launches).
    """
    problem = problem_of(graph, network)
    generator = random.Random(seed)
    here = first(problem)
    run = execute(problem, here)
    best, least = here, run.time
    for look in range(moves):
        there = here.copy()
        if not change(problem, there, run, generator):
            continue
        heat = least * HOT * (COLD / HOT) ** (look / moves)
        most = run.time - heat * math.log(1.0 - generator.random())
        tried = execute(problem, there)
        if tried.time <= most:
            here, run = there, tried
            if run.time < least:
                best, least = here, run.time
    sent = [(best.members[s.bucket], s.bytes) for launches in best.lists for s in launches]
    return Found(least, sent)
