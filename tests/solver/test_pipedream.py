"""PipeDream profiles: by hand, real ones, and broken ones."""

from contextlib import suppress

import pytest
from hypothesis import given

from solver.errors import InterlaceError, InvalidTrace
from solver.graph import ALL_REDUCE
from solver.traces import READERS, Total, TraceOptions, detect, pipedream
from tests.mangled import mangled

LINES = [
    "node1 -- Input0 -- forward_compute_time=9.000, backward_compute_time=0.000, "
    "activation_size=0.0, parameter_size=0.000",
    "node2 -- Conv2d(3, 8, kernel_size=(3, 3)) -- forward_compute_time=1.000, "
    "backward_compute_time=2.000, activation_size=[6.0; 7.0], parameter_size=400.000",
    "node3 -- ReLU -- forward_compute_time=0.500, backward_compute_time=0.250, "
    "activation_size=1.0, parameter_size=0.000",
    "node4 -- Linear -- forward_compute_time=3.000, backward_compute_time=4.000, "
    "activation_size=1.0, parameter_size=800.000",
    "\tnode1 -- node2",
    "\tnode2 -- node4",
    "\tnode4 -- node3",
]
SMALL = "\n".join(LINES)


def read(text, name):
    return pipedream.read([text.encode()], TraceOptions(name))


def test_a_small_profile_by_hand():
    trace = read(SMALL, "small")
    assert [(op.id, op.duration_us, op.bytes, op.after) for op in trace.graph.ops] == [
        ("backward:node3", 250.0, None, ()),
        ("backward:node4", 4000.0, None, ("backward:node3",)),
        ("grad:node4", None, 800, ("backward:node4",)),
        ("backward:node2", 2000.0, None, ("backward:node4",)),
        ("grad:node2", None, 400, ("backward:node2",)),
        ("forward:node2", 1000.0, None, ("backward:node2", "grad:node2")),
        ("forward:node4", 3000.0, None, ("forward:node2", "grad:node4")),
        ("forward:node3", 500.0, None, ("forward:node4",)),
    ]
    report = trace.report
    assert (report.format, report.ops, report.collectives) == (
        "pipedream",
        8,
        {ALL_REDUCE: Total(2, 1200)},
    )
    assert report.dropped == ("node1 (Input0, 9 ms forward): data loading",)


def test_the_input_of_dapples_bert():
    text = SMALL.replace("Input0", "input_ids").replace("ReLU", "reshape_input")
    trace = read(text, "bert")
    assert trace.report.dropped == ("node1 (input_ids, 9 ms forward): data loading",)
    assert trace.graph.ops == read(SMALL, "bert").graph.ops  # a later reshape is a layer
    with_parameters = f"node1 -- input_ids -- {VALUES}"
    assert "grad:node1" in {op.id for op in read(with_parameters, "one").graph.ops}


LOOSE = """\ufeff

   node2   --  Conv2d(3, 8, kernel_size=(3, 3)) --\tforward_compute_time = 1, \
backward_compute_time=2,parameter_size=400   \r
node4\t--\tLinear\t--\tparameter_size=800.0, backward_compute_time=4.0e0, \
forward_compute_time=3.000, note=4 -- stage_id=0\r
  2 -- node4\r
1 -- 2
\t\tnode 4  -- 3\t
 3 -- ReLU -- backward_compute_time=.25 forward_compute_time=0.5 parameter_size=0\n
1 -- Input0 -- forward_compute_time=9, backward_compute_time=0, parameter_size=0"""


def test_a_file_edited_by_hand_is_the_same_profile():
    assert read(LOOSE, "small") == read(SMALL, "small")


def test_no_input_no_output_only_layers():
    trace = read(f"node7 -- A -- {VALUES}", "one")
    assert [op.id for op in trace.graph.ops] == ["backward:node7", "grad:node7", "forward:node7"]
    assert trace.report.dropped == ()


@pytest.mark.parametrize("text", [SMALL, LOOSE])
def test_detected(text):
    assert detect([text.encode()]) == "pipedream"


