"""PyTorch execution traces: by hand in both schemas, real ones, and broken ones."""

import gzip
import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InterlaceError, InvalidTrace
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER
from solver.traces import Total, TraceOptions, kineto, pytorch_et
from solver.traces.pytorch_et import reader
from solver.traces.pytorch_et.calls import calls_of
from solver.traces.pytorch_et.payload_sizes import add_sizes

DATA = Path(__file__).parents[1] / "data"
RECORD = "record_param_comms"


def tensor(count, each=4):
    return [7, 8, 0, count, each, "cuda:0"]


def old(ident, name, parent, inputs=(), outputs=()):
    """A node as in schema 1.0.1."""
    return dict(
        id=ident, name=name, parent=parent, rf_id=ident, inputs=list(inputs), outputs=list(outputs)
    )


def new(ident, name, parent, inputs=(), **attrs):
    """A node as in schema 1.1.0-chakra.0.0.4."""
    return dict(
        id=ident,
        name=name,
        ctrl_deps=parent,
        inputs=dict(values=list(inputs), shapes=[], types=[]),
        outputs=dict(values=[], shapes=[], types=[]),
        attrs=[dict(name=key, type="", value=value) for key, value in attrs.items()],
    )


def summed(ident, parent, elements, dtype="Float"):
    return new(
        ident,
        RECORD,
        parent,
        [[tensor(elements)], 1, ["0", ""], "allreduce"],
        collective_name="allreduce",
        dtype=dtype,
        in_msg_nelems=elements,
        out_msg_nelems=elements,
    )


def trace(*nodes, schema="1.1.0-chakra.0.0.4"):
    return json.dumps({"schema": schema, "pid": 1, "nodes": nodes, "finish_ts": 2}).encode()


def read(content, step=None):
    return pytorch_et.read([content], TraceOptions("x", step))


def test_each_collective_counts_once():
    """A call, its record and the library's op are nested; waits and barriers send nothing."""
    found = read(
        trace(
            new(2, "[pytorch|profiler|execution_trace|thread]", 1),
            new(3, "c10d::allreduce_", 2, [[tensor(10)], "<Object>"]),
            summed(4, 3, 10),
            new(25, "wrapped", 4),
            new(26, "nccl:all_reduce", 25, [tensor(10)]),
            summed(6, 2, 20, "BFloat16"),
            new(7, RECORD, 2, [1, "wait"], collective_name="wait"),
            new(8, RECORD, 2, [1, "barrier"]),
            new(9, "gloo:broadcast", 2, [tensor(3, 8)]),
            new(11, "aten::mm", 2, [tensor(99)]),
        )
    )
    assert found.graph is None
    report = found.report
    assert report.collectives == {
        ALL_REDUCE: Total(2, 80),
        BROADCAST: Total(1, 24),
    }
    assert (report.format, report.steps, report.step, report.ops) == ("pytorch_et", 1, 0, 0)
    assert report.dropped == ("1 wait", "1 barrier")
    assert "Kineto" in report.warnings[0]


def test_calls_count_where_nothing_else_does():
    call = new(3, "c10d::_reduce_scatter_base_", 2, [tensor(2), tensor(8)])
    assert read(trace(call)).report.collectives == {REDUCE_SCATTER: Total(1, 32)}
    gloo = new(9, "gloo:reduce_scatter", 1, [tensor(8)])
    assert read(trace(call, gloo)).report.collectives == {REDUCE_SCATTER: Total(1, 32)}


def test_the_old_schema_has_sizes_in_its_tensors():
    found = read(
        trace(
            old(3, "c10d::allreduce_", 2, [[tensor(10)], "<Object>"]),
            old(4, RECORD, 3, [[tensor(10)], 5, 0, "allreduce", []]),
            old(5, "nccl:all_reduce", 4, [tensor(10)]),
            old(6, RECORD, 2, [[tensor(10), tensor(5, 2)], 5, "allreduce_coalesced"]),
            old(7, RECORD, 2, [tensor(6), 5, "all_to_allv", [1, 2]], [tensor(4)]),
            old(8, RECORD, 2, [tensor(6), "_allgather_base"], [tensor(12)]),
            old(9, RECORD, 2, [[], "allreduce"]),
            old(10, RECORD, 2, [3]),
            schema="1.0.1",
        )
    )
    assert found.report.collectives == {
        ALL_REDUCE: Total(2, 90),
        ALL_TO_ALL: Total(1, 24),
        ALL_GATHER: Total(1, 48),
    }
    assert found.report.dropped == ("1 unnamed", "1 allreduce without a size")


