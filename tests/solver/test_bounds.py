"""The lower bound: never above any plan, and its recursion against the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.bounds.chain import lower_bound
from solver.chain import chain_of
from solver.costs import Affine, MeasuredCost, alike
from solver.fusion.chain.fifo import chain_cuts, chain_end
from solver.graph import ALL_REDUCE, COMPUTE, Op, build, with_barrier
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from solver.units import slack
from tests.sampling import cases
from tests.solver.test_simulate import TWO_LAYERS
from tests.strategies import affine_costs, costs, graphs, sends


@given(data=st.data(), graph=graphs(), cost=costs())
@settings(max_examples=cases(1000))
def test_no_plan_beats_the_bound(data, graph, cost):
    chain = chain_of(graph)
    bound = lower_bound(chain, cost)
    parts = data.draw(sends(chain))
    time = simulate(graph, alike(cost), replay(parts)).iteration_time
    assert bound.value <= time + slack(time)


@given(data=st.data(), graph=graphs(), cost=affine_costs())
@settings(max_examples=cases(150))
def test_with_a_barrier_and_affine_cost_the_bound_is_attained(data, graph, cost):
    """Every run of the recursion is a plan, and with equal tails it is the whole problem."""
    graph = with_barrier(graph)
    chain = chain_of(graph)
    end = _by_definition(chain.release, chain.bytes, cost.startup, cost.per_byte)
    assert lower_bound(chain, cost).value == pytest.approx(
        max(chain.compute_time, end + chain.tail[0])
    )


@given(graph=graphs(most=9), a=st.sampled_from([0.0, 30.0, 200.0]), c=st.sampled_from([0, 1e-3]))
@settings(max_examples=cases(500))
def test_the_recursion_is_the_definition(graph, a, c):
    chain = chain_of(graph)
    expected = _by_definition(chain.release, chain.bytes, a, c)
    assert chain_end(chain.release, chain.bytes, a, c) == pytest.approx(expected)
    end, low = 0.0, 0
    for high in chain_cuts(chain.release, chain.bytes, a, c):
        end = max(end, chain.release[high - 1]) + a + c * int(chain.bytes[low:high].sum())
        low = high
    assert low == len(chain)
    assert end == pytest.approx(expected)


def _by_definition(release, sizes, a, c):
    ends = [0.0]
    for k in range(1, len(release) + 1):
        ends.append(
            min(max(ends[j], release[k - 1]) + a + c * int(sizes[j:k].sum()) for j in range(k))
        )
    return ends[-1]


def test_compute_binds():
    graph = build("c", [Op("b", COMPUTE, 1e6), Op("g", ALL_REDUCE, None, 8)])
    bound = lower_bound(chain_of(graph), Affine(1.0, 1.0))
    assert (bound.kind, bound.value, bound.members) == ("compute", 1e6, ())


def test_packing_binds_where_a_table_is_concave():
    # Hull edges underrate the middle of a concave table; h = T does not.
    graph = build("p", [Op("b", COMPUTE, 10.0), Op("g", ALL_REDUCE, None, 2_000, ("b",))])
    cost = MeasuredCost((1_000, 2_000, 4_000), (10.0, 18.0, 20.0), 0.001, 0.0)
    other = build(
        "q",
        [*graph.ops, Op("late", COMPUTE, 1.0), Op("h", ALL_REDUCE, None, 2_000, ("late",))],
    )
    chain = chain_of(other)
    bound = lower_bound(chain, cost)
    assert bound.kind == "packing"
    assert bound.release == 10.0
    assert [int(chain.positions[i]) for i in bound.members] == [1]
    assert bound.value == pytest.approx(10 + 18)


def test_the_bound_of_the_two_layer_example_by_hand():
    chain = chain_of(TWO_LAYERS)
    # g2 alone: 800 + 5650; then g1: 1450; then f2: 450; and g2 in two parts pays once more
    bound = lower_bound(chain, Affine(50.0, 0.0014))
    assert bound.value == pytest.approx(8400)
    assert (bound.kind, bound.members) == ("nested", (0, 1))


@given(graph=graphs(), cost=affine_costs())
def test_dropping_tensors_never_raises_the_bound(graph, cost):
    """A later release or a longer tail never lowers it: monotone in the data."""
    chain = chain_of(graph)
    slower = Affine(cost.startup + 10, cost.per_byte * 2)
    assert lower_bound(chain, cost).value <= lower_bound(chain, slower).value + 1e-9
    assert np.isfinite(lower_bound(chain, cost).value)
