"""Fits: optimal by scipy and by enumeration, exact on noiseless samples, validated by hand."""

from dataclasses import replace
from itertools import pairwise, product
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression, lsq_linear

from solver.calibration.fits import (
    FITS,
    Errors,
    Points,
    StraightLine,
    best_fit,
    cost_of_model,
    fit_all,
    fit_linear,
    fit_piecewise,
    fit_table,
)
from solver.calibration.measurements import read_measurements
from solver.costs import Affine, MeasuredCost, Piecewise, PiecewiseCost
from solver.errors import InvalidMeasurements
from solver.limits import MAX_BYTES, MAX_FAULTS_SOUGHT, MAX_TABLE_SIZES
from tests.sampling import cases

MIB = 2**20


@st.composite
def samples(draw, least=2, most=9):
    """Samples of some sizes, a few of them many times, with times on a coarse grid."""
    sizes = draw(
        st.lists(
            st.integers(1, 40).map(lambda n: n * 1000), min_size=least, max_size=most, unique=True
        )
    )
    again = draw(st.lists(st.sampled_from(sizes), max_size=3))
    return [(size, draw(st.integers(1, 12)) * 50.0) for size in [*sizes, *again]]


def fitted(fit) -> Any:
    """What was fitted: the tests know which model it is."""
    return fit.parameters


def squared(model, given_samples):
    """Sum of squared relative errors, from the model's own formula."""
    total = 0.0
    for size, time in given_samples:
        if isinstance(model, StraightLine):
            guess = model.startup_us + model.us_per_byte * size
        elif size < model.threshold_bytes:
            guess = model.log_us * log2(size) + model.log_constant_us
        else:
            guess = model.us_per_byte * size + model.constant_us
        total += (guess / time - 1) ** 2
    return total


def least(rows, times, lower):
    """Least sum of squared relative errors of a linear model, by scipy."""
    weighted = np.array(rows) / np.array(times)[:, None]
    found = lsq_linear(weighted, np.ones(len(times)), bounds=(lower, np.inf), method="bvls")
    return float(((weighted @ found.x - 1) ** 2).sum())


def least_line(given_samples):
    rows = [(1.0, size / 1000) for size, _ in given_samples]
    return least(rows, [time for _, time in given_samples], [0, 0])


def least_curve(given_samples, threshold):
    low = [(size, time) for size, time in given_samples if size < threshold]
    high = [sample for sample in given_samples if sample[0] >= threshold]
    logs = [(1.0, log2(size)) for size, _ in low]
    return least(logs, [time for _, time in low], [-np.inf, 0]) + least_line(high)


@given(samples())
def test_the_line_is_optimal(drawn):
    line = fitted(fit_linear(drawn))
    assert line.startup_us >= 0
    assert line.us_per_byte >= 0
    assert squared(line, drawn) == pytest.approx(least_line(drawn), rel=1e-6, abs=1e-9)


@given(samples(least=4))
def test_the_curve_is_optimal_over_all_thresholds(drawn):
    curve = fitted(fit_piecewise(drawn))
    assert min(curve.log_us, curve.us_per_byte, curve.constant_us) >= 0
    thresholds = sorted({size for size, _ in drawn})[2:-1]
    by_threshold = {size: least_curve(drawn, size) for size in thresholds}
    assert squared(curve, drawn) == pytest.approx(min(by_threshold.values()), rel=1e-6, abs=1e-9)
    assert squared(curve, drawn) == pytest.approx(
        by_threshold[curve.threshold_bytes], rel=1e-6, abs=1e-9
    )
    smallest = [time for size, time in drawn if size == min(drawn)[0]]
    assert curve.least_us == pytest.approx(np.mean(smallest))


@pytest.mark.parametrize("seed", range(3))
def test_the_threshold_among_many_sizes(seed):
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.choice(10**6, 60, replace=False) + 1)
    times = np.maximum(40 * np.log2(sizes), sizes * 2e-3) * rng.uniform(0.7, 1.3, sizes.size)
    drawn = list(zip(sizes.tolist(), times.tolist(), strict=True))
    by_threshold = {size: least_curve(drawn, size) for size in sizes[2:-1].tolist()}
    assert fitted(fit_piecewise(drawn)).threshold_bytes == min(by_threshold, key=by_threshold.get)


