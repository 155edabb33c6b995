"""Cells of sweeps against the simulator and the planner."""

import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.chain import chain_of
from solver.costs import Cluster, network_of
from solver.errors import InvalidCluster, InvalidOptions
from solver.graph import ALL_REDUCE, COMPUTE, Op, build, with_barrier
from solver.models import MODELS
from solver.planning.options import Options
from solver.planning.plan import compare, plan
from solver.policies import POLICIES
from solver.policies.choice import Choice, bind, resolve
from solver.prediction.sweep import PLAN, cell_of, fastest_of, sweep
from solver.simulation.engine import simulate
from tests.strategies import dags, graphs

TWO = build(
    "two layers",
    [
        Op("b2", COMPUTE, 800.0, None, ()),
        Op("b1", COMPUTE, 900.0, None, ("b2",)),
        Op("g2", ALL_REDUCE, None, 4_000_000, ("b2",)),
        Op("g1", ALL_REDUCE, None, 1_000_000, ("b1",)),
        Op("f1", COMPUTE, 400.0, None, ("g1", "b1")),
        Op("f2", COMPUTE, 450.0, None, ("f1", "g2")),
    ],
)
#: Where a collective comes after another, PACE is not defined.
NESTED = build(
    "nested",
    [
        Op("b", COMPUTE, 100.0, None, ()),
        Op("g1", ALL_REDUCE, None, 1_000, ("b",)),
        Op("g2", ALL_REDUCE, None, 1_000, ("g1",)),
    ],
)
CLUSTER = Cluster(workers=8, bandwidth_gbps=10, startup_us=50)
ALL = [*map(Choice, POLICIES), Choice(PLAN)]

clusters = st.builds(
    Cluster,
    workers=st.sampled_from([1, 2, 8]),
    bandwidth_gbps=st.sampled_from([1.0, 8.0]),
    startup_us=st.sampled_from([0.0, 50.0]),
)


def test_on_paper() -> None:
    # 2 (n-1)/n S/B: g2 5600 us, g1 1400 us, and 50 us a launch; g2 goes at 800
    cell = cell_of(TWO, CLUSTER, [Choice("wfbp"), Choice("single")])
    assert cell.times == pytest.approx((800 + 5650 + 1450 + 850, 1700 + 7050 + 850))
    assert cell.best == 0
    assert cell.compute_time_us == 2550
    assert (cell.workers, cell.bandwidth_gbps, cell.startup_us) == (8, 10, 50)
    assert not cell.extrapolated


@given(graphs(), clusters)
def test_each_time_is_that_of_the_simulator_and_the_planner(graph, cluster) -> None:
    cell = cell_of(graph, cluster, ALL)
    network = network_of(cluster)
    *theirs, ours = cell.times
    found = plan(graph, network, Options(baselines=()))
    if cluster.workers == 1:
        assert set(cell.times) == {cell.compute_time_us} == {cell.lower_bound_us}
    else:
        for choice, time in zip(ALL, theirs, strict=False):
            used = bind(resolve(choice, graph, network))
            assert time == simulate(graph, network, used).iteration_time
        assert cell.lower_bound_us == found.lower_bound_us
    assert ours <= found.iteration_time_us * (1 + 1e-7)  # it starts from the rivals
    assert cell.lower_bound_us <= ours * (1 + 1e-7)
    assert ours <= min(theirs) * (1 + 1e-7)
    least = min(cell.times)
    assert cell.fastest == tuple(
        i for i, time in enumerate(cell.times) if time <= least * (1 + 1e-3)
    )


@given(dags(), clusters)
def test_the_bound_needs_no_plan(graph, cluster) -> None:
    cluster = replace(cluster, channels=(("nvlink", replace(cluster, bandwidth_gbps=100)),))
    without = cell_of(graph, cluster, ALL[:-1])
    with_plan = cell_of(graph, cluster, ALL)
    assert without.times == with_plan.times[:-1]
    found = with_plan.lower_bound_us  # raised by what the plan's time rules out
    assert without.lower_bound_us <= found * (1 + 1e-7)
    if chain_of(graph).is_layered:
        assert without.lower_bound_us == pytest.approx(found, rel=1e-7)
    assert all(t is None or without.lower_bound_us <= t for t in without.times)
    assert (without.times[-1] is None) == (not chain_of(graph).is_layered)


