"""Communication of unknown bytes: kept at its time and its place, counted, and never planned."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cli.rendering.reports import render
from app.schemas.graphs import GraphBody
from app.schemas.problem import graph_json, graph_text
from app.services.trace_clusters import with_cluster
from solver.costs import Cluster, network_of
from solver.exports import export
from solver.graph import ALL_REDUCE, COMPUTE, RecordedStep, build
from solver.graph.compact import compact
from solver.planning.plan import plan
from solver.traces import Total, TraceOptions, kineto, xla
from solver.traces.recorded import recorded_time
from solver.traces.unsized import UnsizedLaunches
from tests.kineto_events import GPU, MAIN, NCCL, STEP, kernel, note, sized, small, text
from tests.sampling import cases
from tests.solver.test_xla import CPU, HLO, cpu_run, on_cpu
from tests.solver.test_xla import text as xla_text

OTHER = (0, 21)
COALESCED = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def read(events):
    return kineto.read([text(events)], TraceOptions("x"))


def launch(number, start, end, count=None, on=NCCL):
    """A collective's kernel, with its elements or without any size."""
    launched, ran = kernel(number, start - 1, start, end, MAIN, on, COALESCED)
    ran["args"] |= {} if count is None else sized(count)
    return [launched, ran]


def step(on=NCCL):
    """Compute 20; a launch without sizes 30, waited for; compute 20 beside 10 that are known."""
    return [
        note(STEP, 0, 100),
        *kernel(1, 0, 0, 20),
        *launch(2, 20, 50, on=on),
        *kernel(3, 49, 50, 70),
        *launch(4, 52, 62, 250),
        *kernel(5, 71, 72, 100),
    ]


@pytest.mark.parametrize("on", [NCCL, OTHER])
def test_a_step_on_paper(on):
    trace = read(step(on))
    (kept,) = [op for op in trace.graph.ops if op.stream and "unknown bytes" in op.stream]
    assert (kept.id, kept.kind, kept.duration_us) == ("all_gather 1", COMPUTE, 30.0)
    assert (kept.bytes, kept.slowdown) == (None, ())
    assert trace.report.collectives == {ALL_REDUCE: Total(1, 1000)}
    assert trace.report.unsized == (UnsizedLaunches(COALESCED, "all_gather", 1, 30.0),)
    assert trace.report.measured_us == trace.report.recorded_us == 100.0
    assert trace.graph.recorded == RecordedStep(100.0, 100.0, unsized=1, unsized_us=30.0)
    assert [sample.bytes for sample in trace.samples] == [1000]
    assert [channel.name for channel in trace.channels] == ["network"]
    (sent,) = [op for op in trace.graph.ops if op.kind != COMPUTE]
    assert ("all_gather 1" in sent.after) == (on == NCCL)  # one channel, in the recorded order
    (said,) = [line for line in trace.report.warnings if "unknown bytes" in line]
    assert said.startswith(f"1 launch of {COALESCED} in this step, 30.000 us: communication")


def test_a_plan_keeps_its_time_on_every_network():
    trace = read(step())
    graph = replace(trace.graph, recorded=None)
    for per_byte in (0.001, 0.1):
        cluster = Cluster(4, algorithm="linear", constant_us=5.0, us_per_byte=per_byte)
        network = network_of(cluster)
        found = plan(trace.graph, network)
        assert sum(part.bytes for part in found.parts) == 1000
        assert found.parts[0].start_us >= 50.0  # compute 20, and the 30 that hold the channel
        kept = "Communication of unknown bytes (1 launch, 0.030 ms) keeps its recorded time"
        assert any(line.startswith(kept) for line in found.evidence.assumed)
        assert any(line.startswith(kept) for line in found.evidence.sentences)
        assert export("csv", network, found).notes[-1].startswith(kept)
        same = plan(graph, network)
        assert same.iteration_time_us == found.iteration_time_us
        assert not any("unknown bytes" in line for line in same.evidence.assumed)
        assert export("csv", network, same).notes == ()


def test_the_order_of_its_channel_is_kept():
    """Known, unknown, known, unknown, known: each unknown between its neighbours."""
    rows = [(10, 20, 5), (20, 30, None), (30, 40, 6), (42, 50, None), (50, 60, 7)]
    events = [note(STEP, 0, 80), *kernel(1, 0, 0, 5), *kernel(2, 61, 62, 80)]
    for number, (start, end, count) in enumerate(rows, 3):
        events += launch(number, start, end, count)
    trace = read(events)
    after = {op.id: set(op.after) for op in trace.graph.ops}
    assert "all_reduce 1" in after["all_gather 2"]
    assert "all_gather 2" in after["all_reduce 3"]
    assert {"all_reduce 3", "all_gather 2"} <= after["all_gather 4"]
    assert "all_gather 4" in after["all_reduce 5"]
    assert trace.report.recorded_us == 80.0
    assert [(each.launches, each.time_us) for each in trace.report.unsized] == [(2, 18.0)]


