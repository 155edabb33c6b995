"""Costs of several pieces, measured or fitted: every answer against all sizes, one by one."""

from dataclasses import replace
from math import inf, log2

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solver.costs import Affine, Cluster, MeasuredCost, Piecewise, PiecewiseCost, cost_of, scale
from tests.sampling import cases

TOTALS = st.integers(1, 70)
SIZES = np.arange(1, 160)  # beyond every knot


@st.composite
def curves(draw):
    return PiecewiseCost(
        threshold_bytes=draw(st.sampled_from([1, 2, 3, 8, 20, 33, 60, 100])),
        log_us=draw(st.sampled_from([0.0, 0.5, 1.0, 3.0, 10.0])),
        log_constant_us=draw(st.sampled_from([-8.0, 0.0, 0.7, 2.0, 15.0])),
        us_per_byte=draw(st.sampled_from([0.0, 0.125, 1.0])),
        constant_us=draw(st.sampled_from([-4.0, 0.0, 1.5, 15.0, 40.0])),
        least_us=draw(st.sampled_from([0.5, 2.0, 5.0, 20.0])),
    )


@st.composite
def piecewise(draw):
    return Piecewise(draw(curves()), draw(st.sampled_from([0.0, 2.0])))


@st.composite
def tables(draw):
    sizes = tuple(sorted(draw(st.sets(st.integers(1, 60), min_size=2, max_size=5))))
    times = tuple(draw(st.integers(1, 20)) * 0.5 for _ in sizes)
    slope = draw(st.sampled_from([0.0, 0.25, 2.0]))
    return MeasuredCost(sizes, times, slope, draw(st.sampled_from([0.0, 2.0])))


@st.composite
def lines(draw):
    return Affine(draw(st.sampled_from([0.0, 2.0])), draw(st.sampled_from([0.0, 0.25])))


PIECES = st.one_of(piecewise(), tables(), lines())


def test_a_curve_by_hand():
    # below 64 bytes 2 us a doubling less 1, from there on a byte in a half, never below 4
    curve = PiecewiseCost(64, 2.0, -1.0, 0.5, -20.0, 4.0)
    cost = Piecewise(curve, 10.0)
    sizes = [0, 1, 4, 8, 32, 63, 64, 100]
    times = [0, 14, 14, 15, 19, 9 + 2 * log2(63), 10 + 12, 10 + 30]
    assert [cost.time(size) for size in sizes] == pytest.approx(times)
    assert cost.times(np.array(sizes)).tolist() == pytest.approx(times)
    cluster = Cluster(4, algorithm="piecewise", piecewise=curve, startup_us=10)
    assert cost_of(cluster) == cost


@given(cost=PIECES)
def test_one_size_or_many(cost):
    assert np.allclose(cost.times(SIZES), [cost.time(n) for n in SIZES.tolist()])


@given(cost=PIECES, most=st.integers(0, 150), budget=st.floats(0, 80))
@settings(max_examples=cases(300))
def test_what_fits(cost, most, budget):
    fitting = [n for n in range(1, most + 1) if cost.time(n) <= budget]
    assert cost.fits(budget, most) == max(fitting, default=0)


@given(cost=PIECES, most=st.integers(1, 150), data=st.data())
@settings(max_examples=cases(300))
def test_what_takes_exactly_the_time_fits(cost, most, data):
    size = data.draw(st.integers(1, most))
    fitting = [n for n in range(1, most + 1) if cost.time(n) <= cost.time(size)]
    assert cost.fits(cost.time(size), most) == max(fitting)


def test_more_may_fit_beyond_a_fall():
    # 50 bytes take more than 30, 64 do not
    cost = Piecewise(PiecewiseCost(64, 10.0, 0.0, 0.25, 0.0, 1.0), 0.0)
    assert cost.time(50) > 30
    assert cost.fits(30.0, 63) == 8
    assert cost.fits(30.0, 200) == 120
    assert cost.fits(30.0, 10**12) == 120


