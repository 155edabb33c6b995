"""What steering makes of what it saw: ends of launches, compute, graphs, tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from interlace_client.torch.calibration.table import time_of
from interlace_client.torch.drift.channel import BusyChannel, ratios, stretches
from interlace_client.torch.drift.figures import Conditions, TypicalStep, figures_of
from interlace_client.torch.drift.recorder import Recorder, StartedLaunch
from interlace_client.torch.drift.refreshed import fresh_cluster, fresh_graph
from interlace_client.torch.drift.work import work_clock

TIMES = st.integers(1, 50).map(float)


def seen(starts, costs, looks):
    """Run launches one after another; say what one sees who looks at these times only."""
    found, free = [], 0.0
    for start, cost in zip(starts, costs, strict=True):
        free = max(free, start) + cost
        over = next(look for look in looks if look >= free)
        running = max((look for look in looks if start <= look < free), default=start)
        found.append(StartedLaunch(start, (), running, over))
    return found


@given(st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=8), st.floats(0.5, 3.0))
def test_launches_that_are_always_looked_at_took_what_they_took(pairs, factor):
    starts, at = [], 0.0
    for gap, _ in pairs:
        starts.append(at)
        at += gap
    costs = [cost * factor for _, cost in pairs]
    ends, free = [], 0.0
    for start, cost in zip(starts, costs, strict=True):
        free = max(free, start) + cost
        ends += [free - 1e-9, free]
    found = stretches(seen(starts, costs, sorted({*starts, *ends})))
    assert [s.end - s.begin for s in found] == pytest.approx(costs, abs=1e-6)
    assert ratios(found, [cost for _, cost in pairs]) == pytest.approx([factor] * len(pairs))


def test_launches_whose_own_ends_nobody_saw_are_taken_together():
    launches = seen([0.0, 1.0, 2.0], [10.0, 20.0, 30.0], [0.0, 1.0, 2.0, 59.999, 60.0])
    assert ratios(stretches(launches), [5.0, 10.0, 15.0]) == pytest.approx([2.0] * 3, rel=1e-3)


def test_a_launch_whose_end_nobody_saw_and_nobody_waited_for_is_not_counted():
    launches = seen([0.0, 100.0], [10.0, 30.0], [0.0, 50.0, 100.0, 129.999, 130.0])
    assert ratios(stretches(launches), [5.0, 15.0]) == [None, pytest.approx(2.0, rel=1e-3)]


def test_a_launch_that_has_not_ended_is_not_counted():
    launches = [StartedLaunch(0.0, (), 5.0, None)]
    assert ratios(stretches(launches), [100.0]) == [None]


@given(
    st.lists(st.tuples(TIMES, TIMES), max_size=6),
    st.lists(st.tuples(TIMES, TIMES), max_size=6),
    st.sampled_from([1.0, 1.25, 2.0]),
)
def test_the_clock_of_compute_stands_in_waits_and_is_slower_beside_launches(gaps, runs, slowdown):
    """Against a sum over microseconds."""
    waits, busy = _spans(gaps), _spans(runs)
    clock = work_clock(
        waits, [BusyChannel(a, b, 0.0, 0.0, is_queued=False) for a, b in busy], slowdown
    )
    done = 0.0
    for at in range(700):
        assert clock(at) == pytest.approx(done)
        is_waiting = any(a <= at < b for a, b in waits)
        is_beside = any(a <= at < b for a, b in busy)
        done += 0.0 if is_waiting else 1 / slowdown if is_beside else 1.0


def _spans(pairs):
    found, at = [], 0.0
    for gap, length in pairs:
        found.append((at + gap, at + gap + length))
        at += gap + length
    return found


@given(
    st.dictionaries(st.integers(1, 2**20), st.floats(0.2, 5.0), min_size=1, max_size=6),
    st.integers(2, 8),
)
def test_a_fresh_table_is_monotone_and_keeps_what_was_not_off(factors, points):
    table = [(4**k, 10.0 + 4**k) for k in range(points)]
    cluster = {"workers": 4, "table": table, "a": 1}
    fresh = fresh_cluster(cluster, list(factors.items()))
    times = [time for _, time in fresh["table"]]
    assert times == sorted(times)
    assert (fresh["workers"], fresh["a"]) == (4, 1)
    same = fresh_cluster(cluster, [(size, 1.0) for size in factors])
    for size in {*factors, *(size for size, _ in table)}:
        before, after = time_of(table, size), time_of(same["table"], size)
        assert after == pytest.approx(before, abs=2e-3)


def test_a_fresh_table_has_each_size_as_measured():
    cluster = {"table": [[100, 10.0], [10_000, 20.0], [1_000_000, 120.0]]}
    fresh = fresh_cluster(cluster, [(10_000, 2.0), (10_000, 2.2), (10_000, 9.0), (1_000_000, 3.0)])
    assert fresh["table"] == [[100, 22.0], [10_000, 44.0], [1_000_000, 360.0]]
    assert fresh_cluster(cluster, []) == cluster
    measured = {"workers": 4, "cost_model": {**cluster, "spread": 0.1}}
    assert fresh_cluster(measured, [(10_000, 2.0)])["cost_model"] == {
        "table": [[100, 20.0], [10_000, 40.0], [1_000_000, 240.0]],
        "spread": 0.1,
    }


def test_a_fresh_graph_has_the_measured_compute():
    def compute(op, us):
        return {"id": op, "kind": "compute", "duration_us": us}

    graph = {
        "name": "kept",
        "ops": [
            compute("backward:b", 10.0),
            {"id": "grad:b", "kind": "all_reduce", "bytes": 4},
            compute("backward:a", 20.0),
            compute("backward:end", 1.0),
            compute("update:a", 4.0),
            compute("forward:a", 6.0),
        ],
    }
    figures = TypicalStep((100.0,), 40.0, {"b": 0.0, "a": 33.0}, 7.0, False, ())
    fresh = fresh_graph(graph, figures)
    durations = [op.get("duration_us") for op in fresh["ops"]]
    assert durations == pytest.approx([20.0, None, 33.0, 7.0, 8.0, 12.0])
    assert fresh["name"] == "kept"
    without = {"ops": [compute("backward:b", 0.0), compute("forward:a", 0.0)]}
    durations = [op["duration_us"] for op in fresh_graph(without, figures)["ops"]]
    assert sum(durations) == pytest.approx(figures.compute_us)


def test_figures_are_medians_of_the_slowest():
    rows = [
        [100.0, 2.0, 30.0, 5.0, 0.0, 20.0, -1.0, float("-inf")],
        [900.0, 2.0, 31.0, 5.0, 0.0, 22.0, -1.2, float("-inf")],
        [110.0, 2.0, 99.0, 6.0, 0.0, 24.0, -1.4, -3.0],
    ]
    figures = figures_of(rows, ["b", "a"], [10, 30], 2)
    assert figures == TypicalStep(
        (100.0, 900.0, 110.0), 31.0, {"b": 0.0, "a": 22.0}, 5.0, True, ((10, 1.2), (30, 3.0))
    )
    assert figures.conditions == Conditions(110.0, 58.0, (12 + 90) / 40)


def test_a_second_optimizer_ends_no_step():
    now = iter(range(100))
    steps = []
    recorder = Recorder(5, lambda: steps.append(recorder.number), lambda: float(next(now)))
    for _ in range(3):
        recorder.ready("a")
        recorder.stepped()
        recorder.stepped()
    assert steps == [1, 2, 3]
    assert [number for number, _ in recorder.times()] == [1, 2]
