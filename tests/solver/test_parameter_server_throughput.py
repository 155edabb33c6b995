"""Throughput of many workers: intervals, what limits, knees, the shape of the paper's curves."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.codes import FaultCode
from solver.errors import InvalidOptions, InvalidSteps
from solver.parameter_server.interval import Pace, drifts, examples_per_s, pace_of
from solver.parameter_server.links import ServerLinks
from solver.parameter_server.options import ThroughputOptions
from solver.parameter_server.prepared import prepare, run_of
from solver.parameter_server.record import RunOptions, StepsRun
from solver.parameter_server.run import run_steps
from solver.parameter_server.speedups import LINKS, gains_of
from solver.parameter_server.steps import DOWNLINK, SERVER, UPLINK, WORKER, StepOp, build_step
from solver.parameter_server.throughput import predict
from solver.simulation.knee import knee_of
from tests.sampling import cases
from tests.training_steps import INCEPTION_BYTES, layered

#: A byte a microsecond.
GBPS = 0.008
SLOW = ServerLinks(GBPS, None)


def computed(*durations):
    """Profiled steps of one op on the worker each."""
    return [build_step([StepOp("c", WORKER, float(us))]) for us in durations]


def transferred(down=100, compute=50.0, update=20.0, up=100):
    """A step of one op on each resource, one after the other."""
    return build_step(
        [
            StepOp("d", DOWNLINK, None, down),
            StepOp("c", WORKER, compute, None, ("d",)),
            StepOp("u", UPLINK, None, up, ("c",)),
            StepOp("s", SERVER, update, None, ("u",)),
        ]
    )


def shares_of(row):
    """The use of each resource by its name."""
    return {use.resource: use.share for use in row.utilisation}


def options(*workers, **fields):
    wanted: dict[str, Any] = {
        "workers": workers or (1,),
        "bandwidths_gbps": (GBPS,),
        "batch_size": 10,
    }
    return ThroughputOptions(**wanted | fields)


# Intervals ------------------------------------------------------------------------------------


def ended(workers, start, *ends):
    """A run of which only the ends of steps count."""
    return StepsRun(workers, ends, start, ends[0][-1], 0, (), (), (), 0, is_synchronous=False)


def test_batch_means_by_hand() -> None:
    """Two workers, three rounds after 10 us: 6, 4 and 8 us a round, 3, 2 and 4 a step."""
    run = ended(2, 10.0, (9.0, 13.0, 20.0, 28.0), (10.0, 16.0, 19.0, 27.0, 30.0))
    pace = pace_of(run)
    assert pace.mean_us == 3.0
    assert pace.half_us == pytest.approx(4.302652729911275 * 1.0 / 3**0.5)  # t with 2 degrees


def test_in_step_a_round_that_is_cut_does_not_count() -> None:
    """Rounds end at 12 and 24 us, the run with the first worker's third step at 31 us."""
    run = replace(ended(2, 0.0, (10.0, 21.0, 31.0), (12.0, 24.0)), is_synchronous=True)
    assert pace_of(run).mean_us == 6.0
    assert pace_of(replace(run, is_synchronous=False)).mean_us == 31 / 5


@pytest.mark.parametrize(
    ("rounds", "size"), [(2, 1), (20, 1), (21, 2), (40, 2), (41, 3), (950, 48)]
)
def test_batches_are_as_short_as_twenty_allow_and_equal(rounds, size) -> None:
    """One step of each batch is slow, so they are alike until one more is."""
    ends, now = [], 0.0
    for number in range(rounds):
        now += 2.0 if number % size == 0 else 1.0
        ends.append(now)
    assert pace_of(ended(1, 0.0, tuple(ends))).half_us == pytest.approx(0, abs=1e-9)
    ends[size - 1] -= 0.5
    assert pace_of(ended(1, 0.0, tuple(ends))).half_us > 0.001


