"""Fits to measured steps: figures found again, intervals, and what is not known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solver.errors import InvalidMeasurements
from solver.shapes.efficiency import ASSUMED, FIGURES, SPREAD
from solver.shapes.fit.as_run import TableRun, as_run, runs_of
from solver.shapes.fit.physics import DEVIATION, log_times, slopes
from solver.shapes.fit.residual import _Likelihood, kernel, layer_shares, learned, noises
from solver.shapes.fit.rows import FEATURES, MeasuredShape
from solver.shapes.fit.shape_fit import fit_steps, widening
from solver.shapes.hardware import ACCELERATORS, NetworkLevel, TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.layer_times import has_fused_softmax, layer_times
from solver.shapes.published import PUBLISHED
from solver.shapes.stage_times import stage_times
from solver.shapes.step import simulate_step, step_of
from solver.shapes.transformer import Transformer
from tests.benchmarks.shapes import DATA, SINGLE, steps_of

MODEL = Transformer("small", 8, 1024, 16, 4096, 51200, 1024)
NODE = TrainingCluster(ACCELERATORS["a100"], (NetworkLevel("node", 8, 2400.0, 10.0, 1.0),))
TRUE = replace(ASSUMED, matmul=0.7, host_us=1600.0, optimizer=2.0)
SHAPES = [
    JobShape(tp=tp, pp=pp, dp=8 // tp // pp, micro_batch=micro, micro_batches=2)
    for tp, pp, micro in ((1, 1, 1), (1, 1, 8), (2, 1, 4), (4, 2, 16), (1, 4, 8), (2, 2, 32))
]


def steps(shapes, known) -> list[MeasuredShape]:
    return [
        MeasuredShape(MODEL, NODE, shape, simulate_step(MODEL, NODE, shape, known).time_us)
        for shape in shapes
    ]


def test_steps_of_a_simulated_machine_are_predicted() -> None:
    fit = fit_steps(steps(SHAPES, TRUE))
    assert fit.error < 0.05
    other = steps([JobShape(tp=2, dp=4, micro_batch=8, micro_batches=2)], TRUE)[0]
    predicted = fit.predict(other.model, other.cluster, other.shape)
    assert predicted.time_us == pytest.approx(other.time_us, rel=0.05)
    assert predicted.low_us < other.time_us < predicted.high_us
    assert predicted.outside == ()


def test_a_step_that_was_disturbed_is_named() -> None:
    shapes = [replace(shape, micro_batches=n) for shape in SHAPES for n in (2, 4)]
    rows = steps(shapes, TRUE)
    assert fit_steps(rows).outliers == ()
    rows[5] = replace(rows[5], time_us=2 * rows[5].time_us)
    (outlier,) = fit_steps(rows).outliers
    assert outlier.row == 5
    assert outlier.excess == pytest.approx(1, abs=0.1)


def test_what_rows_do_not_tell_stays_as_assumed() -> None:
    fit = fit_steps(steps(SHAPES[:2], TRUE))
    figures = {figure.name: figure for figure in fit.figures}
    for name in ("uplinks", "host_rank_us", "message_us"):  # one node, no ranks, no stages
        assert figures[name].value == pytest.approx(getattr(ASSUMED, name))
        assert figures[name].spread == pytest.approx(SPREAD[name])
        assert not figures[name].is_determined


def test_shapes_outside_the_rows_are_named_and_less_certain() -> None:
    fit = fit_steps(steps(SHAPES, TRUE))
    inside = fit.predict(MODEL, NODE, SHAPES[2])
    far = fit.predict(
        replace(MODEL, hidden=8192, feed_forward=32768), NODE, replace(SHAPES[2], micro_batches=64)
    )
    assert far.outside == ("hidden", "micro_batches")
    assert far.high_us / far.low_us > inside.high_us / inside.low_us


def test_errors_of_rows_left_out_widen_intervals() -> None:
    one = np.ones(20)
    assert widening(0 * one, one) == 1
    assert widening(one, one) == pytest.approx(2**0.5)
    assert widening(np.ones(80), np.ones(80)) == pytest.approx(1.25**0.5)  # a quarter of it


def test_one_row_predicts_no_other() -> None:
    fit = fit_steps(steps(SHAPES[:1], TRUE))
    assert fit.error is None


def test_fewer_rows_than_determined_figures_give_no_interval() -> None:
    fit = fit_steps(steps(SHAPES, TRUE))
    assert fit.predict(MODEL, NODE, SHAPES[2]).low_us is not None
    determined = tuple(replace(figure, is_determined=True) for figure in fit.figures)
    found = replace(fit, figures=determined).predict(MODEL, NODE, SHAPES[2])
    assert found.low_us is found.high_us is None
    assert found.time_us > 0


def test_the_same_rows_give_the_same_fit() -> None:
    one, two = (fit_steps(steps(SHAPES, TRUE)) for _ in range(2))
    assert one.known == two.known
    assert np.array_equal(one.residual.hyper, two.residual.hyper)


def test_a_process_predicts_as_the_joint_normal_does() -> None:
    """Against conditioning by hand: mean K* K^-1 y and variance k - K* K^-1 K*'."""
    random = np.random.default_rng(3)
    x = random.integers(0, 3, (7, len(FEATURES))).astype(float)
    slopes = random.normal(size=(7, len(DEVIATION))) * 0.1
    values = random.normal(size=6) * 0.1
    crosses = np.array([0.0, 1, 1, 0, 0, 1, 0])
    process = learned(x[:6], slopes[:6], values, crosses[:6])
    every = kernel(x, x, slopes, slopes, process.hyper)
    noise = np.exp(2 * process.hyper[-2])
    own = np.diag(process.noise)  # steps that cross nodes have their own
    assert process.noise[[0, 3, 4]] == pytest.approx(np.full(3, noise))
    assert process.usual == pytest.approx(noises(process.hyper, crosses[:6]))
    inside = np.linalg.inv(every[:6, :6] + own)
    mean, deviation = process.mean_and_deviation(x[6:], slopes[6:], crosses[6:])
    assert mean[0] == pytest.approx(every[6, :6] @ inside @ values)
    variance = every[6, 6] - every[6, :6] @ inside @ every[:6, 6] + noise
    assert deviation[0] == pytest.approx(np.sqrt(variance))
    errors, spreads = process.left_out(values)
    others = every[1:6, 1:6] + own[1:, 1:]
    assert errors[0] == pytest.approx(
        values[0] - every[0, 1:6] @ np.linalg.solve(others, values[1:])
    )
    assert spreads[0] == pytest.approx(
        np.sqrt(every[0, 0] + noise - every[0, 1:6] @ np.linalg.solve(others, every[1:6, 0]))
    )


