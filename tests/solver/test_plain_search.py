"""The plain search that plans are measured by: its plans are plans, and good ones."""

import pytest

from solver.buckets import Launch
from solver.chain import chain_of
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from tests import dag_oracles
from tests.dag_graphs import case
from tests.families import FAMILIES, drawn, network
from tests.plain_plans import execute, first, problem_of
from tests.plain_search import search
from tests.sampling import cases

GRAPHS = [case(seed) for seed in range(cases(200))]


def simulated(graph, net, launches) -> float:
    """Time that the simulator gives a plan [us]."""
    index = {position: i for i, position in enumerate(chain_of(graph).positions.tolist())}
    sends = [Launch(tuple(sorted(index[i] for i in b)), size) for b, size in launches]
    return simulate(graph, net, replay(sends)).iteration_time


def test_its_time_is_that_of_its_launches():
    for seed, drawn_ in enumerate(GRAPHS):
        found = search(drawn_.graph, drawn_.network, 200, seed)
        by_definition = dag_oracles.time_of(drawn_, found.launches)
        assert found.time == pytest.approx(by_definition), drawn_.name


@pytest.mark.parametrize("family", FAMILIES)
def test_the_simulator_confirms_its_time(family):
    graph, net = drawn(family, 50), network(500, 100)
    found = search(graph, net, 400)
    assert simulated(graph, net, found.launches) == pytest.approx(found.time)


def test_every_byte_is_sent_once():
    for drawn_ in GRAPHS:
        found = search(drawn_.graph, drawn_.network, 200)
        ops = drawn_.graph.ops
        buckets = {tuple(sorted(bucket)) for bucket, _ in found.launches}
        assert sorted(i for b in buckets for i in b) == sorted(drawn_.graph.collectives)
        for bucket in buckets:
            sizes = [size for b, size in found.launches if tuple(sorted(b)) == bucket]
            assert sum(sizes) == sum(ops[i].bytes for i in bucket)
            assert min(sizes) > 0
            assert len({(ops[i].channel, ops[i].kind) for i in bucket}) == 1


def test_it_begins_without_a_deadlock():
    for drawn_ in GRAPHS:
        problem = problem_of(drawn_.graph, drawn_.network)
        assert execute(problem, first(problem)).time < float("inf")


def test_it_reaches_the_optimum_of_small_graphs():
    """Of all uncut plans; with cuts it may be shorter."""
    graphs = [case(seed, 2, 5) for seed in range(60)]
    optima = [dag_oracles.brute_force(drawn_, cut=False) for drawn_ in graphs]
    gaps = [
        search(drawn_.graph, drawn_.network, 2000).time / optimum - 1
        for drawn_, optimum in zip(graphs, optima, strict=True)
    ]
    assert sum(gap > 1e-9 for gap in gaps) <= 3
    assert max(gaps) <= 0.05


def test_more_moves_are_better_in_the_mean():
    graphs = [case(seed, 8, 12) for seed in range(40)]
    few, many = (
        [search(drawn_.graph, drawn_.network, moves).time for drawn_ in graphs]
        for moves in (20, 2000)
    )
    assert sum(many) < 0.95 * sum(few)


def test_equal_arguments_give_equal_plans():
    graph, net = drawn("moe-2", 50), network(50, 100)
    assert search(graph, net, 300, 7) == search(graph, net, 300, 7)
    assert search(graph, net, 300, 7) != search(graph, net, 300, 8)