def test_one_round_has_no_interval() -> None:
    assert pace_of(ended(2, 0.0, (4.0,), (4.0,))) == Pace(2.0, None)
    assert examples_per_s(Pace(2.0, None), 10) == (5e6, None, None)


def test_an_interval_down_to_no_time_is_none() -> None:
    assert examples_per_s(Pace(2.0, 2.0), 10) == (5e6, None, None)
    assert examples_per_s(Pace(2.0, 0.5), 10) == pytest.approx((5e6, 4e6, 1e7 / 1.5))


sizes = st.integers(1, 9)


@given(sizes, sizes, sizes, sizes, st.integers(1, 6), st.booleans())
@settings(max_examples=cases(200))
def test_a_run_without_chance_has_an_interval_of_no_width(
    down, compute, update, up, workers, synchronous
) -> None:
    step = transferred(down, float(compute), float(update), up)
    run = run_steps([step], workers, SLOW, RunOptions(50, 5, synchronous=synchronous))
    pace = pace_of(run)
    assert pace.half_us <= 1e-9 * pace.mean_us


def test_the_interval_covers_the_long_run_in_about_95_of_100_runs() -> None:
    """Steps of 1 or 3 ms, longer by a factor of mean 1: three workers take 2/3 ms a step."""
    steps, runs = computed(1000, 3000), cases(1000, least=300)
    covered = 0
    for seed in range(runs):
        mean, half = pace_of(run_steps(steps, 3, SLOW, RunOptions(200, 10, seed, spread=0.3)))
        covered += abs(mean - 2000 / 3) <= half
    assert 0.9 <= covered / runs <= 0.99


# What limits ----------------------------------------------------------------------------------


def gains(step, links=SLOW, workers=1, **fields):
    def rerun(steps, links):
        return run_steps(steps, workers, links, RunOptions(20, 2, **fields))

    return told(gains_of([step], links, rerun))


def told(gains):
    return {kind: gains.of(kind) for kind in gains.paces}, gains.limit


def test_twice_the_speed_halves_each_part_of_a_step() -> None:
    """Of 270 us each resource has a part of its own."""
    found, limit = gains(transferred())
    assert list(found) == [WORKER, SERVER, UPLINK, DOWNLINK, LINKS]
    assert found == pytest.approx(
        {
            WORKER: 270 / 245 - 1,
            SERVER: 270 / 260 - 1,
            UPLINK: 270 / 220 - 1,
            DOWNLINK: 270 / 220 - 1,
            LINKS: 270 / 170 - 1,
        }
    )
    assert limit == LINKS


def test_one_direction_limits_where_both_gain_no_more() -> None:
    """Pushes and pulls go side by side; who pulls 8 bytes waits for who pushes 80."""
    ops = [StepOp("u", UPLINK, None, 80), StepOp("d", DOWNLINK, None, 8)]
    found, limit = gains(build_step(ops))
    assert found == pytest.approx({UPLINK: 1.0, DOWNLINK: 0.0, LINKS: 1.0})
    assert limit == UPLINK


@pytest.mark.parametrize("kind", [WORKER, SERVER, UPLINK, DOWNLINK])
def test_the_longest_part_limits_and_what_is_not_used_is_not_tried(kind) -> None:
    amount = {"bytes": 80} if kind in {UPLINK, DOWNLINK} else {"duration_us": 80.0}
    found, limit = gains(build_step([StepOp("a", kind, **amount), StepOp("w", WORKER, 0.0)]))
    assert found == pytest.approx({kind: 1.0})
    assert limit == kind


def test_of_two_that_are_as_long_neither_limits() -> None:
    found, limit = gains(build_step([StepOp("c", WORKER, 80.0), StepOp("d", DOWNLINK, None, 80)]))
    assert found == pytest.approx({WORKER: 0.0, DOWNLINK: 0.0})
    assert limit is None