@pytest.mark.parametrize(
    ("dtype", "each"),
    [
        ("Bool", np.bool_),
        ("Byte", np.uint8),
        ("Char", np.int8),
        ("Short", np.int16),
        ("Half", np.float16),
        ("BFloat16", np.float16),  # numpy has none, but half of Float it is
        ("Int", np.int32),
        ("Float", np.float32),
        ("Long", np.int64),
        ("Double", np.float64),
        ("ComplexFloat", np.complex64),
        ("ComplexDouble", np.complex128),
    ],
)
def test_an_element_has_the_bytes_of_its_type(dtype, each):
    found = read(trace(summed(1, 0, 10, dtype)))
    assert found.report.collectives == {ALL_REDUCE: Total(1, 10 * np.dtype(each).itemsize)}


def two_steps():
    return trace(
        summed(1, 0, 1000),
        new(2, "ProfilerStep#4", 0),
        summed(3, 0, 1),
        new(9, "ProfilerStep#5", 0),
        summed(12, 0, 2),
        new(13, "ProfilerStep#6", 0),
        summed(14, 0, 3),
    )


@pytest.mark.parametrize(("step", "took"), [(None, 1), (0, 0), (1, 1), (2, 2)])
def test_the_middle_step_or_the_one_asked_for(step, took):
    report = read(two_steps(), step).report
    assert (report.steps, report.step) == (3, took)
    assert report.collectives == {ALL_REDUCE: Total(1, 4 * (took + 1))}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        # no JSON, cut off, nested too deeply, another shape
        (b"", "truncated"),
        (two_steps()[:100], "truncated"),
        (b'{"schema": "1", "nodes": ' + b"[" * 100_000, "wrong_format"),
        (b'{"schema": "1.0.1", "nodes": [{"id": "x", "name": ""}]}', "wrong_format"),
        (b'{"schema": "\xff", "nodes": []}', "wrong_format"),
        (b"[]", "wrong_format"),
        # nothing to send, sizes that are none
        (trace(), "no_collective"),
        (trace(new(7, RECORD, 2, [1, "wait"])), "no_collective"),
        (trace(new(3, RECORD, 2, [[tensor(-4)], "allreduce"])), "no_sizes"),
        (trace(new(3, RECORD, 2, [[tensor("4")], "allreduce"])), "no_sizes"),
        (trace(summed(3, 2, 0), summed(4, 2, 2**70)), "no_sizes"),
        (
            b'{"schema": "", "nodes": [{"id": 1, "name": "nccl:all_reduce", "inputs": 3}]}',
            "no_sizes",
        ),
    ],
)
def test_rejected(content, code):
    with pytest.raises(InvalidTrace) as caught:
        read(content)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [("", code)]


def test_no_such_step():
    with pytest.raises(InvalidTrace, match="Steps 0 to 2 are there, not step 3"):
        read(two_steps(), 3)


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        (two_steps(), True),
        (b' {"schema": "1.0.1", "nodes": []}', True),
        (b'{"schemaVersion": 1, "traceEvents": []}', False),
        (b'{"nodes": [], "edges": []}', False),
        (b'["schema", "nodes"]', False),
        (b"", False),
    ],
)
def test_what_looks_like_one(content, looks):
    assert pytorch_et.looks_like(content) is looks


