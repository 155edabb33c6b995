"""The recorded step beside its simulation, on paper: whatever the format."""

import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from solver.errors import InvalidTrace
from solver.graph import COMPUTE, Op, RecordedStep, build
from solver.limits import MAX_UNSOUND, MAX_UNSOUND_CHARACTERS
from solver.traces import READERS, Sample, Trace, TraceChannel, TraceOptions
from solver.traces.exit_check import TraceStep, checked, is_far, is_kernel
from solver.traces.report import report_of
from tests import chakra_bytes, horovod_events, nsys_bytes
from tests.solver import (
    test_astra_text,
    test_dnn_partitioning,
    test_flexflow,
    test_schedule_simulator,
    test_slow_rank_files,
    test_tensorflow,
)

DATA = Path(__file__).parents[1] / "data"
#: Formats of which the recorded step is compared with its simulation.
RECORDED = {"kineto", "pytorch_et", "xla", "tensorflow", "horovod", "nsys", "flexflow"}

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
    found = checked(trace(measured_us), TraceStep())
    report = found.report
    assert (report.recorded_us, report.assumed) == (16.0, ("first",))
    assert is_far(report) == far == bool(report.warnings)
    assert found.graph.recorded == RecordedStep(measured_us, 16.0, unsound=report.warnings)
    assert all("something of it is not in the graph" in said for said in report.warnings)


def test_a_format_explains_the_comparison_and_may_have_run_otherwise():
    ran = build("x", [*GRAPH.ops, Op("c", COMPUTE, 4.0, None, ("b",))])
    explain = lambda one: ([f"took {one.report.recorded_us}"], ["so it is"])
    report = checked(trace(), TraceStep(explain, ran)).report
    assert report.recorded_us == 20.0
    assert (report.assumed, report.warnings) == (("first", "took 20.0"), ("so it is",))
    assert report.ops == 3


def test_what_a_format_says_of_a_step_that_is_near_takes_no_gain():
    found = checked(trace(), TraceStep(lambda one: ([], ["by the way"])))
    assert (found.report.warnings, found.graph.recorded.unsound) == (("by the way",), ())
    found = checked(trace(12.0), TraceStep(lambda one: ([], ["the host is idle"])))
    assert found.report.warnings == found.graph.recorded.unsound == ("the host is idle",)


@pytest.mark.parametrize(
    ("measured", "backward_us", "place"),
    [
        ((("r", 12.0), ("s", 5.0)), 10.0, "channel network takes 17.000 us"),
        ((("r", 4.0), ("s", 1.0)), 17.0, "stream line takes 17.000 us"),
    ],
)
def test_nothing_is_at_work_for_longer_than_the_step(measured, backward_us, place):
    """Two launches at once, or two ops of a stream, in a step of 16 us."""
    ops = [Op("r", "all_reduce", None, 8), Op("s", "all_reduce", None, 8)]
    graph = build("x", [Op("a", COMPUTE, backward_us, stream="line"), *ops])
    found = checked(Trace(graph, report_of("x", graph, measured_us=16.0), measured), TraceStep())
    assert f"{place}, in a step of 16.000 us: times overlap" in found.report.warnings[0]
    assert found.graph.recorded.unsound == found.report.warnings


def test_a_stream_of_free_order_may_be_of_several_devices():
    graph = build("x", [*GRAPH.ops, Op("c", COMPUTE, 16.0, stream="any")], free=["any"])
    measured = report_of("x", graph, measured_us=16.0)
    assert checked(Trace(graph, measured, (("r", 5.0),)), TraceStep()).report.warnings == ()


def test_a_collective_without_bytes_is_refused():
    ops = tuple(op._replace(bytes=None) for op in GRAPH.ops)
    with pytest.raises(InvalidTrace) as caught:
        checked(replace(trace(), graph=replace(GRAPH, ops=ops)))
    assert [fault.code for fault in caught.value.faults] == ["no_sizes"]


def test_launches_timed_on_the_host_alone_are_refused():
    with pytest.raises(InvalidTrace, match="No kernel was recorded of 'nccl:all_reduce' and 1 m"):
        checked(trace(), on_host=["nccl:all_reduce"] * 2 + ["nccl:broadcast"])
    assert [is_kernel(name) for name in ("nccl:all_reduce", "NcclAllReduce", "gloo:x", "mpi")] == [
        *(True, True, False, False)
    ]


#: A link of 14,400 Gbit/s carries 1.8 MB a us; of an all-reduce each byte passes it once.
FAST, SLOW = (
    Sample("network", "all_reduce", 1_810_000, 1.0),
    Sample("network", "all_reduce", 1_790_000, 1.0),
)
GATHERED = Sample("network", "all_gather", 1_810_000, 1.0)


@pytest.mark.parametrize(
    ("samples", "workers", "left"),
    [
        ([FAST], 8, []),
        ([FAST, FAST, SLOW], None, []),  # most are
        ([FAST, SLOW, SLOW], 8, [FAST, SLOW, SLOW]),  # a single one is the fit's to leave out
        ([FAST, GATHERED], 8, [GATHERED]),  # of which 7/8 pass a link
        ([SLOW], 577, []),  # between nodes 12,800 Gbit/s
        ([FAST], 1, [FAST]),  # one worker sends nothing
        ([], 8, []),
    ],
)
def test_launches_faster_than_any_link_tell_no_cost(samples, workers, left):
    channels = (TraceChannel("network", workers, "by hand"),)
    found = checked(replace(trace(), channels=channels, samples=tuple(samples)), TraceStep())
    assert list(found.samples) == left
    said = found.report.warnings
    assert len(said) == (len(left) < len(samples))
    assert found.graph.recorded == RecordedStep(16.0, 16.0, unsound=said)
    assert all("No cost is given" in one for one in said)