def test_the_interval_holds_workers_in_step() -> None:
    """Two that pull, compute and push 100 us each: 2 steps in 500 us together, in 300 in turns."""
    step = transferred(compute=100.0, update=0.0)
    wanted = options(2, steps=400, dropped=10, spread=1e-6, explain=False)
    found = predict([step], wanted)
    (row,) = found.rows
    assert row.examples_per_s == pytest.approx(10 * 2e6 / 300, rel=1e-3)
    assert row.low_examples_per_s == pytest.approx(10 * 2e6 / 500, rel=1e-3)
    assert row.high_examples_per_s == pytest.approx(10 * 2e6 / 300, rel=1e-3)
    (note,) = [note for note in found.notes if "which of them a run falls into" in note]
    assert note.startswith("With 2 workers at 0.008 Gbit/s workers that begin together train 4e+04")
    alike = predict([step], replace(wanted, spread=0.0)).rows[0]  # in step for ever, and said
    assert alike.examples_per_s == pytest.approx(10 * 2e6 / 500)
    slower = predict([transferred(down=1, up=1)], replace(wanted, spread=0.05))
    assert not [note for note in slower.notes if "which of them" in note]


def test_a_gain_inside_the_interval_limits_nothing() -> None:
    """The server's 2 % drown in steps of 50 or 150 us; the worker's do not."""
    ops = [StepOp("c", WORKER, 100.0), StepOp("s", SERVER, 4.0, None, ("c",))]
    found, limit = gains(build_step(ops), spread=0.4)
    assert found[SERVER] > 0.01
    assert limit == WORKER
    found, limit = gains(build_step([StepOp("s", SERVER, 4.0), *computed(100)[0].ops]), spread=0.4)
    assert limit == WORKER


def test_without_an_interval_nothing_limits() -> None:
    rerun = lambda steps, links: run_steps(steps, 1, links, RunOptions(1, 0))
    found, limit = told(gains_of(computed(100), SLOW, rerun))
    assert found == pytest.approx({WORKER: 1.0})
    assert limit is None


@given(st.integers(1, 90), st.integers(1, 90), st.sampled_from([None, 7, 30]), st.integers(1, 4))
@settings(max_examples=cases(100))
def test_both_directions_twice_as_fast_are_twice_the_bandwidth(down, up, window, workers) -> None:
    """Windows included: they stay as many bytes."""
    ops = transferred(down, 50.0, 20.0, up).ops
    more = [StepOp("d2", DOWNLINK, None, 20), StepOp("u2", UPLINK, None, 20, ("c",))]
    step, run = build_step([*ops, *more]), RunOptions(6, 1, spread=0.2)
    fast = run_steps([step], workers, ServerLinks(2 * GBPS, window), run, range(6))
    both = run_steps([step], workers, ServerLinks(GBPS, window, 2.0, 2.0), run, range(6))
    assert both == fast


# Rows -----------------------------------------------------------------------------------------


def test_a_row_by_hand() -> None:
    """In lock step two workers take 200 + 50 + 200 + 20 us: 20 examples in 470 us."""
    answer = predict([transferred()], options(2, spread=0.0, steps=20, dropped=2))
    (row,) = answer.rows
    rate = 20e6 / 470
    assert (row.bandwidth_gbps, row.workers) == (GBPS, 2)
    assert (row.examples_per_s, row.low_examples_per_s, row.high_examples_per_s) == pytest.approx(
        (rate, rate, rate)
    )
    assert row.step_us == pytest.approx(470)
    shares = {WORKER: 50 / 470, SERVER: 20 / 470, UPLINK: 200 / 470, DOWNLINK: 200 / 470}
    assert shares_of(row) == pytest.approx(shares)
    assert [each.resource for each in row.what_if] == [WORKER, SERVER, UPLINK, DOWNLINK, LINKS]
    assert row.what_if[0].gain == pytest.approx(470 / 445 - 1)
    assert row.what_if[2].gain == pytest.approx(470 / 370 - 1)
    assert row.what_if[2].examples_per_s == pytest.approx(20e6 / 370)
    assert all(each.factor == 2 for each in row.what_if)
    assert row.limited_by == LINKS
    assert row.cynthia_examples_per_s == pytest.approx(20e6 / (400 + 200))
    assert row.bound_examples_per_s == pytest.approx(20e6 / 270)
    assert row.services == 2 * 20 * 4
    (knee,) = answer.knees
    assert knee.workers is None
    assert knee.ceiling_examples_per_s == pytest.approx(1e5)
    assert knee.text == (
        "At 0.008 Gbit/s 2 workers alone were simulated, so nothing is known of more; a server's "
        "busiest link carries 100,000.0 examples/s at most."
    )
    assert answer.notes == (
        "All profiled steps are alike and nothing varies: the workers stay in lock step, and share "
        "links more than real ones do.",
        "What limits a row is from runs of 5 steps a worker, 2 of them dropped, with one resource "
        "2 times as fast.",
    )


