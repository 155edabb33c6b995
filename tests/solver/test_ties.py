"""Of plans that take the same time, the one with the fewest launches is kept."""

from math import inf

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine, Cluster, Network, alike, network_of
from solver.fusion.general.join import without_needless_launches
from solver.fusion.general.judge import GraphJudge, flat
from solver.fusion.general.latest import latest_ends
from solver.fusion.search import Budget
from solver.fusion.ties import ceiling, fewest, ties
from solver.graph import COMPUTE, NETWORK, Op, build
from solver.models.layers import Layer
from solver.models.parallel import fsdp
from solver.planning.check import check
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.policies.choice import Choice, candidates
from solver.simulation.engine import costs_of, simulate
from solver.simulation.replay import replay
from solver.units import same, slack
from tests.dag_graphs import case
from tests.families import drawn, network
from tests.sampling import cases
from tests.strategies import costs, graphs

A, B, C = Launch((0,), 4), Launch((1,), 6), Launch((0, 1), 10)


def test_a_plan_that_deadlocks_takes_the_time_of_none():
    assert not same(inf, 1e9)
    assert not same(1e9, inf)
    assert not ties(inf, 1e9)


def test_launches_are_not_joined_into_a_deadlock():
    """Two buckets may be joined each by itself, and wait for one another when both are."""
    graph, net = drawn("tp-zero", 150), network(500, 100)
    found = plan(graph, net, Options(baselines=(), time_limit_s=1000.0))
    assert check(graph, net, found) == pytest.approx(found.iteration_time_us)


@pytest.mark.parametrize(
    ("plans", "bound", "kept"),
    [
        ({(A, B): 10.0, (C,): 11.0}, 0.0, (A, B)),  # time comes first
        ({(A, B): 10.0, (C,): 10.0}, 0.0, (C,)),  # then launches
        ({(A, B): 10.0, (C,): 10.0 + 1e-7}, 0.0, (C,)),  # within the tolerance
        ({(A, B): 10.0, (C,): 10.0 + 1e-5}, 0.0, (A, B)),
        ({(A, B): 10.0 + 5e-7, (C,): 10.0 + 1.2e-6}, 10.0, (A, B)),  # only one is at the bound
        ({(C, C): 10.0, (A, B): 10.0}, 0.0, (A, B)),  # as many: tensors as they are
        ({(B, A): 10.0, (A, B): 10.0}, 0.0, (B, A)),  # alike in all: the first
    ],
)
def test_what_is_kept(plans, bound, kept):
    assert fewest(plans, bound, tuple) == kept


def launches_of(policy, graph, network):
    """Launches of a policy and their time when each goes as early as may be."""
    sent = simulate(graph, network, policy).plan
    return len(sent), simulate(graph, network, replay(sent)).iteration_time


def nothing_has_fewer(graph, network, found):
    for name, policy in POLICIES.items():
        if name == "pace" and not chain_of(graph).is_layered:
            continue
        count, time = launches_of(policy, graph, network)
        if same(time, found.iteration_time_us):
            assert len(found.parts) <= count, name


@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(100))
def test_no_policy_takes_the_same_time_with_fewer_launches(graph, cost):
    found = plan(graph, alike(cost), Options(baselines=tuple(map(Choice, POLICIES))))
    nothing_has_fewer(graph, alike(cost), found)


@pytest.mark.parametrize("seed", range(cases(60, least=20)))
def test_on_general_graphs(seed):
    drawn = case(seed)
    found = plan(drawn.graph, drawn.network, Options(baselines=(), time_limit_s=60))
    nothing_has_fewer(drawn.graph, drawn.network, found)
    assert same(check(found.graph, drawn.network, found), found.iteration_time_us)


def test_a_network_that_is_fast_enough_gets_no_more_launches_than_collectives():
    """As many small slices would take exactly as long: they were the plan once."""
    layers = [Layer(f"l{i}", 3_000.0, 6_000.0, ((f"w{i}", 9_000_000),)) for i in range(5)]
    graph = fsdp("fsdp", layers)
    network = network_of(Cluster(workers=8, bandwidth_gbps=400, startup_us=0))
    found = plan(graph, network)
    slices, time = launches_of(POLICIES["p3"], graph, network)
    assert slices > 500
    assert found.iteration_time_us <= time + slack(time)
    assert len(found.parts) <= len(graph.collectives)


def test_a_channel_with_time_to_spare_gets_few_launches():
    ops = []
    for i in range(6):
        ops.append(Op(f"c{i}", COMPUTE, 100.0, None, (f"c{i - 1}",) if i else ()))
        ops.append(Op(f"slow{i}", "all_reduce", None, 100, (f"c{i}",), NETWORK))
        ops.append(Op(f"fast{i}", "all_reduce", None, 10, (f"c{i}",), "nvlink"))
    network = {NETWORK: Affine(10.0, 1.0), "nvlink": Affine(1.0, 0.1)}
    found = plan(build("two", ops), Network(lambda lane: network[lane.channel]))
    assert sum(bucket.channel == "nvlink" for bucket in found.buckets) == 1


