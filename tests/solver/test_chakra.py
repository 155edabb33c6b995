"""Chakra files: by hand, real ones, broken ones, and any bytes at all."""

import io
import re
import tarfile
from contextlib import suppress

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InterlaceError, InvalidGraph, InvalidTrace
from solver.graph import ALL_GATHER, ALL_REDUCE, BROADCAST, REDUCE_SCATTER
from solver.traces import Sample, Total, TraceChannel, TraceOptions, chakra
from solver.traces.chakra import codec as wire
from solver.traces.contraction import contract, order_nodes
from tests.chakra_bytes import file, node, number, text, varint

COMP, SEND, COLL = 4, 5, 7
SUM = dict(comm_type=0, comm_size=100, is_cpu_op=False)


def read(content, step=None):
    return chakra.read([content], TraceOptions("x", step))


def ops_of(trace):
    return [(op.id, op.duration_us, op.bytes, op.after) for op in trace.graph.ops]


def test_a_file_of_kernels_by_hand():
    """As ASTRA-sim's: what every node waits for is said, and nodes without time are passed over."""
    trace = read(
        file(
            node(1, COMP, 20, name="b2"),
            node(2, COMP, 30, after=[1], name="b1"),
            node(3, COLL, 7, after=[1], name="g2", **SUM),
            node(4, 1, after=[2], name="label"),
            node(5, COLL, after=[4], name="g1", comm_type=0, comm_size=50),
            node(6, COMP, 0, after=[3, 5], name="join"),
            node(7, COMP, 5, after=[6], name="f1"),
            node(8, COMP, 6, after=[7, 6], name="f2"),
        )
    )
    assert ops_of(trace) == [
        ("b2", 20.0, None, ()),
        ("b1", 30.0, None, ("b2",)),
        ("g2", None, 100, ("b2",)),
        ("g1", None, 50, ("b1",)),
        ("join", 0.0, None, ("g2", "g1")),
        ("f1", 5.0, None, ("join",)),
        ("f2", 6.0, None, ("f1", "join")),
    ]
    report = trace.report
    assert (report.format, report.steps, report.step, report.ops) == ("chakra", 1, 0, 7)
    assert report.collectives == {ALL_REDUCE: Total(2, 150)}
    assert report.dropped == ("1 metadata nodes",)
    assert report.repaired == report.warnings == ()
    assert report.assumed == (
        "1 collective has no duration of its own: launches cost what the others took.",
    )
    assert trace.measured == (("g2", 7.0),)
    assert trace.samples == (Sample("network", ALL_REDUCE, 100, 7.0),)
    assert trace.channels == (TraceChannel("network", None, "no group is written"),)


@pytest.mark.parametrize("called", [None, "c10d::allreduce_", "nccl:all_reduce"])
def test_what_has_no_durations_of_launches_says_so_first(called):
    """A call on the CPU has the duration of the call."""
    sent = {"us": 9, "name": called, **SUM, "is_cpu_op": True} if called else SUM
    trace = read(
        file(
            node(1, COMP, 20, outer=[7], stream=1),
            node(2, COLL, outer=[8], **sent),
            node(3, COMP, 30, outer=[9], stream=1),
        )
    )
    assert trace.report.assumed[0] == (
        "No collective has a duration of its own: the file does not tell what launches cost."
    )
    assert len(trace.report.assumed) == 3
    assert trace.samples == trace.measured == ()


def test_launches_of_all_steps_tell_the_cost():
    steps = [node(10 * k, 1, name=f"ProfilerStep#{k}") for k in (1, 2)]
    run = [
        one
        for k in (1, 2)
        for one in (
            node(10 * k + 1, COMP, 20),
            node(10 * k + 2, COLL, 7 * k, after=[10 * k + 1], channel="tp", **SUM),
        )
    ]
    trace = read(file(*steps, *run), step=0)
    assert trace.samples == tuple(Sample("tp", ALL_REDUCE, 100, time) for time in (7.0, 14.0))
    assert [channel.name for channel in trace.channels] == ["tp"]


