"""Few launches in the same time: runs of the release order under a barrier, joins elsewhere."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine, Cluster, alike, cost_of, network_of
from solver.fusion.chain.fewest import with_fewest_launches
from solver.fusion.chain.fifo import fewest_cuts
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.layered import by_lane
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.models import MODELS
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.units import same
from tests.sampling import cases
from tests.strategies import affine_costs, costs, graphs

LAYERED = ("vgg16", "resnet50", "t5_small")
#: Flat up to 25 kB, then 1 Gbit/s: what measured tables look like.
TABLE = tuple((2**k, max(200.0, 2**k / 125.0)) for k in range(10, 29))


def all_ends(release, sizes, cost):
    """End of every way to send neighbours in release order: [(launches, end)]."""
    count = len(release)
    for number in range(count):
        for inner in combinations(range(1, count), number):
            now = 0.0
            for low, high in pairwise((0, *inner, count)):
                now = max(now, release[high - 1]) + cost.time(int(sum(sizes[low:high])))
            yield number + 1, now


@given(
    rows=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)), min_size=1, max_size=7),
    cost=costs(),
    spare=st.sampled_from([None, 0.0, 100.0, 1_000.0]),
)
@settings(max_examples=cases(150))
def test_the_fewest_launches_in_release_order_are_those_of_brute_force(rows, cost, spare):
    release = np.array(sorted(r for r, _ in rows)) * 100.0
    sizes = np.array([s for _, s in rows]) * 50_000
    ways = list(all_ends(release, sizes, cost))
    least = min(end for _, end in ways)
    end = least if spare is None else least + spare
    cuts = fewest_cuts(release, sizes, cost, None if spare is None else end)
    assert cuts is not None
    now = 0.0
    for low, high in pairwise((0, *cuts)):
        now = max(now, release[high - 1]) + cost.time(int(sizes[low:high].sum()))
    assert now <= end
    assert len(cuts) == min(number for number, at in ways if at <= end)
    assert fewest_cuts(release, sizes, cost, least - 1e-3) is None


def are_runs(answer) -> bool:
    """Whether the buckets are runs of the release order, launched whole and in that order."""
    chain = chain_of(answer.graph)
    sent = [i for bucket, _ in answer.launches for i in bucket]
    whole = all(size == int(chain.bytes[list(bucket)].sum()) for bucket, size in answer.launches)
    return whole and sent == list(range(len(chain)))


@pytest.mark.parametrize("workers", [4, 16, 64])
@pytest.mark.parametrize("model", LAYERED)
@pytest.mark.parametrize("startup", [0.0, 50.0, 1_000.0])
def test_a_plan_of_a_model_under_a_barrier_is_runs_and_optimal(model, workers, startup):
    network = network_of(Cluster(workers, bandwidth_gbps=10, startup_us=startup))
    answer = plan(MODELS[model](), network, Options(barrier=True, baselines=()))
    assert answer.status in ("optimal", "within")
    assert are_runs(answer)


@pytest.mark.parametrize("model", LAYERED)
def test_a_plan_of_a_table_under_a_barrier_is_runs(model):
    network = network_of(Cluster(4, algorithm="table", table=TABLE))
    answer = plan(MODELS[model](), network, Options(barrier=True, baselines=()))
    assert are_runs(answer)
    assert len(answer.parts) <= 5


@given(graph=graphs(most=8), cost=affine_costs())
@settings(max_examples=cases(150))
def test_with_a_barrier_and_affine_cost_the_plan_is_runs(graph, cost):
    assert are_runs(plan(graph, alike(cost), Options(barrier=True, baselines=())))


@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(150))
def test_no_plan_of_runs_is_as_fast_where_the_plan_is_none(graph, cost):
    answer = plan(graph, alike(cost), Options(barrier=True, baselines=()))
    if not are_runs(answer):
        chain = chain_of(answer.graph)
        least = min(end for _, end in all_ends(chain.release, chain.bytes, cost))
        value = max(chain.compute_time, least + float(chain.tail[0]))
        assert value > answer.iteration_time_us
        assert not same(value, answer.iteration_time_us)


def test_launches_that_do_not_touch_are_joined():
    # h is urgent; g and k go around it, and one launch of both after it ends in time
    ops = [
        Op("b", COMPUTE, 10.0),
        *(Op(name, ALL_REDUCE, None, 10, ("b",)) for name in ("g", "h", "k")),
        Op("f", COMPUTE, 60.0, None, ("h",)),
    ]
    chain = chain_of(build("three", ops))
    judge = ChainJudge(chain, Affine(5.0, 1.0))
    apart = tuple(Launch((i,), 10) for i in range(3))
    joined = (Launch((1,), 10), Launch((0, 2), 20))
    assert with_fewest_launches(apart, chain, judge, judge.value(apart)) == joined


def test_a_channel_of_two_keys_gets_as_few_launches_as_one_with_one_more():
    table = cost_of(Cluster(4, algorithm="table", table=TABLE))
    graph = MODELS["resnet50"]()
    keyed = [
        op._replace(fuse_key="norms") if op.bytes is not None and op.bytes < 50_000 else op
        for op in graph.ops
    ]
    one = plan(graph, alike(table), Options(baselines=()))
    two = plan(build("keyed", keyed), alike(table), Options(baselines=()))
    assert same(two.iteration_time_us, one.iteration_time_us)
    assert len(two.parts) == len(one.parts) + 1


def test_parts_of_buckets_are_parted_by_lane_in_whole_elements():
    ops = [
        Op("b", COMPUTE, 10.0),
        Op("g", ALL_REDUCE, None, 12, ("b",), element_bytes=4),
        Op("h", ALL_REDUCE, None, 9, ("b",), element_bytes=3),
        Op("k", ALL_REDUCE, None, 8, ("b",), element_bytes=4),
    ]
    chain = chain_of(build("three", ops))
    parts = [Launch((0, 1, 2), 10), Launch((0, 1, 2), 14), Launch((0, 1, 2), 5)]
    assert by_lane(parts, chain) == (
        Launch((0, 2), 8),
        Launch((0, 2), 12),
        Launch((1,), 3),
        Launch((1,), 6),
    )
