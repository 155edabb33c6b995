"""Preemptive schedules: optimal against brute force, and proven."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InvalidOptions
from solver.limits import MAX_LP_BUCKETS
from solver.schedule import SCHEDULERS, Jobs, PreemptiveSchedule, jackson, lp, on_grid
from solver.schedule.lp import bisect
from tests import oracles
from tests.sampling import cases
from tests.strategies import jobs


def certify(problem: Jobs, schedule: PreemptiveSchedule) -> None:
    """Feasible, of the value it claims, and proven by its critical subset."""
    served = np.zeros(len(problem))
    finish = problem.release.copy()
    now = 0.0
    for job, start, end in schedule.pieces:
        assert start >= now
        assert start >= problem.release[job]
        assert end > start
        served[job] += end - start
        finish[job] = now = end
    assert served == pytest.approx(problem.duration)
    assert schedule.value == pytest.approx((finish + problem.tail).max())
    critical = schedule.critical
    assert critical is not None
    members = list(critical.jobs)
    assert critical.release == problem.release[members].min()
    assert critical.work == pytest.approx(problem.duration[members].sum())
    assert critical.tail == problem.tail[members].min()
    assert critical.release + critical.work + critical.tail == pytest.approx(schedule.value)


@pytest.mark.parametrize("name", SCHEDULERS)
@given(problem=jobs())
@settings(max_examples=cases(1000))
def test_every_scheduler_is_optimal_and_proven(name, problem):
    schedule = SCHEDULERS[name](problem)
    certify(problem, schedule)
    assert schedule.value == oracles.best_subset(problem)


@given(problem=jobs(most=4, longest=3))
@settings(max_examples=cases(150))
def test_the_subset_formula_is_the_best_slot_schedule(problem):
    assert oracles.best_subset(problem) == oracles.best_slot_schedule(problem)


@given(problem=jobs(most=12, longest=9))
@settings(max_examples=cases(2000))
def test_jackson_and_lp_agree(problem):
    assert jackson(problem).value == lp(problem).value


@given(problem=jobs(most=5))
@settings(max_examples=cases(200))
def test_plain_bisection_finds_the_same_horizon(problem):
    low = int((problem.release + problem.duration + problem.tail).max()) - 1
    high = int(problem.release.max() + problem.duration.sum() + problem.tail.max())
    schedule = bisect(problem, low, high)
    certify(problem, schedule)
    assert schedule.value == lp(problem).value


@given(problem=jobs(most=5))
@settings(max_examples=cases(100))
def test_merged_slots_are_the_slotted_lp(problem):
    value = int(lp(problem).value)
    assert oracles.fits_in_slots(problem, value)
    assert not oracles.fits_in_slots(problem, value - 1)


def test_by_hand():
    # Job 0 runs 0..2, job 1 (longer tail) preempts at 2 and runs to 5, job 0 ends at 8.
    problem = Jobs(np.array([0.0, 2.0]), np.array([5.0, 3.0]), np.array([1.0, 9.0]))
    schedule = jackson(problem)
    assert [tuple(piece) for piece in schedule.pieces] == [(0, 0, 2), (1, 2, 5), (0, 5, 8)]
    assert schedule.value == 14
    assert schedule.critical is not None
    assert schedule.critical.jobs == (1,)


def test_an_equal_tail_does_not_preempt():
    problem = Jobs(np.array([0.0, 1.0]), np.array([3.0, 2.0]), np.array([4.0, 4.0]))
    assert [piece.job for piece in jackson(problem).pieces] == [0, 1]


@pytest.mark.parametrize("name", SCHEDULERS)
def test_nothing_to_send(name):
    empty = Jobs(np.zeros(0), np.zeros(0), np.zeros(0))
    assert SCHEDULERS[name](empty) == PreemptiveSchedule((), 0.0, None)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_jobs_that_take_no_time_end_at_their_release(name):
    problem = Jobs(np.array([3.0, 1.0]), np.zeros(2), np.array([1.0, 4.0]))
    schedule = SCHEDULERS[name](problem)
    assert schedule.pieces == ()
    assert schedule.value == 5


def test_lp_refuses_more_jobs_than_it_can_solve():
    many = np.ones(MAX_LP_BUCKETS + 1)
    with pytest.raises(InvalidOptions, match="takes 250 buckets at most, got 251"):
        lp(Jobs(many, many, many))


def test_lp_refuses_fractions_of_slots():
    with pytest.raises(InvalidOptions, match="whole numbers of slots"):
        lp(Jobs(np.array([0.5]), np.array([1.0]), np.array([0.0])))


@pytest.mark.parametrize(("low", "high"), [(3, 9), (0, 4)])  # both ends on one side of 5
def test_bisection_checks_its_ends(low, high):
    problem = Jobs(np.array([0.0]), np.array([3.0]), np.array([2.0]))
    low, high = (low + 3, high) if high == 9 else (low, high)
    with pytest.raises(ValueError, match="optimum is not in"):
        bisect(problem, low, high)


@given(problem=jobs(), slot=st.sampled_from([0.5, 1.0, 3.0]))
def test_the_grid_bounds_continuous_time_from_above(problem, slot):
    grid = on_grid(problem, slot)
    assert jackson(grid).value * slot >= jackson(problem).value
    if slot <= 1:  # integers are multiples of both
        assert jackson(grid).value * slot == jackson(problem).value


@given(problem=jobs())
def test_twice_the_times_take_twice_as_long(problem):
    double = Jobs(2 * problem.release, 2 * problem.duration, 2 * problem.tail)
    assert jackson(double).value == 2 * jackson(problem).value