def test_calls_of_a_library_of_gpus_without_any_kernel_are_refused():
    """All that takes time is on the CPU; gloo's own calls are right as they are."""

    def called(name):
        return file(
            node(1, COMP, 20, is_cpu_op=True, tid=1),
            node(2, COLL, 7, after=[1], name=name, **{**SUM, "is_cpu_op": True}),
        )

    with pytest.raises(InvalidTrace) as caught:
        read(called("nccl:all_reduce"))
    assert [fault.code for fault in caught.value.faults] == ["no_kernels"]
    assert read(called("gloo:all_reduce")).samples == (Sample("network", ALL_REDUCE, 100, 7.0),)


def profiled(*more):
    """A profiler's file: the CPU's calls, and the kernels that they launch on two streams."""
    return file(
        node(1, COMP, 9, outer=[99], is_cpu_op=True, tid=1, name="call"),
        node(2, COMP, 10, after=[1], outer=[1], is_cpu_op=False, tid=7, name="k"),
        node(3, COLL, 8, after=[1], outer=[1], is_cpu_op=True, tid=1, name="launch"),
        node(4, COLL, 40, after=[3, 98, 4], outer=[3], tid=14, name="sum", **SUM),
        node(5, COMP, 11, after=[1], outer=[1], is_cpu_op=False, stream="9", name="k"),
        node(6, COMP, 12, after=[1], outer=[1], is_cpu_op=False, tid=7, name="k"),
        node(7, COLL, 41, after=[3], outer=[3], tid=14, name="sum", **SUM),
        node(8, COMP, 13, after=[1], outer=[1], is_cpu_op=False, tid=7, name="k"),
        node(9, COMP, 14, after=[1], outer=[1], is_cpu_op=False, tid=7, name="k"),
        *more,
    )


def test_launches_decide_where_nothing_joins_compute_and_collectives():
    trace = read(profiled())
    assert ops_of(trace) == [
        ("k 2", 10.0, None, ()),
        ("sum 4", None, 100, ("k 2",)),
        ("k 5", 11.0, None, ()),
        ("k 6", 12.0, None, ()),
        ("sum 7", None, 100, ("k 6", "k 5")),
        ("k 8", 13.0, None, ("sum 4", "sum 7")),
        ("k 9", 14.0, None, ()),
    ]
    assert [op.stream for op in trace.graph.ops if op.stream] == [
        "stream 7",
        "stream 9",
        *["stream 7"] * 3,
    ]
    report = trace.report
    assert report.collectives == {ALL_REDUCE: Total(2, 200)}
    assert report.dropped == (
        "1 compute nodes on the CPU, 9 us in all",
        "1 collective nodes without comm_size",
        "ctrl_deps: they nest calls and can form cycles",
    )
    assert report.repaired == (
        "1 data_deps name nodes that the file does not have: left out",
        "1 data_deps name their own node: left out",
        "1 ctrl_deps name nodes that the file does not have: left out",
    )
    assert len(report.assumed) == 2
    assert trace.measured == (("sum 4", 40.0), ("sum 7", 41.0))


def test_one_edge_between_compute_and_collective_is_believed():
    trace = read(profiled(node(10, COLL, after=[9], outer=[1], name="last", **SUM)))
    assert len(trace.report.assumed) == 1  # of the one without duration
    assert trace.graph.ops[-1].after == ("k 9",)
    assert trace.graph.ops[1].after == ()


def test_the_cpu_counts_where_it_is_all_there_is():
    trace = read(
        file(
            node(1, COMP, 3, is_cpu_op=True, tid=1),
            node(2, COLL, 2, after=[1], is_cpu_op=True, comm_type=5, comm_size=9),
            node(3, COMP, 0, after=[1], is_cpu_op=False),
        )
    )
    assert ops_of(trace) == [("n1", 3.0, None, ()), ("n2", None, 9, ("n1",))]
    assert trace.graph.ops[0].stream == "thread 1"
    assert trace.report.collectives == {BROADCAST: Total(1, 9)}
    assert trace.report.dropped == ("1 compute nodes off the CPU, 0 us in all",)