def test_rows_come_by_bandwidth_and_workers_as_asked_and_each_is_reported() -> None:
    calls = []
    wanted = options(3, 1, 2, bandwidths_gbps=(0.08, 0.008), steps=30, dropped=3, explain=False)
    answer = predict([transferred()], wanted, lambda *call: calls.append(call))
    places = [(row.bandwidth_gbps, row.workers) for row in answer.rows]
    assert places == [(speed, count) for speed in (0.08, 0.008) for count in (3, 1, 2)]
    assert calls == [(done, 6) for done in range(1, 7)]
    assert [knee.bandwidth_gbps for knee in answer.knees] == [0.08, 0.008]
    assert all(row.what_if == () and row.limited_by is None for row in answer.rows)
    alone = answer.rows[1]
    assert alone.bound_examples_per_s == pytest.approx(10e6 / 90)
    assert answer == predict([transferred()], wanted)
    for row in answer.rows:
        (single,) = predict(
            [transferred()],
            replace(wanted, bandwidths_gbps=(row.bandwidth_gbps,), workers=(row.workers,)),
        ).rows
        assert single == row


def test_a_report_may_give_up() -> None:
    def give_up(done, many):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict(computed(5), options(steps=2, dropped=0, explain=False), give_up)


def test_the_knee_is_the_least_count_over_which_nothing_is_gained() -> None:
    """Transfers of 100 us each way, one at a time: 100 examples/ms however many workers."""
    step = build_step([StepOp("d", DOWNLINK, None, 100)])
    wanted = options(4, 1, 2, steps=400, dropped=40, explain=False)
    (knee,) = predict([step], wanted).knees
    assert knee.workers == 1
    assert knee.text == (
        "At 0.008 Gbit/s beyond 1 worker throughput gains no more than 1 % for sure; a "
        "server's busiest link carries 100,000.0 examples/s at most."
    )
    (knee,) = predict(computed(100), replace(wanted, spread=0.0)).knees
    assert knee.workers is None
    assert knee.ceiling_examples_per_s is None
    assert knee.text == (
        "At 0.008 Gbit/s 4 workers, the most that were simulated, still gain more than 1 %."
    )


def test_a_larger_rate_inside_the_interval_is_no_gain() -> None:
    rates, lows = [100.0, 180.0, 178.0, 185.0], [99.0, 170.0, 177.0, 180.0]
    assert knee_of(rates) is None
    assert knee_of(rates, lows) == 1
    assert knee_of(rates, [99.0, 170.0, 177.0, 184.0]) is None


STAGGERED = ("Workers begin one after the other, since those that begin together stay so.",)


