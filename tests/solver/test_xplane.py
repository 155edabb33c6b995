"""Profiles kept as planes: the same as their JSON, with the programs they hold, and broken ones."""

import gzip
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InterlaceError, InvalidTrace
from solver.traces import TraceOptions, detect, read_trace
from solver.traces.profiler import parse
from solver.traces.xplane import is_planes, profile_of
from tests.mangled import mangled
from tests.protobuf_bytes import message
from tests.sampling import cases
from tests.solver import test_xla
from tests.xplane_bytes import packed, plane, planes_of, program, space

DATA = Path(__file__).parents[1] / "data"
SENT = (("CollectiveReduceV2", 3 * 256 * 256 * 4),)
#: 100 of 4 bytes and 100 of 2, as the program's text in the tests of XLA has it.
SHAPES = [(11, [100]), (16, [50, 2])]
CPU = [*test_xla.CPU, *test_xla.cpu_run(0, 0), *test_xla.cpu_run(1, 1, late=6)]
AXES = message({1: [message({1: "data", 2: 4}), message({1: "model", 2: 6})]})


def packed_file(name):
    return gzip.decompress((DATA / name).read_bytes())


def whole(*files, **options):
    return read_trace(files, TraceOptions("run", **options))


@pytest.mark.parametrize("known", [(), SENT])
@pytest.mark.parametrize("name", ["jax", "tensorflow"])
def test_a_recorded_run_is_the_same_in_both_forms(name, known):
    """The JSON is what the profiler, and xprof, wrote of the planes."""
    if name == "tensorflow" and not known:
        with pytest.raises(InvalidTrace, match="No bytes of 'CollectiveReduceV2'"):
            whole(packed_file("tensorflow_planes.xplane.pb.gz"))
        return
    planes, text = (packed_file(f"{name}_planes.{form}.gz") for form in ("xplane.pb", "json"))
    assert detect([planes]) == detect([text]) == ("xla" if name == "jax" else "tensorflow")
    own = whole(planes, parameters=known)
    beside = (packed_file("jax_hlo.txt.gz"),) if name == "jax" else ()
    assert own == whole(text, *beside, parameters=known)
    assert own.report.collectives["all_reduce"].bytes == (163840 if name == "jax" else 786432)
    assert own.report.steps == (2 if name == "jax" else 4)


@pytest.mark.parametrize("file", ["jax_profile.json.gz", "tensorflow_profile.json.gz"])
def test_planes_written_of_recorded_json(file):
    text = packed_file(file)
    known = (("all-reduce.2", 163840), ("fc1/kernel", 131072))
    made = planes_of(json.loads(text)["traceEvents"])
    assert whole(made, parameters=known) == whole(text, parameters=known)


@pytest.mark.parametrize(
    "groups",
    [
        {49: message({1: packed([0, 1, 2, 3])})},
        {87: message({1: message({1: packed([0, 1, 2, 3])})})},
        {87: message({2: message({1: 2, 2: 4})})},
        {93: message({1: AXES, 2: message({})})},  # the first axis
        {93: message({1: AXES, 2: message({1: 1, 2: message({1: 1, 2: 4})})})},  # 4 of its 6
    ],
)
def test_a_program_inside_gives_bytes_and_workers(groups):
    """The run of the tests of XLA, without HLO text beside it."""
    host = planes_of(CPU)
    kept = space(program("jit_step", [("all-reduce.2", "all-reduce", SHAPES, groups)]))
    found = whole(kept + host)
    assert found == whole(test_xla.text(CPU), test_xla.HLO)
    assert found.report.collectives["all_reduce"].bytes == 600
    assert found.channels[0].workers == 4


def test_programs_of_one_name_that_differ_tell_nothing():
    one = program("jit_step", [("all-reduce.2", "all-reduce", SHAPES, {})])
    other = program("jit_step", [("all-reduce.2", "all-reduce", SHAPES[:1], {})])
    with pytest.raises(InvalidTrace, match=r"No bytes of 'all-reduce.2'"):
        whole(space(one, other) + planes_of(CPU))
    foreign = program("jit_eval", [("all-reduce.2", "all-reduce", SHAPES[:1], {})])
    found = whole(space(one, foreign, one) + planes_of(CPU))
    assert found.report.collectives["all_reduce"].bytes == 600
    assert found.channels[0].workers == 2, "the devices of the trace: no group is written"


def test_steps_by_hand():
    """A thread begins two steps, and another takes the work of the second."""
    threads = [
        ("python", 1, 0, [
            ("train", 0, 10, {"_r": "1", "step_num": "7"}),
            ("FunctionRun", 2, 3, {"_r": "1", "_pt": "2", "_p": "40"}),
            ("train", 20, 10, {"_r": "1", "step_num": "8"}),
            ("FunctionRun", 21, 1, {"_pt": "2", "_p": "41"}),
        ]),
        ("tf_Compute", 2, 0, [
            ("Process", 23, 30, {"_ct": "2", "_c": "41"}),
            ("MatMul", 24, 5, {"long_name": "a:MatMul"}),
            ("MatMul", 60, 5, {"long_name": "late:MatMul"}),
            ("Process", 70, 9, {"_ct": "3", "_c": "41"}),
        ]),
    ]  # fmt: skip
    found = profile_of(space(plane("/host:CPU", threads)), "")
    groups = [(event.name, event.fields.get("group_id")) for event in found.events]
    assert groups == [
        ("train", "0"), ("FunctionRun", "0"), ("train", "1"), ("FunctionRun", "1"),
        ("Process", "1"), ("MatMul", "1"), ("MatMul", None), ("Process", None),
    ]  # fmt: skip
    kept = plane("/host:CPU", [("t", 1, 0, [("a", 0, 1, {"_r": "1", "group_id": "5"})])])
    assert [event.fields["group_id"] for event in profile_of(space(kept), "").events] == ["5"]


