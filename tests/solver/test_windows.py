"""Iteration times that windows rule out: never one that is attained, compiled or not."""

import importlib
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.bounds.bound import lower_bound
from solver.bounds.chain import LowerBound
from solver.bounds.kinds import COMPUTE, WINDOWS
from solver.bounds.windows import tightened as driver
from solver.bounds.windows.tightened import tightened
from solver.chain import chain_of
from solver.costs import Affine, ChannelCost, MeasuredCost, alike
from solver.graph import ALL_GATHER, ALL_REDUCE, NETWORK, Op, build
from solver.graph import COMPUTE as OP
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.simulation.engine import costs_of, simulate
from solver.simulation.replay import replay
from solver.units import slack
from tests import dag_oracles
from tests.dag_graphs import Case, case
from tests.sampling import cases
from tests.strategies import costs, graphs, sends

PLAIN = ("time_windows", "crowded", "late", "links", "tightened")


def raised(drawn, to_beat, tighten=tightened):
    """Raise the bound of the compute path alone, so that nothing else helps."""
    chain = chain_of(drawn.graph)
    bound = LowerBound(chain.compute_time, COMPUTE)
    return tighten(drawn.graph, chain, costs_of(chain, drawn.network), bound, to_beat)


@pytest.fixture(scope="module")
def plain():
    """The same modules without a compiler."""
    kept = {name: sys.modules[f"solver.bounds.windows.{name}"] for name in PLAIN}
    for name in PLAIN:
        full = f"solver.bounds.windows.{name}"
        where = f"{importlib.import_module('solver.bounds.windows').__path__[0]}/{name}.py"
        loader = SourceFileLoader(full, where)
        sys.modules[full] = module_from_spec(spec_from_loader(full, loader))
        loader.exec_module(sys.modules[full])
    found = sys.modules["solver.bounds.windows.tightened"]
    sys.modules |= {f"solver.bounds.windows.{name}": module for name, module in kept.items()}
    return found.tightened


def test_plain_modules_give_the_same_figures(plain):
    for seed in range(cases(750)):
        drawn = case(seed, 2, 16)
        time = simulate(drawn.graph, drawn.network, POLICIES["wfbp"]).iteration_time
        assert raised(drawn, time, plain) == raised(drawn, time), drawn.name


@pytest.mark.parametrize(("least", "most", "count"), [(2, 6, 2000), (4, 8, 400)])
@pytest.mark.long
def test_never_above_an_optimum(least, most, count):
    """CP-SAT's plans of up to two parts a bucket; whether they are the best does not matter."""
    drawn = [case(seed, least, most) for seed in range(cases(count))]
    answers = dag_oracles.exact([dag_oracles.problem_of(each) for each in drawn], 2, 0.02)
    rose = 0
    for each, answer in zip(drawn, answers, strict=True):
        if answer.value is None:
            continue
        chain = chain_of(each.graph)
        known = lower_bound(each.graph, chain, costs_of(chain, each.network)).value
        for factor in (1.0, 1.01, 1.1, 2.0):
            bound = raised(each, answer.value * factor)
            assert bound.value <= answer.value + 1e-6, (each.name, factor)
            rose += factor == 1.0 and bound.value > known + 1e-3 * answer.value
    assert rose > len(drawn) / 20  # it does find what no other bound does


def test_never_above_a_plan():
    for seed in range(cases(300)):
        drawn = case(seed, 6, 30)
        options = Options(baselines=(), time_limit_s=0.0)
        time = plan(drawn.graph, drawn.network, options).best_time_us
        for factor in (1.0, 1.05, 1.5):
            assert raised(drawn, time * factor).value <= time + slack(time), drawn.name


@given(data=st.data(), graph=graphs(), cost=costs(), factor=st.sampled_from([1.0, 1.05, 1.5]))
@settings(max_examples=cases(600))
def test_never_above_any_launches_at_any_cost(data, graph, cost, factor):
    """Layered graphs, with tables, curves and parts."""
    chain = chain_of(graph)
    time = simulate(graph, alike(cost), replay(data.draw(sends(chain)))).iteration_time
    bound = tightened(graph, chain, [cost], LowerBound(0.0, COMPUTE), time * factor)
    assert bound.value <= time + slack(time)