@given(cost=PIECES, total=TOTALS)
@settings(max_examples=cases(300))
def test_minorants_are_the_lower_hull(cost, total):
    sizes = np.arange(1, total + 1)
    times = cost.times(sizes)
    found = cost.minorants(total)
    for a, c in found:
        assert a >= 0
        assert c >= 0
        assert np.all(a + c * sizes <= times + 1e-9)
    # no affine function with a, c >= 0 is above all of them: tried on all chords, flats and rays
    best = np.max([a + c * sizes for a, c in found], axis=0)
    low, high = np.triu_indices(total, k=1)
    c = (times[high] - times[low]) / (sizes[high] - sizes[low])
    c = np.concatenate([[0.0, float((times / sizes).min())], c[::5]])
    tried = np.min(times - c[:, None] * sizes, axis=1)[:, None] + c[:, None] * sizes
    tried = tried[(tried[:, 0] >= c) & (c >= 0)]
    assert np.all(tried <= best + 1e-9)


def saved(one, others):
    """Largest share of one launch's time that others save."""
    return max([0.0, *(1 - b / a for a, b in zip(one, others, strict=True) if a)])


def best_launches(times):
    """Least total time of launches that carry so many bytes or more, launch by launch."""
    best = [0.0]
    for size in range(1, len(times)):
        best.append(min(times[n] + best[max(0, size - n)] for n in range(1, len(times))))
    return np.array(best)


@given(cost=PIECES, total=TOTALS)
@settings(max_examples=cases(500))
@example(cost=Piecewise(PiecewiseCost(60, 10.0, 2.0, 1.0, 40.0, 0.5), 0.0), total=40)
@example(cost=Piecewise(PiecewiseCost(60, 3.0, -8.0, 1.0, 40.0, 2.0), 0.0), total=70)
def test_oddness_is_what_other_launches_save(cost, total):
    """At least what two launches or a larger one save, at most what any launches save."""
    times = cost.times(np.arange(total + 1))
    x, y = np.meshgrid(np.arange(1, total + 1), np.arange(1, total + 1))
    x, y = x[x + y <= total], y[x + y <= total]
    two = saved(times[x + y], times[x] + times[y])
    larger = saved(times[1:], np.minimum.accumulate(times[:0:-1])[::-1])
    odd = cost.oddness(total)
    assert max(two, larger) <= odd + 1e-9
    assert odd <= saved(times[1:], best_launches(times)[1:]) + 1e-9


def test_oddness_by_hand():
    # 4 bytes take 20 us: two launches of two 8 us, four of one 4 us
    cost = MeasuredCost((1, 2, 4), (1.0, 4.0, 20.0), 8.0, 0.0)
    assert cost.oddness(4) == 1 - 4 / 20
    assert cost.oddness(2) == 0.5
    assert cost.oddness(1) == 0
    # 2 bytes take 10 us, three 4
    assert MeasuredCost((1, 2, 3), (3.0, 10.0, 4.0), 8.0, 0.0).oddness(3) == 0.6
    # four bytes, no size of the table, take 4 us: two launches of two 2 us
    assert MeasuredCost((2, 3, 5), (1.0, 3.0, 5.0), 8.0, 0.0).oddness(5) == 0.5
    # what takes no time saves none
    assert Affine(0.0, 0.0).oddness(9) == 0
    assert MeasuredCost((1, 9), (1.0, 1.0), 0.0, 0.0).stretch(0.0, 0.0).oddness(9) == 0


def test_small_savings_add_up():
    """Two launches save little over one, but so they do over each of these, and so on."""
    sizes = tuple(2**k for k in range(21))
    cost = MeasuredCost(sizes, tuple(size**1.02 for size in sizes), 1.0, 0.0)
    assert cost.oddness(2) == pytest.approx(1 - 2**-0.02)
    assert cost.oddness(2**20) == pytest.approx(1 - 2**-0.4)


