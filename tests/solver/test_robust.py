"""Robust plans: by their mean or p95 over draws, never worse than the plan without or a policy.

The oracle draws, changes graph and costs, and simulates by itself; it shares only the simulator.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.chain import chain_of
from solver.costs import Affine, alike
from solver.errors import InvalidOptions
from solver.evidence.draws import draws_of
from solver.evidence.robustness import RobustOptions
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.limits import MAX_ROBUST_DRAWS
from solver.models import MODELS
from solver.planning.check import check
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.planning.plan_changes import neighbour
from solver.policies import POLICIES
from solver.simulation.engine import launches_under, simulate
from solver.simulation.replay import replay
from solver.simulation.what_if import Change, apply_changes
from solver.units import slack
from tests.dag_graphs import case
from tests.sampling import cases
from tests.strategies import affine_costs, graphs

ALONE = build(
    "alone",
    [Op("b", COMPUTE, 100.0, None, ()), Op("g", ALL_REDUCE, None, 1000, ("b",))],
)


def times(graph, cost, found, draws, seed):
    """Return the times of a plan under the draws: an affine cost, each op scaled by hand."""
    ids = [graph.ops[i].id for i in chain_of(graph).positions.tolist()]
    plan_by_name = [([ids[i] for i in launch.bucket], launch.bytes) for launch in found.launches]
    result = []
    for doubt in draws_of(draws, seed):
        ops = [
            op._replace(duration_us=op.duration_us * doubt.compute) if op.kind == COMPUTE else op
            for op in graph.ops
        ]
        other = build("drawn", ops)
        names = [other.ops[i].id for i in chain_of(other).positions.tolist()]
        sent = [
            type(found.launches[0])(tuple(sorted(map(names.index, bucket))), size)
            for bucket, size in plan_by_name
        ]
        true = Affine(
            cost.startup * doubt.startup * doubt.launches,
            cost.per_byte / doubt.bandwidth * doubt.launches,
        )
        result.append(simulate(other, alike(true), replay(sent)).iteration_time)
    return result


@given(graph=graphs(), cost=affine_costs(), measure=st.sampled_from(["mean", "p95"]))
@settings(max_examples=cases(100))
def test_never_worse_at_its_measure_than_the_plan_without_or_any_policy(graph, cost, measure):
    options = Options(baselines=(), robust=RobustOptions(measure, 8, 3))
    answer = plan(graph, alike(cost), options)
    robust = answer.robust
    most = robust.plan_us - slack(robust.plan_us)
    assert most <= robust.without_us
    assert {rival.policy for rival in robust.rivals} == set(POLICIES)
    assert all(most <= rival.value_us for rival in robust.rivals)
    assert check(graph, alike(cost), answer) == pytest.approx(answer.iteration_time_us)


@given(
    graph=graphs(),
    startup=st.sampled_from([0.0, 50.0, 400.0]),
    measure=st.sampled_from(["mean", "p95"]),
)
@settings(max_examples=cases(60))
def test_its_figures_are_their_definitions(graph, startup, measure):
    cost, draws, seed = Affine(startup, 0.001), 5, 2
    answer = plan(graph, alike(cost), Options(robust=RobustOptions(measure, draws, seed)))
    plain = plan(graph, alike(cost), Options())
    robust = answer.robust
    for found, value in ((answer, robust.plan_us), (plain, robust.without_us)):
        drawn = times(graph, cost, found, draws, seed)
        own = np.mean(drawn) if measure == "mean" else np.quantile(drawn, 0.95)
        assert value == pytest.approx(own)
    if plain.iteration_time_us:
        cost_share = answer.iteration_time_us / plain.iteration_time_us - 1
        assert robust.nominal_cost == pytest.approx(cost_share, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_graphs_in_which_collectives_follow_each_other(seed):
    drawn = case(seed)
    options = Options(baselines=(), robust=RobustOptions("p95", 6))
    answer = plan(drawn.graph, drawn.network, options)
    robust = answer.robust
    assert robust.plan_us <= robust.without_us + slack(robust.without_us)
    assert "pace" not in {rival.policy for rival in robust.rivals}
    assert check(drawn.graph, drawn.network, answer) == pytest.approx(answer.iteration_time_us)


def test_the_same_question_has_the_same_answer():
    options = Options(baselines=(), robust=RobustOptions("mean", 3))
    graph, network = MODELS["vgg16"](), alike(Affine(500.0, 0.0005))
    first, second = plan(graph, network, options), plan(graph, network, options)
    assert first.launches == second.launches
    assert first.robust == second.robust


def test_fewer_draws_are_the_first_of_more():
    assert draws_of(50, 4)[:10] == draws_of(10, 4)
    assert draws_of(3, 4) != draws_of(3, 5)
    many = draws_of(2000, 0)
    assert np.mean([each.startup for each in many]) == pytest.approx(1, abs=0.05)
    assert np.std([each.compute for each in many]) == pytest.approx(0.1, abs=0.01)


@given(graph=graphs(), seed=st.integers(0, 99))
@settings(max_examples=cases(200))
def test_neighbours_send_every_byte_once(graph, seed):
    chain, network = chain_of(graph), alike(Affine(1.0, 0.001))
    launches = launches_under(graph, network, POLICIES["ddp"])
    random = np.random.Generator(np.random.PCG64(seed))
    for _ in range(8):
        launches = neighbour(launches, chain, random) or launches
        assert sorted(i for bucket in {each.bucket for each in launches} for i in bucket) == list(
            range(len(chain))
        )
        assert sum(each.bytes for each in launches) == sum(chain.bytes.tolist())
        simulate(graph, network, replay(launches))


@pytest.mark.parametrize(
    ("robust", "pointer"),
    [
        (RobustOptions("median"), "/robust/measure"),  # type: ignore[arg-type]
        (RobustOptions(draws=0), "/robust/draws"),
        (RobustOptions(draws=MAX_ROBUST_DRAWS + 1), "/robust/draws"),
        (RobustOptions(seed=-1), "/robust/seed"),
    ],
)
def test_rejected(robust, pointer):
    with pytest.raises(InvalidOptions) as error:
        plan(ALONE, alike(Affine(1.0, 1.0)), Options(baselines=(), robust=robust))
    assert [fault.pointer for fault in error.value.faults] == [pointer]


def test_without_collectives_it_is_the_compute_time_that_is_drawn():
    nothing = apply_changes(ALONE, [Change("g", remove=True)])
    answer = plan(nothing, alike(Affine(1.0, 1.0)), Options(robust=RobustOptions("mean", 5)))
    mean = np.mean([100.0 * doubt.compute for doubt in draws_of(5, 0)])
    assert answer.robust.plan_us == answer.robust.without_us == pytest.approx(mean)
    assert answer.launches == ()