@given(samples(least=6), st.integers(1, 41_000))
def test_the_curve_at_a_given_threshold(drawn, threshold):
    sizes = {size for size, _ in drawn}
    below = sum(size < threshold for size in sizes)
    if not 2 <= below <= len(sizes) - 2:
        with pytest.raises(InvalidMeasurements, match="sizes below threshold_bytes"):
            fit_piecewise(drawn, threshold)
        return
    curve = fitted(fit_piecewise(drawn, threshold))
    assert curve.threshold_bytes == threshold
    assert squared(curve, drawn) == pytest.approx(least_curve(drawn, threshold), rel=1e-6, abs=1e-9)


def monotone_by_enumeration(times, weights):
    """Cut the values in runs in every way; a run takes its weighted mean."""
    found = []
    for cuts in product([False, True], repeat=len(times) - 1):
        runs, start = [], 0
        for end in [*(i + 1 for i, is_cut in enumerate(cuts) if is_cut), len(times)]:
            mean = np.average(times[start:end], weights=weights[start:end])
            runs += [mean] * (end - start)
            start = end
        if all(a <= b for a, b in pairwise(runs)):
            found.append((float(weights @ (times - runs) ** 2), runs))
    return min(found)


@given(samples(most=7))
def test_the_table_is_the_best_monotone_one(drawn):
    points = fitted(fit_table(drawn)).points
    sizes, counts = np.unique([size for size, _ in drawn], return_counts=True)
    means = np.array([np.mean([t for s, t in drawn if s == size]) for size in sizes])
    error, times = monotone_by_enumeration(means, counts / means**2)
    assert [size for size, _ in points] == sizes.tolist()
    assert [time for _, time in points] == pytest.approx(times)
    found = np.array([time for _, time in points])
    assert np.all(np.diff(found) >= 0)
    assert float(counts / means**2 @ (means - found) ** 2) == pytest.approx(error, abs=1e-12)
    assert found == pytest.approx(isotonic_regression(means, weights=counts / means**2).x)


def test_a_large_table_agrees_with_scipy():
    rng = np.random.default_rng(0)
    sizes = np.arange(1, MAX_TABLE_SIZES + 1) * 1000
    times = sizes * 0.01 * rng.uniform(0.5, 1.5, sizes.size)
    points = fitted(fit_table(list(zip(sizes.tolist(), times.tolist(), strict=True)))).points
    oracle = isotonic_regression(times, weights=times**-2).x
    assert [time for _, time in points] == pytest.approx(oracle)


SIZES = [2**k for k in range(3, 31)]


@pytest.mark.parametrize(("startup", "per_byte"), [(35.0, 8e-6), (0.0, 1e-3), (50.0, 0.0)])
def test_a_line_comes_back(startup, per_byte):
    drawn = [(size, startup + per_byte * size) for size in SIZES if startup + per_byte * size > 0]
    fit = fit_linear(drawn)
    assert fitted(fit).startup_us == pytest.approx(startup, rel=1e-9, abs=1e-9)
    assert fitted(fit).us_per_byte == pytest.approx(per_byte, rel=1e-9, abs=1e-16)
    assert fit.errors.worst < 1e-9
    assert best_fit(fit_all(drawn)[0]).name == "linear"


@pytest.mark.parametrize("is_given", [True, False])
@pytest.mark.parametrize("log_constant", [30.0, -5.0])
def test_a_curve_comes_back(is_given, log_constant):
    curve = PiecewiseCost(2**18, 4.0, log_constant, 6e-6, 90.0, 4.0 * 3 + log_constant)
    cost = Piecewise(curve, 0.0)
    drawn = [(size, cost.time(size)) for size in SIZES]
    fit = fit_piecewise(drawn, 2**18 if is_given else None)
    found = fitted(fit)
    assert found.threshold_bytes == 2**18
    for name in ("log_us", "log_constant_us", "us_per_byte", "constant_us", "least_us"):
        assert getattr(found, name) == pytest.approx(getattr(curve, name), rel=1e-8)
    assert fit.errors.worst < 1e-8
    if not is_given:
        assert best_fit(fit_all(drawn)[0]).name == "piecewise"


def test_a_table_comes_back():
    drawn = [(size, float(k**2 + 1)) for k, size in enumerate(SIZES)]
    fit = fit_table(drawn[::-1])
    assert fit.parameters == Points(tuple(drawn))
    assert fit.errors.worst == 0
    assert fit.measured == (SIZES[0], SIZES[-1])


