"""Horovod's timelines: by hand, with layers, cut off, and broken."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.costs import Cluster, network_of
from solver.errors import InterlaceError, InvalidTrace
from solver.evidence.evidence import evidence_of
from solver.graph import ALL_REDUCE, COMPUTE
from solver.traces import Sample, Total, TraceChannel, TraceOptions, detect, horovod, read_trace
from solver.traces.communication import RecordedBucket, Share
from solver.traces.horovod.layers import matched
from tests.horovod_events import (
    HEAD,
    NAMES,
    begin,
    cycle,
    end,
    named,
    negotiated,
    old,
    operated,
    step,
    steps,
    text,
    tick,
)
from tests.mangled import mangled
from tests.sampling import cases

A, B, C = "grad:allreduce.net.a", "grad:allreduce.net.b", "grad:allreduce.net.c"


def read(*files, **asked):
    return horovod.read(files, TraceOptions("run", **asked))


def faults(*files, **asked):
    with pytest.raises(InvalidTrace) as caught:
        read(*files, **asked)
    return [(fault.pointer, fault.code) for fault in caught.value.faults]


def forward(trace):
    return next(op.duration_us for op in trace.graph.ops if op.id == "forward")


def layers(**more):
    """A network of three layers, of which the last sends nothing."""
    found = [
        {"name": "l1", "forward_us": 10, "backward_us": 20, "gradients": [["a", None], ["b", 7]]},
        {"name": "l2", "forward_us": 30, "backward_us": 40, "gradients": [["net.c", 400]]},
        {"name": "l3", "forward_us": 1, "backward_us": 2, "update_us": 3},
    ]
    found[0] |= more
    return json.dumps({"layers": found}).encode()


def test_a_step_by_hand():
    trace = read(text(steps(2)))
    assert [(op.id, op.kind, op.duration_us, op.bytes, op.after) for op in trace.graph.ops] == [
        (B, ALL_REDUCE, None, 100, ("negotiate 1",)),
        ("backward 1", COMPUTE, 100, None, ()),
        (A, ALL_REDUCE, None, 200, ("negotiate 1",)),
        ("backward 2", COMPUTE, 200, None, ("backward 1",)),
        (C, ALL_REDUCE, None, 400, ("negotiate 2",)),
        ("forward", COMPUTE, 500, None, ("backward 2", B, A, C)),  # from 500 to the next, at 1,000
        ("negotiate 1", COMPUTE, 60, None, ("backward 1",)),  # A is ready at 100, B decided at 160
        ("negotiate 2", COMPUTE, 40, None, ("backward 2",)),
    ]
    waits = [op for op in trace.graph.ops if op.id.startswith("negotiate")]
    assert [(op.stream, op.slowdown) for op in waits] == [("negotiate", ())] * 2
    report = trace.report
    assert (report.format, report.steps, report.step, report.ops) == ("horovod", 2, 0, 8)
    assert report.collectives == {ALL_REDUCE: Total(3, 700)}
    # from 160 to 350, which B and A share by bytes, and from there to 500
    assert trace.measured == ((B, 63.333), (A, 126.667), (C, 150))
    assert trace.channels == (TraceChannel("network", 2, "the ranks that were ready"),)
    # from 200 to 350, and from 400 to 500 without 20 in the queue
    both = (Sample("network", ALL_REDUCE, 300, 150), Sample("network", ALL_REDUCE, 400, 80))
    assert trace.samples == both * 2
    assert (report.measured_us, report.recorded_us) == (1000, 1000)
    assert report.assumed[-1].startswith(
        "Negotiating (late ranks waited for) took 100 us in 2 cycles, ops on the stream"
    )
    assert report.dropped == report.repaired == report.warnings == ()


def test_shares_by_hand():
    """B: 160 negotiated, 40 to the start; then, as A, 10 other, 20 in, 100, 10 out, 10 other.

    A: 50 negotiated, 50 waited. C: 40 negotiated, 60 + 20 waited, 60, the rest 20.
    """
    found = read(text(steps(3))).report.communication
    assert found.shares == {
        "negotiate": Share(83.333, 0.3125),  # 250 of 800
        "wait": Share(56.667, 0.2125),  # 170
        "all_reduce": Share(86.667, 0.325),  # 260
        "memcpy": Share(20, 0.075),  # 60
        "other": Share(20, 0.075),  # 60
    }
    assert found.buffers == (
        RecordedBucket(
            ALL_REDUCE, ("allreduce.net.b", "allreduce.net.a"), 300, 0, 160, 200, 350, 100
        ),
        RecordedBucket(ALL_REDUCE, ("allreduce.net.c",), 400, 300, 340, 400, 500, 60),
    )
    assert found.tensors == 3
    assert (found.skew_us, found.last_worker) == (76.667, 0)  # 160, 50 and 20
    assert found.cycle_us is None


def test_cycles_are_told_where_they_are_marked():
    marks = [cycle(at) for at in (4_000, 5_000, 5_500, 7_500)]
    found = read(text([*marks, *steps(2)])).report.communication
    assert found.cycle_us == 1000  # of 1,000, 500 and 2,000
    other = {"ph": "i", "name": "else", "ts": 1, "s": "g"}
    assert read(text([other, *steps(2)])) == read(text(steps(2)))


def test_the_last_step_and_one_alone():
    last = read(text(steps(2)), step=1)
    assert last.report.measured_us is None
    assert forward(last) == 500
    assert "as long as in the median step" in " ".join(last.report.assumed)
    one = read(text(steps(1)))
    assert forward(one) == 0
    assert "No step has an end in the file" in " ".join(one.report.assumed)
    assert faults(text(steps(2)), step=2) == [("", "out_of_range")]


def test_the_median_of_the_steps_that_end():
    lengths = [900, 1_500, 1_000, 2_000]
    starts = [sum(lengths[:i]) for i in range(5)]
    events = [*HEAD, *NAMES, *(event for at in starts for event in step(at))]
    assert read(text(events)).report.step == 2


def test_what_horovod_caches_has_no_ranks():
    report = read(text(steps(2, ranks=False))).report
    assert (report.communication.skew_us, report.communication.last_worker) == (None, None)
    assert report.warnings[-1].startswith("No rank is named")
    assert read(text(steps(2, ranks=False))).graph.ops == read(text(steps(2))).graph.ops


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (old(steps(2)), "The list of events has no end."),
        (text(steps(2))[:-1], "The list of events has no end."),
        (text(steps(2))[:-1] + b",", "The list of events has no end."),
    ],
)
def test_a_file_without_its_end_is_read(content, said):
    assert detect([content]) == "horovod"
    found = read(content)
    assert found.report.repaired == (said,)
    assert replace(found.report, repaired=()) == read(text(steps(2))).report


def test_a_file_that_ends_in_an_event_is_read_and_warned_of():
    found = read(old([*steps(2), begin(1, "NEGOTIATE_ALLREDUCE", 9_000)])[:-20])
    first, *others = found.report.warnings
    assert first.startswith(f"The file was cut off after event {len(steps(2))}; ")
    assert replace(found.report, warnings=tuple(others)) == read(text(steps(2))).report


def test_bars_without_an_end_and_ends_without_a_bar():
    events = [*HEAD, *NAMES, end(1, 1), *steps(2), begin(1, "NEGOTIATE_ALLREDUCE", 9_000)]
    assert read(text(events)).report.repaired == (
        "1 bar had not ended when the file ends: left out.",
        "1 end of bars that had not begun: left out.",
    )
    events = [end(1, 1), end(1, 1), *events, begin(2, "ALLREDUCE", 9_000)]
    assert read(text(events)).report.repaired == (
        "2 bars had not ended when the file ends: left out.",
        "3 ends of bars that had not begun: left out.",
    )


def test_what_no_step_repeats_is_left_out():
    sent = [
        *named(9, "weights"),
        *negotiated(9, 6_100, 6_200, what="BROADCAST"),
        *operated((9,), "BROADCAST", [("MPI_BCAST", 6_210, 6_220)], 6_230, ["[8]"], 6_200),
    ]
    metric = named(8, "loss")
    for at in (9_000, 9_100):
        metric += [
            *negotiated(8, at, at + 10),
            *operated(
                (8,), "ALLREDUCE", [("MPI_ALLREDUCE", at + 11, at + 12)], at + 13, ["[]"], at + 10
            ),
        ]
    events = [*steps(3), *metric, *(e for i in range(2) for e in step(9_500 + 1_000 * i)), *sent]
    report = read(text(events)).report
    # the first value of the metric belongs to the step before it, the second makes its own
    assert (report.steps, report.collectives) == (3, {ALL_REDUCE: Total(3, 700)})
    assert report.dropped == (
        "1 x BROADCAST: not of a step.",
        "2 steps with other tensors than most steps.",
    )


def test_one_odd_step():
    events = [*steps(2), *(e for e in step(7_000) if e["pid"] != 3), *step(8_000)]
    assert read(text(events)).report.dropped == ("1 step with other tensors than most steps.",)


def test_kinds_and_phases_of_every_library():
    """A hierarchical all-reduce has three parts; a share of a reduce-scatter is a half here."""
    both = ((0, 0), (1, 1))
    events = [
        *named(1, "t1"),
        *negotiated(1, 0, 1, both),
        *operated(
            (1,),
            "ADASUM",
            [
                ("INIT_NCCL", 10, 20),
                ("NCCL_REDUCESCATTER", 20, 23),
                ("MEMCPY_IN_HOST_BUFFER", 23, 24),
                ("MPI_ADASUM_ALLREDUCE", 24, 28),
                ("NCCL_ALLGATHER", 30, 35),
                ("WAIT_FOR_OTHER_TENSOR_DATA", 35, 37),
                ("COPY_ALLGATHER_OUTPUT", 37, 38),
            ],
            40,
            ["[3]"],
            5,
        ),
        *named(2, "t2"),
        *negotiated(2, 41, 42, both, "REDUCESCATTER"),
        *operated((2,), "REDUCESCATTER", [("NCCL_REDUCESCATTER", 44, 45)], 46, ["[8]"], 43),
        *named(3, "t3"),
        *negotiated(3, 50, 51, (), "ALLGATHER"),
        *operated((3,), "ALLGATHER", [("GLOO_ALLGATHER", 52, 53)], 54, ["[2, 4]"], 52),
        *named(4, "t4"),
        *negotiated(4, 60, 61, (), "ALLTOALL"),
        *operated((4,), "ALLTOALL", [], 64, ["[16]"], 62),
    ]
    trace = read(text(events))
    assert {op.id: (op.kind, op.bytes) for op in trace.graph.ops if op.bytes} == {
        "grad:t1": ("all_reduce", 12),
        "grad:t2": ("reduce_scatter", 64),
        "grad:t3": ("all_gather", 32),
        "grad:t4": ("all_to_all", 64),
    }
    assert trace.measured == (("grad:t1", 39), ("grad:t2", 4), ("grad:t3", 3), ("grad:t4", 3))
    # of 35 us 10 go to NCCL's set-up and 2 to other data
    assert [sample.time_us for sample in trace.samples] == [23, 3, 2]
    assert [sample.kind for sample in trace.samples] == [
        "all_reduce",
        "reduce_scatter",
        "all_gather",
    ]
    shares = trace.report.communication.shares
    assert shares["memcpy"].time_us == 0.5  # 2 us of 4 tensors
    # 1 + 1 + 1 + 1 negotiated; waited 4 + 2, 1, 1, 1
    assert (shares["negotiate"].time_us, shares["wait"].time_us) == (1, 2.25)


def test_a_reduce_scatter_of_unknown_workers_has_no_size():
    events = [
        *named(1, "t"),
        *negotiated(1, 0, 1, (), "REDUCESCATTER"),
        *operated((1,), "REDUCESCATTER", [("NCCL_REDUCESCATTER", 2, 3)], 4, ["[8]"], 2),
    ]
    assert faults(text(events)) == [("", "no_sizes")]


def test_buffers_that_follow_each_other_are_apart():
    """Operations of two buffers that begin one after another, and an inner activity."""
    events = [
        *named(1, "x"),
        *named(2, "y"),
        *negotiated(1, 0, 5),
        *negotiated(2, 0, 5),
        begin(1, "ALLREDUCE", 6),
        begin(2, "ALLREDUCE", 6),
        begin(1, "MPI_ALLREDUCE", 7),
        begin(1, "MPI_INNER", 7),
        end(1, 8),
        end(1, 9),
        begin(2, "MPI_ALLREDUCE", 9),
        end(2, 12),
        end(1, 12, "[1]"),
        end(2, 12, "[1]"),
    ]
    found = read(text(events)).report.communication.buffers
    assert [(one.tensors, one.time_us) for one in found] == [(("x",), 2), (("y",), 3)]


@pytest.mark.parametrize(
    ("late", "apart"),
    [((0, 40), False), ((40, 40), False), ((0, 900), True), ((60, 0), True), ((0, 60), True)],
)
def test_operations_that_begin_together_are_apart_where_they_end_apart(late, apart):
    """Two operations of 100 us at once: stamps of one buffer follow each other closely."""
    begins, ends = (1, 1 + late[0]), (101, 101 + late[1])
    events = [*named(1, "x"), *named(2, "y")]
    events += [begin(pid, "ALLREDUCE", 0) for pid in (1, 2)]
    events += [begin(pid, "NCCL_ALLREDUCE", begins[pid - 1]) for pid in (1, 2)]
    events += [end(pid, ends[pid - 1]) for pid in (1, 2)]
    events += [end(pid, 2000, "[1]") for pid in (1, 2)]
    found = read(text(events)).report.communication.buffers
    assert [one.tensors for one in found] == ([("x",), ("y",)] if apart else [("x", "y")])


def test_a_launch_without_a_negotiation():
    """The file began in the middle: the operation's start is all that is known."""
    sent = operated((1,), "ALLREDUCE", [("MPI_ALLREDUCE", 11, 21)], 22, ["[1]"], 10)
    report = read(text([*named(1, "x"), *sent])).report
    assert report.communication.shares["negotiate"] == Share(0, 0)
    assert report.communication.shares["all_reduce"] == Share(10, round(10 / 12, 6))