@pytest.mark.parametrize(
    ("kind", "sizes", "us_per_byte", "workers", "said"),
    [
        ("all_reduce", (10**6, 2 * 10**6), 4.4, 2, "all_reduce comes out as 0.0018 Gbit/s"),
        ("all_gather", (10**6, 2 * 10**6), 4.4, 8, "all_gather comes out as 0.0016 Gbit/s"),
        ("all_reduce", (10**6,), 4.4, None, "0.0018 Gbit/s, less than the 0.01 Gbit/s"),
        ("all_reduce", (10**6, 2 * 10**6), 0.4, 2, ""),  # 0.02 Gbit/s
        ("all_reduce", (50, 100), 4.4, 2, ""),  # by 0.44 ms: launches wait so long
        ("all_reduce", (10**6, 2 * 10**6), 4.4, 1, ""),  # one worker sends nothing
        ("all_reduce", (1, 1, 400), 2e-4, 2, "2 of 3 launches of all_reduce take less than 1 ns"),
        ("all_reduce", (10, 100, 400), 2e-4, 2, ""),
    ],
)
def test_costs_that_no_network_has_take_the_gain(kind, sizes, us_per_byte, workers, said):
    samples = tuple(Sample("network", kind, size, size * us_per_byte) for size in sizes)
    channels = (TraceChannel("network", workers, "by hand"),)
    found = checked(replace(trace(), channels=channels, samples=samples))
    assert found.samples == samples  # they have their cost all the same
    assert len(found.report.warnings) == bool(said)
    assert all(one.startswith("Channel network: ") for one in found.report.warnings)
    assert said in "".join(found.report.warnings)
    assert (found.graph.recorded or RecordedStep()).unsound == found.report.warnings


def test_what_is_wrong_without_a_graph_is_a_warning_all_the_same():
    found = checked(replace(trace(), graph=None, samples=(FAST,)), unsound=["The clock stood."])
    assert (found.graph, found.samples) == (None, ())
    assert [said.partition(":")[0] for said in found.report.warnings] == [
        "The clock stood.",
        "Channel network",
    ]


def test_reasons_are_few_and_short():
    """As many as a graph may carry, and no longer ones."""
    samples = tuple(replace(FAST, channel=f"c{i}" * 600) for i in range(MAX_UNSOUND + 1))
    found = checked(replace(trace(), samples=samples))
    assert len(found.report.warnings) == MAX_UNSOUND + 1
    unsound = found.graph.recorded.unsound
    assert [len(said) for said in unsound] == [MAX_UNSOUND_CHARACTERS] * MAX_UNSOUND


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


SMALL = {
    "kineto": ["kineto_gloo_0.json.gz"],
    "pytorch_et": ["et_gloo.json.gz", "et_gloo_kineto.json.gz"],
    "xla": ["jax_profile.json.gz", "jax_hlo.txt.gz"],
    "hlo": ["jax_profile.json.gz", "jax_hlo.txt.gz"],
    "tensorflow": [
        test_tensorflow.text(
            [
                *test_tensorflow.HEAD,
                *test_tensorflow.COLLECTIVE,
                *(test_tensorflow.shown(2, name, 400) for name in ("sum1", "sum2")),
            ]
        )
    ],
    "nsys": [nsys_bytes.step(nsys_bytes.Export()).bytes],
    "dlc": ["dlc_w0.txt"],
    "flight_recorder": [test_slow_rank_files.dumped()],
    "horovod": [horovod_events.text(horovod_events.steps())],
    "pipedream": [
        b"node1 -- Linear -- forward_compute_time=1, backward_compute_time=1, parameter_size=4"
    ],
    "dnn_partitioning": [json.dumps(test_dnn_partitioning.SMALL).encode()],
    "astra_text": [test_astra_text.SMALL.encode()],
    "flexflow": [test_flexflow.text(*test_flexflow.SMALL)],
    "schedule_simulator": [test_schedule_simulator.text()],
    "chakra": [
        chakra_bytes.file(
            chakra_bytes.node(1, 4, 20, name="a"),
            chakra_bytes.node(2, 7, 5, after=[1], comm_type=0, comm_size=8),
        )
    ],
}


#: Dumps of the flight recorder give a report and no graph.
GIVING = [form for form in READERS if form != "flight_recorder"]


@pytest.mark.parametrize("form", GIVING)
def test_what_a_reader_returns_has_passed_the_check(form, monkeypatch):
    passed = []

    def noted(*args, **named):
        passed.append(checked(*args, **named))
        return passed[-1]

    for name, module in list(sys.modules.items()):
        if name.startswith("solver.traces.") and getattr(module, "checked", None) is checked:
            monkeypatch.setattr(module, "checked", noted)
    files = [unpacked(file) if isinstance(file, str) else file for file in SMALL[form]]
    found = READERS[form](files, TraceOptions("x"))
    (one,) = passed
    assert (found.graph is None) == (form == "flight_recorder")  # it has no times of compute
    assert found == replace(one, report=found.report)
    assert found.report.recorded_us == one.report.recorded_us
    assert (found.report.recorded_us is None) == (form not in RECORDED)


def unpacked(name):
    content = (DATA / name).read_bytes()
    return gzip.decompress(content) if name.endswith(".gz") else content