@given(st.data())
def test_any_bytes_give_an_answer_or_a_fault(data):
    content = bytearray(two_steps())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.sampled_from(b'[]{},:"0-eE.x\xff9'))
    end = data.draw(st.just(len(content)) | st.integers(0, len(content)))
    with suppress(InterlaceError):
        read(bytes(content[:end]))


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3) | st.booleans(),
        lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=2), inner),
    )
)
def test_any_inputs_give_an_answer_or_a_fault(value):
    node = {"id": 1, "name": RECORD, "parent": value, "inputs": value, "outputs": {"values": value}}
    attrs = [{"name": "in_msg_nelems", "value": value}, {"name": "dtype", "value": value}]
    with suppress(InterlaceError):
        read(trace(node, {"id": 2, "name": RECORD, "inputs": [value, "allreduce"], "attrs": attrs}))


def span(name, cat, ts, dur, tid="cpu", **args):
    keys = {key.replace("_", " "): value for key, value in args.items()}
    return dict(ph="X", name=name, cat=cat, pid=1, tid=tid, ts=ts, dur=dur, args=keys)


def profile(*functions, at=0, sizes=()):
    """A profiler's trace: one kernel and one all-reduce for each record function id given."""
    events = []
    for k, function in enumerate(functions):
        t = at + 100 * k
        more = {"Record function id": function} if function is not None else {}
        known = dict(In_msg_nelems=sizes[k], dtype="Float") if sizes else {}
        events += [
            span("launch", "cuda_runtime", t, 1, correlation=2 * k),
            span("gemm", "kernel", t + 1, 30, "stream 7", correlation=2 * k),
            span(RECORD, "cpu_op", t + 40, 10, **more, **known),
            span("launch", "cuda_runtime", t + 42, 1, correlation=2 * k + 1),
            span(
                "ncclDevKernel_AllReduce", "kernel", t + 45, 20, "stream 9", correlation=2 * k + 1
            ),
        ]
    return json.dumps({"traceEvents": events, "distributedInfo": {"world_size": 2}}).encode()


SENT = trace(summed(3, 2, 10), summed(4, 2, 20))


def sizes_of(found):
    return [op.bytes for op in found.graph.ops if op.kind == ALL_REDUCE]


@pytest.mark.parametrize("turned", [False, True])
def test_sizes_go_to_a_profile_that_has_none_in_any_order_of_files(turned):
    files = [SENT, profile(None, None)]
    found = pytorch_et.read(files[::-1] if turned else files, TraceOptions("x"))
    assert sizes_of(found) == [40, 80]
    assert [us for _, us in found.measured] == [20, 20]
    report = found.report
    assert (report.format, report.collectives) == ("pytorch_et", {ALL_REDUCE: Total(2, 120)})
    assert "call by call" in report.assumed[-1]
    assert not any("same run" in warning for warning in report.warnings)


def test_a_profile_that_has_sizes_keeps_them():
    found = pytorch_et.read([SENT, profile(None, None, sizes=(10, 20))], TraceOptions())
    assert sizes_of(found) == [40, 80]
    assert not any("call by call" in sentence for sentence in found.report.assumed)
    other = pytorch_et.read([SENT, profile(None, None, sizes=(10, 21))], TraceOptions())
    assert sizes_of(other) == [40, 84]
    assert "not of the same run" in other.report.warnings[-1]


def test_a_profile_that_lacks_some_sizes_gets_them():
    """Of a file of another run it keeps what it has, and the other at its time."""
    partly = profile(None, None, sizes=(10, None))
    found = pytorch_et.read([SENT, partly], TraceOptions())
    assert (sizes_of(found), found.report.unsized) == ([40, 80], ())
    assert "call by call" in found.report.assumed[-1]
    others = trace(summed(3, 2, 10), summed(4, 2, 20), summed(5, 2, 30))
    kept = pytorch_et.read([others, partly], TraceOptions())
    assert (sizes_of(kept), [each.launches for each in kept.report.unsized]) == ([40], [1])
    assert "not of the same run" in kept.report.warnings[-1]