def test_no_time_at_all_has_no_shares():
    sent = operated((1,), "ALLREDUCE", [], 10, ["[1]"], 10)
    report = read(text([*named(1, "x"), *sent])).report
    assert report.communication.shares["all_reduce"] == Share(0, None)


def test_processes_without_a_name_and_ticks_outside_are_passed_over():
    nameless = [begin(7, "ALLREDUCE", 1), end(7, 2, "[1]"), {"ph": "M", "pid": 7, "name": "other"}]
    ticks = [tick(1, 5, 1), {"ph": "X", "name": "x", "ts": 2, "pid": 1}, {"ph": "C", "pid": 1}]
    assert read(text([*nameless, *ticks, *steps(2)])) == read(text(steps(2)))


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [("[2, 3]", "float16", 12), ("[]", "float64", 8), ("[5]", "bool", 5), ("[ 2,3 ]", "int64", 48)],
)
def test_shapes_and_types(shape, dtype, size):
    sent = [
        *negotiated(1, 0, 1),
        begin(1, "ALLREDUCE", 1),
        begin(1, "MPI_ALLREDUCE", 2),
        end(1, 3),
        end(1, 4, shape, dtype),
    ]
    assert read(text([*named(1, "x"), *sent])).graph.ops[0].bytes == size


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [("2, 3", "float32"), ("[-2]", "float32"), ("[2]", "<unknown>"), (f"[{'1,' * 64}1]", "int8")],
)
def test_shapes_that_are_none_give_no_bytes(shape, dtype):
    sent = [begin(1, "ALLREDUCE", 1), end(1, 4, shape, dtype)]
    assert faults(text([*named(1, "x"), *sent])) == [("", "no_sizes")]


