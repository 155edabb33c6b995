"""Every program of few ops: against programs listed by hand, CP-SAT, and cases on paper."""

from collections import defaultdict
from dataclasses import replace
from math import inf

import pytest

from solver.bounds.kinds import EXACT, PATH
from solver.costs import Network
from solver.costs.functions.affine import Affine
from solver.evidence.bound import Bound
from solver.graph import Buffer, Op, build
from solver.programs.bounds.bound import lower_bound
from solver.programs.check import memory_faults, program_faults
from solver.programs.exact import explore as exploring
from solver.programs.exact.explore import explore
from solver.programs.exact.prefix import Prefix, Prefixes, Underway
from solver.programs.exact.remainder import Remainder
from solver.programs.execute import execute
from solver.programs.plan import plan
from solver.programs.problem import InputsHeld, ProgramLimits, ProgramProblem
from solver.watchdog import Watchdog
from tests.programs.exact import by_hand, optima
from tests.programs.small import small
from tests.sampling import cases

RULES: tuple[InputsHeld, ...] = ("wait", "launch")


def tried(problem, best=inf, moves=60_000):
    return explore(problem, best, lower_bound(problem), Watchdog(), moves)


def value_of(problem):
    """Return the time of the program that trying all of them finds; None where none is in limit."""
    found = tried(problem)
    assert found.is_whole
    if found.program is None:
        return None
    run = execute(problem, found.program)
    assert not [*program_faults(problem, found.program), *memory_faults(problem, run)]
    assert found.bound.value_us == pytest.approx(run.iteration_time)
    return run.iteration_time


