"""The recorded step beside its simulation, on paper: whatever the format."""

import pytest

from solver.graph import COMPUTE, Op, build
from solver.traces import READERS, Trace
from solver.traces.exit_check import TraceStep, checked, is_far
from solver.traces.report import report_of

#: 10 us, then 5 us of communication, then 1 us.
GRAPH = build(
    "x",
    [
        Op("a", COMPUTE, 10.0),
        Op("r", "all_reduce", None, 8, ("a",)),
        Op("b", COMPUTE, 1.0, None, ("r",)),
    ],
)


def trace(measured_us=16.0, measured=(("r", 5.0),)):
    report = report_of("x", GRAPH, assumed=["first"], measured_us=measured_us)
    return Trace(GRAPH, report, measured)


def test_a_format_without_times_is_not_compared():
    assert checked(trace()) == trace()


@pytest.mark.parametrize(
    ("measured_us", "far"),
    [
        (16.0, False),
        (15.6, False),  # 2.6 % longer than measured
        (15.5, True),  # 3.2 %
        (16.6, True),  # 3.6 % shorter
        (None, False),  # nothing to compare with
        (0.0, False),
    ],
)
def test_a_recorded_step_is_simulated(measured_us, far):
    report = checked(trace(measured_us), TraceStep()).report
    assert (report.recorded_us, report.assumed, report.warnings) == (16.0, ("first",), ())
    assert is_far(report) == far


def test_a_format_explains_the_comparison_and_may_have_run_otherwise():
    ran = build("x", [*GRAPH.ops, Op("c", COMPUTE, 4.0, None, ("b",))])
    explain = lambda one: ([f"took {one.report.recorded_us}"], ["so it is"])
    report = checked(trace(), TraceStep(explain, ran)).report
    assert report.recorded_us == 20.0
    assert (report.assumed, report.warnings) == (("first", "took 20.0"), ("so it is",))
    assert report.ops == 3


def test_a_step_that_cannot_be_simulated_is_said():
    """Each of two collectives of a channel after the other: by the graph, and as they ran."""
    ops = [Op("r", "all_reduce", None, 8), Op("s", "all_reduce", None, 8, ("r",))]
    graph = build("x", [Op("a", COMPUTE, 1.0), *ops])
    odd = Trace(graph, report_of("x", graph), (("s", 1.0), ("r", 1.0)))
    report = checked(odd, TraceStep()).report
    assert report.recorded_us is None
    assert report.warnings == (
        "The step cannot be simulated as recorded: The recorded order of the collectives "
        "contradicts the graph.",
    )


def test_every_reader_ends_with_the_check():
    """What a reader returns, it returns from the check."""
    for read in READERS.values():
        assert {"checked", "trace_of"} & read.__globals__.keys(), read.__module__
