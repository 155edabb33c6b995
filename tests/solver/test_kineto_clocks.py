"""Times of PyTorch's traces that contradict each other, on paper: each is said, once."""

import pytest

from solver.graph import RecordedStep
from solver.traces import TraceOptions, read_trace
from solver.traces.kineto.categories import GPU, RUNTIME
from tests.kineto_events import GPU as STREAM
from tests.kineto_events import event, kernel, note, sized, small, text, total


def said(events, **top):
    trace = read_trace([text(events, **top)], TraceOptions("x"))
    recorded = trace.graph.recorded or RecordedStep()
    assert set(recorded.unsound) <= set(trace.report.warnings)
    return trace.report.warnings, recorded.unsound


def moved(events, number, by, kinds=GPU):
    """The events of one correlation id, of these kinds, at another time."""
    return [
        {**one, "ts": one["ts"] + by}
        if one["cat"] in kinds and one["args"].get("correlation") == number
        else one
        for one in events
    ]


def test_times_that_agree_are_not_said():
    warnings, unsound = said(small())
    assert not unsound
    assert not any("begin" in one for one in warnings)


@pytest.mark.parametrize(("by", "is_much"), [(-1, None), (-2, False), (-5, True)])
def test_a_stream_runs_one_kernel_at_a_time(by, is_much):
    """The second forward kernel follows at once on the first, in a step of 100 us."""
    warnings, unsound = said(moved(small(), 2, by))
    found = [one for one in warnings if "stream of the GPU" in one]
    assert found == (
        []
        if is_much is None
        else [
            "1 kernel begins while another of the same stream of the GPU runs, by up to "
            f"{-by}.000 us, {-by}.000 us in all: a stream runs one at a time."
        ]
    )
    assert (found == list(unsound)) == (is_much is not False)


@pytest.mark.parametrize(("by", "is_much"), [(3, None), (4, False), (7, True)])
def test_no_kernel_begins_before_its_call(by, is_much):
    """The first kernel begins 2 us after its call."""
    warnings, unsound = said(moved(small(), 1, by, RUNTIME))
    found = [one for one in warnings if "before its call" in one]
    assert found == (
        []
        if is_much is None
        else [
            f"1 kernel begins before its call on the CPU, by up to {by - 2}.000 us: the clocks of "
            "GPU and CPU are apart, or the correlation ids are wrong."
        ]
    )
    assert (found == list(unsound)) == (is_much is not False)


def test_launches_of_a_channel_that_overlap_are_said():
    """Two sums of one process group on two streams, the second 2.5 ms too early."""
    group = {"Process Group Name": "0", "Process Group Description": "default_pg"}
    first, second = (
        total(number, at, start, start + 4_000, {**sized(25), **group})
        for number, at, start in ((4, 33, 41), (6, 44, 1_541))
    )
    second[1]["tid"] = 21
    events = [*small(), *first, *second]
    events = [one for one in events if one["args"].get("correlation") not in {4, 6}]
    events += [note("ProfilerStep#5", 0, 9_000), *first, *second][1:]
    warnings, _ = said(events)
    (found,) = [one for one in warnings if "on channel" in one]
    assert found == (
        "1 launch on channel network begins while another of it runs, by up to 2,500.000 us: a "
        "channel carries one at a time, so they count one after the other, and tell no cost."
    )


@pytest.mark.parametrize(
    ("ranks", "world", "count"), [(8, 4, 1), (4, 4, 0), (2, 4, 0), (8, None, 0)]
)
def test_a_group_is_no_larger_than_its_job(ranks, world, count):
    """Beside its collectives, in the trace's list, or both."""
    listed = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": ranks}
    beside = {"Process Group Name": "0", "Process Group Description": "default_pg"}
    both = {**sized(25), **beside, "Group size": ranks}, {**sized(50), **beside}
    job = {} if world is None else {"world_size": world, "rank": 0}
    for events, config in (
        (small(), [listed]),
        (small(*both), []),
        (small(*both), [listed]),
    ):
        warnings, _ = said(events, distributedInfo={**job, "pg_config": config})
        found = [one for one in warnings if "its job" in one]
        wrong = (
            "Process group 0 (default_pg) has 8 ranks, its job 4 (world_size): one of the two is "
            "wrong. The group's are taken."
        )
        assert found == [wrong] * count


def test_kernels_that_do_not_say_when_they_began_are_counted():
    lost = [event("gemm", "kernel", None, 5, STREAM), event(None, "kernel", 5, 5, STREAM)]
    warnings, unsound = said([*small(), *lost, *kernel(9, 62, 83, 84)])
    assert unsound == (
        "2 kernels left out, without a name, a start or a place: the step and the costs lack what "
        "they took.",
    )
    assert set(unsound) <= set(warnings)
