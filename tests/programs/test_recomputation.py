"""Values computed again: the graph with second runs, its bound, and the best of all choices."""

import contextlib
import itertools
import random
from dataclasses import replace

import pytest

from solver.costs import Network
from solver.costs.functions.affine import Affine
from solver.errors import InvalidGraph, InvalidOptions, InvalidPlan
from solver.graph import Buffer, Op, build
from solver.programs.bounds.bound import lower_bound
from solver.programs.check import memory_faults, program_faults
from solver.programs.execute import execute
from solver.programs.plan import ProgramOptions, plan
from solver.programs.policies import POLICIES
from solver.programs.policies.in_order import in_order
from solver.programs.problem import ProgramLimits, ProgramProblem
from solver.programs.recomputation.fit import fitted
from solver.programs.recomputation.graph import (
    AGAIN,
    RecomputedOp,
    matched,
    recomputable,
    with_recomputed,
)
from solver.programs.recomputation.moved import without_second_runs
from solver.programs.recomputation.plan import plan_recomputed
from tests.programs.exact import every_run
from tests.programs.small import small
from tests.sampling import cases

ALL = ("*",)


def within(problem, limit):
    return replace(problem, limits=replace(problem.limits, memory_bytes=limit))


def least_of_all(problem, limit):
    """The least time [us] of any program within a limit, whatever runs twice; by hand.

    Every set of ops, every part of each op's readers, every program of the graph that this makes,
    written without the code under test.
    """
    graph = problem.graph
    kept = {b.written_by for b in graph.buffers if b.kept}
    readers: dict[str, set[str]] = {}
    for b in graph.buffers:
        if b.written_by is not None and b.written_by not in kept:
            readers.setdefault(b.written_by, set()).update(b.read_by)
    able = [op.id for op in graph.ops if op.kind == "compute" and readers.get(op.id)]
    found = []
    for count in range(len(able) + 1):
        for twice in itertools.combinations(able, count):
            sets = [sorted(_may_read(readers[name], twice)) for name in twice]
            for late in itertools.product(*map(_parts, sets)):
                other = _by_hand(graph, dict(zip(twice, late, strict=True)))
                if other is None:
                    continue
                asked = replace(problem, graph=other)
                found += [run.iteration_time for run in every_run(asked) if run.peak_bytes <= limit]
    return min(found, default=None)


def _may_read(readers, twice):
    """What may read a second run: the readers, and second runs of these."""
    return {*readers, *(f"{name}'" for name in readers if name in twice)}


def _parts(names):
    """All parts of a list that are not empty."""
    return [
        part for count in range(1, len(names) + 1) for part in itertools.combinations(names, count)
    ]


def _by_hand(graph, late):
    """The graph with second runs named by a prime; None where that has a cycle."""
    ops, buffers = [], []
    for op in graph.ops:
        for name in (op.id, f"{op.id}'") if op.id in late else (op.id,):
            after = [f"{j}'" if name in late.get(j, ()) else j for j in op.after]
            extra = [op.id] if name != op.id else []
            ops.append(op._replace(id=name, after=tuple(after + extra)))
    for b in graph.buffers:
        readers = [r for reader in b.read_by for r in (reader, f"{reader}'")]
        readers = [r for r in readers if not r.endswith("'") or r[:-1] in late]
        second = late.get(b.written_by, ())
        buffers.append(b._replace(read_by=tuple(r for r in readers if r not in second)))
        if b.written_by in late:
            read = tuple(r for r in readers if r in second)
            buffers.append(Buffer(f"{b.id}'", b.bytes, f"{b.written_by}'", read))
    try:
        return build("by hand", ops, buffers, graph.free)
    except InvalidGraph:
        return None


def stack(seed):
    """Two layers forward, then back; each backward op reads what its layer wrote, later.

    What the first layer's backward op needs beside is gathered. Sizes and times are whole and at
    random.
    """
    draw = random.Random(seed)
    price = Affine(float(draw.randint(0, 4)), 0.5)
    after = {"f1": (), "f2": ("f1",), "b2": ("f2", "f1"), "b1": ("b2", "f1", "g")}
    ops = [
        Op(name, "compute", float(draw.randint(1, 6)), None, before, stream="s")
        for name, before in after.items()
    ]
    ops.append(Op("g", "all_gather", None, 8, (), "n", cut=False))
    buffers = [
        Buffer("input", 4 * draw.randint(0, 2), None, ("f1",)),
        Buffer("weight", 8, "g", ("b1",)),
        Buffer("a1", 4 * draw.randint(1, 8), "f1", ("f2", "b1")),
        Buffer("a2", 4 * draw.randint(1, 8), "f2", ("b2",)),
        Buffer("scratch", 4 * draw.randint(0, 8), "b2", ("b2",)),
        Buffer("w2", 4, "b2", (), True),
        Buffer("d2", 4 * draw.randint(1, 4), "b2", ("b1",)),
        Buffer("d1", 4, "b1", (), True),
    ]
    if draw.random() < 0.5:
        buffers[2] = buffers[2]._replace(read_by=("f2", "b2", "b1"))
    graph = build("stack", ops, buffers, ["s"])
    network = Network(lambda _: price, workers=(("n", 2),))
    problem = ProgramProblem(graph, network, None)
    peak = execute(problem, in_order(problem)).peak_bytes
    return within(problem, max(8, peak - 4 * draw.randint(1, 3)))


