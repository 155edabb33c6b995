"""Traces with values that no profiler should write, but that must not mislead or break a thing."""

import sys

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InvalidTrace
from solver.traces import TraceOptions, kineto
from solver.traces.kineto.events import Args, KinetoEvent
from solver.traces.kineto.launches import _called
from solver.traces.kineto.payload_sizes import elements_called
from solver.traces.kineto.recording import CpuSpan
from tests.kineto_events import MAIN, NCCL, event, kernel, note, sized, small, text
from tests.sampling import cases


def read(*files, **asked):
    return kineto.read(files, TraceOptions("x", **asked))


def noted(dims, types='["float"]'):
    """The small step; the size of its first collective is only in the text given."""
    events = small(first={})
    next(e for e in events if e["name"] == "nccl:all_reduce")["args"] = {
        "Input Dims": "DIMS",
        "Input type": "TYPES",
    }
    whole = text(events).replace(b'"DIMS"', dims.encode("latin-1"))
    return whole.replace(b'"TYPES"', types.encode("latin-1"))


@pytest.mark.parametrize(
    ("dims", "types"),
    [
        ("[" * 600 + "25" + "]" * 600, '["float"]'),
        ("[[25]]", '["\xff"]'),
        ("[[1e999]]", '["float"]'),
        ("[[25]]", "[1e999]"),
        ("[[-25]]", '["float"]'),
        ('{"a": [25]}', '["float"]'),
    ],
)
def test_shapes_that_are_none_are_unknown(dims, types):
    assert read(noted("[[25]]")).report.collectives["all_reduce"].bytes == 300
    report = read(noted(dims, types)).report
    assert (report.collectives["all_reduce"].bytes, report.unsized[0].launches) == (200, 1)


@pytest.mark.parametrize(
    ("name", "is_same"), [("allreduce", False), ("broadcast", False), ("all_to_all", True)]
)
def test_ranks_reduce_the_same_bytes(name, is_same):
    """Two all-reduces of one job are of the same tensor; an exchange may be uneven."""
    first = text(small(second=sized(2**20, name)))
    other = text(small(second=sized(2**10, name)))
    if is_same:
        assert read(first, other).graph is not None
        return
    with pytest.raises(InvalidTrace) as caught:
        read(first, first, other)
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code) == ("/files/2", "ranks_differ")
    assert fault.detail.startswith("Collective 2 of this rank's step, a")
    assert "is of 4,096 bytes, in the first file of 4,194,304" in fault.detail


@pytest.mark.parametrize("counts", [{"In msg nelems": -5}, {"Out msg nelems": -5}])
def test_counts_below_zero_are_unknown(counts):
    report = read(text(small(second=sized(50) | counts))).report
    assert [each.launches for each in report.unsized] == [1]


@pytest.mark.parametrize("dur", [None, -5.0])
def test_kernels_without_a_time_take_the_gain(dur):
    """They count as 0 us, so neither the step nor a cost is that of the run."""
    events = small()
    launched = next(e for e in events if e["cat"] == "kernel" and "nccl" in e["name"])
    trace = read(text([e | {"dur": dur} if e is launched else e for e in events]))
    said = (
        f"{launched['name']!r}: kernels without a time, or with one below 0, count as 0 us. The "
        "step and the costs lack what they took."
    )
    assert said in trace.report.warnings
    assert said in trace.graph.recorded.unsound
    assert read(text(events)).graph.recorded.unsound == ()


def first_that_fits(notes, calls):
    """The rule of who asked for an annotation, by trying every call."""
    left, result = sorted(calls, key=lambda call: call.start), []
    for one in notes:
        mine = elements_called(one.event)
        fits = (
            call
            for call in left
            if call.start <= one.start + 5
            and (not mine or not elements_called(call.event) or mine & elements_called(call.event))
        )
        call = next(fits, None)
        left = [other for other in left if other is not call]
        result.append((one, call or one))
    return result


