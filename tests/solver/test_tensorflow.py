"""TensorFlow's traces: timelines by hand, recorded ones, and broken ones; steps made of them."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from solver.errors import InterlaceError, InvalidSteps, InvalidTrace
from solver.graph import RecordedStep
from solver.parameter_server.profiles import profiled_step
from solver.parameter_server.steps import StepOp
from solver.traces import Sample, Total, TraceOptions, detect, read_trace, tensorflow
from solver.traces.profiled import ProfiledOp
from solver.traces.unsized import UnsizedLaunches
from tests.mangled import mangled
from tests.sampling import cases

DATA = Path(__file__).parents[1] / "data"
WORKER, PS = "/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"
SIZES = (("fc1/kernel", 131072), ("fc1/bias", 512), ("fc2/kernel", 5120), ("fc2/bias", 40))


def process(pid, name):
    return {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}


def op(pid, name, kind, ts, dur, *inputs):
    fields = {"name": name, "op": kind} | {f"input{i}": one for i, one in enumerate(inputs)}
    where = {"cat": "Op", "name": kind, "pid": pid, "tid": 0, "ts": ts, "dur": dur}
    return {"ph": "X", **where, "args": fields}


def shown(pid, name, size):
    told = {
        "snapshot": {"tensor_description": f"dtype: DT_FLOAT {{\n  requested_bytes: {size}\n}}"}
    }
    return {"ph": "O", "cat": "Tensor", "name": name, "pid": pid, "tid": 0, "ts": 1, "args": told}


HEAD = [
    process(0, "Allocators"),
    process(1, f"{WORKER}/device:CPU:0 Compute"),
    process(2, f"{WORKER}/device:CPU:0 Tensors"),
    process(3, f"{PS}/device:CPU:0 Compute"),
    process(4, f"{PS}/device:CPU:0 Tensors"),
]
#: A step of one variable: read, pulled, used, its gradient pushed and applied.
RUN = [
    op(3, "_SOURCE", "NoOp", 0, 0),
    op(3, "w", "VarHandleOp", 1, 2),
    op(3, "w/read", "ReadVariableOp", 4, 1, "w"),
    op(1, "RecvTensor", "RecvTensor", 5, 20),
    op(1, "mul", "MatMul", 30, 10, "x", "w/read_S1", "^w/read_S1"),
    op(1, "gradients/mul", "MatMul", 41, 7, "mul:1"),
    op(1, "lr", "Const", 20, 0),
    op(3, "update_w/ApplyAdam", "ApplyAdam", 70, 5, "w", "lr/_2", "gradients/mul/_3", "^w/read"),
]


def text(events):
    return json.dumps({"traceEvents": events}).encode()


def read(content, **asked):
    return tensorflow.read([content], TraceOptions("run", **asked))


def faults(content, **asked):
    with pytest.raises(InvalidTrace) as caught:
        read(content, **asked)
    return [(fault.pointer, fault.code) for fault in caught.value.faults]


def unzipped(name):
    return gzip.decompress((DATA / name).read_bytes())


MOVED = [
    ProfiledOp("ps0 w", "ps0", 2, None, None, ()),
    ProfiledOp("ps0 w/read", "ps0", 1, None, None, ("ps0 w",)),
    ProfiledOp("worker0 lr", "worker0", 0, None, None, ()),
    ProfiledOp("worker0 mul", "worker0", 10, None, None, ("ps0 to worker0 w/read",)),
    ProfiledOp("worker0 gradients/mul", "worker0", 7, None, None, ("worker0 mul",)),
]


def test_a_session_by_hand():
    shows = [shown(4, "w/read", 400), shown(2, "gradients/mul", 404), shown(2, "lr", 4)]
    trace = read(text([*HEAD, *RUN, *shows, shown(9, "mul", 1), {**shows[0], "args": {}}]))
    assert trace.graph is None
    lr, gradient = "worker0 to ps0 lr", "worker0 to ps0 gradients/mul"
    assert list(trace.profiled[0]) == [
        *MOVED,
        ProfiledOp(
            "ps0 update_w/ApplyAdam", "ps0", 5, None, None, ("ps0 w", "ps0 w/read", lr, gradient)
        ),
        ProfiledOp("ps0 to worker0 w/read", "worker0", None, 400, "ps0", ("ps0 w/read",)),
        ProfiledOp(lr, "ps0", None, 4, "worker0", ("worker0 lr",)),
        ProfiledOp(gradient, "ps0", None, 404, "worker0", ("worker0 gradients/mul",)),
    ]
    report = trace.report
    assert (report.format, report.steps, report.ops, report.collectives) == ("tensorflow", 1, 9, {})
    assert report.measured_us == 74  # 1 to 75
    assert report.dropped[0].startswith("1 RecvTensor")
    assert report.warnings[0].startswith("Rows of a step with parameter servers, and no graph")


def test_ops_at_once_of_a_task_count_once():
    """One from 35 to 45 beside those from 30 to 40 and from 41 to 48; servers have a line each."""
    beside = [op(1, "beside", "MatMul", 35, 10), op(3, "there", "MatMul", 36, 10)]
    found = read(text([*HEAD, *RUN, *beside]), parameters=(("w", 300),))
    times = {row.id: row.duration_us for row in found.profiled[0] if row.origin is None}
    assert (times["worker0 mul"], times["worker0 beside"]) == (10, 5)
    assert (times["worker0 gradients/mul"], times["ps0 there"]) == (3, 10)


def test_bytes_of_the_variable_that_is_read_or_updated():
    trace = read(text([*HEAD, *RUN]), parameters=(("w", 300),))
    sizes = {row.id: row.bytes for row in trace.profiled[0] if row.origin}
    assert sizes == {"ps0 to worker0 w/read": 300, "worker0 to ps0 gradients/mul": 300}
    (update,) = (row for row in trace.profiled[0] if "Apply" in row.id)
    assert update.after == ("ps0 w", "ps0 w/read", "worker0 lr", "worker0 to ps0 gradients/mul")
    assert trace.report.assumed == ("Bytes of 2 transfers are those that were given.",)
    assert trace.report.warnings[1].startswith("1 transfer has no bytes ('lr')")
    one = read(text([*HEAD, *RUN]), parameters=(("w/read", 300),))
    assert one.report.assumed == ("Bytes of 1 transfer are those that were given.",)
    assert one.report.warnings[1].startswith("2 transfers have no bytes ('lr' and 1 more)")


def test_the_gradient_of_momentum_is_not_its_last_input():
    run = [
        op(1, "gradients/g", "MatMul", 0, 1),
        op(1, "momentum", "Const", 0, 1),
        op(3, "w", "VarHandleOp", 0, 1),
        op(
            *(3, "update_w/ResourceApplyMomentum", "ResourceApplyMomentum", 9, 1),
            *("w", "m", "lr", "gradients/g_S1", "momentum_S2"),
        ),
    ]
    sizes = {
        row.id: row.bytes for row in read(text([*HEAD, *run]), parameters=(("w", 8),)).profiled[0]
    }
    assert sizes["worker0 to ps0 gradients/g"] == 8
    assert "worker0 to ps0 momentum" not in sizes


def test_kernels_tell_how_long_an_op_on_a_gpu_lasts():
    """Of the stream of all where there is one; else of every stream."""
    gpu = [
        process(5, "/device:GPU:0/stream:13 Compute"),
        process(6, "/device:GPU:0/memcpy Compute"),
        process(7, "/device:GPU:0/stream:all Compute"),
    ]
    kernels = [op(5, "mul", "k", 40, 50), op(7, "mul", "k", 40, 60), op(7, "mul", "k", 90, 3)]
    odd = [{**kernels[0], "args": {"name": 7}}, {**kernels[0], "args": 7}, op(6, "mul", "c", 1, 9)]
    for processes, took in ((gpu, 63), (gpu[:2], 50)):
        found = read(text([*HEAD, *processes, *RUN, *kernels, *odd]), parameters=(("w", 300),))
        assert {row.id: row.duration_us for row in found.profiled[0]}["worker0 mul"] == took
        assert found.report.assumed[0] == "An op on a GPU lasts as long as its kernels."


def test_events_that_tell_nothing_and_transfers_of_old_versions_are_left_out():
    odd = [
        op(1, 7, "MatMul", 1, 1),
        {**op(1, "a", "b", 1, 1), "args": {"name": "a"}},
        op(8, "a", "b", 1, 1),
        op(1, "w/read/_1", "_Recv", 1, 1),
        {"ph": "X", "pid": 1},
        {},
        process(10, 7),
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": 7}},
        process(8, "/device:GPU:0 Compute"),
        shown(2, "lr", "x"),
        {**shown(2, "lr", 1), "args": {"snapshot": 7}},
        {**shown(2, "lr", 1), "args": {"snapshot": {"tensor_description": 7}}},
    ]
    found = read(text([*HEAD, *odd, *RUN]), parameters=(("w", 300),))
    assert found.profiled[0] == read(text([*HEAD, *RUN]), parameters=(("w", 300),)).profiled[0]
    assert found.report.dropped[0] == "3 events without name, type or task."


def test_an_op_that_runs_twice_is_numbered():
    run = [*RUN, op(1, "mul", "MatMul", 60, 1), op(1, "late", "Add", 80, 1, "mul")]
    rows = {
        row.id: row.after for row in read(text([*HEAD, *run]), parameters=(("w", 3),)).profiled[0]
    }
    assert rows["worker0 late"] == ("worker0 mul #2",)


COLLECTIVE = [
    op(1, "g1", "MatMul", 0, 10),
    op(1, "sum1", "CollectiveReduceV2", 10, 30, "g1"),
    op(1, "g2", "MatMul", 11, 20, "g1"),
    op(1, "sum2", "CollectiveReduceV2", 41, 5, "g2"),
    op(1, "apply", "ApplyGradientDescent", 50, 4, "v", "rate", "sum1", "^sum2"),
]


def test_collectives_are_a_graph():
    shows = [shown(2, "sum1", 400), shown(2, "sum2", 800)]
    trace = read(text([*HEAD, *COLLECTIVE, *shows]))
    assert [(o.id, o.kind, o.duration_us, o.bytes, o.after) for o in trace.graph.ops] == [
        ("worker0 g1", "compute", 10, None, ()),
        ("worker0 sum1", "all_reduce", None, 400, ("worker0 g1",)),
        ("worker0 host", "compute", 1, None, ("worker0 g1",)),
        ("worker0 g2", "compute", 20, None, ("worker0 g1",)),
        ("worker0 host #2", "compute", 1, None, ("worker0 g2",)),
        ("worker0 sum2", "all_reduce", None, 800, ("worker0 g2", "worker0 host #2")),
        (
            *("worker0 host #3", "compute", 4, None),
            ("worker0 host #2", "worker0 sum1", "worker0 sum2"),
        ),
        ("worker0 apply", "compute", 4, None, ("worker0 sum1", "worker0 sum2")),
    ]
    assert trace.report.collectives == {"all_reduce": Total(2, 1200)}
    # g1 10, then sum1 30 and sum2 5 on the channel (1 of the host between them is not), then 4 + 4
    assert (trace.report.measured_us, trace.report.recorded_us) == (54, 53)
    assert trace.samples == (
        Sample("network", "all_reduce", 400, 30),
        Sample("network", "all_reduce", 800, 5),
    )
    given = read(text([*HEAD, *COLLECTIVE]), parameters=(("sum1", 400), ("sum2", 800)))
    assert given.graph.ops == trace.graph.ops
    assert faults(text([*HEAD, *COLLECTIVE])) == [("", "no_sizes")]
    part = read(text([*HEAD, *COLLECTIVE, *shows[:1]]))
    assert part.report.collectives == {"all_reduce": Total(1, 400)}
    assert part.report.unsized == (UnsizedLaunches("sum2", "all_reduce", 1, 5),)
    assert part.graph.ops[-1].after == ("worker0 sum1", "worker0 sum2")


def test_a_reduce_scatter_shows_only_its_share():
    run = [op(1, "g", "MatMul", 0, 9), op(1, "s", "CollectiveReduceScatterV2", 9, 0, "g")]
    assert faults(text([*HEAD, *run, shown(2, "s", 400)])) == [("", "no_sizes")]
    found = read(text([*HEAD, *run]), parameters=(("s", 800),))
    assert found.report.collectives == {"reduce_scatter": Total(1, 800)}
    assert found.samples == ()  # it took no time


def test_tasks_with_collectives_are_ranks():
    other = [process(8, "/job:worker/replica:0/task:1/device:CPU:0 Compute")]
    other += [{**event, "pid": 8} for event in COLLECTIVE]
    sizes = (("sum1", 400), ("sum2", 800), ("w", 4))
    both = text([*HEAD, *other, *COLLECTIVE, *RUN])
    assert read(both, parameters=sizes).graph.ops[0].stream == "worker0"
    second = read(both, parameters=sizes, rank=1)
    assert second.graph.ops[0].stream == "worker1"
    assert second.report.dropped[-2:] == (
        "11 ops of other tasks than worker1.",
        "3 tensors sent between tasks: the graph has none.",
    )
    assert faults(both, parameters=sizes, rank=2) == [("", "out_of_range")]


def long(name, kind, ts, dur, group=1, tid=1, **more):
    fields = {"long_name": f"{name}:{kind}", "group_id": str(group), **more}
    return {"ph": "X", "name": kind, "pid": 7, "tid": tid, "ts": ts, "dur": dur, "args": fields}


def send(tensor, ts, tid, origin, task, to, group=1, kind="_Send"):
    key = f"{origin}/device:CPU:0;1;{task}/device:CPU:0;edge_3_{tensor};0:0"
    return long(f"{tensor}_S1", kind, ts, 1, group, tid, key=key, to=to)


HOST = [process(7, "/host:CPU")]


def profiled(group, at):
    return [
        long("w/read", "ReadVariableOp", at, 3, group, 2),
        send("w/read", at + 3, 2, PS, WORKER, "mul", group),
        long("mul", "MatMul", at + 20, 10, group, 1),
        send("gradients/sum", at + 30, 1, WORKER, PS, "update_w/ApplySgd", group),
        long("update_w/ApplySgd", "ApplySgd", at + 40, 2, group, 2),
        long("_recv_x", "_Recv", at, 1, group, 2),
    ]


def test_a_profile_by_hand():
    """Two steps; the middle of the two by length is the first."""
    events = [*HOST, *profiled(1, 0), *profiled(4, 100), long("tail", "Add", 150, 9, 4, 1)]
    trace = read(text(events), parameters=(("w", 40), ("w/read", 40)))
    assert (trace.report.steps, trace.report.step, trace.report.measured_us) == (2, 0, 42)
    pull, push = "ps0 to worker0 w/read", "worker0 to ps0 gradients/sum"
    assert list(trace.profiled[0]) == [
        ProfiledOp("ps0 w/read", "ps0", 3, None, None, ()),
        ProfiledOp("worker0 mul", "worker0", 10, None, None, (pull,)),
        ProfiledOp(
            *("ps0 update_w/ApplySgd", "ps0", 2, None, None),
            ("ps0 w/read", push),
        ),
        ProfiledOp(pull, "worker0", None, 40, "ps0", ("ps0 w/read",)),
        ProfiledOp(push, "ps0", None, 40, "worker0", ("worker0 mul",)),
    ]
    assert read(text(events), step=1, parameters=(("w", 40),)).report.measured_us == 59
    assert faults(text(events), step=2, parameters=(("w", 40),)) == [("", "out_of_range")]
    assert faults(text(events)) == [("", "no_sizes")]


def test_threads_of_no_task_and_names_that_are_none():
    odd = [
        long("else", "Add", 1, 1, 1, 3),
        long("a", "Add", 1, 1, "x"),
        {**long("a", "Add", 1, 1), "name": "Mul"},
        {**long("a", "Add", 1, 1), "args": {"long_name": 7}},
        {**long("a", "Add", 1, 1), "ph": "i"},
        {**long("a", "Add", 1, 1), "args": {}},
        long("x", "_Send", 1, 1, 1, 1, key="a;b"),
        long("x", "_Send", 1, 1, 1, 1, key=7),
        send("x", 1, 1, "/job:nobody", WORKER, "y"),
        {**send("lost", 1, 1, WORKER, WORKER, "y")},
        send("first", 2, 1, WORKER, PS, None),
    ]
    found = read(text([*HOST, *odd, *profiled(1, 5)]), parameters=(("w", 40), ("first", 1)))
    assert found.report.dropped == ("1 ops on threads that sent nothing: their task is not known.",)
    rows = {row.id: row.after for row in found.profiled[0]}
    assert rows["worker0 to ps0 first"] == ()
    update = [*HOST, *profiled(1, 0)]
    update[4] = send("sum", 30, 1, WORKER, PS, "update_w/ApplySgd")
    assert faults(text(update), parameters=(("w", 40),)) == [("", "no_sizes")]  # no gradient's name


def test_collectives_of_a_profile():
    """The sum runs beside the second op, and the third begins after it."""
    events = [
        *HOST,
        long("g1", "MatMul", 0, 10),
        long("sum", "CollectiveReduceV2", 10, 30, tid=9),
        long("g2", "MatMul", 12, 20),
        long("apply", "Add", 41, 5),
    ]
    trace = read(text(events), parameters=(("sum", 400),))
    assert [(o.id, o.after) for o in trace.graph.ops] == [
        ("worker0 g1", ()),
        ("worker0 sum", ("worker0 g1",)),
        ("worker0 host", ("worker0 g1",)),
        ("worker0 g2", ("worker0 g1",)),
        ("worker0 host #2", ("worker0 g2", "worker0 sum")),
        ("worker0 apply", ("worker0 g2", "worker0 sum")),
    ]
    assert (trace.report.measured_us, trace.report.recorded_us) == (46, 46)


def overlapping(*spans):
    """Sums of 4 MB each, from when to when [us], of gradients that come one after another."""
    events = [op(1, "g0", "MatMul", 0, 1000)]
    for i, (start, end) in enumerate(spans):
        events.append(op(1, f"sum{i}", "HorovodAllreduce", start, end - start, f"g{i}"))
        events.append(op(1, f"g{i + 1}", "MatMul", 1000 * (i + 1), 1000, f"g{i}"))
    last = max(end for _, end in spans)
    events += [op(1, f"set{i}", "Assign", last + 10 * i, 10, f"sum{i}") for i in range(len(spans))]
    return [*HEAD, *events, *(shown(2, f"sum{i}", 4_000_000) for i in range(len(spans)))]


def test_ops_that_wait_for_the_channel_count_once():
    """Four that end together, as Horovod's fusion does: the channel is held from 1.0 to 10.0 ms."""
    trace = read(text(overlapping(*((1000 * i, 10_000) for i in range(1, 5)))))
    assert (trace.report.measured_us, trace.report.recorded_us) == (10_040, 10_040)
    assert [time for _, time in trace.measured] == [9_000, 0, 0, 0]
    assert trace.samples == ()
    (said,) = trace.report.warnings
    assert said.startswith("4 launches overlap: their spans hold waiting")
    assert trace.graph.recorded == RecordedStep(10_040, 10_040)