def test_what_is_no_op_is_left_out():
    """Events of the host without a field that is read; planes of neither host nor device."""
    rows = [("$run.py", 0, 9, {}), ("x", 1, 1, {"unread": "1"}), ("x", 1, 1, {"hlo_op": b"1"})]
    rows.append(("y", 2, 0, {"step_name": "third", "to": 2.5}))
    content = space(
        plane("/host:CPU", [("t", -5, 1, rows)]),
        plane("/device:GPU:0", [("Stream #1", 2, 0, [("k", 0, 1, {})])]),
        plane("Task Environment", [("t", 3, 0, [("k", 0, 1, {})])]),
    )
    found = profile_of(content, "")
    assert [(e.name, e.tid, e.start, e.dur) for e in found.events] == [
        ("third", 2**32 - 5, 2.0, 1e-6),
        ("k", 2, 0.0, 1.0),
    ]
    assert found.events[0].fields == {"step_name": "third", "to": "2.5"}
    assert list(found.processes.values()) == ["/host:CPU", "/device:GPU:0"]


GOOD = planes_of(CPU)
LATE = [("a", (2**63 - 1) / 1000, 1, {"hlo_op": "a"})]


@pytest.mark.parametrize(
    ("content", "pointer", "code"),
    [
        (GOOD[:40], "", "truncated"),  # in the middle of its only plane
        (space(plane("Task Environment", [])), "", "wrong_format"),  # nothing ran
        (message({1: message({2: "/host:CPU"})[:-1] + b"\xff"}), "/planes/0", "wrong_format"),
        (message({1: message({2: "/host:CPU", 3: b"\x80"})}), "/planes/0", "wrong_format"),
        (space(plane("/host:CPU", [("t", 1, 2**63 - 1, LATE)])), "/events/0", "out_of_range"),
        (planes_of(CPU), "", "no_sizes"),  # no program inside
    ],
)
def test_broken_files(content, pointer, code):
    with pytest.raises(InvalidTrace) as caught:
        whole(content)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [(pointer, code)]


def test_a_file_that_ends_in_its_last_plane():
    kept = space(program("jit_step", [("all-reduce.2", "all-reduce", SHAPES, {})])) + GOOD
    cut = kept + space(plane("/device:GPU:0", [("s", 1, 0, [])]))[:-9]
    found = whole(cut)
    assert found.graph == whole(kept).graph
    said = f"The file was cut off after plane 2; the {len(cut) - len(kept)} bytes after it are left"
    assert found.report.warnings[0].startswith(said)
    assert "cut off" not in str(whole(kept).report)
    steps = packed_file("tensorflow_planes.xplane.pb.gz") + cut[len(kept) :]
    assert whole(steps, parameters=SENT).report.warnings[0].startswith("The file was cut off after")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\n\x04\x12\x02ab",  # a plane of another name
        b"\x12\x0d\x12\x09/host:CPU",  # no plane
        b"\n\x0b\x1a\x09/host:CPU",  # its name in another field
        b"\x8a\x00\x0b\x12\x09/host:CPU",  # its tag in two bytes
    ],
)
def test_what_is_no_file_of_planes(content):
    assert not is_planes(content)


TEXTS = st.text("ab/_", min_size=1, max_size=3)
ROWS = st.tuples(
    TEXTS,
    st.integers(0, 9),
    st.integers(0, 9).map(lambda n: max(n, 1e-6)),
    st.dictionaries(
        st.sampled_from(["hlo_op", "long_name", "key", "to", "run_id"]), TEXTS, min_size=1
    ),
)


@settings(max_examples=cases(50))
@given(st.lists(st.lists(ROWS, max_size=3), min_size=1, max_size=3))
def test_any_events_come_back(lines):
    """What is written of them as JSON is what is read of their planes."""
    events = [test_xla.name("process_name", 1, "/host:CPU")]
    events += [test_xla.name("thread_name", 1, f"t{i}", i + 1) for i in range(len(lines))]
    events += [
        test_xla.ran(1, i + 1, *row[:3], **row[3]) for i, line in enumerate(lines) for row in line
    ]
    found = profile_of(planes_of(events), "")
    wanted = parse(test_xla.text(events), "")
    rows = [
        [(e.name, e.tid, e.start, e.dur, e.fields) for e in one.events if e.ph == "X"]
        for one in (found, wanted)
    ]
    assert rows[0] == rows[1]
    used = {event.tid for event in found.events}
    assert {t: n for (_, t), n in found.threads.items() if t in used} == {
        t: n for (_, t), n in wanted.threads.items() if t in used
    }


@settings(max_examples=cases(60))
@given(mangled(space(program("jit_step", [("a", "all-reduce", SHAPES, {})])) + GOOD))
def test_mangled_files_are_read_or_refused(content):
    with suppress(InterlaceError):
        whole(content)