def test_the_likelihoods_gradient_is_that_of_differences() -> None:
    random = np.random.default_rng(5)
    x = random.integers(0, 2, (9, len(FEATURES))).astype(float)
    slopes = random.normal(size=(9, len(DEVIATION))) * 0.05
    crosses = random.integers(0, 2, 9).astype(float)
    likelihood = _Likelihood(x, slopes, random.normal(size=9) * 0.1, crosses)
    hyper = random.normal(size=len(FEATURES) + 5) * 0.3 - 1.0
    _, gradient = likelihood.at(hyper)
    for k in range(len(hyper)):
        step = np.zeros(len(hyper))
        step[k] = 1e-5
        difference = (likelihood.at(hyper + step)[0] - likelihood.at(hyper - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(difference, rel=1e-4, abs=1e-6)


def test_the_share_of_layers_is_what_slower_layers_add() -> None:
    """Against a simulation whose layers alone take 1 % longer: all else costs nothing, and more."""
    rows = steps(SHAPES, TRUE)
    theta = np.log([getattr(TRUE, name) for name in FIGURES])
    at = log_times(rows, theta)
    shares = layer_shares(slopes(rows, theta, at))
    for row, share in zip(rows, shares, strict=True):
        times = stage_times(row.model, row.cluster, row.shape, TRUE)
        layer = layer_times(row.model, row.cluster, row.shape, TRUE)
        each = row.model.layers // row.shape.pp * 0.01
        slower = tuple(
            (one + each * layer.forward_us, two + each * layer.backward_us, three)
            for one, two, three in times.passes
        )
        longer = step_of(row.shape, replace(times, passes=slower)).time_us
        assert longer / row.time_us - 1 == pytest.approx(0.01 * share, abs=2e-4)


@pytest.mark.parametrize(
    ("micro_batch", "tp", "is_fused"), [(1, 8, False), (2, 8, True), (1, 4, True), (3, 8, False)]
)
def test_heads_times_micro_batch_decide_whether_softmax_is_fused(micro_batch, tp, is_fused) -> None:
    shape = JobShape(tp=tp, micro_batch=micro_batch, flash_attention=False)
    assert has_fused_softmax(MODEL, shape) is is_fused
    assert has_fused_softmax(MODEL, replace(shape, flash_attention=True))
    times = [
        layer_times(MODEL, NODE, shape, replace(TRUE, host_unfused_us=us)).forward_us
        for us in (1.0, 5000.0)
    ]
    assert (times[0] == times[1]) is is_fused


@pytest.mark.parametrize(
    ("rows", "pointers"),
    [
        ([], [""]),  # nothing measured
        ([MeasuredShape(MODEL, NODE, JobShape(), 0.0)], ["/0/time_us"]),  # no time
        ([MeasuredShape(MODEL, NODE, JobShape(), float("nan"))], ["/0/time_us"]),
        ([MeasuredShape(MODEL, NODE, JobShape(tp=3), 1.0)], ["/0/shape/tp", "/0/shape/tp"]),
        (
            [MeasuredShape(replace(MODEL, layers=0), NODE, JobShape(), -1.0)],
            ["/0/time_us", "/0/model/layers"],
        ),  # all at once
    ],
)
def test_rows_that_are_refused(rows, pointers) -> None:
    with pytest.raises(InvalidMeasurements) as caught:
        fit_steps(rows)
    assert [fault.pointer for fault in caught.value.faults] == pointers


@pytest.mark.skipif(not Path(DATA).is_dir(), reason="the measured steps are not here")
def test_twenty_published_rows_predict_the_next() -> None:
    rows = steps_of(SINGLE, {})
    found = fit_steps(rows[:20]).predict_all(rows[20:50])
    errors = [abs(p.time_us / r.time_us - 1) for p, r in zip(found, rows[20:50], strict=True)]
    assert np.median(errors) < 0.06


def test_rows_that_do_not_fit_in_memory_were_recomputed() -> None:
    """Steps of a machine that recomputes, in a table that says nothing of it."""
    levels = (NetworkLevel("node", 8, 2400.0), NetworkLevel("spine", 64, 200.0))
    cluster = TrainingCluster(ACCELERATORS["a100"], levels)
    model = replace(MODEL, layers=40, hidden=6144, heads=48, feed_forward=24576, sequence=2048)
    shapes = [
        JobShape(tp=8, dp=8, micro_batch=micro, micro_batches=4, flash_attention=False)
        for micro in (1, 2, 4, 8)
    ]
    rows = []
    for shape in shapes:
        ran = replace(shape, recomputation="full")
        time_us = simulate_step(model, cluster, ran, TRUE).time_us
        rows.append(MeasuredShape(model, cluster, shape, time_us))
    fit = fit_steps([*rows[1:], *steps(SHAPES, TRUE)])
    (run,) = fit.runs
    assert (run.networks, run.sharding, run.recomputation) == (("node", "spine"), "none", "full")
    assert (run.rows, run.left) == (3, 0)
    as_said, as_run = fit.predict(model, cluster, shapes[0]), fit.predict_all(rows[:1])[0]
    assert as_run.time_us == pytest.approx(rows[0].time_us, rel=0.05)
    assert as_said.time_us < 0.85 * rows[0].time_us
    assert fit_steps([rows[0], *steps(SHAPES, TRUE)]).runs == ()  # that one may fit


def _run(shape: JobShape, stated: frozenset[str] = frozenset()) -> tuple[TableRun, ...]:
    """How a step of 8 billion parameters on H100 is taken to be run."""
    model = PUBLISHED["llama3-8b"]
    levels = (NetworkLevel("node", 8, 3600.0), NetworkLevel("network", 64, 400.0))
    cluster = TrainingCluster(ACCELERATORS["h100"], levels)
    return runs_of([MeasuredShape(model, cluster, shape, 1e6, stated)])


def test_rows_that_do_not_fit_otherwise_share_out_what_they_must() -> None:
    names = ("node", "network")
    whole = JobShape(dp=64, micro_batches=4)
    assert _run(whole) == (TableRun(names, "optimizer", "none", 1, 1, 0, True),)
    large = replace(whole, micro_batch=4, micro_batches=1)
    assert _run(large) == (TableRun(names, "optimizer", "full", 1, 1, 0, True),)
    assert _run(whole, frozenset({"recomputation"}))[0].sharding == "optimizer"
    assert _run(large, frozenset({"recomputation"})) == (
        TableRun(names, "none", "none", 1, 1, 1, True),
    )
    assert _run(JobShape()) == (TableRun(names, "none", "none", 1, 1, 1, True),), "alone none helps"
    assert _run(replace(whole, sharding="parameters")) == ()


def test_rows_are_run_as_their_table_but_for_what_they_state() -> None:
    cluster = TrainingCluster(ACCELERATORS["h100"], (NetworkLevel("node", 8, 3600.0),))
    run = TableRun(("node",), "parameters", "full", 3, 2, 0, is_whole=True)
    rows = [
        MeasuredShape(MODEL, cluster, JobShape(dp=8), 1.0),
        MeasuredShape(MODEL, cluster, JobShape(dp=8), 1.0, frozenset({"sharding"})),
        MeasuredShape(MODEL, cluster, JobShape(tp=8), 1.0, frozenset({"recomputation"})),
    ]
    found = [(row.shape.sharding, row.shape.recomputation) for row in as_run(rows, (run,))]
    assert found == [("parameters", "full"), ("none", "full"), ("none", "none")]
    assert as_run(rows, ()) == tuple(rows)
    assert as_run(rows, [replace(run, is_whole=False)]) == tuple(rows), "they all fit"


def test_one_row_of_many_that_does_not_fit_is_run_otherwise_alone() -> None:
    cluster = TrainingCluster(ACCELERATORS["h100"], (NetworkLevel("node", 8, 3600.0),))
    model = PUBLISHED["llama3-8b"]
    fits, large = JobShape(tp=8), JobShape(tp=2, dp=4, micro_batch=4)
    rows = [MeasuredShape(model, cluster, shape, 1.0) for shape in (*[fits] * 4, large)]
    (run,) = runs_of(rows)
    assert (run.rows, run.over, run.left, run.is_whole) == (5, 1, 0, False)
    assert [row.shape == fits for row in as_run(rows, (run,))] == [True] * 4 + [False]
    assert as_run(rows, (run,))[4].shape != large


def test_a_step_that_is_far_slower_than_its_neighbours_is_not_learned_from() -> None:
    levels = (NetworkLevel("node", 8, 2400.0), NetworkLevel("spine", 64, 200.0))
    cluster = TrainingCluster(ACCELERATORS["a100"], levels)
    shapes = [
        JobShape(tp=tp, pp=pp, dp=64 // tp // pp, micro_batch=micro, micro_batches=4)
        for tp, pp in ((1, 1), (2, 2), (4, 2), (8, 1))
        for micro in (1, 2, 4)
    ]
    rows = [
        MeasuredShape(MODEL, cluster, shape, simulate_step(MODEL, cluster, shape, TRUE).time_us)
        for shape in shapes
    ]
    slow = [replace(rows[4], time_us=1.5 * rows[4].time_us), *rows[:4], *rows[5:]]
    (found,) = fit_steps(slow).predict_all(rows[4:5])
    assert found.time_us == pytest.approx(rows[4].time_us, rel=0.1)
    assert fit_steps(rows).predict_all(rows[4:5])[0].time_us == pytest.approx(
        rows[4].time_us, rel=0.05
    )
