"""The recorded step beside its simulation, ranks beside each other, samples; on paper."""

from gzip import decompress as gunzip
from pathlib import Path

import pytest

from solver.errors import InvalidTrace
from solver.graph import COMPUTE, Op, build
from solver.traces import Report, Sample, Trace, TraceOptions, kineto
from solver.traces.kineto.comparison import RankComparison, comparison_said
from tests.kineto_events import AUTOGRAD, MAIN, NCCL, STEP, event, kernel, note, op, sized, small
from tests.kineto_events import text as written


def read(*files, **asked):
    return kineto.read([written(events) for events in files], TraceOptions("x", **asked))


def late(by=14):
    """The small step of a rank that comes late to its first collective: it runs for less long."""
    events = small()
    for e in events:
        if e["args"].get("correlation") == 4 and e["cat"] == "kernel":
            e["ts"], e["dur"] = e["ts"] + by, e["dur"] - by
    return events


def test_ranks_are_compared():
    trace = read(small(), late(), small())
    assert trace.measured == (("all_reduce 1", 6.0), ("all_reduce 2", 10.0))
    assert trace.report.recorded_us == trace.report.measured_us == 100.0
    said = [line for line in trace.report.assumed if "ranks" in line]
    assert said == [
        "Of 3 ranks the graph is that of file 2, the slowest, which the others wait for.",
    ]


def test_a_rank_can_be_asked_for():
    trace = read(small(), late(), rank=0)
    assert trace.measured == (("all_reduce 1", 20.0), ("all_reduce 2", 10.0))
    assert any("is that of file 1, as asked." in line for line in trace.report.assumed)
    times = [sample.time_us for sample in trace.samples]
    assert times == [6.0, 10.0]
    with pytest.raises(InvalidTrace, match="Files 0 to 1 are there, not rank 2"):
        read(small(), late(), rank=2)


def test_samples_are_of_all_steps_that_the_ranks_have_alike():
    second = [e | {"ts": e["ts"] + 200} for e in small() if e["name"] != STEP]
    for e in second:
        e["args"] = {
            key: value + 50 if key == "correlation" else value for key, value in e["args"].items()
        }
    both = [*small(), note("ProfilerStep#6", 200, 100), *second]
    other = [*late(), note("ProfilerStep#6", 200, 100)]
    trace = read(both, other, step=0)
    assert [sample.time_us for sample in trace.samples] == [6.0, 10.0]
    trace = read(both, other, step=0, rank=0)
    assert [sample.time_us for sample in trace.samples] == [6.0, 10.0, 20.0, 10.0]
    assert trace.samples[2] == Sample("network", "all_reduce", 100, 20.0)


@pytest.mark.parametrize(("start", "sizes"), [(60, [100]), (55, [])])
def test_launches_that_ran_at_once_are_no_samples(start, sizes):
    """The first runs until 61: beside its last us it is its own, beside more it is not."""
    events = small()
    for e in events:
        if e["args"].get("correlation") == 6 and e["cat"] == "kernel":
            e["ts"] = start
    assert [sample.bytes for sample in read(events).samples] == sizes


def test_launches_of_threads_that_share_a_network_tell_no_cost():
    """Gloo's, recorded: 6.6 and 12.8 ms beside another, 0.8 and 3.0 ms alone."""
    path = Path(__file__).parents[1] / "data" / "kineto_gloo_0.json.gz"
    samples = kineto.read([gunzip(path.read_bytes())], TraceOptions("x")).samples
    assert [(each.bytes, each.time_us) for each in samples] == [
        (1_071_144, 802.606),
        (526_336, 2999.365),
    ]


def test_the_update_waits_for_all_gradients_in_the_simulation_as_recorded():
    """A step with an idle forward pass, in which the second update of the graph would hide."""
    events = small()
    for e in events:
        if e["args"].get("correlation") == 2 and e["cat"] == "kernel":
            e["ts"] = 18
    trace = read(events)
    assert trace.report.recorded_us == trace.report.measured_us == 100.0


def blocked(calls):
    """A step of a rank that is late to launch: the GPU is idle, then the collective runs."""
    events, at = [note(STEP, 0, 30 * calls + 10), *kernel(99, 0, 1, 4)], 5
    for i in range(calls):
        launched, ran = kernel(10 + i, at, at + 9, at + 20, MAIN, NCCL, "nccl")
        ran["args"] |= sized(25)
        events += [launched, ran, *kernel(200 + i, at + 10, at + 21, at + 29)]
        at += 30
    return events


@pytest.mark.parametrize("calls", [1, 7])
def test_the_time_that_a_launch_takes_is_the_host_s(calls):
    trace = read(blocked(calls))
    assert trace.report.recorded_us == trace.report.measured_us
    compute = sum(o.duration_us for o in trace.graph.ops if o.kind == COMPUTE)
    assert compute == trace.report.measured_us - 11 * calls


def crossing():
    """An all-gather of the forward pass that the backward pass waits for."""
    gather = sized(25, "_allgather_base") | {"Out msg nelems": 50}
    launched, ran = kernel(2, 8, 10, 40, MAIN, NCCL, "nccl")
    ran["args"] |= gather
    return [
        note(STEP, 0, 100),
        *kernel(1, 3, 5, 20),
        launched,
        ran,
        op("autograd::engine::evaluate_function: ABackward0", 21, 60, AUTOGRAD),
        *kernel(3, 22, 23, 30, AUTOGRAD),
        *kernel(4, 31, 41, 80, AUTOGRAD),
    ]