@given(cost=PIECES, least=st.integers(1, 70), more=st.integers(0, 70))
@settings(max_examples=cases(300))
def test_no_size_is_thriftier(cost, least, more):
    sizes = np.arange(least, least + more + 1)
    found = cost.thrifty(least, least + more)[0]
    rates = cost.times(sizes) / sizes
    assert least <= found <= least + more
    assert np.all(cost.time(found) / found <= rates + 1e-9)
    assert np.all(rates[sizes > found] > rates.min() - 1e-9)


def test_of_equally_thrifty_sizes_the_largest():
    assert MeasuredCost((2, 4, 8), (1.0, 2.0, 16.0), 8.0, 0.0).thrifty(1, 8) == [4]
    assert Affine(0.0, 1.0).thrifty(1, 8) == [8]


def test_sizes_before_a_step_are_thrifty():
    """Per byte 1 at 4, 2 just behind it, 1.5 at 8, and 1.25 at 16."""
    steps = MeasuredCost((1, 4, 5, 8, 9, 16), (4.0, 4.0, 10.0, 12.0, 18.0, 20.0), 1.0, 0.0)
    assert steps.thrifty(1, 16) == [4, 16, 8]
    assert steps.thrifty(5, 15) == [15, 8]


@given(cost=PIECES, least=st.integers(1, 40), more=st.integers(0, 100))
@settings(max_examples=cases(300))
def test_thrifty_sizes_are_those_by_definition(cost, least, more):
    sizes = range(least, least + more + 1)
    rates = {size: cost.time(size) / size for size in sizes}
    rates[least - 1] = rates[least + more + 1] = np.inf
    found = cost.thrifty(least, least + more)
    assert [rates[size] for size in found] == sorted(rates[size] for size in found)
    for size in sizes:  # two sizes on one ray take the same per byte, but for rounding
        if rates[size] < min(rates[size - 1], rates[size + 1]) * (1 - 1e-9):
            assert size in found
    for size in found:
        assert rates[size] <= min(rates[size - 1], rates[size + 1]) * (1 + 1e-9)


@given(cost=PIECES, total=st.integers(1, 40))
@settings(max_examples=cases(200))
def test_no_launches_beat_the_least(cost, total):
    sizes = np.arange(total + 1)
    best = best_launches(cost.times(sizes))
    found = cost.least(total)(sizes)
    assert np.all(found <= best + 1e-9)
    if not cost.oddness(total):
        assert np.allclose(found, best)


@given(
    cost=PIECES,
    fixed=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    rest=st.sampled_from([0.0, 0.25, 1.0, 7.0]),
)
@settings(max_examples=cases(300))
def test_stretching_the_least_and_the_rest(cost, fixed, rest):
    times = cost.times(SIZES)
    # a line's least is at no bytes, a table's and a curve's at its best size
    least = cost.startup if isinstance(cost, Affine) else times.min()
    found = cost.stretch(fixed, rest).times(SIZES)
    assert np.allclose(found, least * fixed + (times - least) * rest, rtol=1e-12, atol=1e-9)
    assert np.all(found >= 0)


@given(cost=PIECES, size=st.integers(1, 10**6))
def test_stretching_by_nothing_changes_no_bit(cost, size):
    assert cost.stretch(1.0, 1.0).time(size) == cost.time(size)


def test_infinite_bandwidth_leaves_the_least():
    cost = scale(Piecewise(PiecewiseCost(64, 2.0, 3.0, 0.5, 20.0, 4.0), 10.0), bandwidth=inf)
    assert cost.time(1) == cost.time(10**9) == 14


@given(curve=curves(), size=st.integers(1, 500))
def test_double_everything(curve, size):
    double = replace(
        curve,
        log_us=2 * curve.log_us,
        log_constant_us=2 * curve.log_constant_us,
        us_per_byte=2 * curve.us_per_byte,
        constant_us=2 * curve.constant_us,
        least_us=2 * curve.least_us,
    )
    assert Piecewise(double, 4.0).time(size) == 2 * Piecewise(curve, 2.0).time(size)
