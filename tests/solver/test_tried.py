"""Beginnings that are all tried: nothing shorter is ruled out that some plan takes."""

import numpy as np
import pytest

from solver.bounds import tried as module
from solver.bounds.beginnings import follow
from solver.bounds.beginnings.follow import Beginnings
from solver.bounds.chain import LowerBound
from solver.bounds.kinds import COMPUTE, TRIED
from solver.bounds.tried import tried
from solver.chain import Chain, chain_of
from solver.costs import Affine, MeasuredCost
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.simulation.engine import costs_of
from solver.units import slack
from tests import dag_graphs, dag_oracles, oracles
from tests.families import drawn as drawn_family
from tests.families import network
from tests.plain import plain
from tests.sampling import cases
from tests.solver.test_core_bound import drawn

NOTHING = LowerBound(0.0, COMPUTE)
[PLAIN] = plain("solver.bounds.beginnings.follow")


def wrong(count: int) -> tuple[list[int], int]:
    """Seeds of chains of which a time is ruled out that a plan takes; how many were proven."""
    ruled_out, proven = [], 0
    for seed in range(count):
        chain, cost = drawn(seed)
        best = oracles.best_plan(chain, cost, np.inf)
        known = LowerBound(chain.compute_time, COMPUTE)
        if best <= chain.compute_time + slack(best) or not isinstance(cost, Affine):
            continue
        if tried(chain, [cost], known, best * 1.01).value > best + slack(best):
            ruled_out.append(seed)
        proven += tried(chain, [cost], known, best).value == best
    return ruled_out, proven


def general(seed: int, least: int, most: int) -> tuple[dag_graphs.Case, Chain, list[Affine]]:
    """Draw a graph with collectives behind collectives, its chain and costs."""
    case = dag_graphs.case(seed, least, most)
    chain = chain_of(case.graph)
    return case, chain, [case.costs[lane] for lane in chain.lanes]


def wrong_of_graphs(count: int, least: int = 3, most: int = 8) -> tuple[list[int], int]:
    """Seeds of graphs of which the time of their plan is ruled out; how many were proven.

    The time is that of an executor that shares no code with the solver.
    """
    ruled_out, proven = [], 0
    for seed in range(count):
        case, chain, costs = general(seed, least, most)
        launches = plan(case.graph, case.network, Options(baselines=())).launches
        positions = chain.positions.tolist()
        sent = [(tuple(positions[i] for i in each.bucket), each.bytes) for each in launches]
        time = dag_oracles.time_of(case, sent)
        assert time is not None
        if tried(chain, costs, NOTHING, time * 1.01, case.graph).value > time + slack(time):
            ruled_out.append(seed)
        proven += tried(chain, costs, NOTHING, time, case.graph).value == time
    return ruled_out, proven


def test_no_time_is_ruled_out_that_a_plan_takes():
    ruled_out, proven = wrong(cases(2_000))
    assert not ruled_out
    assert proven > cases(2_000) / 3


def test_no_time_is_ruled_out_that_a_plan_of_any_graph_takes():
    ruled_out, proven = wrong_of_graphs(cases(300))
    assert not ruled_out
    assert proven > 0.95 * cases(300)


def test_no_time_is_ruled_out_that_a_plan_of_a_larger_graph_takes():
    assert not wrong_of_graphs(cases(20), 15, 20)[0]


def test_no_time_is_ruled_out_that_some_plan_of_a_few_collectives_takes():
    """Over all buckets and orders, with one cut of each bucket."""
    for seed in range(cases(40)):
        case, chain, costs = general(seed, 2, 3)
        best = dag_oracles.brute_force(case, cut=len(chain) < 3)
        bound = tried(chain, costs, NOTHING, best * 1.01, case.graph).value
        assert bound <= best + slack(best)


@pytest.mark.parametrize(
    "rule",
    [
        ("_is_late", lambda self, row: self.now[row * self.channels] > 0),
        ("_joins", lambda self, row, c, bucket: self.sent[row * self.channels + c] > 0),
        ("_is_known", lambda self, row, figures, known: True),
        ("_ends_bucket", lambda self, row, k, c: False),
    ],
    ids=lambda rule: rule[0],
)
def test_a_rule_that_leaves_out_too_much_is_noticed(rule, monkeypatch):
    wrong_one = type("Wrong", (PLAIN.Beginnings,), {rule[0]: rule[1]})
    monkeypatch.setattr(module, "Beginnings", wrong_one)
    assert wrong(120)[0] or wrong_of_graphs(120)[0]