def tight(seed, ops, collectives):
    """Draw a small problem; one in three has half the memory that some program has."""
    problem = small(seed, ops, collectives, inputs_held=RULES[seed % 2])
    most = problem.limits.memory_bytes
    if seed % 3:
        return problem
    return replace(problem, limits=replace(problem.limits, memory_bytes=most // 2))


def test_it_is_the_best_of_all_programs():
    """Of each, listed and run: with what fits, and with what nothing fits in."""
    found = {}
    for seed in range(cases(300, 24)):
        problem = tight(seed, 4 + seed % 2, 1 + seed % 2)
        found[seed] = by_hand(problem)
        assert value_of(problem) == (None if found[seed] is None else pytest.approx(found[seed]))
    assert None in found.values()


@pytest.mark.long
@pytest.mark.parametrize("memory", [True, False])
def test_it_is_the_optimum_of_cp_sat(memory):
    problems = [
        small(seed, 7 + seed % 3, 3, memory, RULES[seed % 2])
        for seed in range(3000, 3000 + cases(200, 24))
    ]
    assert [value_of(problem) for problem in problems] == [value for value, _ in optima(problems)]


def test_the_bound_holds_wherever_the_moves_end():
    """And grows with them; a program that is known already is none that was found."""
    for seed in range(cases(60, 12)):
        problem = small(seed, 8, 3, inputs_held=RULES[seed % 2])
        value = value_of(problem)
        values = []
        for moves in (0, 3, 10, 30, 100, 300):
            found = tried(problem, value * 1.5, moves)
            values.append(found.bound.value_us)
            assert found.bound.value_us <= value * (1 + 1e-9)
        assert values == sorted(values)
        known = tried(problem, value)
        assert known.is_whole
        assert known.program is None
        assert known.bound.value_us == pytest.approx(value)


def test_no_rest_is_above_what_follows():
    """Both bounds of each beginning that leads to a program, against the best that it leads to."""
    for seed in range(cases(40, 8)):
        prefixes = Prefixes(tight(seed, 5, 2))
        rest = Remainder(prefixes)
        least: dict[tuple[float, int, int, tuple[Underway, ...]], float] = defaultdict(lambda: inf)

        def best(prefix, prefixes=prefixes, least=least):
            if prefix.done == prefixes.all:
                return prefix.time
            key = prefix[:4]
            if key not in least:
                least[key] = min((best(longer) for longer in prefixes.next(prefix)), default=inf)
            return least[key]

        best(prefixes.first())
        for key, value in least.items():
            prefix = Prefix(*key)
            assert rest.quick(prefix) <= value * (1 + 1e-9)
            assert rest.full(prefix) <= value * (1 + 1e-9)


def test_a_value_too_large_is_caught(monkeypatch):
    """One microsecond more on each rest, and the oracle no longer agrees."""
    problems = [tight(seed, 5, 2) for seed in range(12)]
    values = [by_hand(problem) for problem in problems]
    for name in ("quick", "full"):
        own = getattr(Remainder, name)
        with monkeypatch.context() as patched:
            patched.setattr(Remainder, name, lambda self, prefix, own=own: own(self, prefix) + 1.0)
            found = [
                value is not None and tried(problem, value * 2).bound.value_us > value * (1 + 1e-9)
                for problem, value in zip(problems, values, strict=True)
            ]
        assert any(found)


def paper(limit, inputs_held="wait"):
    ops = [
        Op("a", "compute", 4.0, stream="s"),
        Op("g", "all_gather", bytes=4, cut=False),
        Op("b", "compute", 1.0, None, ("a", "g"), stream="s"),
    ]
    buffers = [Buffer("x", 3, "a", ()), Buffer("y", 3, "g", ())]
    network = Network(lambda _: Affine(1.0, 1.0), workers=(("network", 2),))
    graph = build("paper", ops, buffers, ["s"])
    return ProgramProblem(graph, network, None, ProgramLimits(limit), inputs_held)


@pytest.mark.parametrize(("limit", "value"), [(None, 6.0), (6, 6.0), (5, 10.0), (3, 10.0)])
def test_on_paper(limit, value):
    """What holds 3 bytes each runs at once within 6, one after the other within less."""
    planned = plan(paper(limit))
    assert (planned.iteration_time_us, planned.lower_bound_us) == (value, value)
    assert planned.status == "optimal"
    found = explore(paper(limit), inf, Bound(PATH, 6.0), Watchdog())
    assert found.bound == (Bound(EXACT, 10.0) if value == 10.0 else Bound(PATH, 6.0))


def test_a_pack_may_fill_a_wait_before_another_launch():
    """On paper: b is packed, 2 us, while a is sent, 2 us; then c goes first on b's channel.

    c is sent to 7 us and b, 16 us, to 23; d and e, 10 us each, run from 2 us on, and b is unpacked
    in 0.4 us. Launched at once b would hold c up; packed behind the wait for a it would hold d up.
    """
    ops = [
        Op("a", "all_reduce", bytes=2, channel="x", cut=False),
        Op("c", "all_reduce", bytes=5, after=("a",), channel="y", cut=False),
        Op("d", "compute", 10.0, None, ("a",), stream="s"),
        Op("e", "compute", 10.0, None, ("c",), stream="s"),
        Op("b1", "reduce_scatter", bytes=5, channel="y", cut=False),
        Op("b2", "reduce_scatter", bytes=5, channel="y", cut=False),
    ]
    prices = {"all_reduce": Affine(0.0, 1.0), "reduce_scatter": Affine(6.0, 1.0)}
    network = Network(lambda lane: prices[lane.kind], workers=(("x", 10), ("y", 10)))
    problem = ProgramProblem(build("paper", ops, (), ["s"]), network, 0.08)
    assert value_of(problem) == pytest.approx(23.4)
    assert plan(problem).iteration_time_us == pytest.approx(23.4)


def test_nothing_fits():
    """On paper: what one op holds is above the limit."""
    found = tried(paper(2))
    assert found.is_whole
    assert found.program is None
    assert found.bound == lower_bound(paper(2))


def test_a_graph_of_many_ops_is_left_alone():
    problem = small(0, exploring._OPS + 1, 4)
    found = tried(problem)
    assert (found.bound, found.program, found.is_whole) == (lower_bound(problem), None, False)


def test_a_tiny_program_is_proven():
    """The plan is the optimum, and says so: by hand for each."""
    for seed in range(cases(40, 8)):
        problem = small(seed, 5, 2, inputs_held=RULES[seed % 2])
        planned = plan(problem)
        assert planned.status == "optimal"
        assert planned.best_time_us == pytest.approx(by_hand(problem))
