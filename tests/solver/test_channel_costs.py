"""Costs of a channel from recorded launches: optimal by scipy, exact on lines, by hand, stated."""

from math import inf

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from solver.calibration.channels import SPREAD, fit_channel, usable
from solver.calibration.short_launches import FAR, without_short
from solver.costs.cluster import ASSUMED_STARTUP_US
from solver.costs.fastest_links import least_us_per_byte
from solver.limits import MAX_BYTES, MAX_DURATION_US

#: Steps and passes of a ring of n workers, written down again: MODEL.md section 2.
STEPS = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "broadcast": 1, "all_to_all": 1}
KINDS = list(STEPS)


def passes(kind, n):
    return {"all_reduce": 2 * (n - 1) / n, "broadcast": 1.0}.get(kind, (n - 1) / n)


def without(samples):
    """The launches that are fitted to; what is left out has tests of its own below."""
    return {
        kind: list(zip(*without_short(*columns(some))[:2], strict=True))
        for kind, some in samples.items()
    }


def columns(some):
    return np.array(some, dtype=float).T


def longest_startup(kind, samples):
    """No launch of the channel is shorter than a start-up, an all-reduce's counting twice."""
    return min(
        time * max(1.0, STEPS[kind] / STEPS[other])
        for other, some in samples.items()
        for _, time in some
    )


@st.composite
def channels(draw):
    """Launches of some kinds, on a coarse grid so that sizes and times are often equal."""
    launch = st.tuples(
        st.integers(1, 8).map(lambda n: n * 1000), st.integers(1, 12).map(lambda n: n * 25.0)
    )
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True))
    return {kind: draw(st.lists(launch, min_size=1, max_size=6)) for kind in kinds}


def squared(line, some):
    return sum(((line.startup_us + line.us_per_byte * size) / time - 1) ** 2 for size, time in some)


def best(some, longest):
    """Return the least sum of squared relative errors of a line, by scipy."""
    sizes, times = np.array(some, dtype=float).T
    scale = sizes.max()
    rows = np.stack([1 / times, sizes / scale / times], axis=1)
    found = lsq_linear(rows, np.ones(len(some)), bounds=([0, 0], [longest, inf]), tol=1e-14)
    return 2 * found.cost, found.x[1]


@given(channels(), st.integers(2, 64))
@settings(max_examples=200, deadline=None)
def test_lines_are_optimal_among_those_that_are_allowed(samples, workers):
    kept = without(samples)
    for fit in fit_channel(samples, workers):
        some, longest = kept[fit.kind], longest_startup(fit.kind, kept)
        least, slope = best(some, longest)
        assert 0 <= fit.line.startup_us <= longest * (1 + 1e-12)
        assert fit.line.us_per_byte > 0
        assert squared(fit.line, some) >= least - 1e-9
        if fit.basis == "own_sizes":
            assert squared(fit.line, some) == pytest.approx(least, rel=1e-6, abs=1e-9)
        sizes = [size for size, _ in some]
        if max(sizes) >= SPREAD * min(sizes) and slope > 1e-3:
            assert fit.basis == "own_sizes"


@given(channels(), st.integers(2, 64))
@settings(deadline=None)
def test_errors_are_those_of_the_line(samples, workers):
    kept = without(samples)
    for fit in fit_channel(samples, workers):
        some = kept[fit.kind]
        misses = [
            abs((fit.line.startup_us + fit.line.us_per_byte * size) / time - 1)
            for size, time in some
        ]
        assert fit.median == pytest.approx(float(np.median(misses)))
        assert fit.worst == pytest.approx(max(misses))
        assert fit.launches == len(some) == len(samples[fit.kind]) - fit.left_out
        assert fit.sizes == len({size for size, _ in some})
        assert fit.measured == (min(some)[0], max(some)[0])


@given(channels(), st.integers(2, 64), st.sampled_from([0.25, 2.0, 16.0]))
@settings(deadline=None)
def test_time_has_no_unit_and_order_no_meaning(samples, workers, factor):
    fits = fit_channel(samples, workers)
    longer = {kind: [(s, t * factor) for s, t in some] for kind, some in samples.items()}
    turned = {kind: some[::-1] for kind, some in samples.items()}
    for fit, scaled, other in zip(
        fits, fit_channel(longer, workers), fit_channel(turned, workers), strict=True
    ):
        assert other.line.us_per_byte == pytest.approx(fit.line.us_per_byte, rel=1e-6)
        if fit.basis == scaled.basis and fit.basis in {"assumed_startup", "fastest_link"}:
            continue  # what is assumed is a time
        assume(fit.basis == scaled.basis)
        assert scaled.line.startup_us == pytest.approx(factor * fit.line.startup_us, abs=1e-6)
        assert scaled.line.us_per_byte == pytest.approx(factor * fit.line.us_per_byte, rel=1e-6)