def test_cross_validation_on_paper():
    """Six sizes: each inner one is alone in its fold, and is guessed from its neighbours."""
    drawn = [(20, 2.0), (40, 4.0), (60, 5.0), (80, 10.0), (100, 11.0), (120, 16.0)]
    fit = fit_table(drawn)
    # guesses 3.5, 7, 8, 13 for 4, 5, 10, 11
    misses = [0.125, 0.4, 0.2, 2 / 11]
    found = fit.validated
    assert found.count == 4
    assert found.median == pytest.approx((0.2 + 2 / 11) / 2)
    assert found.worst == pytest.approx(0.4)
    assert [(d.from_bytes, d.count) for d in found.decades] == [(10, 3), (100, 1)]
    assert found.decades[0].median == pytest.approx(0.2)
    assert found.decades[1].worst == pytest.approx(misses[3])
    # on what it was fitted to it is exact
    assert (fit.errors.count, fit.errors.worst) == (6, 0.0)
    assert [(d.from_bytes, d.count) for d in fit.errors.decades] == [(10, 4), (100, 2)]


def test_a_fold_holds_out_every_fifth_size_with_all_its_samples():
    drawn = [(1000 * k, 10.0 * k + (k % 3)) for k in range(1, 13)]
    drawn += [(7000, 90.0), (2000, 25.0)]
    misses = []
    for fold in range(5):
        held_out = {1000 * (i + 1) for i in range(12) if i % 5 == fold and 0 < i < 11}
        rest = [sample for sample in drawn if sample[0] not in held_out]
        line = fitted(fit_linear(rest))
        misses += [
            abs((line.startup_us + line.us_per_byte * size) / time - 1)
            for size, time in drawn
            if size in held_out
        ]
    found = fit_linear(drawn).validated
    assert found.count == len(misses) == 12
    assert found.median == pytest.approx(np.median(misses))
    assert found.worst == pytest.approx(max(misses))


def test_too_few_sizes_are_not_validated():
    four = [(1, 5.0), (10, 6.0), (100, 7.0), (1000, 9.0)]
    fits, left_out = fit_all(four)
    assert [fit.validated for fit in fits] == [None] * 3
    assert left_out == ()
    assert best_fit(fits).name == "linear"
    five = [*four, (10_000, 20.0)]
    assert all(fit.validated for fit in fit_all(five)[0])
    # two sizes below the threshold: without either it cannot be fitted
    assert fit_piecewise(five, 100).validated is None


def test_the_cost_is_that_of_the_service():
    drawn = [(1000, 10.0), (2000, 14.0), (4000, 18.0), (8000, 26.0)]
    table = cost_of_model(fit_table(drawn).parameters)
    assert isinstance(table, MeasuredCost)
    # constant below, linear between, the slope of the last doubling beyond
    assert [table.time(n) for n in (10, 3000, 16_000)] == [10.0, 16.0, 42.0]
    assert cost_of_model(StraightLine(5.0, 0.5)) == Affine(5.0, 0.5)
    curve = fitted(fit_piecewise(drawn))
    assert cost_of_model(curve) == Piecewise(curve, 0.0)


@settings(max_examples=cases(30))
@given(samples(least=4), st.randoms())
def test_order_does_not_matter_and_double_times_double_the_fit(drawn, chance):
    shuffled = list(drawn)
    chance.shuffle(shuffled)
    doubled = [(size, 2 * time) for size, time in drawn]
    for name, fit in FITS.items():
        one, two = fit(drawn), fit(doubled)
        assert fit(shuffled) == one
        assert one.name == name
        sizes = np.array([size for size, _ in drawn])
        times = cost_of_model(one.parameters).times(sizes)
        assert cost_of_model(two.parameters).times(sizes) == pytest.approx(2 * times)
        misses = abs(times / [time for _, time in drawn] - 1)
        assert one.errors.median == pytest.approx(np.median(misses))
        assert one.errors.worst == pytest.approx(max(misses))
        assert sum(decade.count for decade in one.errors.decades) == len(drawn)