def test_what_is_not_planned_is_named():
    trace = read(
        file(
            node(1, COMP, 3),
            node(2, SEND, 3, after=[1], comm_size=9),
            node(3, 77),
            node(4, COLL, comm_type=9, comm_size=4),
            node(5, COLL, comm_type=33, comm_size=4),
            node(6, COLL, is_cpu_op=True, comm_type=0, comm_size=4),
            node(7, COLL, after=[2], comm_type=8, comm_size=5, channel="nvlink"),
            node(8, COLL, comm_type=2, comm_size=6),
            node(9, COLL, comm_type=2, comm_size=6, whole_size=12),
        )
    )
    assert trace.report.dropped == (
        "1 send nodes",
        "1 unknown (type 77) nodes",
        "1 barrier nodes of 4 bytes",
        "1 unknown (comm_type 33) nodes of 4 bytes",
        "1 all_reduce nodes of 4 bytes on the CPU",
    )
    assert trace.report.collectives == {REDUCE_SCATTER: Total(1, 5), ALL_GATHER: Total(2, 18)}
    assert "one worker's share" in trace.report.warnings[0]
    scatter = trace.graph.ops[1]
    assert (scatter.channel, scatter.after) == ("nvlink", ("n1",))


def steps(*times):
    found = []
    for k, us in enumerate(times):
        found += [
            node(10 * k + 1, COMP, name=f"ProfilerStep#{k + 4}", is_cpu_op=True),
            node(10 * k + 2, COMP, us, after=[10 * k - 8] if k else [], name="k"),
            node(10 * k + 3, COLL, after=[10 * k + 2], name="g", **SUM),
        ]
    return file(node(0, COMP, 500, name="before"), *found)


@pytest.mark.parametrize(
    ("step", "took", "us"), [(None, 2, 20.0), (0, 0, 30.0), (1, 1, 10.0), (3, 3, 40.0)]
)
def test_the_median_step_or_the_one_asked_for(step, took, us):
    trace = read(steps(30, 10, 20, 40), step)
    assert (trace.report.steps, trace.report.step) == (4, took)
    assert ops_of(trace) == [("k", us, None, ()), ("g", None, 100, ("k",))]
    assert trace.report.repaired == ()


def test_without_durations_there_is_a_report_and_no_graph():
    trace = read(file(node(1, COMP), node(2, COLL, 8, after=[1], **SUM)))
    assert trace.graph is None
    assert trace.measured == ()
    assert (trace.report.ops, trace.report.collectives) == (0, {ALL_REDUCE: Total(1, 100)})
    assert "Kineto" in trace.report.warnings[0]


def test_names_are_plain_and_not_too_long():
    trace = read(file(node(1, COMP, 3, name="a\tb\x00" + "c" * 500), node(2, COLL, **SUM)))
    assert trace.graph.ops[0].id == "a b " + "c" * 96
    unnamed = number(1, 3) + number(3, COMP) + number(7, 5)
    assert read(file(unnamed, node(2, COLL, **SUM))).graph.ops[1].id == "node 3"


ONE = node(2, COLL, **SUM)


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        # nothing, and metadata alone
        (b"", [("", "empty")]),
        (file(), [("", "no_collective")]),
        # a length cut short, one beyond the file, one beyond all files, and what is no length
        (file() + b"\x80", [("/1", "truncated")]),
        (file(ONE)[:-1], [("/1", "truncated")]),
        (file() + b"\x01", [("/1", "truncated")]),
        (file() + varint(2**60), [("/1", "truncated")]),
        (file() + varint(2**64 - 1), [("/1", "truncated")]),
        (b"\xff" * 20, [("/0", "wrong_format")]),
        # no message: a field cut short, group ends, text that is not UTF-8
        (b"\x02\x0a\x09", [("/0", "wrong_format")]),
        (file(b"\x0f"), [("/1", "wrong_format")]),
        (file(text(2, b"\xff")), [("/1", "wrong_format")]),
        # values: all faults at once
        (
            file(node(1, COMP, 2**63), ONE, ONE, node(3, COLL, comm_size=-1)),
            [("/1", "out_of_range"), ("/3", "duplicate_id"), ("/4", "out_of_range")],
        ),
        (file(node(1, COLL, comm_size="9")), [("/1", "out_of_range")]),
        (file(node(1, COLL, comm_size=9.0)), [("/1", "out_of_range")]),
        (file(node(1, COLL, comm_size=2**60 + 1)), [("/1", "out_of_range")]),
        # a cycle; ctrl_deps may have one
        (file(node(1, COMP, 1, [3]), node(3, COMP, 1, [1]), ONE), [("/1", "cycle")]),
        # nothing to send, and sizes or kinds that nobody knows
        (file(node(1, COMP, 3)), [("", "no_collective")]),
        (file(node(1, COMP, 3), node(2, COLL, comm_type=0)), [("", "no_sizes")]),
        (file(node(2, COLL, comm_type="ring", comm_size=9)), [("", "no_sizes")]),
    ],
)
def test_rejected(content, faults):
    with pytest.raises(InvalidTrace) as caught:
        read(content)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


