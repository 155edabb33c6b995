"""Moves end a search, and no clock: the same plan compiled or not, on fast and slow machines."""

from dataclasses import replace
from itertools import count

import pytest

from solver import watchdog
from solver.bounds.status import OPTIMAL
from solver.fusion.search import Allowance, Budget
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.programs.plan import ProgramOptions
from solver.programs.plan import plan as plan_program
from solver.watchdog import WALL, Watchdog
from tests.dag_graphs import case
from tests.plain import plain
from tests.programs.small import small
from tests.sampling import cases

PLANNED = Options(baselines=())


@pytest.fixture
def quick_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine ten times as slow, as its clocks tell it."""
    for name in ("thread_time", "monotonic"):
        real = getattr(watchdog, name)
        monkeypatch.setattr(watchdog, name, lambda real=real: 10 * real())


def told(found) -> tuple[object, ...]:
    """What of a plan the bytes of an answer are made of."""
    return (found.iteration_time_us, found.status, found.lower_bound_us, found.launches, found.cut)


def test_a_plan_is_the_same_on_a_machine_ten_times_as_slow(request):
    drawn = [case(seed, 20, 40) for seed in range(cases(12, 4))]
    before = [told(plan(each.graph, each.network, PLANNED)) for each in drawn]
    request.getfixturevalue("quick_clock")
    assert [told(plan(each.graph, each.network, PLANNED)) for each in drawn] == before


def test_a_program_is_the_same_on_a_machine_ten_times_as_slow(request):
    problems = [small(seed) for seed in range(cases(6, 2))]
    options = ProgramOptions(baselines=(), share=0.02)
    before = [plan_program(each, options) for each in problems]
    request.getfixturevalue("quick_clock")
    after = [plan_program(each, options) for each in problems]
    assert [each.program for each in after] == [each.program for each in before]
    assert [each.cut for each in after] == [None] * len(problems)


def test_a_plan_is_the_same_compiled_or_not():
    """A few general graphs, to the last bit of every figure and name."""
    plan_py, drawn_py = plain("solver.planning.plan", "tests.dag_graphs")
    assert plan_py.__file__.endswith(".py")
    few = 4e-4  # Python is some fifty times as slow
    open_ = 0
    for seed in range(2, 2 + cases(20, 2)):
        ours, theirs = case(seed, 16, 24), drawn_py.case(seed, 16, 24)
        found = plan(ours.graph, ours.network, Options(baselines=(), share=few))
        asked = plan_py.Options(baselines=(), share=few)
        same = plan_py.plan(theirs.graph, theirs.network, asked)
        assert repr(found) == repr(same)
        open_ += found.status != OPTIMAL
    assert open_, "some searches end with their moves"


def test_a_program_is_the_same_compiled_or_not():
    plan_py, small_py = plain("solver.programs.plan", "tests.programs.small")
    few = 2e-4
    for seed in range(cases(20, 3)):
        found = plan_program(small(seed), ProgramOptions(baselines=(), share=few))
        same = plan_py.plan(small_py.small(seed), plan_py.ProgramOptions(baselines=(), share=few))
        assert (repr(found.program), repr(found.run)) == (repr(same.program), repr(same.run))


class TestWatchdog:
    def test_cpu_time_ends_it(self, monkeypatch):
        times = count(0.0, 3.0)
        monkeypatch.setattr(watchdog, "thread_time", lambda: next(times))
        monkeypatch.setattr(watchdog, "monotonic", lambda: 0.0)
        dog = Watchdog(6.0)
        assert [dog.is_over() for _ in range(4)] == [False, True, True, True]
        assert dog.cut == "its limit of 6 s of CPU time"

    def test_the_clock_on_the_wall_ends_it_later(self, monkeypatch):
        times = count(0.0, 3.0)
        monkeypatch.setattr(watchdog, "thread_time", lambda: 0.0)
        monkeypatch.setattr(watchdog, "monotonic", lambda: next(times))
        dog = Watchdog(3.0)
        assert [dog.is_over() for _ in range(3)] == [False, True, True]
        assert dog.cut == f"{3 * WALL:g} s on the clock, {WALL:g} times its limit"

    def test_without_a_limit_nothing_ends_it(self):
        dog = Watchdog()
        assert not dog.is_over()
        assert dog.cut is None


class TestAllowance:
    def test_a_part_is_counted_in_the_whole(self):
        whole = Allowance(100)
        part = whole.part(0.3)
        part.spend(20)
        assert (part.left, whole.left) == (10, 80)
        part.spend(15)
        assert part.is_spent()
        assert not whole.is_spent()
        assert whole.part(0.5).left == 32.5

    def test_a_part_of_nothing_is_nothing(self):
        whole = Allowance(1)
        whole.spend(5)
        assert whole.part(0.5).is_spent()

    def test_a_watchdog_ends_it(self):
        allowance = Allowance(100, Watchdog(0.0))
        assert allowance.is_spent()
        assert allowance.part(0.5).watchdog.cut == allowance.watchdog.cut != None  # noqa: E711

    def test_moves_are_counted(self):
        allowance = Allowance(100)
        budget = Budget(5, allowance, 10)
        assert sum(budget.spend() for _ in range(20)) == 5
        assert allowance.left == 50
        budget = Budget(50, allowance, 10)
        assert sum(budget.spend() for _ in range(50)) == 16  # it looks at what is left so seldom


def test_a_share_and_effort_are_what_a_search_may_look_at(monkeypatch):
    seen = []

    class Seen(Allowance):
        def __init__(self, steps, dog=None):
            super().__init__(steps, dog)
            seen.append(steps)

    monkeypatch.setattr("solver.planning.plan.Allowance", Seen)
    drawn = case(3)
    for effort, share in ((1, 1.0), (2, 1.0), (1, 0.25)):
        plan(drawn.graph, drawn.network, replace(PLANNED, effort=effort, share=share))
    assert seen == [seen[0], 2 * seen[0], seen[0] / 4]


def test_a_plan_that_was_cut_is_not_said_to_be_where_it_is_optimal():
    for seed in range(cases(60, 20)):
        drawn = case(seed, 2, 8)
        found = plan(drawn.graph, drawn.network, replace(PLANNED, time_limit_s=0.0))
        assert (found.cut is None) == (found.status == OPTIMAL)