@pytest.mark.parametrize(
    ("shape", "ending"),
    [
        ("[0]", "have 0 bytes: 'x', and 1 more. Bytes must be positive."),
        (f"[{'9' * 5000}, 0]", "have 0 bytes: 'x', and 1 more. Bytes must be positive."),
        (f"[{'9' * 5000}]", "have more than 2^60 bytes: 'x', and 1 more."),
        (f"[{'9,' * 63}9]", "have more than 2^60 bytes: 'x', and 1 more."),
        (f"[{2**60 + 1}]", "have more than 2^60 bytes: 'x', and 1 more."),
    ],
)
def test_sizes_that_no_graph_takes_are_not_printed(shape, ending):
    sent = operated((1, 2), "ALLREDUCE", [("MPI_ALLREDUCE", 2, 3)], 4, [shape] * 2, 1)
    events = [*named(1, "x"), *named(2, "y"), *sent]
    for event in events:
        if "dtype" in event.get("args", {}):
            event["args"]["dtype"] = "int8"
    with pytest.raises(InvalidTrace) as caught:
        read(text(events))
    [fault] = caught.value.faults
    assert (fault.code, fault.detail) == ("out_of_range", f"2 of 2 tensors {ending}")


@pytest.mark.parametrize("shape", ["9," * 200_000 + "9", "9" * 400_000, " " * 400_000 + "x"])
def test_long_shapes_take_no_time(shape):
    sent = [begin(1, "ALLREDUCE", 1), end(1, 4, f"[{shape}]")]
    assert len(faults(text([*named(1, "x"), *sent]))) == 1


