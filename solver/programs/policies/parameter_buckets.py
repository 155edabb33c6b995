"""Buckets of what sharded parameters send: gathers of inputs, and scatters of results."""

from collections.abc import Callable, Sequence

from solver.graph import ALL_GATHER, REDUCE_SCATTER
from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.policies.in_order import least_order
from solver.programs.problem import ProgramProblem, is_fusable, lane_of

MIB = 1 << 20

#: From the published least cap to the published most, doubling [bytes].
_CAPS = [size * MIB for size in (10, 20, 40, 80, 160, 320, 500)]


def parameter_collectives(problem: ProgramProblem) -> list[int]:
    """Return the gathers of inputs and the scatters of results, in program order.

    Gathers that come after no other collective, and scatters that no collective comes after, on
    channels that have such a gather: no order of them contradicts another, however they are fused.
    O(ops + edges).
    """
    graph = problem.graph
    order = least_order(problem)
    below, above = [False] * len(graph.ops), [False] * len(graph.ops)
    for i in order:
        below[i] = any(below[j] or graph.ops[j].kind != COMPUTE_KIND for j in graph.preds[i])
    for i in reversed(order):
        above[i] = any(above[j] or graph.ops[j].kind != COMPUTE_KIND for j in graph.succs[i])
    gathers = {i for i in order if graph.ops[i].kind == ALL_GATHER and not below[i]}
    channels = {graph.ops[i].channel for i in gathers}
    return [
        i
        for i in order
        if graph.ops[i].channel in channels
        and (i in gathers or (graph.ops[i].kind == REDUCE_SCATTER and not above[i]))
    ]


def with_the_rest(
    problem: ProgramProblem, buckets: Sequence[Sequence[int]]
) -> list[tuple[int, ...]]:
    """Return these buckets and every other collective alone, by their first in program order."""
    taken = {members[0]: members for members in buckets}
    others = {i for members in buckets for i in members[1:]}
    return [
        tuple(sorted(taken.get(i, (i,))))
        for i in least_order(problem)
        if problem.graph.ops[i].kind != COMPUTE_KIND and i not in others
    ]


def size_buckets(
    problem: ProgramProblem, most: Callable[[int], int], span: int | None = None
) -> list[tuple[int, ...]]:
    """Fuse what parameters send, lane by lane in program order, up to a size and a span.

    Parameters
    ----------
    most
        Of a bucket that a collective is added to, the most bytes.
    span
        Ops from the first to the last of a bucket in program order, at most; None: any number.

    Returns
    -------
    list of tuple of int
        All collectives; what is fused with nothing is alone.
    """
    graph = problem.graph
    place = {i: at for at, i in enumerate(least_order(problem))}
    open_: dict[object, list[int]] = {}
    buckets: list[list[int]] = []
    for i in parameter_collectives(problem):
        lane = lane_of(graph, i)
        bucket = open_.get(lane)
        size = sum(graph.ops[k].bytes or 0 for k in [*(bucket or ()), i])
        if (
            bucket
            and size <= most(i)
            and (span is None or place[i] - place[bucket[0]] <= span)
            and is_fusable(problem, [*bucket, i])
        ):
            bucket.append(i)
            continue
        open_[lane] = [i]
        buckets.append(open_[lane])
    return with_the_rest(problem, buckets)


def saturating(problem: ProgramProblem) -> Callable[[int], int]:
    """Tell of a collective the least of some sizes with nine tenths of the largest's rate."""

    def most(i: int) -> int:
        lane = lane_of(problem.graph, i)
        key = f"saturation {lane}"
        if key not in problem.memo:
            cost = problem.network(lane)
            rates = [size / max(cost.time(size), 1e-9) for size in _CAPS]
            problem.memo[key] = next(
                size for size, rate in zip(_CAPS, rates, strict=True) if rate >= 0.9 * rates[-1]
            )
        return int(problem.memo[key])

    return most