def judged(drawn):
    chain = chain_of(drawn.graph)
    return GraphJudge(drawn.graph, chain, costs_of(chain, drawn.network))


def some_plan(drawn, judge, data):
    policy = data.draw(st.sampled_from(candidates()))
    return judge.split(simulate(drawn.graph, drawn.network, policy.policy).plan)


def paths_of(lists, judge):
    """Ops and launches of a plan as a graph of their starts and ends."""
    graph: nx.DiGraph = nx.DiGraph()
    for node, preds in enumerate(judge.preds):
        graph.add_edges_from((((j, "out"), (node, "in")) for j in preds), weight=0.0)
        graph.add_edge((node, "out"), "end", weight=0.0)
        if judge.tensor[node] is None:
            graph.add_edge((node, "in"), (node, "out"), weight=judge.durations[node])
    for c, launches in enumerate(lists):
        for k, (bucket, size) in enumerate(launches):
            begin, end = (c, k, "in"), (c, k, "out")
            graph.add_edge(begin, end, weight=judge.cost[bucket[0]].time(size))
            graph.add_edge(end, (c, k + 1, "in") if k + 1 < len(launches) else "end", weight=0.0)
            is_last = all(other.bucket != bucket for other in launches[k + 1 :])
            for i in bucket:
                graph.add_edge((judge.node[i], "in"), begin, weight=0.0)
                if is_last:
                    graph.add_edge(end, (judge.node[i], "out"), weight=0.0)
    return graph


@given(seed=st.integers(0, 200), data=st.data())
@settings(max_examples=cases(100))
def test_how_late_launches_may_end_is_what_longest_paths_say(seed, data):
    drawn = case(seed, 4, 9)
    judge = judged(drawn)
    lists = some_plan(drawn, judge, data)
    graph = paths_of(lists, judge)
    behind: dict = {"end": 0.0}
    for node in reversed(list(nx.topological_sort(graph))):
        ways = [way["weight"] + behind[other] for other, way in graph[node].items()]
        behind[node] = max(ways, default=0.0)
    run = judge.execute(lists)
    limit = run.value + 5
    assert latest_ends(lists, run, judge, limit).in_order == [
        [pytest.approx(limit - behind[c, k, "out"]) for k in range(len(launches))]
        for c, launches in enumerate(lists)
    ]


@given(seed=st.integers(0, 500), data=st.data())
@settings(max_examples=cases(150))
def test_joined_launches_take_no_longer_and_carry_the_same(seed, data):
    drawn = case(seed, 4, 10)
    judge = judged(drawn)
    lists = some_plan(drawn, judge, data)
    limit = judge.value(lists) * data.draw(st.sampled_from([1.0, 1.1, 2.0]))
    found = without_needless_launches(lists, judge, Budget(60), limit)
    assert ties(judge.value(found), limit)
    assert sum(map(len, found)) <= sum(map(len, lists))
    assert sum(size for _, size in flat(found)) == sum(judge.bytes)
    timeline = simulate(drawn.graph, drawn.network, replay(flat(found)))
    assert same(timeline.iteration_time, judge.value(found))


def test_a_spent_budget_joins_nothing():
    drawn = case(3)
    judge = judged(drawn)
    lists = judge.split(simulate(drawn.graph, drawn.network, POLICIES["p3"]).plan)
    assert without_needless_launches(lists, judge, Budget(0), 1e9) == lists


def test_the_limit_is_the_bound_where_it_is_reached():
    assert ceiling(10.0 + 5e-7, 10.0) == 10.0
    assert ceiling(11.0, 10.0) == 11.0


def test_joins_that_take_longer_when_they_are_run_are_left(monkeypatch):
    """The rule only proposes: half of its pairs are tried, and none stays if all were wrong."""
    names = ("g", "h", "i", "j")
    ops = [Op("a", COMPUTE, 1.0), Op("end", COMPUTE, 500.0, None, ("a",))]
    graph = build("four", ops + [Op(name, "all_reduce", None, 10, ("a",)) for name in names])
    chain, budget = chain_of(graph), Budget(100)
    judge = GraphJudge(graph, chain, costs_of(chain, alike(Affine(5.0, 0.1))))
    lists = (tuple(Launch((i,), 10) for i in range(4)),)
    limit = judge.execute(lists).value
    whole = ((Launch((0, 1, 2, 3), 40),),)
    assert without_needless_launches(lists, judge, budget, limit) == whole
    answers = iter([False])
    monkeypatch.setattr("solver.fusion.general.join.ties", lambda *_: next(answers, True))
    assert without_needless_launches(lists, judge, budget, limit) == whole
    monkeypatch.setattr("solver.fusion.general.join.ties", lambda *_: False)
    assert without_needless_launches(lists, judge, budget, limit) == lists