def test_a_rank_that_cannot_be_tells_of_no_workers():
    for rank, workers in ((999_999, 1_000_000), (1_000_000, None)):
        ticks = [{**e, "name": str(rank)} if e.get("name") == "1" else e for e in steps(2)]
        trace = read(text(ticks))
        assert trace.channels[0].workers == workers
    assert trace.channels[0].source == "a rank is named that cannot be"
    assert trace.report.warnings == (
        "Rank 1,000,000 is named, and there are at most 1,000,000 workers: their number is not "
        "known.",
    )


def test_bytes_from_another_step_and_from_parameters():
    events = [*HEAD, *NAMES, *step(0, (None, None, None)), *step(1_000)]
    assert read(text(events)).report.collectives == {ALL_REDUCE: Total(3, 700)}
    none = [*HEAD, *NAMES, *step(0, (None, None, None)), *step(1_000, (None, None, None))]
    assert faults(text(none)) == [("", "no_sizes")]
    with pytest.raises(InvalidTrace, match=r"3 of 3 tensors .* 'allreduce.net.b', and 2 more"):
        read(text(none))
    with pytest.raises(InvalidTrace, match=r"1 of 3 tensors have .*: 'allreduce.net.c'. Give"):
        read(text(none), parameters=(("a", 1), ("net.b", 2)))
    found = read(text(none), parameters=(("a", 1), ("net.b", 2), ("allreduce.net.c", 3)))
    assert found.report.collectives == {ALL_REDUCE: Total(3, 6)}
    assert "Bytes of 3 tensors are those that were given" in found.report.assumed[3]
    one = [*HEAD, *NAMES, *step(0, (None, "[1]", "[1]"))]
    assert "Bytes of 1 tensor are" in " ".join(
        read(text(one), parameters=(("b", 1),)).report.assumed
    )