def test_cycles_of_ctrl_deps_are_no_fault():
    assert read(file(node(1, COMP, 1, outer=[3]), node(3, COLL, outer=[1], **SUM))).graph


def test_a_long_cycle_is_named_in_short():
    ring = [node(i, COMP, 1, [i + 1 if i < 29 else 3]) for i in range(3, 30)]
    with pytest.raises(InvalidTrace, match=r"cycle of 27: (\d+ -> ){8}\.\.\.\.$"):
        read(file(*ring, ONE))


def test_too_many_streams_to_join():
    kernels = [node(i, COMP, 1, outer=[0], tid=i) for i in range(1, 2001)]
    sends = [node(i, COLL, outer=[0], tid=9, **SUM) for i in range(2001, 3002)]
    with pytest.raises(InvalidTrace, match="1001 collectives beside 2000 streams"):
        read(file(*kernels, *sends))
    assert read(file(*kernels[:9], *sends[:9])).report.ops == 18


def test_other_faults():
    with pytest.raises(InvalidTrace, match="Steps 0 to 3 are there, not step 4"):
        read(steps(1, 2, 3, 4), 4)
    with pytest.raises(InvalidTrace, match="one file"):
        chakra.read([file(ONE), file(ONE)], TraceOptions())
    huge = [node(i, COLL, comm_type=0, comm_size=2**60) for i in (1, 2)]
    with pytest.raises(InvalidGraph, match="2\\^60"):
        read(file(node(3, COMP, 1), *huge))


@pytest.mark.parametrize(
    ("content", "is_chakra"),
    [
        (file(ONE), True),
        (file(ONE, metadata=b""), True),
        (file(ONE, metadata=text(2, text(1, "schema"))), True),
        (b"", False),
        (b'{"traceEvents": [], "schema": "1.0.1", "nodes": []}' * 9, False),
        (b"node1 -- Input0 -- forward_compute_time=9.000" * 9, False),
        (b"\x1f\x8b\x08\x00", False),
    ],
)
def test_what_looks_like_one(content, is_chakra):
    assert chakra.looks_like(content) is is_chakra


@given(st.data())
def test_any_bytes_give_an_answer_or_a_fault(data):
    content = bytearray(profiled())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    chakra.looks_like(bytes(content[:end]))
    with suppress(InterlaceError):
        read(bytes(content[:end]))


@st.composite
def edges(draw):
    """Predecessors of each position, all smaller or, relabelled, in any order."""
    count = draw(st.integers(1, 9))
    below = [draw(st.sets(st.integers(0, i - 1), max_size=4)) if i else set() for i in range(count)]
    label = draw(st.permutations(range(count)))
    preds = [()] * count
    for i, found in enumerate(below):
        preds[label[i]] = tuple(sorted(label[j] for j in found))
    return tuple(preds), draw(st.sets(st.sampled_from(range(count))))


@given(edges())
def test_contraction_keeps_all_order_and_no_more_edges(drawn):
    preds, kept = drawn
    _, order = order_nodes(preds)
    found = contract(preds, order, kept)
    graph = nx.DiGraph((j, i) for i, above in enumerate(preds) for j in above)
    graph.add_nodes_from(range(len(preds)))
    small = nx.DiGraph((j, i) for i, above in found.items() for j in above)
    small.add_nodes_from(found)
    assert order == list(nx.lexicographical_topological_sort(graph))
    assert list(found) == [i for i in order if i in found]
    assert kept <= found.keys()
    for i in kept:
        assert nx.ancestors(small, i) & kept == nx.ancestors(graph, i) & kept
    assert small.number_of_edges() <= graph.number_of_edges()
    assert all(len(found[i]) > 1 for i in found if i not in kept)


