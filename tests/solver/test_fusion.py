"""MaxMinSize fusion and the fused graph."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.buckets import contiguous
from solver.chain import chain_of
from solver.costs import Affine, alike
from solver.fusion.chain.maxmin import max_min, max_min_cuts
from solver.fusion.fused import fused_ops
from solver.fusion.layered import FUSIONS
from solver.fusion.search import Allowance, SearchOptions
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.models import MODELS
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.schedule.execute import cut_at_releases
from tests import oracles
from tests.sampling import cases
from tests.strategies import costs, graphs


@given(sizes=st.lists(st.integers(1, 7), min_size=1, max_size=9))
@settings(max_examples=cases(500))
def test_each_cut_is_the_recursion_of_algorithm_1(sizes):
    for count, cuts in enumerate(max_min_cuts(np.array(sizes)), start=1):
        assert cuts == oracles.max_min_by_recursion(sizes, count)


@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(300))
def test_max_min_keeps_the_fastest_of_all_cuts(graph, cost):
    chain = chain_of(graph)
    order = partial(cut_at_releases, cost=cost)
    values = []
    for cuts in max_min_cuts(chain.bytes):
        _, value = order(contiguous(chain, cuts))
        values.append(max(value, chain.compute_time))
    buckets = {launch.bucket for launch in max_min(chain, cost, order)}
    assert len(buckets) == 1 + int(np.argmin(values))  # the smallest R among equals


@pytest.mark.parametrize("fusion", FUSIONS)
@given(graph=graphs(), cost=costs())
def test_the_fused_ops_planned_unfused_takes_the_same_time(fusion, graph, cost):
    fused = plan(graph, alike(cost), Options(fusion=fusion, baselines=()))
    again = plan(build("fused", fused.fused), alike(cost), Options(fusion="none", baselines=()))
    assert again.compute_time_us >= fused.compute_time_us
    assert again.ideal_us == pytest.approx(fused.ideal_us)


def test_max_min_stops_when_its_allowance_is_spent():
    graph = MODELS["vgg16"]()
    chain, cost = chain_of(graph), Affine(50.0, 1e-3)
    order = partial(cut_at_releases, cost=cost)
    hurried = max_min(chain, cost, order, SearchOptions(allowance=Allowance(0)))
    assert len({launch.bucket for launch in hurried}) == 1
    assert len({launch.bucket for launch in max_min(chain, cost, order)}) > 1


def test_a_fused_ops_by_hand():
    graph = build(
        "hand",
        [
            Op("b", COMPUTE, 10.0),
            Op("g", ALL_REDUCE, None, 4, ("b",)),
            Op("h", ALL_REDUCE, None, 8, ("b",)),
            Op("g+1", COMPUTE, 1.0, None, ("h", "b")),  # has the fused op's name already
            Op("f", COMPUTE, 1.0, None, ("g", "h")),
        ],
    )
    chain = chain_of(graph)
    fused = fused_ops(graph, chain, [(0, 1)])
    assert [(op.id, op.bytes, op.after) for op in fused] == [
        ("b", None, ()),
        ("g+1'", 12, ("b",)),
        ("g+1", None, ("g+1'", "b")),
        ("f", None, ("g+1'",)),
    ]