def test_parameters_that_are_not_used_are_told():
    said = read(text(steps(2)), parameters=(("a", 200),)).report.warnings
    assert said == ("The parameters are not used: the timeline has the bytes of all tensors.",)
    said = read(text(steps(2)), parameters=(("a", 1), ("b", 100))).report.warnings
    assert said == (
        "1 tensor has other bytes in the timeline than were given: those of the timeline count.",
    )
    said = read(text(steps(2)), parameters=(("a", 1), ("b", 1))).report.warnings
    assert said[0].startswith("2 tensors have other bytes")


def test_numbers_in_the_place_of_names_are_told():
    events = [
        {**e, "args": {"name": "allreduce.noname.1"}}
        if e.get("args") == {"name": "allreduce.net.a"}
        else e
        for e in steps(2)
    ]
    assert "Name what is reduced" in read(text(events)).report.warnings[0]


def test_data_that_came_after_its_tensor_is_told():
    sent = [
        *negotiated(1, 0, 5),
        *operated(
            (1,),
            "ALLREDUCE",
            [("WAIT_FOR_DATA", 6, 30), ("NCCL_ALLREDUCE", 30, 40)],
            41,
            ["[1]"],
            5,
        ),
    ]
    trace = read(text([*named(1, "x"), *sent]))
    assert "30 us of waiting for data (WAIT_FOR_DATA)" in " ".join(trace.report.assumed)
    late = next(op for op in trace.graph.ops if op.stream == "data")
    assert (late.id, late.duration_us, late.slowdown) == ("data 1", 30, None)
    assert trace.graph.ops[0].after == ("negotiate 1", "data 1")
    assert (trace.measured, trace.samples[0].time_us) == ((("grad:x", 11),), 12)


def test_layers_beside_a_timeline():
    for files in ([text(steps(2)), layers()], [layers(), text(steps(2))]):
        assert detect(files) == "horovod"
        trace = read(*files)
        assert [(op.id, op.duration_us, op.bytes, op.after) for op in trace.graph.ops] == [
            ("backward:l3", 2, None, ()),
            ("backward:l2", 40, None, ("backward:l3",)),
            (C, None, 400, ("negotiate 2",)),
            ("backward:l1", 20, None, ("backward:l2",)),
            (A, None, 200, ("negotiate 1",)),
            (B, None, 100, ("negotiate 1",)),
            ("forward:l1", 10, None, ("backward:l1", A, B)),
            ("forward:l2", 30, None, ("forward:l1", C)),
            ("update:l3", 3, None, ("forward:l2",)),
            ("forward:l3", 1, None, ("update:l3",)),
            # begun at 5,000 - 500 + 44, released after 62 more, decided at 5,160; then at 5,340
            ("negotiate 1", 554, None, ("backward:l1",)),
            ("negotiate 2", 180, None, ("backward:l2",)),
        ]
        assert trace.report.recorded_us == trace.report.measured_us == 1000
        assert trace.report.assumed[0].startswith("Times are those of the 3 layers; 3 tensors")
        assert trace.report.warnings[0].startswith("1 tensor has other bytes in the timeline")