def test_a_launch_that_ran_alone_tells_a_cost_beside_others():
    """The first is over before the others begin; of these the one asked for later ends first."""
    trace = read(text(overlapping((1000, 1900), (2000, 9_000), (3000, 5_000))))
    assert [(name, time) for name, time in trace.measured] == [
        ("worker0 sum0", 900),
        ("worker0 sum2", 2_000),
        ("worker0 sum1", 4_000),
    ]
    assert trace.samples == (Sample("network", "all_reduce", 4_000_000, 900),)
    assert (trace.report.measured_us, trace.report.recorded_us) == (9_030, 9_030)


def test_ops_of_several_threads_are_one_line():
    """Two ops at once, of 10 and 6 us: the line is at work for 12 us."""
    run = [
        op(1, "g1", "MatMul", 0, 10),
        op(1, "g2", "MatMul", 6, 6),
        op(1, "g3", "MatMul", 7, 2),
        op(1, "sum1", "CollectiveReduceV2", 12, 30, "g1", "g2", "g3"),
    ]
    trace = read(text([*HEAD, *run, shown(2, "sum1", 400_000)]))
    assert [op.duration_us for op in trace.graph.ops] == [10, 2, 0, None]
    assert (trace.report.measured_us, trace.report.recorded_us) == (42, 42)