def test_the_wire_keeps_what_was_counted():
    graph = read(step()).graph
    body = graph_json(graph)
    assert body["recorded"] == {
        "measured_us": 100.0,
        "replayed_us": 100.0,
        "unsized": 1,
        "unsized_us": 30.0,
    }
    assert json.loads(graph_text(graph)) == body
    back = GraphBody.model_validate(body)
    assert build("x", back.ops_of(), recorded=back.recorded_of()) == graph
    assert compact(graph).recorded == graph.recorded


def test_its_channel_is_no_channel_of_the_cluster():
    _, found = with_cluster(read(step(OTHER)))
    assert found.cluster is not None
    assert "channels" not in found.cluster
    assert [(cost.kind, cost.launches) for cost in found.costs] == [(ALL_REDUCE, 1)]


def test_a_rank_without_a_size_is_of_the_same_job():
    files = [text(small()), text(small(second={}))]
    found = [kineto.read(files, TraceOptions("x", rank=rank)).report for rank in (0, 1)]
    assert [report.collectives[ALL_REDUCE] for report in found] == [Total(2, 300), Total(1, 100)]
    assert [len(report.unsized) for report in found] == [0, 1]


def test_the_command_counts_it():
    assert render(read(step()).report).startswith(
        "Read from a kineto file: 7 ops, 1 collective, 0.001 MB, 1 launch of unknown bytes"
    )


def test_the_shared_file(shared):
    content = (shared / "failing" / "kineto_coalesced_no_metadata.json").read_bytes()
    trace = kineto.read([content], TraceOptions("x"))
    assert trace.report.collectives == {ALL_REDUCE: Total(1, 20_000_000)}
    assert trace.report.unsized == (UnsizedLaunches(COALESCED, "all_gather", 1, 500.0),)
    assert trace.report.measured_us == trace.report.recorded_us == 20_000.0
    assert [(channel.name, channel.workers) for channel in trace.channels] == [("network", 8)]


def test_one_of_xla_is_kept_likewise():
    """A second collective that the program's text does not have."""
    events = [*CPU, *cpu_run(0, 0), on_cpu(0, "all-reduce.9", 66, 7), on_cpu(0, "dot.9", 73, 2)]
    trace = xla.read([xla_text(events), HLO], TraceOptions("run"))
    assert trace.report.collectives == {"all_reduce": Total(1, 600)}
    assert trace.report.unsized == (UnsizedLaunches("all-reduce.9", "all_reduce", 1, 7.0),)
    assert trace.report.measured_us == trace.report.recorded_us == 75


@st.composite
def recordings(draw):
    """Compute, and collectives on two streams, some of known bytes, at whole microseconds."""
    events = []
    ends = {GPU: 0, NCCL: 0, OTHER: 0}
    at, hidden = 0, []
    for number in range(1, draw(st.integers(2, 14))):
        at += draw(st.integers(1, 20))
        on = draw(st.sampled_from([GPU, NCCL, OTHER]))
        start = max(at + draw(st.integers(0, 3)), ends[on])
        ends[on] = end = start + draw(st.integers(1, 30))
        events += kernel(number, at, start, end, MAIN, on, "gemm" if on == GPU else COALESCED)
        if on != GPU:
            events[-1]["args"] |= sized(number)
            hidden += [events[-1]] if draw(st.booleans()) else []
    return [note(STEP, 0, at + 2), *events], hidden


@settings(max_examples=cases(150))
@given(recordings())
def test_without_sizes_the_step_takes_as_long_as_with_them(found):
    """The same recording with all sizes is the oracle."""
    events, hidden = found
    count = sum(event["name"] == COALESCED for event in events)
    if not count or len(hidden) == count:
        return
    whole = read(events)
    for event in hidden:
        for key in sized(1):
            del event["args"][key]
    part = read(events)
    assert recorded_time(part) == pytest.approx(recorded_time(whole), rel=0.001)
    assert sum(each.launches for each in part.report.unsized) == len(hidden)
    took = sum(event["dur"] for event in hidden)
    assert sum(each.time_us for each in part.report.unsized) == pytest.approx(took)
    sent = sum(total.count for total in part.report.collectives.values())
    assert sent == count - len(hidden) == len(part.measured)
