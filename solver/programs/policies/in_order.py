"""The order of the graph: each collective alone, waited for as soon as it is launched."""

import heapq

from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, WAIT, HostStep, Program


def in_order(problem: ProgramProblem) -> Program:
    """Return the program of a graph that nobody scheduled; O(ops).

    The order is the topological one that differs least from that of the graph: of the ops that may
    come next the first in the graph.
    """
    graph = problem.graph
    places = {i: b for b, i in enumerate(graph.collectives)}
    steps = []
    for i in least_order(problem):
        if graph.ops[i].kind == COMPUTE_KIND:
            steps.append(HostStep(COMPUTE, i))
        else:
            steps += [HostStep(LAUNCH, places[i]), HostStep(WAIT, places[i])]
    return Program(tuple((i,) for i in graph.collectives), tuple(steps))


def least_order(problem: ProgramProblem) -> list[int]:
    """Return the smallest topological order of the positions, compared place by place."""
    graph = problem.graph
    waiting = [len(preds) for preds in graph.preds]
    ready = [i for i, count in enumerate(waiting) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for j in graph.succs[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                heapq.heappush(ready, j)
    return order
