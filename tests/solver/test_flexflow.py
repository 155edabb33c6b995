"""FlexFlow's task graphs: two devices by hand, any tasks, a real one, and broken ones."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InterlaceError, InvalidTrace
from solver.graph import BROADCAST
from solver.traces import Sample, Total, TraceChannel, TraceOptions, detect, flexflow, read_trace
from tests.mangled import mangled
from tests.sampling import cases

REAL = Path(__file__).parents[3] / "shared/data/flexflow_graph/mlcommons+chakra/alexnet.4.graph"


def ran(number, device, time, name="Dense_1", what="Forward"):
    label = f"{{device_id={device}|{name}|{what}|COMP_NODE|simulated_run_time={time}}}"
    return f'node{number} [color=red,label="{label}",shape=record];'


def sent(number, origin, target, size, time, name="Comm from a to b"):
    fields = f"src_device_id={origin}|dst_device_id={target}|comm_size={size}|run_time={time}"
    label = f"{{device_id={target}|{name}|Comm|COMM_SEND_RECV_NODE|{fields}}}"
    return f'node{number} [label="{label}",shape=record];'


def edge(tail, head):
    return f"  node{tail} -> node{head};"


def text(*statements):
    return ("digraph taskgraph {  " + "\n".join(statements) + "\n}").encode()


#: Device 0 runs two tasks that are ready at once; what is sent of nothing is an order alone.
SMALL = (
    ran(5, 0, 0.25),
    ran(1, 0, 0.5, "Conv2D_0", "Backward"),
    sent(2, 0, 1, 1000, 0.125),
    ran(3, 1, 1.0, "Update", "Update"),
    sent(4, 1, 0, 0, 0),
    ran(6, 0, 2, "Barrier", "Barrier"),
    *(edge(1, 2), edge(2, 3), edge(3, 4), edge(4, 6), edge(5, 6), edge(5, 6)),
)


def read(*files):
    return flexflow.read(files, TraceOptions("run"))


def test_two_devices_by_hand():
    trace = read(text(*SMALL))
    rows = [
        (op.id, op.duration_us, op.bytes, op.after, op.stream or op.channel)
        for op in trace.graph.ops
    ]
    assert rows == [
        ("node1 Conv2D_0 Backward", 500, None, (), "device 0"),  # the smaller number first
        ("node5 Dense_1 Forward", 250, None, (), "device 0"),
        ("node2 Comm from a to b", None, 1000, ("node1 Conv2D_0 Backward",), "0 to 1"),
        ("node3 Update Update", 1000, None, ("node2 Comm from a to b",), "device 1"),
        (
            "node6 Barrier Barrier",
            2000,
            None,
            ("node3 Update Update", "node5 Dense_1 Forward"),
            "device 0",
        ),
    ]
    report = trace.report
    assert report.measured_us == report.recorded_us == 500 + 125 + 1000 + 2000
    assert report.collectives == {BROADCAST: Total(1, 1000)}
    assert trace.channels == (TraceChannel("0 to 1", 2, "both ends of a link"),)
    assert trace.samples == (Sample("0 to 1", BROADCAST, 1000, 125),)
    assert trace.measured == (("node2 Comm from a to b", 125),)
    assert report.dropped == ("1 transfer of 0 bytes: an order alone.",)
    assert detect([text(*SMALL)]) == report.format == "flexflow"


@pytest.mark.skipif(not REAL.exists(), reason="needs the shared data")
def test_the_real_graph():
    """Counts and bytes as the list of the data has them; the step is that of their simulator."""
    trace = read_trace([REAL.read_bytes()])
    kinds = [op.kind for op in trace.graph.ops]
    assert (kinds.count("compute"), kinds.count(BROADCAST)) == (128, 112)
    assert trace.report.collectives == {BROADCAST: Total(112, 1_371_172_592)}
    assert trace.report.measured_us == trace.report.recorded_us
    said = "FlexFlow was given, not of a network: 1.074e+09 bytes a ms (8,590 Gbit/s)."
    assert said in " ".join(trace.report.assumed)
    assert len(trace.graph.recorded.unsound) == 6  # of 40 and of 256 bytes, on these links
    assert all("take less than 1 ns" in said for said in trace.graph.recorded.unsound)


@pytest.mark.parametrize(
    ("links", "channels"),
    [
        ([(0, i) for i in range(1, 17)], 16),
        ([(0, i) for i in range(1, 18)], 1),  # one sender
        ([(i, (i + 1) % 17) for i in range(17)], 1),  # 17 senders: one for all
        ([(i % 2, i + 2) for i in range(18)], 2),
    ],
)
def test_many_links_share_channels(links, channels):
    rows = [sent(i + 1, tail, head, 8, 1) for i, (tail, head) in enumerate(links)]
    trace = read(text(ran(0, 0, 1), *rows, *(edge(0, i + 1) for i in range(len(links)))))
    assert len(trace.channels) == channels
    assert any("links between devices" in said for said in trace.report.assumed) == (channels < 16)


@pytest.mark.parametrize(
    ("content", "pointer", "code"),
    [
        (b"digraph taskgraph { node0 [label=x]; }", "/node0", "wrong_format"),  # no fields
        (text(ran(0, "x", 1)), "/node0", "wrong_format"),  # no number of a device
        (text(ran(0, 0, "nan")), "/node0", "wrong_format"),
        (text(ran(0, 0, -1)), "/node0", "wrong_format"),
        (text(sent(0, 0, 1, 1.5, 1)), "/node0", "wrong_format"),
        (text(sent(0, 0, 1, -4, 1)), "/node0", "wrong_format"),
        (text(sent(0, 0, 1, 2**61, 1)), "/node0", "wrong_format"),
        (text(sent(0, 0, "", 4, 1)), "/node0", "wrong_format"),
        (text(sent(0, 0, 1, 4, "inf")), "/node0", "wrong_format"),
        (text(ran(0, 0, 1).replace("COMP_NODE", "COMM_COLL_NODE")), "/node0", "wrong_format"),
        (text(ran(0, 0, 1), ran(0, 0, 1)), "/node0", "duplicate_id"),
        (text(ran(0, 0, 1), edge(0, 7)), "/node0", "unknown_op"),
        (text(*SMALL, edge(6, 1)), "", "cycle"),
        (text(*SMALL, "subgraph x { }"), "/13", "wrong_format"),
        (text(*SMALL)[:-2], "/12", "truncated"),
        (text(ran(0, 0, 1)), "", "no_collective"),
        (text(), "", "no_collective"),
        (b"graph { }", "/1", "wrong_format"),
        (b"\xff", "", "not_text"),
    ],
)
def test_broken_files(content, pointer, code):
    with pytest.raises(InvalidTrace) as caught:
        read(content)
    assert (pointer, code) in [(fault.pointer, fault.code) for fault in caught.value.faults]


TASKS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 9), st.integers(0, 50)), min_size=2, max_size=8
)


@settings(max_examples=cases(40))
@given(TASKS, st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=10))
def test_the_step_takes_what_their_simulator_says(tasks, links):
    """Whatever the tasks, the graph with the file's times takes as long as FlexFlow's run."""
    rows = [
        sent(i, device, device + 1, size + 1, time) if i % 2 else ran(i, device, time)
        for i, (device, time, size) in enumerate(tasks)
    ]
    edges = [edge(a, b) for a, b in sorted(links) if a < b < len(tasks)]
    report = read(text(*rows, *edges)).report
    assert report.measured_us == report.recorded_us


@settings(max_examples=cases(40))
@given(mangled(text(*SMALL)))
def test_mangled_files_are_read_or_refused(content):
    with suppress(InterlaceError):
        read(content)
