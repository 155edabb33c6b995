"""Recorded transfers: replayed by hand and beside the simulator, and what fits find in them."""

from itertools import accumulate
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InvalidSteps
from solver.parameter_server.fit import fit_transfers
from solver.parameter_server.links import ServerLinks
from solver.parameter_server.record import RunOptions
from solver.parameter_server.recorded import RecordedTransfer, replayed_ends
from solver.parameter_server.run import run_steps
from solver.parameter_server.steps import StepOp, build_step

#: 1 byte/us.
GBPS = 0.008


def pull(size, start=0.0, end=0.0, parse=None, server=""):
    return RecordedTransfer(f"downlink{server}", size, start, end, parse)


def push(size, start, end):
    return RecordedTransfer("uplink", size, start, end)


def test_a_window_by_hand():
    # 4 of the first 0-4, the second 4-7, 4 of the third 7-11, rests in that order
    transfers = [pull(10), pull(3), pull(5, 1.0)]
    assert replayed_ends(transfers, 1.0, 4) == [17.0, 7.0, 18.0]
    assert replayed_ends(transfers, 1.0, inf) == [10.0, 13.0, 18.0]


def test_links_share_the_interface_of_the_worker():
    # both at half speed 0-4, then the longer alone
    assert replayed_ends([pull(2, server=":a"), pull(6, server=":b")], 1.0, inf) == [4.0, 8.0]


def test_a_link_is_idle_between():
    assert replayed_ends([pull(2, 5.0), pull(2, 1.0)], 1.0, inf) == [7.0, 3.0]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), min_size=1, max_size=8),
    st.sampled_from([1, 3, 100]),
)
def test_replayed_as_the_simulator_serves_one_worker(waits, window):
    starts = list(accumulate(float(wait) for wait, _ in waits))
    ops = [
        StepOp(f"wait{i}", "worker", float(wait), None, (f"wait{i - 1}",) if i else ())
        for i, (wait, _) in enumerate(waits)
    ]
    ops += [
        StepOp(f"pull{i}", "downlink", None, size, (f"wait{i}",))
        for i, (_, size) in enumerate(waits)
    ]
    step = build_step(ops)
    run = run_steps([step], 1, ServerLinks(GBPS, window), RunOptions(1, 0), range(1))
    ends = {}
    for service in run.services:
        ends[step.ops[service.op].id] = service.end
    transfers = [pull(size, start) for start, (_, size) in zip(starts, waits, strict=True)]
    expected = [ends[f"pull{i}"] for i in range(len(waits))]
    assert replayed_ends(transfers, 1.0, window) == pytest.approx(expected)


def recorded(rate, window, latency=0.0):
    """Steps whose transfers end as a link of such a rate and window ends them."""
    for scale in (1, 2, 3):
        sizes = [9_000 * scale, 500, 7_000, 300 * scale, 4_000]
        asked = [pull(size, 10.0) for size in sizes]
        ends = replayed_ends(asked, rate, window)
        pulls = [
            pull(size, 10.0, end, 0.002 * size + 3.0) for size, end in zip(sizes, ends, strict=True)
        ]
        pushes = [push(800 * scale, 9_000.0, 9_000.0 + 800 * scale / rate + latency)]
        yield [*pulls, *pushes]


@pytest.mark.parametrize("window", [3_000, inf])
def test_a_fit_finds_what_was_put_in(window):
    fit = fit_transfers(list(recorded(10.0, window)))
    assert fit.bandwidth_gbps == pytest.approx(0.08)
    assert fit.latency_us == pytest.approx(0.0, abs=1e-6)
    assert (fit.parse_us_per_byte, fit.parse_us) == pytest.approx((0.002, 3.0))
    if window == inf:
        assert fit.win_bytes is None
        assert [errors.most for errors in fit.errors] == pytest.approx([0.0, 0.0], abs=1e-9)
    else:  # among the windows that are tried
        assert fit.win_bytes == pytest.approx(window, rel=0.1)
        assert fit.errors[0].mean < 0.05
    assert [(e.direction, e.transfers) for e in fit.errors] == [("downlink", 15), ("uplink", 3)]


def test_errors_by_hand():
    # a rate of 1: the first ends at 10 as recorded, the second at 30
    steps = [[pull(10, 0.0, 10.0)], [pull(20, 10.0, 30.0)], [push(30, 0.0, 30.0)]]
    fit = fit_transfers(steps)
    assert fit.bandwidth_gbps == pytest.approx(GBPS)
    assert [(e.mean, e.median, e.p95, e.most) for e in fit.errors] == [
        pytest.approx((0.0, 0.0, 0.0, 0.0), abs=1e-9)
    ] * 2
    assert (fit.parse_us_per_byte, fit.parse_us) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([], "No transfer has start_us"),
        ([[]], "No transfer has start_us"),
        # ends before it starts
        ([[pull(5, 3.0, 2.0)]], "ends at 2, before 3"),
        # no time at all; longer, the fewer bytes
        ([[pull(5, 3.0, 3.0)]], "take no longer the more bytes"),
        ([[pull(5, 0.0, 30.0)], [pull(50, 0.0, 3.0)]], "take no longer the more bytes"),
    ],
)
def test_recordings_that_are_refused(steps, says):
    with pytest.raises(InvalidSteps) as caught:
        fit_transfers(steps)
    assert says in caught.value.faults[0].detail