def blocks(count: int, gap: float, startup: float) -> Case:
    """Gathers without a start-up behind one another, with reduces of the first op beside them."""
    ops = [Op("c0", OP, gap)]
    for i in range(count):
        ops.append(Op(f"t{i}", ALL_GATHER, None, 5, (f"c{i}",)))
        ops.append(Op(f"c{i + 1}", OP, gap, None, (f"t{i}",)))
        ops.append(Op(f"g{i}", ALL_REDUCE, None, 2, ("c0",)))
    lanes = {ALL_GATHER: Affine(0.0, 1.0), ALL_REDUCE: Affine(startup, 1.0)}
    return Case("blocks", build("b", ops), {ChannelCost(NETWORK, k): c for k, c in lanes.items()})


@pytest.mark.long
def test_a_gap_is_lost_or_paid_for():
    """Three gathers of 5 us, gaps of 3 us between, 6 us of reduces, with start-ups of 4 us.

    After 3 us the channel carries 21 us of bytes. In each gap it stands still for 3 us, or pays
    4 us for one more launch: 30 us at least, where one start-up says 28.
    """
    drawn = blocks(3, 3.0, 4.0)
    optimum = dag_oracles.exact([dag_oracles.problem_of(drawn)], 2, 60.0)[0]
    assert optimum.closed
    bound = raised(drawn, optimum.value)
    assert 29.0 < bound.value <= optimum.value
    assert (bound.kind, bound.members) == (WINDOWS, tuple(range(6)))


@pytest.mark.long
def test_what_lies_around_another_is_sent_twice():
    """A long tensor that must begin before an urgent one and end after it pays two start-ups.

    100 us from 0 on, with 40 us behind; 1 us released at 60, with 60 us behind; 10 us a start-up.
    The long one first ends at 110, the other at 121, then 60: 181. The other way round: 60 to 71,
    to 181, then 40: 221. In two parts: 0 to 60, 60 to 71, the other 50 and 10 until 131, then 40.
    """
    ops = [
        Op("late", OP, 60.0),
        Op("long", ALL_REDUCE, None, 100),
        Op("urgent", ALL_REDUCE, None, 1, ("late",)),
        Op("after", OP, 40.0, None, ("long",)),
        Op("behind", OP, 60.0, None, ("urgent",)),
    ]
    drawn = Case("around", build("a", ops), {ChannelCost(NETWORK, ALL_REDUCE): Affine(10.0, 1.0)})
    optimum = dag_oracles.exact([dag_oracles.problem_of(drawn)], 2, 60.0)[0]
    assert (optimum.value, optimum.closed) == (171.0, True)
    assert raised(drawn, 171.0).value == pytest.approx(171.0)


def test_what_may_be_looked_at_is_limited(monkeypatch):
    drawn = blocks(4, 3.0, 40.0)
    monkeypatch.setattr(driver, "_STEPS", 0.0)
    assert raised(drawn, 80.0).kind == COMPUTE
    monkeypatch.setattr(driver, "_STEPS", 50.0)
    assert raised(drawn, 100.0).value <= 80.0
    monkeypatch.undo()
    monkeypatch.setattr(driver, "_ROUNDS", 1)
    assert raised(drawn, 100.0).value <= 80.0
    monkeypatch.setattr(driver, "_BITS", 10)
    assert raised(drawn, 80.0).kind == COMPUTE


def test_a_bound_that_is_attained_is_kept():
    drawn = blocks(2, 3.0, 40.0)
    chain = chain_of(drawn.graph)
    bound = LowerBound(80.0, COMPUTE)
    assert tightened(drawn.graph, chain, costs_of(chain, drawn.network), bound, 80.0) is bound


def test_a_table_is_bounded_by_a_line():
    cost = MeasuredCost((1_000, 2_000, 4_000), (10.0, 18.0, 20.0), 0.001, 0.0)
    ops = [Op("b", OP, 10.0), Op("g", ALL_REDUCE, None, 2_000, ("b",))]
    graph = build("t", [*ops, Op("h", ALL_REDUCE, None, 2_000)])
    time = plan(graph, alike(cost), Options(baselines=())).best_time_us
    bound = tightened(graph, chain_of(graph), [cost], LowerBound(0.0, COMPUTE), time)
    assert 0.0 < bound.value <= time