@given(
    st.integers(1, 40),
    st.integers(1, 50),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=4, unique=True),
    st.integers(2, 32),
)
@settings(deadline=None)
def test_a_ring_is_found_again(startup, gbps, kinds, workers):
    """Launches of a ring without noise, of two sizes of the first kind and one of the others."""
    per_byte = {kind: passes(kind, workers) / (125.0 * gbps) for kind in kinds}
    samples = {
        kind: [
            (size, startup + per_byte[kind] * size)
            for size in ([10_000, 4_000_000] if kind == kinds[0] else [1_000_000])
        ]
        for kind in kinds
    }
    for fit in fit_channel(samples, workers):
        assert fit.line.startup_us == pytest.approx(startup, rel=1e-6, abs=1e-6)
        assert fit.line.us_per_byte == pytest.approx(per_byte[fit.kind], rel=1e-6)
        assert fit.basis == ("own_sizes" if fit.kind == kinds[0] else "shared_bandwidth")
        assert fit.worst < 1e-6


def test_short_launches_alone_tell_no_bandwidth():
    """From 8 to 16 bytes a launch takes 0.1 ns longer: 640 Gbit/s; 0.001 ns are no link's."""
    [fit] = fit_channel({"all_reduce": [(8, 10.0), (16, 10.0001)] * 3}, 2)
    assert fit.basis == "own_sizes"
    assert fit.line.us_per_byte == pytest.approx(1e-4 / 8)
    [fit] = fit_channel({"all_reduce": [(8, 10.0), (16, 10.000001)] * 3}, 2)
    assert (fit.basis, fit.line.us_per_byte) == ("fastest_link", 1 / (125.0 * 14_400))
    assert fit.line.startup_us == pytest.approx(10.0, rel=1e-5)
    assert fit.worst < 1e-5


@pytest.mark.parametrize(
    ("workers", "kind", "gbps"),
    [
        (8, "all_reduce", 14_400.0),  # switches that add: each byte passes a link once
        (8, "all_gather", 14_400.0 * 8 / 7),
        (8, "broadcast", 14_400.0),
        (576, "broadcast", 14_400.0),
        (577, "broadcast", 12_800.0),  # no NVLink connects as many
    ],
)
def test_no_byte_is_faster_than_the_fastest_link(workers, kind, gbps):
    assert least_us_per_byte(workers, kind) == pytest.approx(1 / (125.0 * gbps))


def test_one_size_is_split_by_an_assumed_start_up():
    [fit] = fit_channel({"all_reduce": [(1_000_000, 450.0)] * 3}, 4)
    assert fit.basis == "assumed_startup"
    assert fit.line.startup_us == ASSUMED_STARTUP_US == 50.0
    assert fit.line.us_per_byte == pytest.approx(400e-6)
    assert (fit.launches, fit.sizes) == (3, 1)
    assert fit.worst == pytest.approx(0, abs=1e-12)


def test_half_of_a_short_launch_is_its_start_up():
    [fit] = fit_channel({"all_reduce": [(1000, 20.0)]}, 4)
    assert fit.line.startup_us == 10.0
    assert fit.line.us_per_byte == pytest.approx(0.01)


def test_sizes_that_are_nearly_equal_tell_nothing():
    [fit] = fit_channel({"all_gather": [(1_000_000, 450.0), (1_900_000, 460.0)]}, 4)
    assert fit.basis == "assumed_startup"


def test_a_launch_that_waited_hardly_moves_the_line():
    launches = [(1_000_000 * n, 20.0 + 100.0 * n) for n in range(1, 9)]
    [plain] = fit_channel({"all_reduce": launches}, 2)
    [waited] = fit_channel({"all_reduce": [*launches, (2_000_000, 100_000.0)]}, 2)
    assert plain.line.us_per_byte == pytest.approx(1e-4)
    assert waited.line.us_per_byte == pytest.approx(plain.line.us_per_byte, rel=0.03)
    assert waited.worst > 0.99


def test_a_short_launch_of_another_kind_bounds_the_start_up():
    """All-reduces that fall with the size look like a start-up alone; a broadcast says no."""
    samples = {"all_reduce": [(8_000_000, 3300.0), (32_000_000, 2400.0)]}
    [alone] = fit_channel(samples, 2)
    assert alone.line.startup_us == 2400.0
    reduce, _ = fit_channel(samples | {"broadcast": [(400, 8.0)]}, 2)
    assert reduce.line.startup_us == 16.0
    assert reduce.line.us_per_byte * 32e6 == pytest.approx(2400, rel=0.15)


@pytest.mark.parametrize(
    "sample",
    [
        (0, 5.0),  # nothing was sent
        (-1, 5.0),
        (MAX_BYTES + 1, 5.0),
        (1000, 0.0),  # lies in another launch
        (1000, -2.0),
        (1000, 2 * MAX_DURATION_US),
    ],
)
def test_what_cannot_be_fitted_is_left_out(sample):
    assert usable([(1000, 5.0), sample]) == [(1000, 5.0)]