@pytest.mark.parametrize("seed", range(cases(60, 5)))
def test_what_is_found_is_the_best_of_all_choices_and_no_bound_is_above_it(seed):
    problem = stack(seed)
    best = least_of_all(problem, problem.limits.memory_bytes)
    allowed = recomputable(problem.graph, ALL)
    try:
        found = plan_recomputed(problem, ProgramOptions(), allowed)
    except InvalidOptions:
        assert best is None
        return
    assert best is not None
    assert list(program_faults(found.problem, found.program)) == []
    assert list(memory_faults(found.problem, found.run)) == []
    assert found.lower_bound_us <= best + 1e-9
    assert found.iteration_time_us == pytest.approx(best)


def test_some_of_these_graphs_need_second_runs():
    twice = 0
    for seed in range(6):
        problem = stack(seed)
        with contextlib.suppress(InvalidOptions):
            plan(problem)
            continue
        with contextlib.suppress(InvalidOptions):
            found = plan_recomputed(problem, ProgramOptions(), recomputable(problem.graph, ALL))
            twice += found.recomputation.ops != ()
    assert twice >= 2


def long_held(limit, gather=2.0):
    """Op a of 4 us writes 8 bytes for b and, later, d; c in between writes and reads 16.

    A gather of 8 bytes takes so long [us] and is read by d.
    """
    ops = [
        Op("g", "all_gather", None, 8, (), "n", cut=False),
        Op("a", "compute", 4.0, stream="s"),
        Op("b", "compute", 1.0, None, ("a",), stream="s"),
        Op("c", "compute", 5.0, None, ("b",), stream="s"),
        Op("d", "compute", 3.0, None, ("a", "c", "g"), stream="s"),
    ]
    buffers = [
        Buffer("A", 8, "a", ("b", "d")),
        Buffer("B", 4, "b", ("c",)),
        Buffer("C", 16, "c", ("c",)),
        Buffer("of c", 2, "c", ("d",)),
        Buffer("weight", 8, "g", ("d",)),
        Buffer("D", 4, "d", (), True),
    ]
    network = Network(lambda _: Affine(0.0, gather / 8), workers=(("n", 2),))
    graph = build("long held", ops, buffers, ["s"])
    return ProgramProblem(graph, network, None, ProgramLimits(limit))


def test_a_value_is_computed_again_where_it_does_not_fit_beside_what_is_between():
    # c runs beside A, B, C and its result, 30 bytes; with A computed again, 22
    problem = long_held(22)
    with pytest.raises(InvalidOptions, match="every program takes at least 30 bytes"):
        plan(problem)
    found = plan_recomputed(problem, ProgramOptions(), {"a"})
    assert found.recomputation.ops == (RecomputedOp("a", "a/recomputed", ("d",), 4.0),)
    assert found.iteration_time_us == 4 + 1 + 5 + 4 + 3
    assert found.lower_bound_us == 4 + 1 + 5 + 3
    assert found.peak_bytes == 22
    assert found.recomputation.peak_without_bytes == 30
    assert found.recomputation.compute_us == 4.0
    assert found.recomputation.problem is problem
    graph = found.problem.graph
    assert [op.id for op in graph.ops] == ["g", "a", "b", "c", "a/recomputed", "d"]
    assert graph.ops[4].after == ("a",)
    assert graph.ops[5].after == ("a/recomputed", "c", "g")
    assert graph.buffers[0] == Buffer("A", 8, "a", ("b",))
    assert graph.buffers[1] == Buffer("A/recomputed", 8, "a/recomputed", ("d",))


@pytest.mark.parametrize(("limit", "allowed"), [(22, {"b", "c"}), (21, {"a", "b", "c"})])
def test_a_limit_that_second_runs_do_not_keep_either_is_refused(limit, allowed):
    with pytest.raises(InvalidOptions, match="No program was found"):
        plan_recomputed(long_held(limit), ProgramOptions(), allowed)


def test_nothing_runs_twice_where_memory_costs_no_time():
    found = plan_recomputed(long_held(38), ProgramOptions(), {"a"})
    assert found.recomputation.ops == ()
    assert found.iteration_time_us == found.lower_bound_us == 13.0
    assert found.as_given == found.problem
    assert [each.policy for each in found.baselines] == list(POLICIES)


def test_nothing_runs_twice_where_waiting_takes_less():
    # within 30 bytes the gather comes after c: 2 us, and computing A again takes 4
    found = plan_recomputed(long_held(30), ProgramOptions(), {"a"})
    assert found.recomputation.ops == ()
    assert found.iteration_time_us == 15.0
    assert found.lower_bound_us == 13.0
    assert found.status == "feasible"


