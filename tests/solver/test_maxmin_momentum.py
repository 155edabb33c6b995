"""The stochastic search over the number of groups, beside trying all."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.chain import chain_of
from solver.costs import Affine, Cluster, cost_of
from solver.errors import InvalidOptions
from solver.fusion.chain.maxmin import max_min
from solver.fusion.chain.maxmin_momentum import max_min_momentum
from solver.fusion.search import Allowance, SearchOptions
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.models import MODELS
from solver.schedule.execute import cut_at_releases
from tests.sampling import cases


@settings(max_examples=cases(20), deadline=None)
@given(st.integers(60, 90), st.integers(0, 9), st.sampled_from([0.0, 5.0, 50.0]))
def test_never_better_than_all_and_the_same_again(n, seed, startup):
    random = np.random.default_rng(seed)
    ops: list[Op] = []
    before: tuple[str, ...] = ()
    for i in range(n):
        ops.append(Op(f"b{i}", COMPUTE, float(random.integers(1, 20)), None, before))
        ops.append(Op(f"g{i}", ALL_REDUCE, None, int(random.integers(1, 50)), (f"b{i}",)))
        before = (f"b{i}",)
    chain, cost = chain_of(build("g", ops)), Affine(startup, 0.5)
    values = {}

    def order(buckets):
        launches, value = cut_at_releases(buckets, cost=cost)
        values[frozenset(launch.bucket for launch in launches)] = max(value, chain.compute_time)
        return launches, value

    found = max_min_momentum(chain, cost, order, SearchOptions(seed=seed))
    assert found == max_min_momentum(chain, cost, order, SearchOptions(seed=seed))
    buckets = frozenset(launch.bucket for launch in found)
    assert sorted(i for bucket in buckets for i in bucket) == list(range(n))
    assert values[buckets] == min(values.values())
    best = frozenset(launch.bucket for launch in max_min(chain, cost, order))
    assert values[best] <= values[buckets] + 1e-6


def test_few_tensors_are_all_tried():
    chain = chain_of(MODELS["vgg16"]())
    cost = cost_of(Cluster(8, 10.0, 50.0))
    order = partial(cut_at_releases, cost=cost)
    assert max_min_momentum(chain, cost, order) == max_min(chain, cost, order)


def test_resnet_50_within_a_thousandth_with_a_third_of_the_cuts():
    chain = chain_of(MODELS["resnet50"]())
    cost = cost_of(Cluster(12, 10.0, 600.0))
    tried = []

    def order(buckets):
        found = cut_at_releases(buckets, cost=cost)
        tried.append(max(found[1], chain.compute_time))
        return found

    max_min(chain, cost, order)
    least = min(tried)
    tried.clear()
    max_min_momentum(chain, cost, order)
    assert min(tried) <= 1.001 * least
    assert len(tried) <= len(chain) / 3


def test_what_cannot_be_scheduled_is_refused():
    chain = chain_of(MODELS["resnet50"]())

    def order(buckets):
        raise InvalidOptions([])

    with pytest.raises(InvalidOptions):
        max_min_momentum(chain, Affine(1.0, 0.1), order, SearchOptions(allowance=Allowance(1)))
