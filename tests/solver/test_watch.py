"""What is told of a plan in the making: true, whole, ever better, and without effect on it."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.bounds.status import FEASIBLE
from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine, alike, cost_of
from solver.costs.cluster import Cluster
from solver.fusion import layered
from solver.fusion.chain.exhaust import best_of_all
from solver.fusion.chain.improve import improve
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.maxmin import max_min
from solver.fusion.general.annealing_rounds import Improvement
from solver.fusion.general.annealing_rounds import improve as improve_any
from solver.fusion.general.judge import GraphJudge
from solver.fusion.search import Budget, SearchOptions
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.models import MODELS
from solver.planning.check import check
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.planning.progress import SEARCH, SLOTS, PlanProgress
from solver.policies import POLICIES
from solver.policies.choice import Choice
from solver.schedule.execute import cut_at_releases
from solver.simulation.engine import costs_of, simulate
from solver.simulation.replay import replay
from solver.simulation.what_if import Change, apply_changes
from solver.units import slack
from tests.sampling import cases
from tests.solver.test_layered import BEHIND, network, on
from tests.solver.test_simulate import RING, TWO_LAYERS
from tests.strategies import costs, dags, graphs, networks

#: A policy whose launches wait for a timer, and one that waits for the whole iteration.
RIVALS = (*map(Choice, POLICIES), Choice("ddp", barrier=True))


class Recorder(PlanProgress):
    """Writes everything down; drafts are made at once."""

    def __init__(self):
        self.phases = []
        self.bounds = []
        self.drafts = []
        self.values = []
        self.makers = []

    def phase(self, name, completed=None, total=None):
        self.phases.append((name, completed, total))

    def bound(self, value_us):
        self.bounds.append(value_us)

    def incumbent(self, value_us, draft):
        self.values.append(value_us)
        self.drafts.append(draft())
        self.makers.append((self.phases[-1][0], draft))


def watched(graph, network, options):
    """Check all that is told; return the recorder and the plan."""
    told = Recorder()
    answer = plan(graph, network, options, told)
    assert answer == plan(graph, network, options)
    assert all(a < b for b, a in pairwise(told.values))
    assert told.bounds == sorted(told.bounds)
    assert (told.bounds[0], told.bounds[-1]) == (answer.compute_time_us, answer.bound.value_us)
    assert len(told.bounds) <= 3  # of compute, before the search, and of the plan it found
    assert answer.best_time_us <= told.values[-1] + slack(told.values[-1])
    for value, draft in zip(told.values, told.drafts, strict=True):
        assert check(draft.graph, network, draft) == pytest.approx(value)
        assert draft.iteration_time_us == pytest.approx(value)
        assert draft.lower_bound_us <= draft.iteration_time_us
        assert draft.bound.value_us <= answer.iteration_time_us + slack(value)
        assert (draft.ideal_us, draft.slotted, draft.proof.critical_buckets) == (None, None, ())
        assert len(draft.baselines) <= len(options.baselines)
        for mine, its in zip(draft.baselines, answer.baselines, strict=False):
            assert (mine.policy, mine.parameters, mine.barrier, mine.iteration_time_us) == (
                its.policy,
                its.parameters,
                its.barrier,
                its.iteration_time_us,
            )
    return told, answer


@pytest.mark.parametrize("channels", [("network",), ("network", "nvlink")])
@pytest.mark.parametrize("fusion", ["joint", "maxmin", "none"])
@given(
    graph=graphs(),
    baselines=st.sampled_from([(), RIVALS]),
    barrier=st.booleans(),
    slowdown=st.sampled_from([1.0, 1.26]),
)
@settings(max_examples=cases(40))
def test_of_layered_graphs(fusion, channels, graph, baselines, barrier, slowdown):
    slowed = replace(network, compute_slowdown=slowdown)
    watched(on(graph, channels), slowed, Options(fusion, baselines=baselines, barrier=barrier))


@pytest.mark.parametrize("fusion", ["joint", "none"])
@given(graph=dags(), cost=networks((1.0, 1.26)), baselines=st.sampled_from([(), RIVALS]))
@settings(max_examples=cases(60))
def test_of_any_graph(fusion, graph, cost, baselines):
    watched(graph, cost, Options(fusion, baselines=baselines))


@pytest.mark.parametrize("schedule", ["jackson", "lp"])
@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(40))
def test_of_any_cost(schedule, graph, cost):
    watched(graph, alike(cost), Options("maxmin", schedule))
    watched(graph, alike(cost), Options("joint", schedule))


def test_phases_are_told_in_order():
    told, _ = watched(TWO_LAYERS, alike(RING), Options())
    assert told.phases == [
        ("policies", 0, 2),
        ("policies", 1, 2),
        ("policies", 2, 2),
        ("bound", None, None),
        ("search", None, None),
        ("slots", None, None),
    ]
    told, _ = watched(BEHIND, alike(RING), Options(baselines=()))
    assert [name for name, _, _ in told.phases] == ["policies", "bound", "search"]
    left = apply_changes(TWO_LAYERS, [Change("g?", remove=True)])
    told, answer = watched(left, alike(RING), Options(baselines=()))
    assert [name for name, _, _ in told.phases] == ["policies", "bound"]
    assert told.values == [answer.compute_time_us]


def test_a_plan_is_in_hand_before_anything_is_bounded():
    told, answer = watched(TWO_LAYERS, alike(RING), Options(baselines=(Choice("ddp"),)))
    first = told.drafts[0]
    assert told.makers[0][0] == "policies"
    assert (first.status, first.baselines) == (FEASIBLE, ())
    assert first.iteration_time_us == pytest.approx(8750)  # first in, first out
    assert (first.bound.kind, first.lower_bound_us) == ("compute", 2550)
    late = told.makers[0][1]()
    assert late.launches == first.launches
    assert (late.bound, len(late.baselines)) == (answer.bound, 1)


def test_what_a_policy_sends_is_a_plan_without_its_waits():
    # Both are ready at 20, Horovod looks at 30: one launch of 1000 + 20, not two.
    ops = [
        Op("b1", COMPUTE, 10.0),
        Op("g1", ALL_REDUCE, None, 10_000, ("b1",)),
        Op("b2", COMPUTE, 10.0, None, ("b1",)),
        Op("g2", ALL_REDUCE, None, 10_000, ("b2",)),
    ]
    horovod = Choice("horovod", parameters=(("cycle_time_us", 30.0),))
    cost = alike(Affine(1000.0, 0.001))
    told, answer = watched(build("timer", ops), cost, Options(baselines=(horovod,)))
    assert answer.baselines[0].iteration_time_us == pytest.approx(30 + 1000 + 20)
    assert told.values == [pytest.approx(10 + 2 * 1010), pytest.approx(20 + 1000 + 20)]


@pytest.mark.parametrize("fusion", ["joint", "maxmin", "none"])
@given(graph=graphs())
@settings(max_examples=cases(20))
def test_channels_are_told_together_or_not_at_all(fusion, graph):
    graph = on(graph, ("network", "nvlink"))
    chain = chain_of(graph)
    costs = costs_of(chain, network)
    told = []
    search = SearchOptions(report=lambda sends, value: told.append((sends, value)))
    layered.decide(chain, costs, fusion, "jackson", None, search)
    assert told
    for sends, value in told:
        timeline = simulate(graph, network, replay(sends))
        assert timeline.iteration_time == pytest.approx(value)


@pytest.mark.parametrize("fusion", ["maxmin", "none"])
def test_other_fusions_tell_only_what_they_found(fusion):
    told, _ = watched(TWO_LAYERS, alike(RING), Options(fusion, baselines=RIVALS))
    assert {phase for phase, _ in told.makers} == {SEARCH}


def test_a_search_is_told_on_the_way():
    cost = cost_of(Cluster(12, 10, 6000))
    told, answer = watched(MODELS["resnet50"](), alike(cost), Options(baselines=()))
    assert [phase for phase, _ in told.makers].count(SEARCH) > 1
    assert told.values[-1] == pytest.approx(answer.best_time_us)
    assert told.phases[-1][0] == SLOTS


def test_without_time_the_plan_is_not_worse_than_what_was_told():
    # g1 is ready at 0 and 1000 us of compute follow it, g2 at 10. Release order alone would send
    # both at once, at 10: 10 + 100 + 20 + 1000 = 1130. Alone, g1 is done at 110: 1110.
    ops = [
        Op("g1", ALL_REDUCE, None, 10_000, ()),
        Op("f1", COMPUTE, 1000.0, None, ("g1",)),
        Op("b2", COMPUTE, 10.0),
        Op("g2", ALL_REDUCE, None, 10_000, ("b2",)),
    ]
    options = Options(baselines=(), time_limit_s=-1.0)
    told = Recorder()
    answer = plan(build("late", ops), alike(Affine(100.0, 0.001)), options, told)
    assert answer.iteration_time_us == pytest.approx(1110)
    assert told.values == [pytest.approx(1110)]


@given(graph=graphs(), cost=costs(), seed=st.integers(0, 3))
@settings(max_examples=cases(60))
def test_every_search_tells_its_best(graph, cost, seed):
    chain = chain_of(graph)
    judge = ChainJudge(chain, cost)
    start = tuple(Launch((i,), int(size)) for i, size in enumerate(chain.bytes))
    searches = {
        "improve": lambda report: improve(start, judge, Budget(200), seed, report),
        "all": lambda report: best_of_all(chain, cost, start, Budget(200), report),
    }
    for search in searches.values():
        told = [(judge.value(start), start)]
        found = search(lambda sends, value, told=told: told.append((value, tuple(sends))))
        assert min(value for value, _ in told) == pytest.approx(judge.value(found))
        for value, sends in told:
            assert value == pytest.approx(judge.value(sends))

    told = []
    order = partial(cut_at_releases, cost=cost)
    how = SearchOptions(report=lambda sends, value: told.append((value, tuple(sends))))
    launches = max_min(chain, cost, order, how)
    assert told[-1][1] == launches
    assert all(value == pytest.approx(judge.value(sends)) for value, sends in told)


@given(graph=dags(), cost=networks(), seed=st.integers(0, 3))
@settings(max_examples=cases(60))
def test_the_search_of_any_graph_tells_its_best(graph, cost, seed):
    chain = chain_of(graph)
    judge = GraphJudge(graph, chain, costs_of(chain, cost))
    start = judge.split([Launch((i,), int(size)) for i, size in enumerate(chain.bytes)])
    told = [judge.value(start)]
    pieces: list[list[int]] = [[] for _ in chain.lanes]
    tell = lambda sends, value: told.append(value)
    found = improve_any([start], judge, Improvement(chain.tail.tolist(), pieces, seed, report=tell))
    least = judge.value(found)
    assert min(told) == pytest.approx(least, rel=1e-6)
    assert np.all(np.isfinite(told))