def test_steps_that_are_alike_vary_unless_told_and_steps_that_differ_do_not() -> None:
    wanted = options(steps=40, dropped=4, explain=False)
    varied = predict(computed(100, 100), wanted)
    assert "a spread of 0.05" in varied.notes[0]
    assert varied.rows == predict(computed(100, 100), replace(wanted, spread=0.05)).rows
    assert varied.rows[0].high_examples_per_s > varied.rows[0].low_examples_per_s
    assert predict(computed(100), replace(wanted, spread=0.05)).notes == STAGGERED
    several = predict(computed(100, 200), wanted)
    assert several.notes == STAGGERED
    assert several.rows == predict(computed(100, 200), replace(wanted, spread=0.0)).rows


def test_synchronous_workers_wait_for_the_slowest() -> None:
    wanted = options(4, steps=40, dropped=4, explain=False, synchronous=True)
    answer = predict(computed(100, 200), wanted)
    assert answer.notes == (
        "The formulas of Lin et al. and of Cynthia are of asynchronous training.",
    )
    (row,) = answer.rows
    (free,) = predict(computed(100, 200), replace(wanted, synchronous=False)).rows
    assert row.step_us > free.step_us
    assert shares_of(row)[WORKER] < 1
    assert shares_of(free)[WORKER] == pytest.approx(1)


def test_parsing_and_order_are_part_of_the_steps() -> None:
    step = build_step(
        [
            StepOp("d1", DOWNLINK, None, 10),
            StepOp("d2", DOWNLINK, None, 20),
            StepOp("d3", DOWNLINK, None, 30),
            StepOp("f1", WORKER, 1.0, None, ("d2", "d3")),
            StepOp("f2", WORKER, 1.0, None, ("f1", "d1")),
        ]
    )
    wanted = options(order="tic", parse_us_per_byte=0.5, parse_us=1.0, explain=False)
    (prepared,) = prepare([step], wanted)
    assert [op.id for op in prepared.ops if op.kind == DOWNLINK] == ["d2", "d3", "d1"]
    parsing = {op.id: op.duration_us for op in prepared.ops if op.id.endswith(":parse")}
    assert parsing == {"d1:parse": 6.0, "d2:parse": 11.0, "d3:parse": 16.0}
    assert prepare([step], options()) == (step,)
    (row,) = predict([step], replace(wanted, spread=0.0, steps=4, dropped=0)).rows
    assert row.step_us == 20 + 30 + 16 + 6 + 1 + 1  # d1 comes meanwhile, and is parsed next
    run = run_of([prepared], replace(wanted, steps=4, dropped=0), GBPS, 2, range(1, 3))
    assert {service.step for service in run.services} == {1, 2}


def test_flow_control_lets_a_short_stream_pass() -> None:
    ops = [
        StepOp("a", DOWNLINK, None, 25),
        StepOp("b", DOWNLINK, None, 5),
        StepOp("c", WORKER, 4.0, None, ("b",)),
    ]
    for window, expected in ((10, 30), (None, 34)):
        wanted = options(win_bytes=window, spread=0.0, steps=4, dropped=1, explain=False)
        (row,) = predict([build_step(ops)], wanted).rows
        assert row.step_us == pytest.approx(expected)


def test_two_servers_share_the_interface_of_a_worker() -> None:
    """Alone it has half of each link: 30 and 10 bytes take 20 us, then 20 at full speed."""
    ops = [
        StepOp("a", "downlink:x", None, 30),
        StepOp("b", "downlink:y", None, 10),
        StepOp("s", "server:y", 10.0, None, ("a", "b")),
    ]
    wanted = options(spread=0.0, steps=10, dropped=1)
    answer = predict([build_step(ops)], wanted)
    (row,) = answer.rows
    assert row.step_us == pytest.approx(50)
    assert shares_of(row) == pytest.approx(
        {
            "worker": 0,
            "server:x": 0,
            "server:y": 10 / 50,
            "uplink:x": 0,
            "uplink:y": 0,
            "downlink:x": 30 / 50,
            "downlink:y": 10 / 50,
        }
    )
    assert {each.resource: each.gain for each in row.what_if} == pytest.approx(
        {SERVER: 50 / 45 - 1, DOWNLINK: 50 / 30 - 1}
    )
    assert answer.knees[0].ceiling_examples_per_s == pytest.approx(10e6 / 30)


