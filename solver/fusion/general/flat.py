"""Plans as the search keeps them, and as flat arrays."""

from collections.abc import Sequence

from solver.buckets import Launch
from solver.chain import lane_bytes
from solver.fusion.general.annealing.plan import AnnealedPlan
from solver.fusion.general.annealing.problem import AnnealingProblem, Shape
from solver.fusion.general.judge import ChannelLaunches, GraphJudge


def problem_of(judge: GraphJudge) -> AnnealingProblem:
    """Put a judge's graph in flat arrays."""
    chain = judge.chain
    nodes, channels = len(judge.durations), len(chain.channels)
    return AnnealingProblem(
        Shape(
            judge.durations,
            judge.preds,
            judge.succs,
            behind(judge),
            judge.node,
            judge.channel,
            chain.lane,
            judge.bytes,
            [chain.element_bytes(i) for i in range(len(chain))],
            judge.lane_costs,
            head=[0.0] * nodes,
            after=[0.0] * nodes,
            free=[0.0] * channels,
            rest=[0.0] * channels,
        )
    )


def apart_problem_of(judge: GraphJudge) -> AnnealingProblem:
    """Put the collectives of a layered chain in flat arrays, and one op for all compute.

    What comes before and behind a collective takes the same in all plans (PACE Theorem 1).
    """
    chain = judge.chain
    tensors, channels = len(chain), len(chain.channels)
    none: list[list[int]] = [[]] * (tensors + 1)
    tails = [*chain.tail.tolist(), 0.0]
    return AnnealingProblem(
        Shape(
            [0.0] * tensors + [chain.compute_time],
            none,
            none,
            tails,
            range(tensors),
            judge.channel,
            chain.lane,
            judge.bytes,
            [chain.element_bytes(i) for i in range(tensors)],
            judge.lane_costs,
            head=[*chain.release.tolist(), 0.0],
            after=tails,
            free=[0.0] * channels,
            rest=[0.0] * channels,
        )
    )


def behind(judge: GraphJudge) -> list[float]:
    """Least time from each op's end to the end of the iteration [us]."""
    weights = list(judge.durations)
    for node, time in zip(judge.node, least_times(judge), strict=True):
        weights[node] = time
    times = [0.0] * len(weights)
    for node in reversed(judge.order):
        times[node] = max((weights[j] + times[j] for j in judge.succs[node]), default=0.0)
    return times


def least_times(judge: GraphJudge) -> list[float]:
    """Least time between the release and the end of each tensor [us]."""
    chain = judge.chain
    totals = lane_bytes(chain)
    least = [cost.least(total) for cost, total in zip(judge.lane_costs, totals, strict=True)]
    return [float(least[lane](chain.bytes[i : i + 1])[0]) for i, lane in enumerate(chain.lane)]


def plan_of(
    problem: AnnealingProblem, capacity: Sequence[int], lists: ChannelLaunches
) -> AnnealedPlan:
    """Put launches in flat arrays."""
    plan = AnnealedPlan(problem, capacity)
    for launches in lists:
        for bucket, size in launches:
            plan.add(bucket, size)
    return plan


def launches_of(plan: AnnealedPlan) -> ChannelLaunches:
    """Return the launches of each channel."""
    members: dict[int, list[int]] = {}
    for tensor, bucket in enumerate(plan.home):
        members.setdefault(bucket, []).append(tensor)
    buckets = {b: tuple(tensors) for b, tensors in members.items()}
    of_launch, size, row = list(plan.bucket), list(plan.size), list(plan.row)
    return tuple(
        tuple(Launch(buckets[of_launch[k]], size[k]) for k in row[base : base + length])
        for base, length in zip(plan.base, plan.length, strict=True)
    )


def capacities(judge: GraphJudge, lists: Sequence[ChannelLaunches]) -> list[int]:
    """Most launches of each channel: those of the plans, or of its tensors, and as many again."""
    counts = [0] * len(lists[0])
    for c in judge.channel:
        counts[c] += 1
    most = [max(n, *(len(each[c]) for each in lists)) for c, n in enumerate(counts)]
    return [2 * n + 8 for n in most]