def test_an_op_runs_twice_where_that_hides_a_gather():
    # as above, but the gather takes 8 us: beside c once A is gone
    found = plan_recomputed(long_held(30, 8.0), ProgramOptions(), {"a"})
    assert plan(long_held(30, 8.0)).iteration_time_us == 21.0
    assert found.iteration_time_us == 17.0
    assert [each.op for each in found.recomputation.ops] == ["a"]
    assert found.peak_bytes == 30


def test_which_ops_may_run_twice():
    graph = long_held(30).graph
    assert recomputable(graph, ALL) == {"a", "b", "c"}  # what d writes is kept; g is sent
    assert recomputable(graph, ["*", "![bc]"]) == {"a"}
    assert recomputable(graph, ["a", "d"]) == {"a"}
    assert matched(graph, "!g*") == []


def choices(problem, draw):
    """Some ops that run twice, with some of their readers each, drawn."""
    graph = problem.graph
    readers: dict[str | None, list[str]] = {}
    for buffer in graph.buffers:
        readers.setdefault(buffer.written_by, []).extend(buffer.read_by)
    names = sorted(recomputable(graph, ALL))
    durations = {op.id: op.duration_us for op in graph.ops}
    again = []
    for name in draw.sample(names, min(len(names), 3)):
        late = sorted(
            {reader for reader in readers[name] if reader != name and draw.random() < 0.6}
        )
        if late:
            again.append(RecomputedOp(name, name + AGAIN, tuple(late), durations[name]))
    return again


@pytest.mark.parametrize("seed", range(cases(400, 40)))
def test_a_program_without_its_second_runs_is_one_of_the_graph_and_no_slower(seed):
    problem, draw = small(seed, ops=16, collectives=5, memory=False), random.Random(seed)
    again = choices(problem, draw)
    graph = with_recomputed(problem.graph, again)
    other = replace(problem, graph=graph)
    assert lower_bound(problem).value_us <= lower_bound(other).value_us + 1e-9
    for rule in POLICIES.values():
        program = rule(other)
        once = without_second_runs(program, graph, problem.graph, {each.id for each in again})
        assert list(program_faults(problem, once)) == []
        time = execute(problem, once).iteration_time
        assert time <= execute(other, program).iteration_time + 1e-9
        assert lower_bound(problem).value_us <= time + 1e-9


@pytest.mark.parametrize("seed", range(cases(300, 30)))
def test_programs_that_are_fitted_are_without_fault_and_take_less_memory(seed):
    problem = small(seed, ops=24, collectives=6, memory=False)
    allowed = recomputable(problem.graph, ["*", "!o1*"])
    for rule in POLICIES.values():
        program = rule(problem)
        peak = execute(problem, program).peak_bytes
        found = fitted(problem, program, allowed, peak // 2)
        assert list(program_faults(found.problem, found.program)) == []
        assert found.run == execute(found.problem, found.program)
        assert {each.op for each in found.again} <= allowed
        assert found.run.peak_bytes < peak if found.again else found.run.peak_bytes == peak
        rebuilt = with_recomputed(problem.graph, found.again)
        assert rebuilt == found.problem.graph
        gone = {each.id for each in found.again}
        assert without_second_runs(found.program, rebuilt, problem.graph, gone) == program


GOOD = RecomputedOp("a", "a/recomputed", ("d",), 4.0)


@pytest.mark.parametrize(
    ("again", "pointer", "said"),
    [
        (
            [replace(GOOD, op="g", id="g/recomputed")],
            "/recomputed/ops/0/op",
            "'g' is no op of compute",
        ),
        (
            [replace(GOOD, op="x", id="x/recomputed")],
            "/recomputed/ops/0/op",
            "'x' is no op of compute",
        ),
        ([GOOD, GOOD], "/recomputed/ops/1/op", "is there twice"),
        ([replace(GOOD, op="d", id="d/recomputed")], "/recomputed/ops/0/op", "kept to the end"),
        (
            [replace(GOOD, duration_us=1.0)],
            "/recomputed/ops/0/duration_us",
            "takes 4.0 us each time",
        ),
        ([replace(GOOD, id="b")], "/recomputed/ops/0/id", "must be 'a/recomputed', a free name"),
        ([replace(GOOD, read_by=())], "/recomputed/ops/0/read_by", "Nothing reads"),
        ([replace(GOOD, read_by=("b", "c"))], "/recomputed/ops/0/read_by/1", "'c' reads nothing"),
    ],
)
def test_second_runs_that_a_graph_cannot_have_are_named(again, pointer, said):
    with pytest.raises(InvalidPlan) as caught:
        with_recomputed(long_held(30).graph, again)
    fault = caught.value.faults[0]
    assert fault.pointer == pointer
    assert said in fault.detail
