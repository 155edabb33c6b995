"""Merged ops change no release, no tail and no time."""

import pytest
from hypothesis import given, settings

from solver.chain import chain_of
from solver.costs import alike
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.graph.compact import compact
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from tests.sampling import cases
from tests.solver.test_simulate import RING
from tests.strategies import dags, networks


def compute(name, us, *after, stream=None):
    return Op(name, COMPUTE, us, None, after, stream=stream)


def test_by_hand():
    ops = [
        *(compute(f"t{i}", float(i), "a") for i in range(8)),  # t7 is the longest
        compute("a", 5.0),
        compute("r0", 1.0, *(f"t{i}" for i in range(8)), stream="s"),
        compute("r1", 2.0, stream="s"),
        Op("g", ALL_REDUCE, None, 8, ("r1",)),
        compute("r2", 4.0, "g"),
        compute("r3", 8.0, "r2"),
    ]
    small = compact(build("big", ops))
    assert [(op.id, op.duration_us, op.after) for op in small.ops] == [
        ("a .. r1", 15.0, ()),
        ("g", None, ("a .. r1",)),
        ("r2 .. r3", 12.0, ("g",)),
    ]


def test_a_graph_that_keeps_most_of_its_ops_is_returned():
    ops = [compute("a", 1.0), Op("g", ALL_REDUCE, None, 8, ("a",)), compute("b", 1.0, "g")]
    graph = build("small", ops)
    assert compact(graph) is graph


@given(graph=dags(most=5), network=networks())
@settings(max_examples=cases(150))
def test_nothing_changes(graph, network):
    copies = [
        Op(f"{op.id}'", COMPUTE, (op.duration_us or 0.0) / 2, None, op.after)
        for op in graph.ops
        if op.kind == COMPUTE
    ]
    row = [compute("row0", 1.0, *(op.id for op in (*graph.ops, *copies)))]
    row += [compute(f"row{i}", 1.0, f"row{i - 1}") for i in range(1, 80)]
    big = build("big", [*graph.ops, *copies, *row])
    small = compact(big)
    assert len(small.ops) < len(big.ops)
    before, after = chain_of(big), chain_of(small)
    names = [big.ops[i].id for i in before.positions]
    assert sorted(small.ops[i].id for i in after.positions) == sorted(names)
    of = dict(zip((small.ops[i].id for i in after.positions), after.release, strict=True))
    assert [of[name] for name in names] == pytest.approx(before.release.tolist())
    of = dict(zip((small.ops[i].id for i in after.positions), after.tail, strict=True))
    assert [of[name] for name in names] == pytest.approx(before.tail.tolist())
    for policy in ("wfbp", "ddp"):
        times = [simulate(g, network, POLICIES[policy]).iteration_time for g in (big, small)]
        assert times[0] == pytest.approx(times[1])


def test_a_long_chain_becomes_a_few_ops():
    ops = [compute("c0", 1.0), *(compute(f"c{i}", 1.0, f"c{i - 1}") for i in range(1, 1000))]
    ops.append(Op("g", ALL_REDUCE, None, 8, ("c499",)))
    small = compact(build("long", ops))
    assert [op.id for op in small.ops] == ["c0 .. c499", "c500 .. c999", "g"]
    time = simulate(small, alike(RING), POLICIES["wfbp"]).iteration_time
    assert time == pytest.approx(1000)


def test_a_row_takes_no_name_that_is_taken():
    ops = [compute("a", 1.0), *(compute(f"b{i}", 1.0, f"b{i - 1}" if i else "a") for i in range(9))]
    ops += [Op("a .. b8", ALL_REDUCE, None, 8, ("b8",))]
    small = compact(build("taken", ops))
    assert [op.id for op in small.ops] == ["a .. b8'", "a .. b8"]
