"""Layer graphs of dnn-partitioning: by hand, real ones, and broken ones."""

import json
import tracemalloc

import pytest
from hypothesis import given

from solver.errors import InterlaceError, InvalidTrace
from solver.graph import ALL_REDUCE
from solver.traces import READERS, Total, TraceOptions, detect, dnn_partitioning
from tests.mangled import mangled


def node(number, latency, size, colour, *, backward=False):
    return {
        "id": number,
        "fpgaLatency": latency,
        "size": size,
        "colorClass": colour,
        "isBackwardNode": backward,
    }


def edge(tail, head, size):
    return {"sourceId": tail, "destId": head, "size": size}


# 1 is an input, 2 and 4 have parameters, 4 is last: its output is as large as what enters 14
NODES = [
    node(1, 9.0, 70, 1),
    node(11, 0, 70, 1, backward=True),
    node(2, 1.0, 400 + 30, 2),
    node(12, 2.0, 400 + 30, 2, backward=True),
    node(3, 0.5, 20, 3),
    node(13, 0.25, 20, 3, backward=True),
    node(4, 3.0, 800 + 10, 4),
    node(14, 4.0, 800 + 10, 4, backward=True),
]
EDGES = [
    edge(1, 2, 70.0),
    edge(2, 3, 30.0),
    edge(3, 4, 20.0),
    edge(11, 12, 30.0),
    edge(12, 13, 20.0),
    edge(13, 14, 10.0),
]
SMALL = {"maxFPGAs": 6, "nodes": NODES, "edges": EDGES}


def test_a_large_file_takes_a_small_multiple_of_its_size():
    """Of 1 MB all that is held at once, its text and its graph too: 11.7 times before."""
    from tests import trace_files  # noqa: PLC0415 - it imports this module

    sizes = tuple(4_000 * (i < 10) for i in range(3_400))
    content = trace_files.dnn_partitioning(trace_files.Job((50,) * 3_400, sizes))[0]
    read_small = dnn_partitioning.read([json.dumps(SMALL).encode()], TraceOptions("x"))
    assert read_small.graph is not None
    tracemalloc.start()
    try:
        dnn_partitioning.read([content], TraceOptions("x"))
        assert tracemalloc.get_traced_memory()[1] < 6 * len(content)
    finally:
        tracemalloc.stop()


def read(found, name="small"):
    return dnn_partitioning.read([json.dumps(found).encode()], TraceOptions(name))


def test_a_small_graph_by_hand():
    trace = read(SMALL)
    assert [(op.id, op.duration_us, op.bytes, op.after) for op in trace.graph.ops] == [
        ("backward:node4", 4000.0, None, ()),
        ("grad:node4", None, 800, ("backward:node4",)),
        ("backward:node3", 250.0, None, ("backward:node4",)),
        ("backward:node2", 2000.0, None, ("backward:node3",)),
        ("grad:node2", None, 400, ("backward:node2",)),
        ("forward:node2", 1000.0, None, ("backward:node2", "grad:node2")),
        ("forward:node3", 500.0, None, ("forward:node2",)),
        ("forward:node4", 3000.0, None, ("forward:node3", "grad:node4")),
    ]
    assert trace.report.collectives == {ALL_REDUCE: Total(2, 1200)}
    assert trace.report.dropped == ("node1 (9 ms forward): data loading",)
    assert trace.report.warnings == ()


def test_a_layer_whose_output_nobody_tells_is_all_parameters():
    edges = [found for found in EDGES if found["destId"] != 14]
    trace = read(SMALL | {"edges": edges})
    assert trace.report.collectives == {ALL_REDUCE: Total(2, 1210)}
    (warning,) = trace.report.warnings
    assert warning.startswith("node4: no edge tells its output's bytes, so all of its 810 bytes")


def test_an_edge_need_not_have_a_size():
    bare = {"sourceId": 2, "destId": 4}
    assert read(SMALL | {"edges": [*EDGES, bare]}) == read(SMALL)


def test_an_output_is_as_large_as_the_largest_edge():
    assert read(SMALL | {"edges": [*EDGES, edge(2, 4, 10.0)]}) == read(SMALL)


def test_an_output_larger_than_the_memory_leaves_no_parameters():
    trace = read(SMALL | {"edges": [*EDGES, edge(2, 4, 1e6)]})
    assert trace.report.collectives == {ALL_REDUCE: Total(1, 800)}


def test_resnet_50_is_that_of_pipedream(shared):
    here = shared / "dnn_partitioning" / "msr-fiddle+dnn-partitioning" / "resnet50_training.json"
    there = shared / "pipedream_graph" / "msr-fiddle+pipedream" / "resnet50.graph.txt"
    trace = READERS["dnn_partitioning"]([here.read_bytes()], TraceOptions("resnet50"))
    assert trace.report.collectives == {ALL_REDUCE: Total(107, 102_228_128)}
    assert trace.graph == READERS["pipedream"]([there.read_bytes()], TraceOptions("resnet50")).graph