def test_of_workers_that_differ_too_much_none_of_the_steps_is_dropped() -> None:
    """One of twenty is done before all have ended half of their steps."""
    wanted = options(20, spread=10.0, steps=2, dropped=1, explain=False)
    answer = predict(computed(100), wanted)
    assert answer.notes == (
        *STAGGERED,
        "With 20 workers at 0.008 Gbit/s one had done its steps before so many were dropped: "
        "none is.",
    )
    run = run_of(computed(100), wanted, GBPS, 20)
    assert run.start == 0
    assert run.steps == sum(end <= run.end for ends in run.ends for end in ends)


# Refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "pointer", "code", "words"),
    [
        ({"workers": ()}, "/workers", "missing_field", "needs a value"),
        ({"workers": (1, 0)}, "/workers/1", "out_of_range", "1 to 1000, got 0"),
        ({"workers": (1001,)}, "/workers/0", "out_of_range", "got 1001"),
        ({"workers": (2, 1, 2)}, "/workers/2", "duplicate_id", "2 twice"),
        ({"bandwidths_gbps": ()}, "/bandwidths_gbps", "missing_field", "needs a value"),
        ({"bandwidths_gbps": (0.0,)}, "/bandwidths_gbps/0", "out_of_range", "positive"),
        ({"bandwidths_gbps": (float("nan"),)}, "/bandwidths_gbps/0", "out_of_range", "finite"),
        ({"bandwidths_gbps": (float("inf"),)}, "/bandwidths_gbps/0", "out_of_range", "finite"),
        ({"bandwidths_gbps": (1.5, 1.5)}, "/bandwidths_gbps/1", "duplicate_id", "1.5 twice"),
        ({"batch_size": 0}, "/batch_size", "out_of_range", "got 0"),
        ({"win_bytes": 0}, "/win_bytes", "out_of_range", "got 0"),
        ({"parse_us_per_byte": -1.0}, "/parse_us_per_byte", "out_of_range", "got -1.0"),
        ({"parse_us": float("nan")}, "/parse_us", "out_of_range", "got nan"),
        ({"order": "lifo"}, "/order", "out_of_range", "fifo, tic, reverse, random"),
        ({"steps": 0, "dropped": 0}, "/steps", "out_of_range", "got 0"),
        ({"steps": 9, "dropped": 5}, "/dropped", "out_of_range", "half of 9"),
        ({"dropped": -1}, "/dropped", "out_of_range", "got -1"),
        ({"seed": -1}, "/seed", "out_of_range", "0 or more"),
        ({"spread": 11.0}, "/spread", "out_of_range", "0 to 10"),
    ],
)
def test_options_out_of_range(fields, pointer, code, words) -> None:
    with pytest.raises(InvalidOptions) as error:
        predict(computed(5), options(**fields))
    (fault,) = error.value.faults
    assert (fault.pointer, fault.code) == (pointer, code)
    assert words in fault.detail


def test_all_options_out_of_range_are_named_at_once() -> None:
    with pytest.raises(InvalidOptions) as error:
        predict(computed(5), options(0, batch_size=0, order="", seed=-1))
    assert [f.pointer for f in error.value.faults] == [
        "/workers/0",
        "/batch_size",
        "/order",
        "/seed",
    ]


def test_steps_that_nothing_can_be_said_of() -> None:
    with pytest.raises(InvalidSteps):
        predict([], options())
    with pytest.raises(InvalidSteps) as error:
        predict([*computed(5), *computed(0)], options())
    (fault,) = error.value.faults
    assert (fault.pointer, fault.code) == ("/1/ops", FaultCode.OUT_OF_RANGE)
    with pytest.raises(InvalidSteps) as error:
        predict([*computed(5), transferred()], options(parse_us_per_byte=8e11))
    assert [f.pointer for f in error.value.faults] == ["/1/ops/0/bytes", "/1/ops/2/bytes"]