def test_more_bandwidth_never_hurts_the_bound() -> None:
    cells = [cell_of(TWO, replace(CLUSTER, bandwidth_gbps=b), ALL) for b in (1, 5, 10, 100)]
    bounds = [cell.lower_bound_us for cell in cells]
    assert bounds == sorted(bounds, reverse=True)


def test_twice_the_work_takes_twice_as_long() -> None:
    ops = [
        op._replace(
            duration_us=op.duration_us and 2 * op.duration_us, bytes=op.bytes and 2 * op.bytes
        )
        for op in TWO.ops
    ]
    policies = [Choice("wfbp"), Choice("tictac"), Choice("pace"), Choice(PLAN)]
    once = cell_of(TWO, CLUSTER, policies)
    twice = cell_of(build("twice", ops), replace(CLUSTER, startup_us=100), policies)
    assert twice.times == pytest.approx([2 * time for time in once.times], rel=1e-6)
    assert twice.lower_bound_us == pytest.approx(2 * once.lower_bound_us)


def test_a_policy_that_is_not_defined_has_no_time() -> None:
    cell = cell_of(NESTED, CLUSTER, [Choice("pace"), Choice("wfbp")])
    assert cell.times[0] is None
    assert cell.best == 1
    assert cell_of(NESTED, CLUSTER, [Choice("pace")]).best is None
    alone = cell_of(NESTED, replace(CLUSTER, workers=1), [Choice("pace"), Choice(PLAN)])
    assert alone.times == (None, 100)


def test_a_policy_may_have_a_barrier() -> None:
    network = network_of(CLUSTER)
    both = [Choice("wfbp"), Choice("wfbp", barrier=True), Choice("pace", barrier=True)]
    cell = cell_of(TWO, CLUSTER, both)
    waiting = with_barrier(TWO)
    assert cell.times[1] == simulate(waiting, network, POLICIES["wfbp"]).iteration_time
    alone = cell_of(TWO, replace(CLUSTER, workers=1), both)
    assert alone.times == (2550, chain_of(waiting).compute_time, chain_of(waiting).compute_time)
    by_graph, _ = compare(TWO, network, Options(baselines=(), barrier=True))
    assert by_graph == cell_of(waiting, CLUSTER, [Choice("wfbp")]).lower_bound_us


def test_the_first_of_equals_is_the_best() -> None:
    one = cell_of(TWO, replace(CLUSTER, workers=1), [Choice("ddp"), Choice("wfbp"), Choice(PLAN)])
    assert one.best == 0
    for names in (("wfbp", "tictac"), ("tictac", "wfbp"), ("single", "wfbp", "tictac")):
        again = cell_of(TWO, CLUSTER, [Choice(name) for name in names])
        assert again.times[-1] == again.times[-2]
        assert again.best == len(names) - 2
        assert again.fastest == (len(names) - 2, len(names) - 1)


def test_equals_within_the_tolerance_are_shared() -> None:
    assert fastest_of((100.0, 100.09, None, 100.2, 100.1)) == (0, 1, 4)
    assert fastest_of((None, 5.0)) == (1,)
    assert fastest_of((None,)) == fastest_of(()) == ()
    assert fastest_of((0.0, 0.0, 1.0)) == (0, 1)


def test_the_plan_shares_what_pace_reaches_as_well() -> None:
    """Fifteen clusters on which PACE has the plan's time: a tie in each, whoever is named first."""
    graph = MODELS["vgg16"]()
    found = sweep(
        graph,
        [Cluster(8, bandwidth, 50) for bandwidth in (1, 2, 5, 10, 20, 25, 40, 50)],
        [Choice("pace"), Choice(PLAN)],
    )
    for cell in found:
        pace, plan_ = cell.times
        assert plan_ <= pace * (1 + 1e-9)
        assert cell.fastest == ((0, 1) if pace <= plan_ * (1 + 1e-3) else (1,))
    assert any(cell.fastest == (0, 1) for cell in found)


