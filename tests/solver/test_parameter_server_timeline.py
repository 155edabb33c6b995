"""Recorded steps as Chrome traces."""

from itertools import pairwise

from solver.parameter_server.links import ServerLinks
from solver.parameter_server.record import RunOptions
from solver.parameter_server.run import run_steps
from solver.parameter_server.steps import DOWNLINK, SERVER, WORKER, StepOp, build_step
from solver.parameter_server.timeline import steps_trace
from tests.training_steps import layered

#: 28 MB a millisecond, so that it cuts nothing below.
FAST = ServerLinks(224.0)


def events_of(trace):
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def test_services_of_a_worker_by_hand() -> None:
    """A window of 10 bytes cuts the first transfer; its rest comes behind the second."""
    step = build_step(
        [
            StepOp("a", "downlink:x", None, 25),
            StepOp("b", "downlink:x", None, 5),
            StepOp("c", WORKER, 4.0, None, ("b",)),
            StepOp("s", "server:x", 2.0, None, ("a", "c")),
        ]
    )
    other = build_step([StepOp("w", WORKER, 7.0), StepOp("t", "server:x", 1.0, None, ("w",))])
    steps = [step, other]
    options = RunOptions(3, 0, seed=12)
    run = run_steps(steps, 1, ServerLinks(0.008, 10), options, range(3))
    drawn = [1, 0, 1]
    assert [run.services[0].profile, run.services[2].profile, run.services[-1].profile] == drawn
    trace = steps_trace(steps, run)
    assert trace["otherData"] == {"workers": 1}
    names = [event for event in trace["traceEvents"] if event["ph"] == "M"]
    assert [(e["name"], e["pid"], e["tid"], e["args"]["name"]) for e in names] == [
        ("process_name", 0, 0, "worker 0"),
        ("thread_name", 0, 0, "worker"),
        ("thread_name", 0, 1, "server:x"),
        ("thread_name", 0, 2, "uplink:x"),
        ("thread_name", 0, 3, "downlink:x"),
    ]
    first, second = {"step": 0, "profile": 1}, {"step": 1, "profile": 0}
    found = [
        (e["name"], e["cat"], e["tid"], e["ts"], e["dur"], e["args"]) for e in events_of(trace)
    ]
    assert found[:7] == [
        ("w", WORKER, 0, 0.0, 7.0, first),
        ("t", SERVER, 1, 7.0, 1.0, first),
        ("a", DOWNLINK, 3, 8.0, 10.0, second | {"bytes": 10, "service": 1}),
        ("b", DOWNLINK, 3, 18.0, 5.0, second | {"bytes": 5, "service": 1}),
        ("a (rest)", DOWNLINK, 3, 23.0, 15.0, second | {"bytes": 15, "service": 2}),
        ("c", WORKER, 0, 23.0, 4.0, second),
        ("s", SERVER, 1, 38.0, 2.0, second),
    ]


def test_a_window_of_steps_of_each_worker_fits_its_threads() -> None:
    step = layered(layers=6, size=1_000_000, compute_us=1000.0, update_us=3.0)
    run = run_steps([step], 3, FAST, RunOptions(40, 5, spread=0.1), range(10, 30))
    events = events_of(steps_trace([step], run))
    assert len(events) == 3 * 20 * len(step.ops)
    assert {(e["pid"], e["args"]["step"]) for e in events} == {
        (worker, number) for worker in range(3) for number in range(10, 30)
    }
    for worker in range(3):
        for thread in range(4):
            mine = [e for e in events if (e["pid"], e["tid"]) == (worker, thread)]
            spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in mine)
            assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(spans))
    assert sum(e["args"].get("bytes", 0) for e in events) == 60 * step.bytes_on(DOWNLINK, None) * 2


def test_a_run_without_records_is_an_empty_trace() -> None:
    step = layered(layers=2)
    assert steps_trace([step], run_steps([step], 2, FAST, RunOptions(2, 0)))["traceEvents"] == []