def test_a_real_trace(shared):
    path = shared / "chakra" / "mlcommons+chakra" / "feeder_tests_trace_2024-06-13.tar.gz"
    with tarfile.open(fileobj=io.BytesIO(path.read_bytes())) as archive:
        content = archive.extractfile("tests/data/chakra.0.et").read()
    assert chakra.looks_like(content)
    trace = read(content)
    assert trace.report.collectives == {
        BROADCAST: Total(2, 212_904),
        ALL_REDUCE: Total(5, 102_228_128),
    }
    sent = [op for op in trace.graph.ops if op.kind == ALL_REDUCE]
    assert [op.bytes for op in sent] == [8196000, 31502336, 26255360, 26550272, 9724160]
    assert sum(trace.graph.durations) == 292_828
    assert [us for _, us in trace.measured] == [28, 5, 5572, 9093, 8512, 8178, 5327]
    assert trace.report.ops == 1052 + 7
    assert trace.report.repaired[0].startswith("1277 ctrl_deps")


def test_a_real_microbenchmark(shared):
    path = shared / "chakra" / "astra-sim+astra-sim" / "all_reduce.0.et"
    content = path.read_bytes()
    trace = read(content)
    assert trace.graph is None
    assert trace.report.collectives == {ALL_REDUCE: Total(1, 1_048_576)}
    assert wire.encode(wire.decode(content)) == content


@pytest.mark.parametrize(
    ("begin", "may"),
    [
        (b"", False),
        (b"\0", True),  # an empty message
        (b"\2\x0a\0", True),
        (b"\2\x1a\0", False),  # no field of the metadata
        (b"\5\x1d1234", False),
        (b"\7\x1d1234\x0a\0", True),  # a field that is not known, of four bytes, before
        (b"\x0b\x1912345678\x0a\0", True),
        (b"\4\x18\1\x0a\0", True),
        (b"\2\x1b\x1c", True),  # a group: nobody looks into it
        (b"\2\x1c\0", False),  # the end of none
        (b"\2\x0a\1", False),  # longer than the message
        (b"\3\x0a\1", False),  # than the file
        (b"\1\x0a", False),
        (b"\xff" * 11, False),  # no number
        (b'{"graph":{"name":"VGG-16","ops":[' + 100 * b" ", False),
    ],
)
def test_what_may_begin_with_metadata(begin, may):
    assert wire.may_begin(begin) is may


@given(st.lists(st.binary(max_size=4)), st.binary(max_size=3))
def test_metadata_always_may_begin(parts, after):
    """Whatever the library takes for metadata is not ruled out without it."""
    body = b"".join([*parts, text(1, "0.0.4")])
    content = varint(len(body)) + body + after
    with suppress(InvalidTrace):
        first = next(wire.decode(content))
        assert wire.may_begin(content) or not first.version


def test_more_nodes_than_any_graph_are_refused_before_one_is_read(monkeypatch):
    nodes = [node(i, COMP, 3) for i in range(1, 5)]
    monkeypatch.setattr("solver.traces.chakra.nodes.MAX_CHAKRA_NODES", 4)
    content = file(*nodes[:3], node(5, COLL, **SUM))
    assert len(read(content).graph.ops) == 4
    monkeypatch.setattr("solver.traces.chakra.nodes.decode", pytest.fail)
    with pytest.raises(InvalidTrace, match="The file has more than 4 nodes") as caught:
        read(file(*nodes, node(5, COLL, **SUM)) + b"\xff" * 20)
    assert [fault.code for fault in caught.value.faults] == ["too_large"]


def test_fields_and_enums_are_those_of_the_schema(shared):
    schema = (shared / "chakra" / "mlcommons+chakra" / "et_def.proto").read_text()
    for name, fields in wire._FIELDS.items():
        body = re.search(rf"message {name} {{(.*?)\n}}", schema, re.DOTALL)[1]
        known = {
            field: (int(place), kind.replace("NodeType", "int32") + "*" * bool(many))
            for many, kind, field, place in re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body)
        }
        assert fields.items() <= known.items()
    types = re.search(r"enum CollectiveCommType {(.*?)}", schema, re.DOTALL)[1]
    named = {int(value): name for name, value in re.findall(r"(\w+) = (\d+)", types)}
    assert {n: name.lower().removesuffix("_block") for n, name in named.items()} == wire.COMM_TYPES