def test_each_cell_says_what_the_fastest_saves_over_what_you_run() -> None:
    # DDP sends g2 from 800 to 6450, g1 to 7900; f1 and f2: 8750. At its best cap that does not
    # change: one bucket of 5 MB waits until 1700. FIFO is the same here.
    cell = cell_of(TWO, CLUSTER, [Choice("wfbp"), Choice(PLAN)])
    ddp, tuned = cell.gains
    assert (ddp.over, tuned.over, tuned.bucket_cap_mb) == ("ddp", "ddp_tuned", None)
    assert ddp.today_us == tuned.today_us == pytest.approx(8750)
    assert ddp.gain == pytest.approx(1 - min(cell.times) / 8750)
    (fifo,) = cell_of(NESTED, CLUSTER, [Choice("wfbp")]).gains
    assert (fifo.over, fifo.gain) == ("fifo", 0)
    (unknown,) = cell_of(NESTED, CLUSTER, [Choice("pace")]).gains
    assert unknown.gain is None
    alone = cell_of(TWO, replace(CLUSTER, workers=1), [Choice("ddp")])
    assert [gain.gain for gain in alone.gains] == [0, 0]


def test_a_measured_cost_may_be_extrapolated() -> None:
    points = ((1_000, 100.0), (10_000_000, 5_000.0))
    table = Cluster(8, algorithm="table", table=points, measured_workers=8, extrapolate=True)
    assert not cell_of(TWO, table, [Choice("wfbp")]).extrapolated
    scaled = cell_of(TWO, replace(table, workers=16), [Choice("wfbp")])
    assert scaled.extrapolated
    assert scaled.bandwidth_gbps is None


def test_any_channel_that_is_used_may_be_extrapolated() -> None:
    points = ((1_000, 100.0), (10_000_000, 5_000.0))
    scaled = Cluster(8, algorithm="table", table=points, measured_workers=4, extrapolate=True)
    cluster = replace(CLUSTER, channels=(("nvlink", scaled),))
    moved = [op._replace(channel="nvlink") if op.id == "g1" else op for op in TWO.ops]
    assert not cell_of(TWO, cluster, [Choice("wfbp")]).extrapolated
    assert cell_of(build("moved", moved), cluster, [Choice("wfbp")]).extrapolated
    both = replace(scaled, channels=(("nvlink", CLUSTER),))
    all_moved = [op._replace(channel="nvlink") if op.bytes else op for op in TWO.ops]
    assert cell_of(TWO, both, [Choice("wfbp")]).extrapolated
    assert not cell_of(build("all", all_moved), both, [Choice("wfbp")]).extrapolated


@pytest.mark.parametrize(
    ("cluster", "policies", "error"),
    [
        # a ring needs a bandwidth
        (Cluster(8), [Choice("wfbp")], InvalidCluster),
        # no such policy, with and without a plan
        (CLUSTER, [Choice("best")], InvalidOptions),
        (CLUSTER, [Choice("best"), Choice(PLAN)], InvalidOptions),
        # a parameter out of range
        (CLUSTER, [Choice("p3", parameters=(("slice_bytes", 0),))], InvalidOptions),
    ],
)
def test_refused(cluster, policies, error) -> None:
    with pytest.raises(error) as refused:
        cell_of(TWO, cluster, policies)
    elsewhere = pickle.loads(pickle.dumps(refused.value))
    assert type(elsewhere) is error
    assert elsewhere.faults == refused.value.faults


def test_a_cell_is_the_same_elsewhere() -> None:
    graph = pickle.loads(pickle.dumps(TWO))
    assert cell_of(graph, CLUSTER, ALL) == cell_of(TWO, CLUSTER, ALL)