# The shape of the paper's curves ----------------------------------------------------------------


def curves(compute_us, gbps, counts):
    step = layered(layers=30, compute_us=compute_us)
    wanted = ThroughputOptions(counts, (gbps,), 32, steps=400, dropped=50, explain=False)
    answer = predict([step], wanted)
    assert answer.knees[0].ceiling_examples_per_s == pytest.approx(
        32 * gbps * 1e9 / 8 / INCEPTION_BYTES
    )
    return answer.rows, answer.knees[0].ceiling_examples_per_s


def test_where_computing_prevails_throughput_is_linear_and_saturates_at_the_link() -> None:
    """Lin saturates at half of it, since links are idle for most of their phases."""
    rows, most = curves(225_000, 10, (1, 2, 3, 8))
    one, two, three, eight = (row.examples_per_s for row in rows)
    assert two > 1.7 * one
    assert three > 2.4 * one
    assert 0.85 * most < eight <= most * 1.01
    assert rows[0].lin_examples_per_s == pytest.approx(one, rel=0.02)
    assert rows[-1].lin_examples_per_s < 0.6 * eight
    assert all(row.cynthia_examples_per_s < row.examples_per_s for row in rows)
    assert all(row.examples_per_s <= row.bound_examples_per_s * 1.01 for row in rows)


def test_where_the_network_prevails_lin_is_near_and_cynthia_at_half() -> None:
    rows, most = curves(15_000, 10, (1, 8, 16))
    one, eight, sixteen = (row.examples_per_s for row in rows)
    assert eight > 1.5 * one
    assert 0.8 * most < sixteen <= most * 1.01
    assert [row.lin_examples_per_s / row.examples_per_s for row in rows] == pytest.approx(
        [1, 1, 1], abs=0.15
    )
    assert all(row.cynthia_examples_per_s < 0.6 * row.examples_per_s for row in rows)


def test_workers_that_begin_together_settle_late_and_that_is_noted() -> None:
    """Pulls of 160 us, 1 us of compute, pushes of 160 us: together a link is full half the time."""
    ops = [
        StepOp("d", DOWNLINK, None, 160),
        StepOp("c", WORKER, 1.0, None, ("d",)),
        StepOp("u", UPLINK, None, 160, ("c",)),
    ]
    step = build_step(ops)
    together = run_steps([step], 2, SLOW, RunOptions(400, 20, spread=0.05))
    (row,) = predict([step], options(2, steps=400, dropped=20, explain=False)).rows
    assert row.examples_per_s > 1.2 * examples_per_s(pace_of(together), 10)[0]


def test_a_run_that_speeds_up_drifts() -> None:
    run = run_steps(computed(100), 1, SLOW, RunOptions(200, 0, spread=0.3))
    assert not drifts(run)
    ends = tuple(100.0 * k if k < 100 else 10_000 + 50.0 * (k - 100) for k in range(1, 201))
    assert drifts(replace(run, ends=(ends,), end=ends[-1]))
    assert not drifts(replace(run, ends=(ends[:4],), end=ends[3]))


def test_batches_that_depend_on_each_other_are_joined() -> None:
    run = run_steps(computed(100), 1, SLOW, RunOptions(200, 0))
    times, ends = 0.0, []
    for k in range(200):
        times += 100.0 + 20 * (k // 50 % 2)  # 50 slow ones, then 50 fast ones
        ends.append(times)
    slow = pace_of(replace(run, ends=(tuple(ends),), end=ends[-1]))
    times, mixed = 0.0, []
    for k in range(200):
        times += 100.0 + 20 * (k % 2)
        mixed.append(times)
    assert slow.mean_us == pytest.approx(110)
    assert slow.half_us > 5
    assert pace_of(replace(run, ends=(tuple(mixed),), end=mixed[-1])).half_us == pytest.approx(0)