def test_layers_give_the_bytes_that_the_timeline_lacks():
    none = text([*HEAD, *NAMES, *step(0, (None, None, None))])
    trace = read(none, layers(gradients=[["a", 5], ["b", 7]]))
    assert trace.report.collectives == {ALL_REDUCE: Total(3, 412)}
    assert trace.report.recorded_us is not None


def test_layers_and_a_timeline_that_differ_in_part():
    some = layers(gradients=[["a", 5], ["z", 7], ["w", None]])
    report = read(text(steps(2)), some).report
    assert report.collectives == {ALL_REDUCE: Total(3, 607)}  # a, c and z
    assert report.dropped == ("1 tensors of no gradient of the layers: 'allreduce.net.b'.",)
    assert report.warnings[0].startswith("2 gradients of the layers are not in the timeline ('z')")
    other = layers(gradients=[["y", 5]]).replace(b"net.c", b"x")
    assert faults(text(steps(2)), other) == [("/files/0", "traces_differ")]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'{"layers": [{"backward_us": 1}]}', [("/files/1/layers/0", "wrong_type")]),
        (b'{"layers": [{"backward_us": "1"}]}', [("/files/1/layers/0/backward_us", "wrong_type")]),
        (b'{"layers": [{"backward_us": 1', [("/files/1", "not_json")]),
        (b'{"layers": [{"name": "\xff", "backward_us": 1}]}', [("/files/1", "not_json")]),
        (
            layers(forward_us=-1, backward_us=1e300, update_us=-1),
            [
                (f"/files/1/layers/0/{f}_us", "out_of_range")
                for f in ("forward", "backward", "update")
            ],
        ),
        (
            layers(name="l2", gradients=[["net.c", 0], ["", 1], ["x" * 513, None]]),
            [
                ("/files/1/layers/0/gradients/0", "out_of_range"),
                ("/files/1/layers/0/gradients/1", "out_of_range"),
                ("/files/1/layers/0/gradients/2", "out_of_range"),
                ("/files/1/layers/1/name", "duplicate_id"),
                ("/files/1/layers/1/gradients/0", "duplicate_id"),
            ],
        ),
    ],
)
def test_broken_layers(content, found):
    assert faults(text(steps(1)), content) == found


def test_files_that_do_not_go_together():
    one = text(steps(1))
    assert faults() == [("", "empty")]
    assert faults(layers()) == [("", "empty")]
    assert faults(one, text(steps(2))) == [("", "too_many_files")]
    assert faults(one, layers(), layers(name="x")) == [("", "too_many_files")]


def test_names_are_matched_by_their_ends():
    tensors = ["allreduce.fc.weight", "scope/fc.bias", "xfc.bias", "bias", "a.same", "b.same"]
    known = ["fc.weight", "weight", "fc.bias", "bias", "same", ""]
    assert matched(tensors, known) == {
        "allreduce.fc.weight": "fc.weight",
        "scope/fc.bias": "fc.bias",
        "bias": "bias",
    }