def test_bert_large(shared):
    here = shared / "dnn_partitioning" / "msr-fiddle+dnn-partitioning" / "bert24_training.json"
    trace = READERS["dnn_partitioning"]([here.read_bytes()], TraceOptions("bert"))
    sizes = {op.id: op.bytes for op in trace.graph.ops if op.bytes}
    hidden, inner, words, positions = 1024, 4096, 30522, 512
    embeddings = hidden * (words + positions + 2 + 2)
    attention = 4 * (hidden * hidden + hidden)
    layer = attention + 2 * hidden * inner + hidden + inner + 4 * hidden
    assert sizes["grad:node3"] == 4 * embeddings
    assert [sizes[f"grad:node{n}"] for n in range(5, 29)] == [4 * layer] * 24
    assert trace.report.collectives == {ALL_REDUCE: Total(27, 1_469_922_544)}
    assert trace.report.warnings == ()


def test_detected():
    assert detect([json.dumps(SMALL).encode()]) == "dnn_partitioning"


@given(mangled(json.dumps(SMALL).encode()))
def test_broken_files_are_refused_or_read(content):
    try:
        trace = dnn_partitioning.read([content], TraceOptions())
    except InterlaceError:
        return
    assert trace.graph.collectives


def without(found, field):
    return {name: value for name, value in found.items() if name != field}


PAIR = [node(1, 1, 8, 1), node(2, 1, 8, 1, backward=True)]
LOOP = [edge(1, 2, 4)]


@pytest.mark.parametrize(
    ("nodes", "edges", "faults"),
    [
        # no lists
        (None, [], [("", "wrong_format")]),
        ([], None, [("", "wrong_format")]),
        # no nodes, or only those of inference
        ([], [], [("/nodes", "no_backward")]),
        ([PAIR[0]], [], [("/nodes", "no_backward")]),
        # no sizes, no parameters, more than there can be
        (PAIR, [], [("/edges", "no_sizes")]),
        (PAIR, [without(LOOP[0], "size")], [("/edges", "no_sizes")]),
        (PAIR, [edge(1, 2, 8)], [("", "no_collective")]),
        ([PAIR[0] | {"size": 2e18}, PAIR[1]], LOOP, [("/nodes/0/size", "out_of_range")]),
        # values of nodes
        ([1, *PAIR], LOOP, [("/nodes/0", "wrong_type")]),
        ([*PAIR, node("3", 1, 1, 1)], LOOP, [("/nodes/2/id", "wrong_type")]),
        ([*PAIR, node(True, 1, 1, 1)], LOOP, [("/nodes/2/id", "wrong_type")]),
        ([*PAIR, node(-1, 1, 1, 1)], LOOP, [("/nodes/2/id", "wrong_type")]),
        ([*PAIR, PAIR[0]], LOOP, [("/nodes/2/id", "duplicate_id")]),
        ([*PAIR, node(3, -1, 1, 1)], LOOP, [("/nodes/2/fpgaLatency", "out_of_range")]),
        ([*PAIR, node(3, 1, None, 1)], LOOP, [("/nodes/2/size", "out_of_range")]),
        ([*PAIR, node(3, 1, True, 1)], LOOP, [("/nodes/2/size", "out_of_range")]),
        ([*PAIR, node(3, float("nan"), 1, 1)], LOOP, [("/nodes/2/fpgaLatency", "out_of_range")]),
        ([*PAIR, node(3, 1, float("inf"), 1)], LOOP, [("/nodes/2/size", "out_of_range")]),
        ([*PAIR, node(3, 1, 1, "red")], LOOP, [("/nodes/2/colorClass", "wrong_type")]),
        (
            [*PAIR, node(3, 1, 1, 1, backward=[])],
            LOOP,
            [("/nodes/2/isBackwardNode", "wrong_type")],
        ),
        # values of edges
        (PAIR, [3, *LOOP], [("/edges/0", "wrong_type")]),
        (PAIR, [edge(3, 2, 1)], [("/edges/0/sourceId", "unknown_op")]),
        (PAIR, [edge(1, [], 1)], [("/edges/0/destId", "unknown_op")]),
        (PAIR, [edge(1, 2, -1)], [("/edges/0/size", "out_of_range")]),
        # nodes that do not pair
        ([*PAIR, node(3, 1, 1, None)], LOOP, [("/nodes/2", "unpaired")]),
        ([*PAIR, node(3, 1, 1, 1)], LOOP, [("/nodes", "unpaired")]),
        ([*PAIR, node(3, 1, 1, 2)], LOOP, [("/nodes", "unpaired")]),
        # a cycle
        (
            [*PAIR, node(3, 1, 8, 3), node(4, 1, 8, 3, backward=True)],
            [edge(1, 3, 4), edge(3, 1, 4)],
            [("", "cycle")],
        ),
        # all faults at once
        ([1, 2], LOOP, [("/nodes/0", "wrong_type"), ("/nodes/1", "wrong_type")]),
        (PAIR, [1, 2], [("/edges/0", "wrong_type"), ("/edges/1", "wrong_type")]),
    ],
)
def test_rejected(nodes, edges, faults):
    with pytest.raises(InvalidTrace) as caught:
        read({"nodes": nodes, "edges": edges})
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 200_000, b"1" * 5000, b'{"nodes": '])
def test_what_is_no_json(content):
    with pytest.raises(InvalidTrace) as caught:
        dnn_partitioning.read([content], TraceOptions())
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [("", "not_json")]


def test_a_list_is_no_graph():
    with pytest.raises(InvalidTrace, match="a list of nodes"):
        read([1])
