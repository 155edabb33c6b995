"""Measured costs away from their measurement: refused, or scaled as a ring grows."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.costs import MEASURED, Cluster, PiecewiseCost, cost_of, is_extrapolated
from solver.errors import InvalidCluster

CLUSTER = Cluster(
    8,
    startup_us=7,
    table=((100, 20.0), (300, 60.0)),
    tables=(("broadcast", ((100, 20.0), (300, 60.0))),),
    constant_us=30,
    us_per_byte=0.5,
    piecewise=PiecewiseCost(64, 2.0, 12.0, 0.5, 20.0, 16.0),
    measured_workers=8,
    measured_gbps=100,
)
HERE = [replace(CLUSTER, algorithm=name) for name in MEASURED]
TABLE = HERE[0]


@pytest.mark.parametrize("cluster", HERE)
@pytest.mark.parametrize("bandwidth", [None, 100])
@pytest.mark.parametrize("extrapolate", [True, False])
def test_on_the_spot_nothing_is_scaled(cluster, bandwidth, extrapolate):
    plain = replace(cluster, measured_workers=None, measured_gbps=None)
    same = replace(cluster, bandwidth_gbps=bandwidth, extrapolate=extrapolate)
    assert cost_of(same) == cost_of(plain)
    assert not is_extrapolated(same)
    assert not is_extrapolated(plain)


@pytest.mark.parametrize(
    ("algorithm", "size", "fixed", "rest", "top"),
    [
        # the least is 20; 200 bytes take 40
        ("table", 200, 20, 20, 7),
        # what is fitted is scaled, the start-up on top is not
        ("linear", 200, 30, 100, 7),
        # the least is 16; 200 bytes take 120
        ("piecewise", 200, 16, 104, 7),
    ],
)
def test_as_a_ring_grows(algorithm, size, fixed, rest, top):
    here = replace(CLUSTER, algorithm=algorithm, extrapolate=True)
    assert cost_of(here).time(size) == pytest.approx(top + fixed + rest)
    # 15 steps for 7, and 15/16 of the bytes for 7/8
    more = replace(here, workers=16)
    assert cost_of(more).time(size) == pytest.approx(top + fixed * 15 / 7 + rest * 15 / 14)
    # a quarter of the bandwidth
    slower = replace(more, bandwidth_gbps=25)
    assert cost_of(slower).time(size) == pytest.approx(top + fixed * 15 / 7 + rest * 4 * 15 / 14)
    # two workers: one step, half of the bytes
    fewer = replace(here, workers=2)
    assert cost_of(fewer).time(size) == pytest.approx(top + fixed / 7 + rest * 4 / 7)
    assert all(map(is_extrapolated, (more, slower, fewer)))


def test_the_bytes_of_a_broadcast_pass_every_worker():
    cost = cost_of(replace(TABLE, workers=16, extrapolate=True), "broadcast")
    assert cost.time(200) == pytest.approx(7 + 20 * 15 / 7 + 20)


@pytest.mark.parametrize("cluster", HERE)
def test_one_worker_costs_nothing_and_is_known(cluster):
    alone = replace(cluster, workers=1)
    assert cost_of(alone).time(1000) == 0
    assert not is_extrapolated(alone)


def test_a_computed_cost_is_never_extrapolated():
    assert not is_extrapolated(Cluster(16, 10, measured_workers=8))


@given(
    cluster=st.sampled_from(HERE),
    workers=st.integers(2, 1000),
    bandwidth=st.floats(1, 1000),
    size=st.integers(1, 10**6),
)
def test_more_bandwidth_and_fewer_workers_never_hurt(cluster, workers, bandwidth, size):
    here = replace(cluster, workers=workers, bandwidth_gbps=bandwidth, extrapolate=True)
    time = cost_of(here).time(size)
    faster = cost_of(replace(here, bandwidth_gbps=2 * bandwidth)).time(size)
    assert 0 < faster <= time * (1 + 1e-12)
    assert time <= cost_of(replace(here, workers=workers + 1)).time(size) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        # other workers, another bandwidth, both
        (dict(workers=16), [("/workers", "not_measured")]),
        (dict(bandwidth_gbps=25), [("/bandwidth_gbps", "not_measured")]),
        (
            dict(workers=16, bandwidth_gbps=25),
            [("/workers", "not_measured"), ("/bandwidth_gbps", "not_measured")],
        ),
        # one worker takes no step, so nothing can be scaled from it
        (dict(measured_workers=1, extrapolate=True), [("/measured_workers", "out_of_range")]),
    ],
)
@pytest.mark.parametrize("cluster", HERE)
def test_rejected(cluster, changes, faults):
    with pytest.raises(InvalidCluster) as caught:
        cost_of(replace(cluster, **changes))
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


@pytest.mark.parametrize("algorithm", MEASURED)
def test_what_is_missing_is_told_with_the_rest(algorithm):
    with pytest.raises(InvalidCluster) as caught:
        cost_of(Cluster(16, algorithm=algorithm, measured_workers=8))
    assert {fault.pointer for fault in caught.value.faults} >= {"/workers"}
    assert len(caught.value.faults) == 2


def test_the_fault_names_both_figures_and_the_way_out():
    with pytest.raises(InvalidCluster) as caught:
        cost_of(replace(TABLE, workers=16, bandwidth_gbps=25))
    assert [fault.detail for fault in caught.value.faults] == [
        "The cost was measured with 8 workers, not 16; `extrapolate` scales it as a ring would.",
        "The cost was measured with 100 Gbit/s, not 25; `extrapolate` scales it as a ring would.",
    ]