TIMED = begin(1, "ALLREDUCE", 5)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", [("", "empty")]),
        (b"[", [("", "truncated")]),
        (b"nothing", [("", "wrong_format")]),
        (b'{"traceEvents": []}', [("", "wrong_format")]),
        (b'[{"x": ' + b"[" * 100_000, [("", "too_deep")]),
        (b'[{"ph": 7}]', [("/0/ph", "wrong_format")]),
        (b'[{"ph": 7}', [("/0/ph", "wrong_format")]),
        (b'[{"ph": "B"}, {"ph": ', [("/0/ts", "missing_field")]),
        (b'[{"ph": "B"}, {"ph": }', [("", "wrong_format")]),
        (b'[{"ph": 7}, {"ph": }', [("/0/ph", "wrong_format")]),
        # nothing that steps repeat
        (b"[]", [("", "no_collective")]),
        (text([*HEAD, cycle(1)]), [("", "no_collective")]),
        # no time, one beyond all times, one that goes back
        (text([{"ph": "B", "pid": 1, "name": "x"}]), [("/0/ts", "missing_field")]),
        (
            text([{**TIMED, "ts": 1e300}, {"ph": "i"}]),
            [("/0/ts", "out_of_range"), ("/1/ts", "missing_field")],
        ),
        (text([TIMED, end(1, 4)]), [("/1/ts", "out_of_range")]),
        # a tensor of more bytes than there are
        (
            text([*named(1, "x"), TIMED, end(1, 9, f"[{2**59}, 4]")]),
            [("", "out_of_range")],
        ),
    ],
)
def test_rejected(content, found):
    assert faults(content) == found


def test_too_many_tensors_of_a_step(monkeypatch):
    monkeypatch.setattr("solver.traces.horovod.reader.MAX_STEP_COLLECTIVES", 2)
    assert faults(text(steps(1))) == [("", "too_large")]


def test_names_twice_are_no_graph():
    """Two processes of one name: steps end where the name comes again."""
    events = [*named(1, "x"), *named(2, "x"), *(e for e in step(0) if e["pid"] < 3)]
    assert read(text(events)).report.steps == 2


def test_detected():
    assert detect([text(steps(1))]) == detect([old(steps(1))]) == "horovod"
    assert detect([b"\xef\xbb\xbf" + text(steps(1))]) == "horovod"
    assert detect([b'[{"ph": "X", "name": "kernel"}]']) == "kineto"
    assert detect([layers(), text(steps(1))]) == detect([text(steps(1)), layers()]) == "horovod"
    with pytest.raises(InvalidTrace, match="none of the known formats"):
        detect([layers()])  # it may be a request for a prediction
    assert read_trace([text(steps(2))]).report.format == "horovod"


@settings(max_examples=cases(150))
@given(mangled(text(steps(2))))
def test_broken_files_are_refused_or_read(content):
    try:
        trace = horovod.read([content], TraceOptions())
    except InterlaceError:
        return
    assert trace.graph.collectives


@settings(max_examples=cases(100))
@given(mangled(layers()))
def test_broken_layers_are_refused_or_read(content):
    try:
        trace = horovod.read([text(steps(2)), content], TraceOptions())
    except InterlaceError:
        return
    assert trace.graph.collectives


@settings(max_examples=cases(100))
@given(st.lists(st.integers(0, 400), min_size=1, max_size=8), st.integers(1, 8), st.data())
def test_the_parts_add_up_and_every_tensor_is_in_one_buffer(waits, size, data):
    """Any releases, fused in runs: shares sum to all time, buffers hold each tensor once."""
    releases = [sum(waits[: i + 1]) for i in range(len(waits))]
    events, at = [], 0
    for first in range(0, len(waits), size):
        pids = tuple(range(first + 1, min(first + size, len(waits)) + 1))
        at = max(at, releases[pids[-1] - 1])
        for pid in pids:
            events += named(pid, f"t{pid}") + negotiated(pid, releases[pid - 1], at)
        took = data.draw(st.integers(1, 50))
        events += operated(
            pids,
            "ALLREDUCE",
            [("MPI_ALLREDUCE", at + 1, at + 1 + took)],
            at + 2 + took,
            ["[4]"] * len(pids),
            at,
        )
        at += 2 + took
    trace = read(text(events))
    found = trace.report.communication
    assert sorted(name for one in found.buffers for name in one.tensors) == sorted(
        f"t{i + 1}" for i in range(len(waits))
    )
    assert [len(one.tensors) for one in found.buffers] == [
        min(size, len(waits) - i) for i in range(0, len(waits), size)
    ]
    shares = [one.share for one in found.shares.values() if one.share is not None]
    assert sum(shares) == pytest.approx(1, abs=1e-5)
    compute = [op.duration_us for op in trace.graph.ops if op.kind == COMPUTE]
    assert sum(compute) == releases[-1] - releases[0]


def test_evidence_says_what_no_plan_moves():
    graph = read(text(steps(2))).graph
    said = evidence_of(graph, network_of(Cluster(8))).assumed
    assert said[-1] == "0.100 ms of negotiation stay as recorded: no plan moves them."