def test_a_gpu_without_kernels_is_refused():
    """Its ops end when they are enqueued; with the kernel of one the timeline is one of a GPU."""
    head = [*HEAD, process(5, f"{WORKER}/device:GPU:0 Compute")]
    run = [{**event, "pid": 5} for event in COLLECTIVE]
    sized = [shown(2, "sum1", 400), shown(2, "sum2", 800)]
    assert faults(text([*head, *run, *sized])) == [("", "no_kernels")]
    kernels = [process(7, "/device:GPU:0/stream:all Compute"), op(7, "sum1", "k", 10, 30)]
    assert read(text([*head, *kernels, *run, *sized])).report.warnings == ()


def test_a_profile_of_gpus_has_the_times_of_the_host():
    run = [long("g1", "MatMul", 0, 10), long("sum", "CollectiveReduceV2", 10, 30, tid=9)]
    found = read(text([*HOST, *run]), parameters=(("sum", 400),))
    assert found.graph.recorded.unsound == ()
    gpu = process(3, "/device:GPU:0 (Tesla V100)")
    found = read(text([*HOST, gpu, *run]), parameters=(("sum", 400),))
    (said,) = found.report.warnings
    assert said.startswith("The profile is of GPUs, and ops have the times of the host's threads")
    assert found.graph.recorded.unsound == (said,)


