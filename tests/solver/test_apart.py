"""Plans of layered chains, executed by launches alone, against the judge of any graph."""

import random
from math import inf

import pytest

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine
from solver.fusion.general.annealing.thin import LaunchThinner
from solver.fusion.general.flat import (
    apart_problem_of,
    behind,
    capacities,
    launches_of,
    plan_of,
    problem_of,
)
from solver.fusion.general.judge import GraphJudge
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.models.layers import Layer, iteration
from solver.units import same


def judge_of(seed: int) -> GraphJudge:
    """Draw a layer chain on a coarse grid, so that ties occur."""
    generator = random.Random(seed)
    layers = [
        Layer(
            f"l{i}",
            float(generator.randrange(8)),
            float(generator.randrange(8)),
            ((f"w{i}", generator.randrange(1, 12)),),
        )
        for i in range(generator.randrange(2, 12))
    ]
    graph = iteration(f"chain {seed}", layers)
    return GraphJudge(graph, chain_of(graph), [Affine(float(generator.randrange(6)), 1.0)])


def random_lists(judge: GraphJudge, generator: random.Random):
    """Draw buckets, cut some, and send all in a random order."""
    buckets: dict[int, list[int]] = {}
    for i in range(len(judge.chain)):
        buckets.setdefault(generator.randrange(4), []).append(i)
    launches = []
    for members in buckets.values():
        bucket, total = tuple(members), sum(judge.bytes[i] for i in members)
        part = generator.randrange(1, total) if generator.random() < 0.4 and total > 1 else total
        launches += [Launch(bucket, size) for size in (part, total - part) if size]
    generator.shuffle(launches)
    return judge.split(launches)


@pytest.mark.parametrize("seed", range(40))
def test_a_plan_takes_what_the_judge_says(seed):
    judge, generator = judge_of(seed), random.Random(seed)
    problem, whole = apart_problem_of(judge), problem_of(judge)
    assert problem.is_apart
    assert not whole.is_apart
    for _ in range(20):
        lists = random_lists(judge, generator)
        capacity = capacities(judge, [lists])
        plan, other = plan_of(problem, capacity, lists), plan_of(whole, capacity, lists)
        value = plan.execute_apart(inf)
        assert same(value, judge.value(lists))
        assert same(value, other.execute(inf))
        for launch in plan.row[: len(lists[0])]:
            assert same(plan.begin[launch], other.begin[launch])
            assert same(plan.finish[launch], other.finish[launch])
        assert plan.execute_apart(value) == value == plan.value
        assert plan.execute_apart(value * (1 - 1e-6) - 1e-6) == inf
        assert plan.execute(inf) == value  # as any graph


@pytest.mark.parametrize("seed", range(12))
def test_changes_keep_what_a_bucket_waits_for(seed):
    """What is known of a bucket's tensors stays right when they change."""
    judge = judge_of(seed)
    lists = judge.split([Launch((i,), size) for i, size in enumerate(judge.bytes)])
    problem, capacity = apart_problem_of(judge), capacities(judge, [lists])
    after = behind(judge)
    urgency = [after[node] for node in judge.node]
    thinner = LaunchThinner(problem, urgency, [[]], capacity, seed)
    thinner.begin(plan_of(problem, capacity, lists))
    limit = 1.2 * judge.value(lists)
    for _ in range(40):
        thinner.run(20, 2.0, limit)
        for plan in (thinner.here, thinner.best):
            value = judge.value(launches_of(plan))
            assert same(plan.value, value)
            assert value <= limit or same(value, limit)
    assert thinner.best_count < len(judge.chain) or len(judge.chain) == 1


def test_compute_alone_takes_its_time():
    """By hand: 1 us of communication beside 100 us of compute."""
    ops = [
        Op("b", COMPUTE, duration_us=1.0),
        Op("g", ALL_REDUCE, bytes=1, after=("b",)),
        Op("long", COMPUTE, duration_us=99.0, after=("b",)),
    ]
    graph = build("hidden", ops)
    judge = GraphJudge(graph, chain_of(graph), [Affine(0.0, 1.0)])
    lists = judge.split([Launch((0,), 1)])
    plan = plan_of(apart_problem_of(judge), [4], lists)
    assert plan.execute_apart(inf) == 100.0 == judge.value(lists)
