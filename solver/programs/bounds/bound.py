"""The lower bound on the time of a program.

The largest of the longest path, each collective at the least time of its own bytes, and over all
resources and all pairs (rho, Q) of rho + the work of the ops with heads of rho or more and tails of
Q or more + Q, of what a resource cannot do beside a collective, and of what collectives take longer
than what may run beside them, also by memory (MODEL.md section 16).
"""

from collections.abc import Sequence

import numpy as np

from solver.bounds.kinds import LOAD, PATH
from solver.evidence.bound import Bound
from solver.programs.bounds.beside import beside_bound
from solver.programs.bounds.ends import heads_of
from solver.programs.bounds.overlap import overlap_bound
from solver.programs.bounds.work import Resource, most_bytes, resources_of
from solver.programs.problem import ProgramProblem, lane_of
from solver.units import FloatArray


def lower_bound(problem: ProgramProblem) -> Bound:
    """Bound the time of every program of a problem, of all orders, buckets and waits [us].

    A limit of memory raises it where an op and a collective cannot run at once; it holds under
    either rule of :attr:`ProgramProblem.inputs_held`.

    Notes
    -----
    O(edges * ops + ops^2) in numpy.
    """
    found: Bound | None = problem.memo.get("bound")
    if found is None:
        found = problem.memo["bound"] = _lower_bound(problem)
    return found


def _lower_bound(problem: ProgramProblem) -> Bound:
    graph = problem.graph
    weights = least_times(problem)
    resources = resources_of(problem)
    heads = heads_of(graph.order, graph.preds, weights, resources)
    tails = heads_of(graph.order[::-1], graph.succs, weights, resources)
    best = _path(problem, weights, heads, tails)
    for resource in resources:
        best = _load(problem, resource, heads, tails, best)
    best = overlap_bound(problem, resources, heads, tails, best)
    return beside_bound(problem, resources, best)


def least_times(problem: ProgramProblem) -> list[float]:
    """Return how long each op takes at least [us], in whatever bucket."""
    graph = problem.graph
    weights = list(graph.durations)
    lanes: dict[object, list[int]] = {}
    for i in graph.collectives:
        lanes.setdefault(lane_of(graph, i), []).append(i)
    for members in lanes.values():
        least = problem.network(lane_of(graph, members[0])).least(most_bytes(problem, members))
        sizes = np.array([graph.ops[i].bytes or 0 for i in members])
        for i, time in zip(members, least(sizes).tolist(), strict=True):
            weights[i] = time
    return weights


def _path(
    problem: ProgramProblem, weights: Sequence[float], heads: FloatArray, tails: FloatArray
) -> Bound:
    """Return the op of the largest head + time + tail, with what comes before and after it."""
    total = heads + np.array(weights) + tails
    i = int(total.argmax())
    name = (problem.graph.ops[i].id,)
    return Bound(PATH, float(total[i]), name, float(heads[i]), float(tails[i]))


def _load(
    problem: ProgramProblem,
    resource: Resource,
    heads: FloatArray,
    tails: FloatArray,
    best: Bound,
) -> Bound:
    """Return the best of a bound and those of a resource."""
    places = np.argsort(heads[resource.members], kind="stable")
    members = resource.members[places]
    for q in np.unique(tails[members]).tolist():
        mask = tails[members] >= q
        work = resource.work(places[mask], np.ones((1, int(mask.sum()))))[0]
        values = heads[members[mask]] + work + q
        i = int(values.argmax())
        if values[i] > best.value_us:
            ids = tuple(problem.graph.ops[j].id for j in sorted(members[mask][i:].tolist()))
            release = float(heads[members[mask][i]])
            best = Bound(LOAD, float(values[i]), ids, release, q)
    return best