def test_what_was_recorded():
    """A worker and a server, two layers: the bytes of each are 4 of its elements."""
    content = unzipped("tensorflow_timeline.json.gz")
    assert detect([content]) == "tensorflow"
    trace = read_trace([content])
    sizes = sorted(row.bytes for row in trace.profiled[0] if row.origin == "worker0")
    assert sizes == [4, 40, 512, 5120, 131072]  # the learning rate too
    step = profiled_step(trace.profiled[0])
    assert (step.bytes_on("downlink", None), step.bytes_on("uplink", None)) == (136744, 136748)
    profile = unzipped("tensorflow_profile.json.gz")
    assert detect([profile]) == "tensorflow"
    reads = ("MatMul", "add", "MatMul_1", "add_1")
    known = [(f"{op}/ReadVariableOp", size) for op, (_, size) in zip(reads, SIZES, strict=True)]
    step = profiled_step(
        read_trace([profile], TraceOptions(parameters=(*SIZES, *known))).profiled[0]
    )
    assert (step.bytes_on("downlink", None), step.bytes_on("uplink", None)) == (136744, 136744)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", [("", "empty")]),
        (b"{", [("", "truncated")]),
        (b"[]", [("", "wrong_format")]),
        (b'{"traceEvents": [{"ph": 7}]}', [("/traceEvents/0/ph", "wrong_format")]),
        (b'{"traceEvents": []}', [("", "no_collective")]),
        (
            text([{**RUN[0], "ts": 1e300}, {**RUN[0], "dur": -1e300}]),
            [("/traceEvents/0", "out_of_range"), ("/traceEvents/1", "out_of_range")],
        ),
        # one task alone; bytes nowhere
        (text([*HEAD, RUN[6]]), [("", "no_collective")]),
        (text([*HEAD, *RUN]), [("", "no_sizes")]),
        # more bytes than a graph has
        (text([*HEAD, *COLLECTIVE, shown(2, "sum1", 2**59), shown(2, "sum2", 2**59 + 1)]), None),
    ],
)
def test_rejected(content, found):
    assert faults(content) == (found or [("", "out_of_range")])


