"""Instances in whole microseconds, as CP-SAT takes them, and its plans timed on the true ones."""

from collections.abc import Sequence
from typing import NamedTuple

from solver.chain import chain_of
from solver.costs import Affine, ChannelCost
from solver.graph import COMPUTE, Op, build
from tests.dag_graphs import Case
from tests.dag_oracles import Launch, exact, problem_of, time_of
from tests.families import Instance


def lines(instance: Instance) -> dict[ChannelCost, Affine]:
    """Costs that are lines, of an instance's lanes."""
    costs = {lane: instance.network(lane) for lane in chain_of(instance.graph).lanes}
    return {lane: cost for lane, cost in costs.items() if isinstance(cost, Affine)}


def on_grid(instance: Instance, costs: dict[ChannelCost, Affine]) -> Case:
    """Round times to whole microseconds; a byte is what takes one of these in its lane."""
    ops = [_rounded(op, costs) for op in instance.graph.ops]
    whole = {lane: Affine(float(round(cost.startup)), 1.0) for lane, cost in costs.items()}
    return Case(instance.name, build(instance.name, ops), whole)


def _rounded(op: Op, costs: dict[ChannelCost, Affine]) -> Op:
    if op.kind == COMPUTE:
        return op._replace(duration_us=float(round(op.duration_us or 0.0)))
    cost = costs[ChannelCost(op.channel, op.kind)]
    return op._replace(bytes=max(1, round(cost.per_byte * (op.bytes or 0))))


class Optimum(NamedTuple):
    """What CP-SAT proved of an instance: the time of a shortest plan [us], if one is shorter."""

    closed: bool
    time: float | None


def optima(problems: Sequence[tuple[Instance, float]], parts: int, limit_s: float) -> list[Optimum]:
    """Ask CP-SAT for plans shorter than a time [us], with at most so many parts a bucket.

    They are found on the grid, and timed with the instance's own times and bytes. Rounding may
    cost half a microsecond an op: what is optimal on the grid is nearly so off it.

    Raises
    ------
    KeyError
        For an instance with a cost that is no line.
    """
    asked, grids = [], []
    for instance, most in problems:
        grids.append(on_grid(instance, lines(instance)))
        asked.append(problem_of(grids[-1], most + len(instance.graph.ops) / 2))
    found = []
    for (instance, _), rounded, answer in zip(
        problems, grids, exact(asked, parts, limit_s), strict=True
    ):
        time = None
        if answer.value is not None:
            true = Case(instance.name, instance.graph, lines(instance))
            time = time_of(true, _off_grid(answer.launches, rounded, true))
        found.append(Optimum(answer.closed, time))
    return found


def _off_grid(launches: list[Launch], rounded: Case, true: Case) -> list[Launch]:
    """Give each part its share of the true bytes, and the last of a bucket the rest."""
    sizes = [op.bytes or 0 for op in true.graph.ops]
    units = [op.bytes or 0 for op in rounded.graph.ops]
    left = {bucket: (sum(units[i] for i in bucket), sum(sizes[i] for i in bucket))
            for bucket, _ in launches}  # fmt: skip
    sent: list[Launch] = []
    for bucket, size in launches:
        unit, total = left[bucket]
        share = total if size == unit else round(total * size / unit)
        left[bucket] = (unit - size, total - share)
        sent.append((bucket, share))
    return sent