def test_calls_are_matched_by_their_record_function_ids():
    """The execution trace began earlier and saw a call more, and the ids say which."""
    nodes = [(3, 31, 7), (4, 41, 10), (5, 51, 20)]
    seen = [summed(ident, 2, count) for ident, _, count in nodes]
    for node, (_, function, _) in zip(seen, nodes, strict=True):
        node["attrs"].append(dict(name="rf_id", type="uint64", value=function))
    profiled = profile(51, 41)
    assert sizes_of(pytorch_et.read([trace(*seen), profiled], TraceOptions())) == [80, 40]


def test_an_execution_trace_of_one_step_fits_several():
    assert sizes_of(pytorch_et.read([SENT, profile(*[None] * 4)], TraceOptions())) == [
        40,
        80,
        40,
        80,
    ]


def test_calls_of_a_step_are_found_without_looking_at_all(monkeypatch):
    """A file of 60 steps was looked at 60 times."""
    from tests import trace_files  # noqa: PLC0415 - it imports this module

    looked = []

    def id_of(call):
        looked.append(call)
        return call.id

    monkeypatch.setattr(reader, "_id", id_of)
    files = trace_files.pytorch_et(trace_files.Job((50, 30), (4_000, 800), 4, 60))
    report = pytorch_et.read(files, TraceOptions("x")).report
    assert report.steps == 60
    assert not any("same run" in warning for warning in report.warnings)
    assert 0 < len(looked) <= 60 * 2 * 8


def test_waits_are_calls_too():
    wait = new(5, RECORD, 2, [1, "wait"], collective_name="wait")
    content = json.loads(profile(None, None))
    content["traceEvents"].append(span(RECORD, "cpu_op", 400, 1))
    del content["traceEvents"][-1]["args"]
    files = [trace(summed(3, 2, 10), summed(4, 2, 20), wait), json.dumps(content).encode()]
    assert sizes_of(pytorch_et.read(files, TraceOptions())) == [40, 80]


def test_uneven_pieces_are_of_the_same_run():
    """Both files have what was sent and what was received: the larger of the two counts."""
    content = json.loads(profile(31, sizes=(10,)))
    for e in content["traceEvents"]:
        if e["name"] == RECORD:
            e["args"] |= {"Collective name": "all_to_allv", "Out msg nelems": 30}
    counts = dict(in_msg_nelems=10, out_msg_nelems=30, dtype="Float")
    sent = new(3, RECORD, 2, collective_name="all_to_allv", rf_id=31, **counts)
    found = pytorch_et.read([trace(sent), json.dumps(content).encode()], TraceOptions())
    assert [op.bytes for op in found.graph.ops if op.bytes] == [120]
    assert not any("same run" in warning for warning in found.report.warnings)


def test_a_list_of_events():
    events = json.dumps(json.loads(profile(None, None))["traceEvents"]).encode()
    assert sizes_of(pytorch_et.read([events, SENT], TraceOptions())) == [40, 80]


def test_our_own_recording():
    """PyTorch 2.15 with gloo, which writes no ``record_param_comms``; the profile has no sizes."""
    sent, profiled = (
        gzip.decompress((DATA / f"{name}.json.gz").read_bytes())
        for name in ("et_gloo", "et_gloo_kineto")
    )
    alone = read(sent)
    assert alone.graph is None
    assert (alone.report.steps, alone.report.collectives) == (2, {ALL_REDUCE: Total(2, 1_597_480)})
    with pytest.raises(InvalidTrace, match="no size"):
        kineto.read([profiled], TraceOptions())
    found = pytorch_et.read([profiled, sent], TraceOptions())
    assert sizes_of(found) == [op.bytes for op in found.graph.ops if op.bytes]
    assert sum(sizes_of(found)) == 1_597_480
    assert not any("same run" in warning for warning in found.report.warnings)


def test_a_library_that_writes_no_records():
    content = json.loads(profile(31, 41))
    for event in content["traceEvents"]:
        if event["name"] == RECORD:
            event["name"] = "nccl:all_reduce"
    copy = span("nccl:all_reduce", "gpu_user_annotation", 45, 20)
    content["traceEvents"].append(copy)
    found, _ = add_sizes(json.dumps(content).encode(), calls_of(SENT).calls)
    filled = [e["args"] for e in json.loads(found)["traceEvents"] if "In msg nelems" in e["args"]]
    assert [args["In msg nelems"] for args in filled] == [40, 80]


