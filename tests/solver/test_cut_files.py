"""Files that end too early: read to their last whole event, which is said, or refused."""

import json
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InvalidTrace
from solver.traces import cut_files, read_trace
from solver.traces.chakra.codec import cut_messages
from solver.traces.cut_files import cut_json
from solver.traces.dlc.grammar import is_begun_row
from tests import chakra_bytes, trace_files
from tests.sampling import cases

#: Formats that record events one after the other; the others are graphs, which lack layers when
#: they lack their end.
OF_EVENTS = ("kineto", "pytorch_et", "horovod", "tensorflow", "xla", "chakra", "dlc")
JOB = trace_files.Job((50, 30, 70), (4_000, 8_000, 1_200))
TEXT = st.text('a"\\{}[],:\u00e9', max_size=4)
VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | TEXT,
    lambda some: st.lists(some, max_size=2) | st.dictionaries(TEXT, some, max_size=2),
    max_leaves=5,
)
EVENTS = st.lists(st.dictionaries(st.sampled_from("ab"), VALUES), max_size=4)


@given(EVENTS, st.booleans(), st.integers(1, 40), st.data())
def test_what_is_left_of_json_is_its_beginning(events, is_list, piece, data):
    whole = events if is_list else {"n": [{"x": []}], "o": {"y": [[1]]}, "events": events, "z": {}}
    content = json.dumps(whole, ensure_ascii=False).encode()
    at = data.draw(st.integers(0, len(content) - 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut_files, "_PIECE", piece)
        cut = cut_json(content[:at])
    if cut is None:
        return
    left = msgspec.json.decode(cut.content)
    listed = left if is_list else left.get("events", [])
    assert listed == events[: len(listed)]
    assert is_list or {name: whole[name] for name in left if name != "events"} == {
        name: value for name, value in left.items() if name != "events"
    }
    # no event that is whole is left out
    written = (json.dumps(events[: i + 1], ensure_ascii=False) for i in range(len(events)))
    ends = [len(text.encode()) - 1 for text in written]
    begin = 0 if is_list else content.index(b'"events": ') + len(b'"events": ')
    assert len(listed) == sum(begin + end <= at for end in ends)
    assert not listed or cut.events == len(listed)


@pytest.mark.parametrize("form", OF_EVENTS)
def test_a_file_that_ends_anywhere_is_refused_or_said_to_be_cut_off(form):
    file, *beside = trace_files.WRITERS[form](JOB)
    whole = read_trace([file, *beside])
    assert not any("cut off" in said for said in whole.report.warnings)
    draw = Random(form)
    read = 0
    for _ in range(cases(400, 40)):
        at = draw.randrange(1, len(file))
        try:
            trace = read_trace([file[:at], *beside], form=form)
        except InvalidTrace:
            continue
        read += 1
        report = trace.report
        is_line = form == "dlc" and file[:at].rstrip().count(b"\t") and file[:at].endswith(b"-1")
        is_said = any("cut off after" in said for said in report.warnings)
        ends_whole = form in {"dlc", "chakra"} and file[at - 1 : at] in (b"\n", b"1")
        assert is_said or is_line or ends_whole or "no end" in " ".join(report.repaired), at
    assert read


@pytest.mark.parametrize("form", ["kineto", "xla", "horovod", "dlc"])
def test_a_step_that_is_not_whole_is_not_read(form):
    """Of three steps the last is cut off in its last quarter: a step that is read is as it was."""
    file, *beside = trace_files.WRITERS[form](JOB)
    whole = read_trace([file, *beside])
    part = read_trace([file[: len(file) * 11 // 12], *beside])
    assert part.report.steps < whole.report.steps or form == "dlc"
    assert part.report.measured_us == whole.report.measured_us == 359
    assert part.graph.ops == whole.graph.ops


def test_how_a_cut_is_said():
    file, *_ = trace_files.WRITERS["kineto"](JOB)
    at = file.rindex(b"{", 0, file.rindex(b'"Optimizer'))
    events = file[:at].count(b'"ph"')
    first, *_ = read_trace([file[: at + 10]]).report.warnings
    said = f"The file was cut off after event {events}; the 10 bytes after it are left out."
    assert first == f"{said} One step is not there as a whole, and not read."
    one = trace_files.WRITERS["kineto"](JOB._replace(steps=1))[0]
    first, *_ = read_trace([one[: one.rindex(b"{", 0, len(one) * 2 // 3)]]).report.warnings
    assert first.endswith("No step of it is whole: what is read is what the file has of one.")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        # before the end of the first event
        (b'{"traceEvents": [{"ph": "X"', "before the end of its first event"),
        (b'{"deviceProperties": [{"id": 0}], "traceEvents": [', "before the end of its first"),
        # what is wrong before the end stays wrong
        (b'{"traceEvents": [{"ph": "X"}, {"ph": x}, {"ph": "X"', r"No JSON: .*\(byte 37\)"),
        (b'{"traceEvents": [{"ph": "X"}, {"ph": 7}, {"ph": "X"', "Expected `str"),
        (
            b'{"traceEvents": [{"ph": "X"}, {"ph": "X"',
            "The file was cut off after event 1; .*No coll",
        ),
    ],
)
def test_refused(content, says):
    with pytest.raises(InvalidTrace, match=says):
        read_trace([content], form="kineto")


def test_a_message_that_is_too_long_to_be_one_is_no_cut():
    nodes = [chakra_bytes.node(i, 4, 5) for i in range(1, 4)]
    whole = chakra_bytes.file(*nodes)
    assert cut_messages(whole) is None
    for left in range(1, len(nodes[-1]) + 1):
        cut = cut_messages(whole[:-left])
        assert cut.content == chakra_bytes.file(*nodes[:-1])
        assert (cut.events, cut.left_out) == (2, len(nodes[-1]) + 1 - left)
    broken = chakra_bytes.file(*nodes[:-1]) + chakra_bytes.varint(10_000) + nodes[-1]
    assert cut_messages(broken) is None


ROW = b"10\t0\t2\t100\t5\tOP:= Push_Send_Worker\t1-4-s0\t4\t7\t1500000000\t1070\t-1"


def test_a_row_that_is_not_whole():
    cuts = range(1, ROW.index(b"\t-1") + 1)
    assert all(is_begun_row(ROW[:at]) for at in cuts)
    assert is_begun_row(b"0\t0\t2\t25\t0\tOP:= SendCom_TO_Ser")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"hello",
        ROW[:30] + b"\n",
        ROW[:-2].replace(b"Send", b"Sent"),
        b"10\tx",
        b"10\t0\t-2\t1",
    ],
)
def test_what_is_no_row_without_its_end(text):
    assert not is_begun_row(text)
