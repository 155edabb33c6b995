"""Ops, launches and waits as the nodes that the overlap schedule orders."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from solver.graph import COMPUTE as COMPUTE_KIND
from solver.graph import REDUCE_SCATTER
from solver.programs.policies.in_order import least_order
from solver.programs.problem import ProgramProblem


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes: an op of compute by its position, then launches and waits by bucket.

    Attributes
    ----------
    preds, succs
        What each comes after, and before; of a collective's own position nothing.
    index
        Place in the order of the graph, a wait right after its launch.
    order
        All nodes, least index first among what may come next.
    heavy
        Whether it is an op of weight: of mean time, or longer.
    rank
        The ops of weight, by index, with their places.
    never
        Greater than any place in ``rank``.
    first
        Least place of an op of weight that it comes before, or ``never``.
    scatters
        Whether it is a reduce-scatter or comes before one.
    before
        What it comes after, directly or not, as a bit mask.
    blocking
        Ops of weight and launches, as a bit mask: what a launch is not raised above.
    """

    preds: list[list[int]]
    succs: list[list[int]]
    index: list[int]
    order: list[int]
    heavy: list[bool]
    rank: dict[int, int]
    never: int
    first: list[int]
    scatters: list[bool]
    before: list[int]
    blocking: int


def overlap_nodes(problem: ProgramProblem, buckets: Sequence[tuple[int, ...]]) -> Nodes:
    """Return the nodes of a problem with these buckets; O(edges * nodes / 64)."""
    graph = problem.graph
    n, m = len(graph.ops), len(buckets)
    preds, succs, index = _linked(problem, buckets)
    order = _ordered(
        preds, succs, index, [i for i in range(n) if graph.ops[i].kind != COMPUTE_KIND]
    )
    mean = mean_time(problem)
    heavy = [i < n and graph.durations[i] >= mean > 0 for i in range(n + 2 * m)]
    before = [0] * (n + 2 * m)
    for i in order:
        for j in preds[i]:
            before[i] |= before[j] | 1 << j
    rank = {
        i: at for at, i in enumerate(sorted((i for i in order if heavy[i]), key=index.__getitem__))
    }
    never = len(rank) + 1
    first, scatters = [never] * (n + 2 * m), [False] * (n + 2 * m)
    for i in reversed(order):
        first[i] = min([rank.get(i, never), *(first[j] for j in succs[i])])
        kind = graph.ops[buckets[i - n][0]].kind if n <= i < n + m else ""
        scatters[i] = kind == REDUCE_SCATTER or any(scatters[j] for j in succs[i])
    blocking = sum(1 << i for i in (*rank, *range(n, n + m)))
    return Nodes(preds, succs, index, order, heavy, rank, never, first, scatters, before, blocking)


def mean_time(problem: ProgramProblem) -> float:
    """Mean time of the ops of compute that take any [us]."""
    times = [t for t in problem.graph.durations if t > 0]
    return sum(times) / len(times) if times else 0.0


def _linked(
    problem: ProgramProblem, buckets: Sequence[tuple[int, ...]]
) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Link the nodes: what needs a collective comes after its wait."""
    graph = problem.graph
    n, m = len(graph.ops), len(buckets)
    place = {i: at for at, i in enumerate(least_order(problem))}
    bucket_of = {i: b for b, members in enumerate(buckets) for i in members}
    index = [2 * place[i] for i in range(n)] + [0] * (2 * m)
    above: list[dict[int, None]] = [{} for _ in index]
    for b, members in enumerate(buckets):
        index[n + b] = 2 * max(place[i] for i in members)
        index[n + m + b] = index[n + b] + 1
        above[n + m + b] = {n + b: None}
    for i in range(n):
        to = above[n + bucket_of[i] if i in bucket_of else i]
        for j in graph.preds[i]:
            to[n + m + bucket_of[j] if j in bucket_of else j] = None
    succs: list[list[int]] = [[] for _ in index]
    for i, links in enumerate(above):
        for j in links:
            succs[j].append(i)
    return [sorted(links) for links in above], succs, index


def _ordered(
    preds: list[list[int]], succs: list[list[int]], index: list[int], but: Sequence[int]
) -> list[int]:
    """Return the nodes but some, in the topological order of least index."""
    waiting = [len(links) for links in preds]
    for i in but:
        waiting[i] = -1
    ready = [(index[i], i) for i, count in enumerate(waiting) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        i = heapq.heappop(ready)[1]
        order.append(i)
        for j in succs[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                heapq.heappush(ready, (index[j], j))
    return order
