"""Belief and truth are two costs: decided with the one, executed with the other."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.costs import Affine, Cluster, alike, network_of
from solver.evidence.belief import (
    Belief,
    believed_graph,
    believed_network,
    decided,
    drawn,
)
from solver.evidence.doubts import DOUBTS
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.models import MODELS
from solver.planning.headline import comparison
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.policies.choice import Choice
from solver.prediction.sweep import cell_of
from solver.simulation.engine import iteration_time, launches_under
from tests.sampling import cases
from tests.strategies import affine_costs, graphs

#: Two tensors, 100 us apart; then nothing.
PAIR = build(
    "pair",
    [
        Op("b1", COMPUTE, 100.0, None, ()),
        Op("g1", ALL_REDUCE, None, 1000, ("b1",)),
        Op("b2", COMPUTE, 100.0, None, ("b1",)),
        Op("g2", ALL_REDUCE, None, 1000, ("b2",)),
    ],
)


def test_merging_is_decided_by_the_believed_start_up():
    """MG-WFBP merges where 100 us of wait are less than a start-up of 150 us; half is 75."""
    network = alike(Affine(150.0, 0.01))
    for factor, time in ((1.0, 200 + 150 + 20), (0.5, 100 + 2 * (150 + 10))):
        _, policy = decided(Choice("mg_wfbp"), PAIR, network, Belief(startup=factor))
        assert iteration_time(PAIR, network, policy) == pytest.approx(time)


def test_merging_is_decided_by_the_believed_compute():
    """The second tensor is believed to be ready after 200 us, not 100: more than the start-up."""
    network = alike(Affine(150.0, 0.01))
    _, policy = decided(Choice("mg_wfbp"), PAIR, network, Belief(compute=2.0))
    assert iteration_time(PAIR, network, policy) == pytest.approx(100 + 2 * 160)


def test_a_whole_cluster_is_believed():
    network, other = alike(Affine(150.0, 0.01)), Cluster(2, 1.0, startup_us=75.0)
    _, policy = decided(Choice("mg_wfbp"), PAIR, network, Belief(other))
    assert len(launches_under(PAIR, network, policy)) == 2


def test_a_search_of_parameters_is_decided_by_belief():
    """ByteScheduler tunes its slices on the believed network: a start-up of 0 makes small ones."""
    graph = build(
        "large",
        [
            Op("b", COMPUTE, 1.0, None, ()),
            Op("g", ALL_REDUCE, None, 64_000_000, ("b",)),
            Op("b2", COMPUTE, 1_000.0, None, ("b",)),
            Op("h", ALL_REDUCE, None, 4_000_000, ("b2",)),
            Op("f", COMPUTE, 60_000.0, None, ("h",)),
        ],
    )
    auto = Choice("bytescheduler", parameters=(("partition_bytes", "auto"),))
    network = alike(Affine(20_000.0, 0.001))
    sizes = [
        float(dict(decided(auto, graph, network, belief)[0].parameters)["partition_bytes"])
        for belief in (None, Belief(startup=0.0))
    ]
    assert sizes[1] < sizes[0]


@given(graph=graphs(), cost=affine_costs())
@settings(max_examples=cases(100))
def test_who_believes_what_is_true_decides_as_if_nothing_were_said(graph, cost):
    network, sure = alike(cost), Belief()
    choices = tuple(Choice(name) for name in POLICIES)
    options = Options(baselines=choices)
    stated, believed = (plan(graph, network, replace(options, believed=b)) for b in (None, sure))
    assert believed.launches == plan(graph, network, Options(baselines=())).launches
    times = [[b.iteration_time_us for b in each.baselines] for each in (believed, stated)]
    assert times[0] == times[1]
    assert believed.lower_bound_us == pytest.approx(stated.lower_bound_us)


@given(graph=graphs(), cost=affine_costs(), startup=st.sampled_from([0.1, 0.5, 3.0]))
@settings(max_examples=cases(100))
def test_a_plan_is_decided_with_belief_and_executed_in_truth(graph, cost, startup):
    network, belief = alike(cost), Belief(startup=startup, compute=1.5)
    choice = (Choice("mg_wfbp"),)
    answer = plan(graph, network, Options(baselines=choice, believed=belief))
    other = plan(
        believed_graph(belief, graph), believed_network(belief, network), Options(baselines=())
    )
    assert [part.bytes for part in answer.parts] == [part.bytes for part in other.parts]
    _, policy = decided(choice[0], graph, network, belief)
    assert answer.baselines[0].iteration_time_us == iteration_time(graph, network, policy)
    assert answer.lower_bound_us <= answer.iteration_time_us * (1 + 1e-7)


def test_a_barrier_is_believed_too():
    network = alike(Affine(150.0, 0.01))
    options = Options(barrier=True, believed=Belief(startup=0.1))
    answer = plan(PAIR, network, options)
    assert answer.iteration_time_us == pytest.approx(100 + 2 * 160)
    assert plan(PAIR, network, replace(options, believed=None)).iteration_time_us < 420


def test_cells_of_a_sweep_are_decided_by_belief():
    """The pair as above: merged in truth, apart by who believes in half the start-up."""
    cluster = Cluster(2, 0.8, startup_us=150.0)
    policies = (Choice("mg_wfbp"), Choice("plan"))
    sure = cell_of(PAIR, cluster, policies)
    off = cell_of(PAIR, cluster, policies, believed=Belief(startup=0.1))
    assert off.times[0] > sure.times[0]
    assert off.times[1] > sure.times[1]


def test_factors_are_drawn_about_what_is_said():
    belief = Belief(startup=0.5, startup_spread=0.2, bandwidth_spread=0.1, seed=7)
    assert drawn(belief) == drawn(belief)
    assert drawn(belief).compute == 1.0
    many = [drawn(replace(belief, seed=seed)) for seed in range(400)]
    mean = sum(each.startup for each in many) / len(many)
    assert mean == pytest.approx(0.5, rel=0.05)
    assert drawn(replace(belief, startup_spread=0.0)).startup == 0.5


def test_every_doubt_has_a_row_and_each_is_a_simulation():
    network = network_of(Cluster(8, 10.0, startup_us=500.0))
    found = plan(MODELS["resnet50"](), network, Options(baselines=()))
    beside = comparison(MODELS["resnet50"](), network, Options(baselines=()), found)
    rows = beside.off_calibration
    assert [row.name for row in rows] == [doubt.name for doubt in DOUBTS]
    by_name = {row.name: row for row in rows}
    assert by_name["twice the start-up"].plan_us > found.iteration_time_us
    assert by_name["bandwidth x 1.25"].plan_us < found.iteration_time_us
    [gain] = [g for g in beside.headline.gains if (g.over, g.barrier) == ("ddp", False)]
    assert gain.gain_low == min(gain.gain, *(row.gain for row in rows))
    for row in rows:
        assert row.gain == pytest.approx(1 - row.plan_us / row.today_us)
    slower = network_of(Cluster(8, 8.0, startup_us=500.0))
    assert by_name["bandwidth x 0.8"].today_us == pytest.approx(
        iteration_time(found.graph, slower, POLICIES["ddp"])
    )