def test_what_is_cut_pays_twice():
    """As in test_windows: 171 is the optimum, the long bucket in two parts around the urgent one.

    Without a cut 181 is the least; a start-up more for the cut, and it is again.
    """
    chain = Chain(
        np.arange(2), np.array([0.0, 60.0]), np.array([40.0, 60.0]), np.array([100, 1]), 120.0
    )
    known = LowerBound(120.0, COMPUTE)
    cost = Affine(10.0, 1.0)
    assert tried(chain, [cost], known, 171.0) == LowerBound(171.0, TRIED, (0, 1))
    assert 170 < tried(chain, [cost], known, 172.0).value < 171  # of two times, to 1 in 10,000


def test_time_waited_before_a_bucket_was_begun_is_none_of_its_credit():
    """One bucket waits for 650 us, then another begins: that one has all its work ahead."""
    releases, tails = np.array([400.0, 800.0, 1100.0]), np.array([100.0, 400.0, 1000.0])
    chain = Chain(np.arange(3), releases, tails, np.array([840, 560, 560]), 2_100.0)
    cost, known = Affine(50.0, 1.0), LowerBound(2_100.0, COMPUTE)
    assert tried(chain, [cost], known, 2_709.9).value == 2_709.9
    assert tried(chain, [cost], known, 2_710.1).value < 2_710  # in parts of any bytes


def test_only_a_few_tensors_at_an_affine_cost_are_tried(monkeypatch):
    chain = Chain(np.arange(1), np.array([0.0]), np.array([5.0]), np.array([10]), 5.0)
    known = LowerBound(5.0, COMPUTE)
    cost = Affine(1.0, 1.0)
    assert tried(chain, [cost], known, 16.0) == LowerBound(16.0, TRIED, (0,))
    assert tried(chain, [MeasuredCost((1, 10), (2.0, 11.0), 0.001, 0.0)], known, 16.0) is known
    assert tried(chain, [cost], LowerBound(16.0, COMPUTE), 16.0).kind == COMPUTE
    monkeypatch.setattr(module, "MOST_COLLECTIVES", 0)
    assert tried(chain, [cost], known, 16.0) is known


def test_what_is_looked_at_is_limited(monkeypatch):
    chain = Chain(
        np.arange(2), np.array([0.0, 60.0]), np.array([40.0, 60.0]), np.array([100, 1]), 120.0
    )
    monkeypatch.setattr(module, "_LOOKS", 1)
    monkeypatch.setattr(module, "_LOOKS_BELOW", 1)
    known = LowerBound(120.0, COMPUTE)
    assert tried(chain, [Affine(10.0, 1.0)], known, 171.0) is known


def test_a_plan_of_a_graph_is_proven_by_what_was_tried():
    """No other bound reaches the plan of this graph."""
    case = dag_graphs.case(65, 3, 8)
    best = plan(case.graph, case.network, Options(baselines=()))
    assert (best.status, best.bound.kind) == ("optimal", TRIED)


def test_a_bound_is_raised_below_a_plan_too():
    """The windows of this graph leave 11 % below the plan, the beginnings 5 %."""
    case, chain, costs = general(37, 9, 14)
    best = plan(case.graph, case.network, Options(baselines=()))
    assert (best.status, best.bound.kind) == ("feasible", TRIED)
    assert best.iteration_time_us < 1.05 * best.lower_bound_us
    known = LowerBound(best.lower_bound_us, COMPUTE)
    assert tried(chain, costs, known, best.lower_bound_us, case.graph) is known


def test_graphs_of_more_collectives_are_tried_as_far_as_there_are_not_too_many_states(monkeypatch):
    """The windows of this graph of 17 collectives leave 2.7 % below its plan."""
    graph, network_of_it = drawn_family("fsdp-even-4", 16), network(500, 100)
    best = plan(graph, network_of_it, Options(baselines=(), launch_tolerance=0))
    assert (best.status, best.bound.kind) == ("optimal", TRIED)
    monkeypatch.setattr(follow, "_BUCKETS", 0)
    chain = chain_of(graph)
    costs = costs_of(chain, network_of_it)
    without = tried(chain, costs, NOTHING, best.iteration_time_us, graph)
    assert without.value < 0.99 * best.iteration_time_us


@pytest.mark.parametrize("seed", range(60))
def test_compiled_or_not_the_same_is_looked_at(seed):
    case, chain, costs = general(seed, 6, 9)
    these = module._collectives(chain, costs, case.graph)
    most = sum(these.work) + max(these.release) + max(these.tail)
    ends = []
    for kind in (Beginnings, PLAIN.Beginnings):
        for share in (0.5, 0.7, 0.9):
            search = kind(these, share * most, 2_000, lambda: False)
            ends.append((search.some_end(), search.looks))
    assert ends[:3] == ends[3:]