@pytest.mark.parametrize(
    ("time", "startup"),
    [
        (300.0, 100.0),  # beside 200 us at the bandwidth of the others
        (120.0, 0.0),  # shorter than that bandwidth allows: another bandwidth
        (5000.0, 75.0),  # longer than any start-up: half of the shortest launch
    ],
)
def test_a_kind_of_one_size_has_the_bandwidth_of_the_others(time, startup):
    """All-gathers of 150 us and more, 1 us for 10 kB; one all-to-all of 2 MB."""
    gathers = [(500_000 * n, 100 + 50.0 * n) for n in (1, 200, 400, 800)]
    samples = {"all_gather": gathers, "all_to_all": [(2_000_000, time)]}
    gather, other = fit_channel(samples, 4)
    assert (gather.basis, other.basis) == ("own_sizes", "shared_bandwidth")
    assert other.line.startup_us == pytest.approx(startup, rel=0.2)
    assert other.worst < 1e-9


def test_no_launches_no_costs():
    assert fit_channel({}, 4) == ()
    assert fit_channel({"all_reduce": []}, 4) == ()


#: Steps of five sizes, 49 us a launch and 23 GB/s.
STEPS_OF_FIVE = [(1 << 18, 60.0), (1 << 20, 97.4), (1 << 22, 237.0), (1 << 24, 799.0)]
STEPS_OF_FIVE = [*STEPS_OF_FIVE, (1 << 26, 3000.0)] * 20


@pytest.mark.parametrize(
    "short",
    [
        [(1 << 20, 1.0)],
        [(1 << 20, 0.01)],
        [(4, 0.5)],
        [(1 << 26, 1.0)],  # the profiler was stopped
        [(1 << 26, 1.0)] * 5,
        [(1 << 18, 0.01), (1 << 24, 2.0), (1 << 34, 1.0)],
    ],
)
def test_launches_that_are_far_too_short_do_not_move_the_line(short):
    [plain] = fit_channel({"all_reduce": STEPS_OF_FIVE}, 8)
    [fit] = fit_channel({"all_reduce": [*STEPS_OF_FIVE, *short]}, 8)
    assert plain.line.startup_us == pytest.approx(49, rel=0.01)
    assert plain.line.us_per_byte * (1 << 26) == pytest.approx(2990, rel=0.01)
    assert (plain.left_out, fit.left_out) == (0, len(short))
    assert fit.line == plain.line
    assert (fit.launches, fit.median, fit.worst) == (100, plain.median, plain.worst)


def test_a_short_launch_of_another_kind_cuts_no_start_up_that_many_launches_tell():
    [plain] = fit_channel({"all_reduce": STEPS_OF_FIVE}, 8)
    reduce, other = fit_channel({"all_reduce": STEPS_OF_FIVE, "broadcast": [(4, 0.5)]}, 8)
    assert reduce.line == plain.line
    assert other.line.us_per_byte == pytest.approx(plain.line.us_per_byte * 8 / 14)


def test_short_launches_are_what_it_costs_when_they_are_many():
    """Three of four waited, a hundred times as long as a launch takes."""
    launches = [(n * 100_000, n * 100.0 * (1 if k == 0 else 100)) for n in (1, 2) for k in range(4)]
    [fit] = fit_channel({"all_reduce": launches}, 4)
    assert fit.left_out == 0
    assert fit.line.startup_us + fit.line.us_per_byte * 200_000 == pytest.approx(200, rel=0.05)


@given(
    st.integers(0, 200),
    st.floats(1e-6, 1e-2),
    st.lists(st.integers(1, 10**9), min_size=20, max_size=60),
    st.lists(st.integers(0, 19), min_size=1, max_size=2, unique=True),
    st.floats(1e-6, 0.1),
    st.data(),
)
@settings(deadline=None)
def test_a_tenth_that_is_far_too_short_is_told_from_the_rest(a, c, sizes, places, share, data):
    """Launches on a line with noise of 20 % to longer, two of them cut to a tenth and less."""
    noise = st.floats(1, 1.2)
    times = [(a + c * n) * data.draw(noise) for n in sizes]
    cut = [t * share if k in places else t for k, t in enumerate(times)]
    found = without_short(np.array(sizes, dtype=float), np.array(cut))
    assert sorted(found.times) == sorted(t for k, t in enumerate(cut) if k not in places)
    assert found.left_out == len(places)


@given(channels())
@settings(deadline=None)
def test_only_few_are_left_out_and_all_that_are_as_short_for_their_size(samples):
    for some in samples.values():
        kept_sizes, kept_times, count = without_short(*columns(some))
        assert count == len(some) - kept_sizes.size <= max(1, len(some) // 10)
        gone = list(some)
        for launch in zip(kept_sizes, kept_times, strict=True):
            gone.remove(launch)
        for size, time in gone:
            assert not ((kept_sizes >= size) & (kept_times <= time)).any()
            assert kept_times.max() > FAR * time


def test_no_launch_is_left_out_of_two():
    launches = columns([(1000, 1.0), (1000, 1000.0)])
    assert without_short(*launches).left_out == 0