def test_best_is_the_simplest_of_equals():
    fits = fit_all([(k * 1000, 40.0 + 7 * k) for k in range(1, 11)])[0]
    assert [fit.name for fit in fits] == list(FITS)

    def at(*medians):
        """Return the fits with these errors in cross-validation."""
        errors = [median and Errors(4, median, median, median, ()) for median in medians]
        return [replace(fit, validated=error) for fit, error in zip(fits, errors, strict=True)]

    assert best_fit(at(0.02, 0.02 - 1e-9, 0.02)).name == "linear"
    assert best_fit(at(0.02, 0.01, 0.01)).name == "piecewise"
    assert best_fit(at(0.02, 0.01, 0.001)).name == "table"
    assert best_fit(at(None, 0.5, None)).name == "piecewise"


@pytest.mark.parametrize(
    ("fit", "given_samples", "faults"),
    [
        # too few sizes
        (fit_linear, [], [("/samples", "too_few_sizes")]),
        (fit_linear, [(8, 1.0), (8, 2.0)], [("/samples", "too_few_sizes")]),
        (fit_table, [(8, 1.0)], [("/samples", "too_few_sizes")]),
        (fit_piecewise, [(1, 1.0), (2, 1.0), (4, 1.0)], [("/samples", "too_few_sizes")]),
        # values out of range, all at once
        (
            fit_linear,
            [
                (0, 1.0),
                (8, 0.0),
                (8, 1.0),
                (8, float("nan")),
                (8, float("inf")),
                (MAX_BYTES + 1, 1.0),
            ],
            [(f"/samples/{i}", "out_of_range") for i in (0, 1, 3, 4, 5)],
        ),
        # too many sizes for a table
        (
            fit_table,
            [(size, 1.0) for size in range(1, MAX_TABLE_SIZES + 2)],
            [("/samples", "too_many_sizes")],
        ),
        # too few sizes on a side
        (
            lambda given_samples: fit_piecewise(given_samples, 2),
            [(k, 1.0) for k in range(1, 9)],
            [("/threshold_bytes", "out_of_range")],
        ),
    ],
)
def test_rejected(fit, given_samples, faults):
    with pytest.raises(InvalidMeasurements) as caught:
        fit(given_samples)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


def test_all_fits_say_what_is_left_out():
    fits, left_out = fit_all([(size, 1.0 + size) for size in range(1, MAX_TABLE_SIZES + 2)])
    assert [fit.name for fit in fits] == ["linear", "piecewise"]
    assert [fault.code for fault in left_out] == ["too_many_sizes"]
    fits, left_out = fit_all([(8, 1.0), (16, 2.0)])
    assert [fit.name for fit in fits] == ["linear", "table"]
    assert [fault.code for fault in left_out] == ["too_few_sizes"]
    fits, left_out = fit_all([(k, 1.0) for k in range(1, 9)], threshold_bytes=2)
    assert [fault.pointer for fault in left_out] == ["/threshold_bytes"]
    with pytest.raises(InvalidMeasurements) as caught:
        fit_all([(8, -1.0)] * (MAX_FAULTS_SOUGHT + 5))
    assert len(caught.value.faults) == MAX_FAULTS_SOUGHT + 1  # once, not for each fit


@pytest.mark.parametrize("startup", [1e-6, 8e12])
def test_sizes_and_times_at_the_limits(startup):
    """The least and the most that is allowed, and sizes that a logarithm cannot tell apart."""
    drawn = [(1, startup), (2, 8e12), (MAX_BYTES - 1, 1e-6), (MAX_BYTES, 8e12)]
    drawn += [(MAX_BYTES - k, 1.0) for k in range(2, 5)]
    for fit in fit_all(drawn)[0]:
        assert np.isfinite(fit.errors.worst)
        assert np.isfinite(fit.validated.worst)


def test_the_reach_on_a_real_table(shared):
    """Fitted to every fourth size, the others from 1 to 32 MiB."""
    path = shared / "vtrain_allreduce_lut" / "VIA-Research+vTrain" / "a100_AR_GPU8_1M_1024M_LUT"
    measured = read_measurements(path.read_text()).samples
    fitted_to = set(sorted({size for size, _ in measured})[::4])
    fits, _ = fit_all([sample for sample in measured if sample[0] in fitted_to])
    test = [(n, t) for n, t in measured if n not in fitted_to and MIB <= n <= 32 * MIB]

    def median(fit):
        cost = cost_of_model(fit.parameters)
        return np.median([abs(cost.time(size) / time - 1) for size, time in test])

    assert median(best_fit(fits)) <= 0.03
    assert 0.06 < median(fits[0]) < 0.08