def test_tasks_of_a_timeline_are_few(monkeypatch):
    monkeypatch.setattr("solver.traces.tensorflow.session.MAX_TASKS", 1)
    assert faults(text([*HEAD, *RUN])) == [("", "too_large")]


def test_two_files_are_too_many():
    with pytest.raises(InvalidTrace) as caught:
        tensorflow.read([text(RUN), text(HEAD)], TraceOptions())
    assert [fault.code for fault in caught.value.faults] == ["too_many_files"]


def test_detected():
    assert detect([text([*HEAD, *RUN])]) == "tensorflow"
    assert detect([text([*HEAD[1:], *RUN])]) == "tensorflow"  # without memory
    assert detect([b"\xef\xbb\xbf" + text([*HOST])]) == "tensorflow"
    assert detect([b'{"metadata": {"highres-ticks": true}, "traceEvents": []}']) == "tensorflow"
    assert detect([b'{"traceEvents": []}']) == "kineto"


@settings(max_examples=cases(150))
@given(mangled(text([*HEAD, *RUN, *COLLECTIVE, shown(2, "sum1", 4), shown(2, "sum2", 4)])))
def test_broken_timelines_are_refused_or_read(content):
    try:
        trace = read(content)
    except InterlaceError:
        return
    assert trace.graph is not None or trace.profiled