def spans(name):
    """Annotations or calls with no, one or two tensors, at times that are close."""
    drawn = st.tuples(st.integers(0, 30), st.lists(st.integers(1, 3), max_size=2))
    return st.lists(drawn, max_size=12).map(lambda some: [span(name, *one) for one in some])


def span(name, at, counts):
    dims = msgspec.Raw(msgspec.json.encode([[count] for count in counts]))
    types = msgspec.Raw(msgspec.json.encode(["float"] * len(counts)))
    event = KinetoEvent(name=name, args=Args(dims=dims, types=types))
    return CpuSpan(float(at), at + 1.0, "1 1", event)


@settings(max_examples=cases(300))
@given(spans("gloo:all_reduce"), spans("c10d::allreduce_"))
def test_annotations_find_the_call_that_asked(notes, calls):
    notes.sort(key=lambda note: note.start)
    found = _called(notes, calls)
    assert [tuple(map(id, pair)) for pair in found] == [
        tuple(map(id, pair)) for pair in first_that_fits(notes, calls)
    ]


def lines_run(count):
    """How many lines are run to match so many annotations with as many calls that do not fit."""
    notes = [span("gloo:all_reduce", at, [3]) for at in range(count)]
    calls = [span("c10d::allreduce_", 0, [2]) for _ in range(count)]
    lines = 0

    def trace(_frame, what, _argument):
        nonlocal lines
        lines += what == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = _called(notes, calls)
    finally:
        sys.settrace(before)
    assert all(note is call for note, call in found)
    return lines


def test_annotations_that_fit_no_call_are_cheap():
    """Each call is looked at once for each of its tensors, not once for each annotation."""
    assert lines_run(400) < 2.2 * lines_run(200)


@pytest.mark.parametrize("where", ["kernel", "record", "note"])
def test_a_barrier_is_no_collective(where):
    """NCCL sums one element for it: neither a collective to plan nor a sample of cost."""
    launched, ran = kernel(9, 84, 85, 95, MAIN, NCCL, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
    ran["args"] |= sized(1, "barrier" if where == "kernel" else "allreduce")
    events = [*small(), launched, ran]
    if where == "record":
        made = event("record_param_comms", "cpu_op", 83, 3)
        events.append(made | {"args": {"Collective name": "barrier"}})
    if where == "note":
        events.append(note("nccl:all_reduce_barrier", 83, 3))
    trace = read(text(events))
    assert trace.report.collectives == read(text(small())).report.collectives
    assert [sample.bytes for sample in trace.samples] == [100, 200]
    assert trace.report.measured_us == 100.0
    assert "1 barriers: they carry nothing; their time is the host's." in trace.report.dropped


FIELDS = [
    *("Process Group Name", "Process Group Description", "Process Group Ranks", "Group size"),
    *("In msg nelems", "Out msg nelems", "dtype", "Collective name", "Concrete Inputs"),
    *("Input Dims", "Input type", "correlation", "Sequence number", "Fwd thread id"),
]
VALUES = [
    *("9" * 5000, "1e999", "18446744073709551615", "-3", "0", "1e5", "true", "null"),
    *('"\\ud800"', '"\xff"', '"a\\nb"', '""', f'"{"x" * 700}"', '"[1, 2, 3"'),
    *('{"a": 1}', "[[[1]]]", "[-1]", '["a"]', "[1, [2]]", "[" * 2000 + "]" * 2000),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value[:20])
@pytest.mark.parametrize("field", FIELDS)
def test_odd_values_are_read_or_refused(field, value):
    events = small()
    for one in events:
        one["args"][field] = "ODD"
    content = text(events).replace(b'"ODD"', value.encode("latin-1"))
    try:
        trace = read(content)
    except InvalidTrace:
        return
    assert trace.graph is not None
    assert all(len(channel.name) < 250 for channel in trace.channels)