def test_a_collective_across_the_cut_keeps_the_step_as_it_was():
    trace = read(crossing())
    assert trace.report.recorded_us == trace.report.measured_us == 100.0
    assert [(o.id, o.after) for o in trace.graph.ops] == [
        ("forward 1", ()),
        ("forward 1 host", ("forward 1",)),
        ("all_gather 1", ("forward 1 host",)),
        ("forward 2", ("forward 1 host",)),
        ("forward 2 host", ("forward 2",)),
        ("backward 1", ("forward 2 host",)),
        ("backward 2", ("backward 1", "all_gather 1")),
        ("backward 2 host", ("backward 2",)),
    ]
    assert any("cannot begin there" in line for line in trace.report.assumed)


def graph():
    return build(
        "x",
        [
            Op("a", COMPUTE, 10.0, stream="gpu"),
            Op("a host", COMPUTE, 4.0, None, ("a",), stream="host"),
            *(Op(f"all_reduce {i}", "all_reduce", None, 8, ("a",)) for i in range(5)),
            Op("b", COMPUTE, 1.0, None, ("a host", "all_reduce 4"), stream="gpu"),
        ],
    )


@pytest.mark.parametrize(
    ("measured", "recorded", "waited", "said"),
    [
        (100.0, 103.0, 5.0, []),
        (100.0, 97.0, 5.0, []),
        (
            100.0,
            95.0,
            0.0,
            [
                "Simulated as recorded the step is 5.0% shorter than measured: the host keeps the "
                "GPU idle for 4.000 us; nothing recorded waits for 4 collectives (all_reduce 0, "
                "all_reduce 1, all_reduce 2, ...)."
            ],
        ),
    ],
)
def test_a_difference_is_explained(measured, recorded, waited, said):
    report = Report("kineto", 1, 0, 0, {}, measured_us=measured, recorded_us=recorded)
    assert comparison_said(Trace(graph(), report), waited)[1] == said


def test_waiting_for_stragglers_is_a_reason():
    whole = build("x", [Op("a", COMPUTE, 1.0), Op("r", "all_reduce", None, 8, ("a",)),
                        Op("b", COMPUTE, 1.0, None, ("r",))])  # fmt: skip
    report = Report("kineto", 1, 0, 0, {}, measured_us=10.0, recorded_us=20.0)
    _, (said,) = comparison_said(Trace(whole, report), 7.0)
    assert said.startswith("Simulated as recorded the step is 100.0% longer than measured")
    assert said.endswith("7.000 us of the collectives' times are waiting for slower ranks.")


def test_who_waits_is_counted():
    ranks = RankComparison(((5.0, 2.0, 9.0), (1.0, 2.0, 4.0)))
    assert ranks.least == [1.0, 2.0, 4.0]
    assert ranks.waited == [9.0, 0.0]
    assert ranks.slowest == 1


def test_an_op_that_waits_on_the_cpu_is_no_compute():
    """The wait lies inside the op that called the collective, as for DTensor on gloo."""
    events = [note(STEP, 0, 100), op("aten::mm", 5, 15), op("Redistribute", 20, 50)]
    inner = op("c10d::allreduce_", 22, 40)
    inner["args"] = {"Input Dims": [[[25]]], "Input type": ["TensorList"]}
    shapes = {"Input Dims": [[25]], "Input type": ["float"]}
    events += [inner, note("gloo:all_reduce", 25, 30, (1, 9)) | {"args": shapes}]
    events += [op("aten::copy_", 27, 5, (1, 9)), op("_c10d_functional::wait_tensor", 64, 1)]
    events += [op("aten::add", 70, 10), event("record_param_comms", "cpu_op", 63, 1)]
    trace = read(events)
    compute = [(o.id, o.duration_us) for o in trace.graph.ops if o.kind == COMPUTE]
    assert sum(time for _, time in compute) == 100 - 30
    assert sum(time for name, time in compute if "host" not in name) == 25
    assert trace.report.recorded_us == trace.report.measured_us == 100.0


def test_a_step_that_cannot_be_simulated_is_said(monkeypatch):
    def contradicts(trace):
        raise ValueError("The recorded order contradicts the graph.")

    monkeypatch.setattr("solver.traces.exit_check.recorded_time", contradicts)
    report = read(small()).report
    assert (report.measured_us, report.recorded_us) == (100.0, None)
    assert report.warnings[-1].startswith("The step cannot be simulated as recorded: The recorded")


def test_each_rank_is_given_once_and_the_missing_are_told():
    """Two files of one rank are of two runs, whatever else they have in common."""
    first, second, other = (
        written(small(), distributedInfo={"world_size": 4, "rank": rank}) for rank in (0, 1, 1)
    )
    with pytest.raises(InvalidTrace) as error:
        kineto.read([first, second, other + b" "], TraceOptions())
    assert [(fault.pointer, fault.code) for fault in error.value.faults] == [
        ("/files/2", "ranks_differ")
    ]
    assert "This is rank 1, as file 2 is" in str(error.value)
    for files, says in (
        ([first], "The files are of one rank"),
        ([first, second], "The files are of 2 ranks"),
    ):
        [warning] = [w for w in kineto.read(files, TraceOptions()).report.warnings if says in w]
        assert "those of all 4" in warning
    whole = [written(small(), distributedInfo={"world_size": 4, "rank": rank}) for rank in range(4)]
    assert not any("files are of" in w for w in kineto.read(whole, TraceOptions()).report.warnings)