@settings(max_examples=cases(150))
@given(mangled(text([*HOST, *profiled(1, 0)])))
def test_broken_profiles_are_refused_or_read(content):
    try:
        trace = read(content, parameters=(("w", 40),))
    except InterlaceError:
        return
    assert trace.graph is not None or trace.profiled


ROWS = (
    ProfiledOp("read", "ps0", 1, None, None, ()),
    ProfiledOp("pull", "worker0", None, 8, "ps0", ("read",)),
    ProfiledOp("mul", "worker0", 5, None, None, ("pull", "other")),
    ProfiledOp("push", "ps0", None, 8, "worker0", ("mul",)),
    ProfiledOp("apply", "ps0", 2, None, None, ("push",)),
    ProfiledOp("other", "worker1", 3, None, None, ()),
    ProfiledOp("theirs", "ps0", None, 8, "worker1", ("other",)),
)


def test_a_step_of_one_worker():
    expected = (
        StepOp("read", "server", 1),
        StepOp("pull", "downlink", None, 8, ("read",)),
        StepOp("mul", "worker", 5, None, ("pull",)),
        StepOp("push", "uplink", None, 8, ("mul",)),
        StepOp("apply", "server", 2, None, ("push",)),
    )
    assert profiled_step(ROWS).ops == profiled_step(ROWS, "worker0").ops == expected
    ids = [op.id for op in profiled_step(ROWS, "worker1").ops]
    assert ids == ["read", "apply", "other", "theirs"]


def test_a_step_of_two_servers_names_them():
    rows = [*ROWS[:5], ProfiledOp("second", "ps1", None, 8, "worker0", ("mul",))]
    assert [op.resource for op in profiled_step(rows).ops] == [
        *("server:ps0", "downlink:ps0", "worker", "uplink:ps0", "server:ps0", "uplink:ps1"),
    ]
    assert profiled_step(rows).servers == ("ps0", "ps1")


@pytest.mark.parametrize(
    ("rows", "asked", "code"),
    [
        ((), {}, "missing_field"),  # nobody
        (ROWS[:1], {}, "missing_field"),  # servers alone
        (ROWS, {"worker": "worker7"}, "missing_field"),
        ((*ROWS, ProfiledOp("x", "ps1", None, 1, "ps0", ())), {}, "not_supported"),
        ((*ROWS, ProfiledOp("read", "ps0", 1, None, None, ())), {}, "duplicate_id"),
    ],
)
def test_rows_that_are_no_step(rows, asked, code):
    with pytest.raises(InvalidSteps) as caught:
        profiled_step(rows, **asked)
    assert caught.value.faults[0].code == code
