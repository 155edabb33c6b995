"""Costs of a collective: formulas by hand, and laws that every cost obeys."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.costs import Affine, ChannelCost, Cluster, MeasuredCost, cost_of, network_of, scale
from solver.costs.checks import cluster_faults
from solver.errors import InvalidCluster
from tests.sampling import cases
from tests.strategies import costs


def test_ring_by_hand():
    # 8 workers, 10 Gbit/s = 1250 B/us: 50 + 14 * 2 + 2 * 7/8 * 1e6 / 1250 + 7/8 * 1e6 / 2500
    cost = cost_of(Cluster(8, 10, startup_us=50, hop_us=2, reduction_gbps=20))
    assert cost.time(1_000_000) == pytest.approx(50 + 28 + 1400 + 350)


def test_one_worker_sends_nothing():
    for algorithm in ("ring", "table"):
        cost = cost_of(Cluster(1, 10, startup_us=50, algorithm=algorithm))
        assert cost.time(1_000_000) == 0


def test_a_table_by_hand():
    # 100 and 300 bytes; 200 twice, averaged to 20; below: constant; beyond: slope 200..300,
    # since 200 is nearer than 100 to half of 300? both are 50 away: the smaller, 100, counts
    points = ((300, 30.0), (100, 10.0), (200, 16.0), (200, 24.0))
    cost = cost_of(Cluster(4, algorithm="table", table=points, startup_us=5))
    assert cost.times(np.array([0, 1, 100, 150, 200, 300, 500])).tolist() == pytest.approx(
        [0, 15, 15, 20, 25, 35, 55]
    )
    assert isinstance(cost, MeasuredCost)
    assert cost.slope == pytest.approx((30 - 10) / 200)


@pytest.mark.parametrize(
    ("cluster", "pointer", "code"),
    [
        # a ring must know its bandwidth
        (Cluster(8), "/bandwidth_gbps", "missing_field"),
        # a table of one size has no slope
        (Cluster(8, algorithm="table", table=((8, 1.0), (8, 2.0))), "/table", "out_of_range"),
    ],
)
def test_rejected(cluster, pointer, code):
    with pytest.raises(InvalidCluster) as caught:
        cost_of(cluster)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [(pointer, code)]


@given(cost=costs(), most=st.integers(1, 2_000_000), budget=st.floats(0, 2000))
@settings(max_examples=cases(300))
def test_what_fits_is_the_most_that_fits(cost, most, budget):
    size = cost.fits(budget, most)
    assert 0 <= size <= most
    assert cost.time(size) <= budget
    grid = np.unique(np.concatenate([np.linspace(1, most, 400).astype(int), [size + 1, most]]))
    larger = grid[(grid > size) & (grid <= most)]
    assert np.all(cost.times(larger) > budget)


@given(cost=costs(), total=st.integers(1, 2_000_000))
def test_minorants_stay_below(cost, total):
    sizes = np.unique(np.linspace(1, total, 500).astype(int))
    for a, c in cost.minorants(total):
        assert a >= 0
        assert c >= 0
        assert np.all(a + c * sizes <= cost.times(sizes) + 1e-9)


@given(cost=costs(), parts=st.lists(st.integers(1, 400_000), min_size=1, max_size=4))
@settings(max_examples=cases(300))
def test_no_way_to_carry_bytes_beats_the_least(cost, parts):
    total = sum(parts)
    least = cost.least(2_000_000)
    spent = sum(cost.time(part) for part in parts)
    assert least(np.array([total]))[0] <= spent + 1e-9
    assert least(np.array([0]))[0] == 0


def test_a_table_that_rewards_splitting_keeps_a_valid_least():
    # 2 MB at once costs 100, as two halves 2 * 10: the least must not exceed 20
    cost = MeasuredCost((1_000_000, 2_000_000), (10.0, 100.0), 1e-4, 0.0)
    assert cost.least(2_000_000)(np.array([2_000_000]))[0] <= 20
    # a falling table is not taken at its word either
    falling = MeasuredCost((1_000, 2_000), (10.0, 5.0), 0.0, 0.0)
    assert falling.least(2_000)(np.array([1_000]))[0] <= 5


def test_affine_minorant_is_itself():
    assert Affine(50.0, 0.001).minorants(10) == [(50.0, 0.001)]


@pytest.mark.parametrize(
    ("kind", "time"),
    [
        # 8 workers, 1250 B/us, 1,000,000 bytes in all, 2500 B/us of adding, 2 us a step
        ("all_reduce", 50 + 14 * 2 + 1400 + 350),
        ("reduce_scatter", 50 + 7 * 2 + 700 + 350),
        ("all_gather", 50 + 7 * 2 + 700),
        ("all_to_all", 50 + 7 * 2 + 700),
        ("broadcast", 50 + 7 * 2 + 800),
    ],
)
def test_kinds_on_a_ring_by_hand(kind, time):
    cluster = Cluster(8, 10, startup_us=50, hop_us=2, reduction_gbps=20)
    assert cost_of(cluster, kind).time(1_000_000) == pytest.approx(time)


@pytest.mark.parametrize("startup", [0.0, 50.0])
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(startup):
    cluster = Cluster(6, 25, startup_us=startup, hop_us=3, reduction_gbps=100)
    both, scatter, gather = (
        cost_of(cluster, kind).time(777_777)
        for kind in ("all_reduce", "reduce_scatter", "all_gather")
    )
    assert both + startup == pytest.approx(scatter + gather)


NODE = Cluster(4, 200, startup_us=5)
TABLES = Cluster(
    16,
    algorithm="table",
    table=((1, 10.0), (101, 110.0)),
    tables=(("all_gather", ((1, 20.0), (101, 220.0))),),
    channels=(
        ("nvlink", NODE),
        ("empty", Cluster(2)),
        ("switch", Cluster(2, 200, algorithm="in_network")),
    ),
)


def test_lanes_of_a_network():
    network = network_of(TABLES)
    assert network(ChannelCost("network", "all_reduce")).time(51) == 60
    assert network(ChannelCost("network", "all_gather")).time(51) == 120
    assert network(ChannelCost("nvlink", "all_gather")).time(1000) == 5 + 3 / 4 * 1000 / 25_000
    assert network(ChannelCost("nvlink", "all_gather")) is network(
        ChannelCost("nvlink", "all_gather")
    )


@pytest.mark.parametrize(
    ("lane", "pointer", "code"),
    [
        # no such channel
        (ChannelCost("pcie", "all_reduce"), "/channels", "unknown_channel"),
        # a channel without a bandwidth
        (ChannelCost("empty", "all_reduce"), "/channels/empty/bandwidth_gbps", "missing_field"),
        # an algorithm that is for all-reduce
        (ChannelCost("switch", "all_gather"), "/channels/switch/algorithm", "not_all_reduce"),
        # a kind that was not measured
        (ChannelCost("network", "broadcast"), "/tables/broadcast", "missing_field"),
    ],
)
def test_lanes_that_have_no_cost(lane, pointer, code):
    with pytest.raises(InvalidCluster) as caught:
        network_of(TABLES)(lane)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [(pointer, code)]


@pytest.mark.parametrize(
    ("kind", "points", "says"),
    [
        ("all_reduce", (), "all_reduce was not measured: .* with all_reduce_perf of nccl-tests"),
        ("all_to_all", (), "all_to_all was not measured: .* with alltoall_perf of nccl-tests"),
        ("all_reduce", ((8, 1.0), (8, 2.0)), "table of all_reduce needs points of two different"),
        ("broadcast", ((8, 1.0),), "sizes, as broadcast_perf prints"),
    ],
)
def test_a_table_that_is_too_short_names_what_measures_it(kind, points, says):
    own = {"table": points} if kind == "all_reduce" else {"tables": ((kind, points),)}
    with pytest.raises(InvalidCluster, match=says):
        cost_of(Cluster(8, algorithm="table", **own), kind)


@given(cost=costs(), size=st.integers(1, 2_000_000))
def test_scaling_a_cost(cost, size):
    assert scale(cost).time(size) == pytest.approx(cost.time(size))
    assert scale(cost, bandwidth=2.0).time(size) <= cost.time(size) * (1 + 1e-12)
    both = scale(cost, bandwidth=2.0, startup=0.5)
    assert both.time(size) == pytest.approx(cost.time(size) / 2)


@pytest.mark.parametrize(
    ("wrong", "pointer", "said"),
    [
        ({"workers": 0}, "/workers", "Cluster: workers must be 1 to 1,000,000, got 0."),
        ({"workers": 2.5}, "/workers", "must be an integer, got 2.5"),
        ({"bandwidth_gbps": -10}, "/bandwidth_gbps", "must be 1e-06 to 1e+06, got -10."),
        ({"bandwidth_gbps": float("nan")}, "/bandwidth_gbps", "got NaN"),
        ({"bandwidth_gbps": "10"}, "/bandwidth_gbps", 'must be a number, got "10"'),
        ({"bandwidth_gbps": 0}, "/bandwidth_gbps", "got 0"),
        ({"startup_us": -5.0}, "/startup_us", "must be 0 to 1e+09, got -5.0"),
        ({"hop_us": float("inf")}, "/hop_us", "got Infinity"),
        ({"negotiation_us_per_worker": -1}, "/negotiation_us_per_worker", "got -1"),
        ({"line_rate_share": 0}, "/line_rate_share", "must be 0.001 to 1, got 0."),
        ({"line_rate_share": 1.5}, "/line_rate_share", "got 1.5"),
        ({"algorithm": "rng"}, "/algorithm", 'got "rng". Did you mean ring?'),
        ({"placement": "sc"}, "/placement", "must be one of"),
        ({"compute_slowdown": 0.5}, "/compute_slowdown", "got 0.5"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(
    wrong: dict[str, Any], pointer: str, said: str
) -> None:
    """All at once, on a channel as on the network."""
    right = Cluster(8, 10.0)
    assert not list(cluster_faults(right))
    with pytest.raises(InvalidCluster) as caught:
        network_of(replace(right, **wrong))
    (fault,) = caught.value.faults
    assert (fault.pointer, said in fault.detail) == (pointer, True)
    if pointer != "/compute_slowdown":
        bad = replace(right, **wrong)
        found = list(cluster_faults(replace(bad, channels=(("ib", bad),))))
        assert [f.pointer for f in found] == [pointer, f"/channels/ib{pointer}"]