@given(mangled(SMALL.encode()))
def test_broken_files_are_refused_or_read(content):
    try:
        trace = pipedream.read([content], TraceOptions())
    except InterlaceError:
        return
    assert trace.graph.collectives


@pytest.mark.parametrize(
    ("model", "tensors", "size", "inputs"),
    [
        ("resnet50", 107, 102_228_128, 1),
        ("vgg16", 16, 553_430_176, 1),
        ("densenet121", 242, 31_915_424, 1),
        ("alexnet", 8, 244_403_360, 1),
        ("gnmt", 11, 775_063_808, 3),
    ],
)
def test_real_profiles(shared, model, tensors, size, inputs):
    path = shared / "pipedream_graph" / "msr-fiddle+pipedream" / f"{model}.graph.txt"
    trace = READERS["pipedream"]([path.read_bytes()], TraceOptions(model))
    assert trace.report.collectives == {ALL_REDUCE: Total(tensors, size)}
    assert len(trace.graph.collectives) == tensors
    assert len(trace.report.dropped) == inputs
    assert not any("Input" in op.id for op in trace.graph.ops)


TOO_MANY = ("", "too_many_faults")
VALUES = "forward_compute_time=1, backward_compute_time=1, parameter_size=4"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        # no node at all
        ("", [("", "wrong_format")]),
        ("\n\n", [("", "wrong_format")]),
        # neither a node nor an edge
        ("hello", [("/1", "wrong_format")]),
        ('{"ops": []}', [("/1", "wrong_format")]),
        # values missing, not numbers, negative, not finite
        ("node1 -- A -- forward_compute_time=1", [("/1", "out_of_range")]),
        (f"node1 -- A -- {VALUES.replace('=4', '=x')}", [("/1", "out_of_range")]),
        (f"node1 -- A -- {VALUES.replace('=4', '=-4')}", [("/1", "out_of_range")]),
        (f"node1 -- A -- {VALUES.replace('=4', '=inf')}", [("/1", "out_of_range")]),
        # an edge to nowhere, and a node twice
        (f"node1 -- A -- {VALUES}\n\tnode1 -- node2", [("/2", "unknown_op")]),
        (f"node1 -- A -- {VALUES}\nnode1 -- A -- {VALUES}", [("/2", "duplicate_id")]),
        # a cycle
        (
            f"node1 -- A -- {VALUES}\nnode2 -- B -- {VALUES}\n\tnode1 -- node2\n\tnode2 -- node1",
            [("", "cycle")],
        ),
        (f"node1 -- A -- {VALUES}\nnode1 -- node1", [("", "cycle")]),
        # a name that is no node's, or too long for one
        (f"edge1 -- A -- {VALUES}", [("/1", "wrong_format")]),
        (f"node{'9' * 19} -- A -- {VALUES}", [("/1", "wrong_format")]),
        # nothing to send, more than there can be
        (f"node1 -- A -- {VALUES.replace('=4', '=0')}", [("", "no_collective")]),
        (f"node1 -- A -- {VALUES.replace('=4', '=1e30')}", [("", "out_of_range")]),
        # more faults than anyone reads
        ("hello\n" * 3000, [(f"/{i + 1}", "wrong_format") for i in range(1000)] + [TOO_MANY]),
        # all faults at once
        ("hello\nnode1 -- A -- x\n", [("/1", "wrong_format"), ("/2", "out_of_range")]),
    ],
)
def test_rejected(text, faults):
    with pytest.raises(InvalidTrace) as caught:
        read(text, "bad")
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


def test_a_long_cycle_is_named_in_short():
    lines = [f"node{i} -- A -- {VALUES}" for i in range(20)]
    lines += [f"node{i} -- node{(i + 1) % 20}" for i in range(20)]
    with pytest.raises(InvalidTrace, match=r"cycle of 20: node0 -> .* -> \.\.\. -> node0\."):
        read("\n".join(lines), "ring")


@pytest.mark.parametrize("piece", ["a", "=", "a=[", "a=[,", "-- ", " --", "node1 ", "\t"])
def test_long_lines_take_no_time(piece):
    line = f"node1 -- A -- {VALUES}, {piece * 200_000}"
    with suppress(InvalidTrace):
        read(line, "long")