@given(st.data())
def test_any_bytes_together_give_an_answer_or_a_fault(data):
    content = bytearray(profile(1, None, "x"))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.sampled_from(b'[]{},:"0-eE.x\xff9'))
    with suppress(InterlaceError):
        pytorch_et.read([SENT, bytes(content)], TraceOptions())
    with suppress(InterlaceError):
        pytorch_et.read([trace(summed(3, 2, 10)), bytes(content)], TraceOptions())


@pytest.mark.parametrize(
    ("files", "code"),
    [
        # two execution traces, none, and what is neither
        ([SENT, SENT], "too_many_files"),
        ([profile(None)], "too_many_files"),
        ([SENT, profile(None), b"hello"], "too_many_files"),
        # numbers of calls that do not fit, and no calls at all
        ([SENT, profile(None, None, None)], "traces_differ"),
        ([trace(new(3, "nccl:all_reduce", 2)), profile(None)], "traces_differ"),
        # what is wrong with the profile alone
        ([SENT, b'{"traceEvents": [{"ph": "X"'], "truncated"),
    ],
)
def test_rejected_together(files, code):
    with pytest.raises(InvalidTrace) as caught:
        pytorch_et.read(files, TraceOptions())
    assert [fault.code for fault in caught.value.faults] == [code]


DLRM = {ALL_TO_ALL: Total(5, 64_448), ALL_REDUCE: Total(3, 2_485_252)}
RESNET = {BROADCAST: Total(2, 212_904), ALL_REDUCE: Total(5, 102_228_128)}


@pytest.mark.parametrize(
    ("name", "step", "steps", "collectives"),
    [
        ("dlrm_8rank_et/dlrm_eg_0", None, 1, DLRM),
        ("dlrm_8rank_et/dlrm_eg_1", 0, 1, DLRM),
        ("resnet_2gpu_et", 0, 3, RESNET),
        ("resnet_2gpu_et", None, 3, RESNET),
        ("resnet_2gpu_et", 2, 3, RESNET),
    ],
)
def test_real_traces(shared, name, step, steps, collectives):
    path = shared / "pytorch_et" / "facebookresearch+param" / f"{name}.json.gz"
    content = gzip.decompress(path.read_bytes())
    assert pytorch_et.looks_like(content)
    report = read(content, step).report
    assert (report.steps, report.collectives) == (steps, collectives)


def test_a_real_trace_of_one_gpu(shared):
    path = shared / "pytorch_et" / "facebookresearch+param" / "linear_et.json.gz"
    with pytest.raises(InvalidTrace, match="no collective"):
        read(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize(
    ("called", "profiled"),
    [
        (
            "facebookresearch+param/dlrm_8rank_et/dlrm_eg_0.json.gz",
            "facebookresearch+param/dlrm_8rank_kineto/worker0_step_12.1694128201545.pt.trace.json.gz",
        ),
        (
            "facebookresearch+param/resnet_2gpu_et.json.gz",
            "facebookresearch+HolisticTraceAnalysis/nccl_data.json.gz",
        ),
    ],
)
def test_real_traces_together(shared, called, profiled):
    """Without its sizes the profile gives the same graph as with them."""
    sent = gzip.decompress((shared / "pytorch_et" / called).read_bytes())
    whole = gzip.decompress((shared / "kineto" / profiled).read_bytes())
    bare = json.loads(whole)
    for event in bare["traceEvents"]:
        for key in ("Input Dims", "Input type", "In msg nelems", "Out msg nelems", "dtype"):
            event.get("args", {}).pop(key, None)
    expected = pytorch_et.read([sent, whole], TraceOptions("x"))
    found = pytorch_et.read([json.dumps(bare).encode(), sent], TraceOptions("x"))
    assert found.graph == expected.graph
    assert found.measured == expected.measured
    assert not any("same run" in warning for warning in expected.report.warnings)
