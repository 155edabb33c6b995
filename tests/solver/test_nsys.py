"""Exports of Nsight Systems: a step by hand, and as PyTorch's profiler writes it; sizes."""

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InterlaceError, InvalidTrace
from solver.traces import Sample, TraceOptions, detect, nsys, read_trace
from solver.traces.nsys.communication import KernelLoad, NcclCalls
from solver.traces.nsys.payloads import Payload
from solver.traces.nsys.steps import step_ranges
from solver.traces.nsys.tables import Range
from tests import kineto_events, trace_files
from tests.mangled import mangled
from tests.nsys_bytes import ALL_REDUCE, COMM, SCHEMA, TID, Export, made, payload, step
from tests.sampling import cases

OTHER = 9 << 24 | 90


def read(*files, **options):
    return nsys.read(files, TraceOptions("run", **options))


def rows(trace):
    return [(op.id, op.duration_us, op.bytes, op.after) for op in trace.graph.ops]


def faults(*files):
    with pytest.raises(InvalidTrace) as caught:
        read(*files)
    return [(fault.pointer, fault.code) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("end", "'?'", "'gemm': kernels without a time, or with one below 0, count as 0 us."),
        ("end", "start - 1000", "'gemm': kernels without a time, or with one below 0"),
        ("start", "'?'", "1 kernel left out, without a name, a start or a place"),
        ("streamId", "'?'", "1 kernel left out, without a name, a start or a place"),
    ],
)
def test_kernels_of_bad_times_are_said_and_take_the_gain(column, value, said):
    """SQLite has text in a column of numbers, too."""
    export = step(Export())
    table = "CUPTI_ACTIVITY_KIND_KERNEL"
    export.connection.execute(f"UPDATE {table} SET {column} = {value} WHERE correlationId = 103")
    trace = read(export.bytes)
    assert said in trace.graph.recorded.unsound[0]
    assert trace.graph.recorded.unsound[0] in trace.report.warnings
    assert not any("kernel" in one for one in read(step(Export()).bytes).report.warnings)


def test_a_step_by_hand():
    export = step(Export().range("ncclCommInitRankConfig", -10, -5, made(4, 0)))
    trace = read(step(export, 100, 2, sizes=(100, 300)).bytes, step=0)
    assert rows(trace) == [
        ("step 1", 31, None, ()),  # 20 and 10 of kernels, and 1 of that from 40 on
        ("step 1 host", 10, None, ("step 1",)),
        ("all_reduce 1", None, 100, ("step 1 host",)),
        ("step 2", 9, None, ("step 1 host",)),
        ("all_reduce 2", None, 200, ("step 2",)),
        ("step 3", 10, None, ("step 2", "all_reduce 1", "all_reduce 2")),
        ("step 3 host", 19, None, ("step 3",)),
    ]
    report = trace.report
    assert (report.format, report.steps, report.step) == ("nsys", 2, 0)
    assert report.measured_us == report.recorded_us == 100
    assert trace.channels[0].workers == 4
    assert trace.measured == (("all_reduce 1", 20), ("all_reduce 2", 10))
    assert trace.samples[1:3] == (
        Sample("network", "all_reduce", 200, 10),
        Sample("network", "all_reduce", 100, 20),
    )
    assert report.assumed[0].startswith("Step 1 took 100.000 us")
    assert report.assumed[-1] == "The ranges of NVTX's named 'step' are the steps."
    assert not [said for said in report.warnings if "Profiler" in said]


def exported(events):
    """Write what PyTorch's profiler recorded as Nsight Systems does, with PyTorch's ranges."""
    export = Export()
    for event in events:
        name, start, end = event["name"], event["ts"], event["ts"] + event["dur"]
        args = event["args"]
        if event["cat"] == "kernel":
            launch = next(
                e["ts"]
                for e in events
                if e["cat"] == "cuda_runtime" and e["args"] == {"correlation": args["correlation"]}
            )
            by = next(e["tid"] for e in events if e["ts"] == launch and e["cat"] == "cuda_runtime")
            stream, tid = event["tid"], 7 << 24 | by
            export.kernel(args["correlation"], launch, start, end, name, stream, tid)
            if "dtype" in args:
                size = payload(args["In msg nelems"] * 4)
                export.range("ncclAllReduce", launch - 0.5, launch + 0.5, size, tid)
        elif event["cat"] in {"cpu_op", "user_annotation"}:
            number = args.get("Sequence number")
            said = f"{name}, seq = {number}, op_id = 3, sizes = [[2, 3]]" if number else name
            export.range(said, start, end, tid=7 << 24 | event["tid"])
    return export.bytes


def test_the_run_is_that_of_pytorchs_profiler():
    """The same kernels, launches, ops and sizes make the same graph."""
    events = kineto_events.small()
    found = read(exported(events))
    theirs = read_trace([kineto_events.text(events)], TraceOptions("run"))
    assert found.graph == theirs.graph
    assert found.measured == theirs.measured
    assert found.graph.ops[0].id == "backward 1"


def test_ranks_are_processes_and_files():
    """A late rank: the graph is its own. Ranks are told by NCCL, and by their places else."""

    def two(late, told):
        export = Export()
        for i, tid in enumerate([TID, OTHER]):
            if told:
                export.range("ncclCommInitRank", -9, -8, made(2, 1 - i), tid)
            step(export, tid=tid, device=i, late=late * i)
        return export.bytes

    trace = read(two(5, told=True))
    assert trace.measured[0] == ("all_reduce 1", 15)
    assert "rank 1 of 2" not in str(trace.report.warnings)
    assert read(two(5, told=True), rank=0).measured[0] == ("all_reduce 1", 15), "its number"
    assert read(two(5, told=False), rank=0).measured[0] == ("all_reduce 1", 20)
    apart = read(step(Export(), late=5).bytes, step(Export()).bytes)
    assert apart.measured[0] == ("all_reduce 1", 15)
    assert faults(step(Export()).bytes, step(Export(), sizes=(100, 300)).bytes) == [
        ("/files/1", "ranks_differ")
    ]
    same = step(Export().range("ncclCommInitRank", -9, -8, made(2, 1))).bytes
    assert faults(same, same) == [("/files/1", "ranks_differ")]


CALL = ("ncclAllReduce", 10, 20)
ENDS = ("ncclGroupEnd", 50, 60)


def one(name, start, end, size=8, communicator=COMM):
    return Range(name, start, end, TID, payload=Payload(size, communicator))


@pytest.mark.parametrize(
    ("ranges", "launches", "wanted"),
    [
        ([one(*CALL)], [15], [("allreduce", 8)]),
        ([one(*CALL)], [9, 20, 21], [None, ("allreduce", 8), None]),
        ([one(*CALL, None)], [15], [("allreduce", None)]),
        ([one("ncclAllGather", 10, 20)], [15], [("all_gather", 32)]),  # of four ranks
        ([one("ncclAllGather", 10, 20, 8, 5)], [15], [("all_gather", None)]),  # of who knows
        ([one("ncclReduceScatter", 10, 20)], [15], [("reduce_scatter", 32)]),
        ([one("ncclReduce", 10, 20)], [15], [("reduce", 8)]),
        # one kernel for a group, its calls of one kind or not
        ([one(*CALL), one("ncclAllReduce", 30, 31), one(*ENDS)], [55], [("allreduce", 16)]),
        ([one(*CALL), one("ncclAllGather", 30, 31), one(*ENDS)], [55], [None]),
        ([one(*CALL), one("ncclAllReduce", 30, 31, None), one(*ENDS)], [55], [("allreduce", None)]),
        # several kernels for a group: of equal calls, and of others
        ([one(*CALL), one("ncclAllReduce", 30, 31), one(*ENDS)], [55, 56], [("allreduce", 8)] * 2),
        ([one(*CALL), one("ncclAllReduce", 30, 31, 4), one(*ENDS)], [55, 56], [None, None]),
        # a call outside of the group, then the group
        (
            [one(*CALL), one("ncclAllReduce", 30, 31, 4), one(*ENDS)],
            [15, 55],
            [("allreduce", 8), ("allreduce", 4)],
        ),
        ([one(*ENDS)], [55], [None]),
        # between two ranks, and among all
        ([one("ncclSend", 10, 20), one(*ENDS)], [55], [("send", 8)]),
        ([one("ncclRecv", 10, 20)], [15], [("recv", 8)]),
        (
            [one("ncclSend", 10, 20), one("ncclRecv", 30, 31, 9), one(*ENDS)],
            [55],
            [("batch_isend_irecv", 9)],
        ),
        (
            [one("ncclSend", 10, 20), one("ncclSend", 21, 22), one("ncclRecv", 30, 31), one(*ENDS)],
            [55],
            [("all_to_all", 16)],
        ),
    ],
)
def test_what_a_kernel_carries(ranges, launches, wanted):
    calls = NcclCalls([Range("ncclCommSplit", 0, 1, TID, payload=Payload(None, COMM, 4)), *ranges])
    found = calls.carried(TID, launches)
    assert [carried and (carried.collective, carried.bytes) for carried in found] == wanted
    assert calls.carried(OTHER, launches) == [None] * len(launches)
    assert all(
        c is None or c == KernelLoad(c[0], c[1], c[2], 4 if c[2] == COMM else None) for c in found
    )


@pytest.mark.parametrize(
    ("written", "packed"),
    [
        (None, payload(100)),
        ('{"Message size [bytes]": 100, "NCCL communicator ID": 51966, "x": 1}', None),
        ('{"Message size [bytes]": 100, "NCCL communicator ID": 51966}', payload(7)),
        ("[]", payload(100)),
        ("{", payload(100)),
    ],
)
def test_both_forms_of_a_payload(written, packed):
    export = Export().range("ncclAllReduce", 0, 2, packed, written=written)
    trace = read(export.kernel(1, 1, 3, 9, ALL_REDUCE).kernel(2, 1, 2, 3).bytes)
    assert [op.bytes for op in trace.graph.ops if op.bytes] == [100]
    assert trace.channels[0].source == "process group cafe"


@pytest.mark.parametrize(
    "packed", [None, b"", payload(1)[:40], payload(1, schema=9), "text", b"\xff" * 32]
)
def test_a_payload_that_says_nothing(packed):
    export = Export().range("ncclAllReduce", 0, 2, packed)
    content = export.kernel(1, 1, 3, 9, ALL_REDUCE).bytes
    assert faults(content) == [("", "no_sizes")]
    with pytest.raises(InvalidTrace, match=r"nsys profile --trace=cuda,nvtx"):
        read(content)


def test_a_kernel_of_unknown_bytes_beside_others_keeps_its_time():
    export = step(Export()).kernel(801, 84, 85, 95, ALL_REDUCE, 20)
    report = read(export.bytes).report
    assert report.collectives["all_reduce"].bytes == 300
    assert [(one.launches, one.time_us) for one in report.unsized] == [(1, 10)]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["step 3", "step 4"], ("step", [3, 4])),
        (["iteration(7)", "iteration(8)"], ("iteration", [7, 8])),
        (["ProfilerStep#5"], ("ProfilerStep", [5])),
        (["train_step", "train_step"], ("train_step", [0, 1])),
        (["step 1", "step 1"], ("step", [0, 1])),  # of two epochs
        (["Batch: 2", "aten::mm", "optimizer step"], ("Batch", [2])),
        (["forward", "steps", "step 1 of 3"], ("", [])),
    ],
)
def test_the_names_of_steps(names, wanted):
    ranges = [Range(name, i * 10, i * 10 + 5, TID) for i, name in enumerate(names)]
    name, steps = step_ranges(ranges)
    assert (name, [number for number, _ in steps]) == wanted


def test_steps_are_those_that_took_longest():
    ranges = [Range("batch 1", 0, 9, TID), Range("step 8", 1, 3, TID), Range("step 9", 4, 8, TID)]
    assert step_ranges(ranges) == ("batch", [(1, ranges[0])])


def test_other_forms_of_the_tables():
    """Names as text, no process of a kernel, copies, streams of several GPUs, a mark."""
    schema = SCHEMA.replace("demangledName INTEGER NOT NULL", "demangledName TEXT").replace(
        "globalPid INTEGER, demangledName", "pid INTEGER, demangledName"
    )
    export = step(Export(schema))
    export.connection.execute(
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = "
        "(SELECT value FROM StringIds WHERE id = shortName)"
    )
    export.copy(601, 85, 90, 2).range("a mark", 4, 5, kind=34)
    trace = read(export.bytes)
    assert trace.report.collectives["all_reduce"].bytes == 300
    assert rows(trace)[-2:] == [
        ("step 3", 15, None, ("step 2", "all_reduce 1", "all_reduce 2")),
        ("step 3 host", 14, None, ("step 3",)),
    ]
    without = step(Export()).kernel(901, 1, 2, 60, device=3)  # a GPU without NCCL is no rank
    assert rows(read(without.bytes)) == rows(read(step(Export()).bytes))


def drawn(seed):
    """Return an export of two steps or more: what computes, looks like more, or has no call."""
    draw, export = random.Random(seed), Export()
    names = ["gemm", "my_allreduce_kernel", "cross_device_reduce_1stage", "void at::native::add"]
    for rank, tid in enumerate((TID, OTHER)[: draw.randrange(1, 3)]):
        export.range("ncclCommInitRank", -9, -8, made(2, rank), tid)
        for number in range(1, draw.randrange(3, 5)):
            at = 100 * number
            step(export, at, number, tid=tid, device=rank, late=draw.randrange(4))
            if draw.random() < 0.5:
                export.copy(
                    100 * number + 50, at + 84, at + 88, draw.choice([1, 8, 10]), 7, tid, rank
                )
            for i in range(draw.randrange(3)):
                start, name = at + draw.randrange(80), draw.choice(names)
                took, stream = draw.randrange(9), draw.choice([7, 9])
                export.kernel(
                    100 * number + 60 + i, start - 1, start, start + took, name, stream, tid, rank
                )
    if draw.random() < 0.5:
        export.connection.execute(
            f"DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId % 7 = {draw.randrange(7)}"
        )
    if draw.random() < 0.2:
        export.range("symm_mem::one_shot, seq = 3", 100, 200)
    return export


@pytest.mark.parametrize("seed", range(cases(60, 12)))
def test_kernels_as_columns_are_those_one_by_one(seed):
    """Where a name is no number of a text, rows are read one by one."""
    export = drawn(seed)
    whole = outcome(export.bytes)
    export.connection.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET shortName = 'x'")
    assert outcome(export.bytes) == whole


def test_launches_of_unknown_bytes_on_a_channel_of_their_own_leave_the_slow_rank_open():
    """Two ranks, each with a custom all-reduce between GPUs, of which nothing tells the bytes."""
    export = Export()
    for rank, tid in enumerate((TID, OTHER)):
        export.range("ncclCommInitRank", -9, -8, made(2, rank), tid)
        step(export, tid=tid, device=rank, late=5 * rank)
        export.kernel(150, 64, 84, 90, "cross_device_reduce_1stage", 7, tid, rank)
    report = read(export.bytes).report
    assert [(one.launches, one.time_us) for one in report.unsized] == [(1, 6)]
    assert any("Collectives of nvlink are left out" in said for said in report.arrivals.sentences)


def outcome(content):
    try:
        return read(content)
    except InvalidTrace as error:
        return error.faults


def hostile(script):
    export = step(Export())
    export.connection.executescript(script)
    return export.bytes


GOOD = step(Export()).bytes
NAMED = GOOD.replace(b"tableNVTX_EVENTS", b"tableNVTX_EVENT\xff").replace(
    b"NVTX_EVENTS (", b"NVTX_EVENTS !"
)
ENDLESS = """
DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;
CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS
  WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT * FROM n;
"""
CALLED = """
DROP TABLE NVTX_EVENTS;
CREATE TABLE NVTX_EVENTS (start, end, eventType, text AS (hex(zeroblob(start))), globalTid);
INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 3);
"""
EMPTY = Export()
EMPTY.connection.execute("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (GOOD[:3000], "wrong_format"),  # cut off
        (GOOD[:100] + b"\xff" * 400 + GOOD[500:], "wrong_format"),  # no schema to be read
        (NAMED, "wrong_format"),  # the name of a table is no text
        (hostile(ENDLESS), "no_collective"),  # a view is no table
        (hostile(CALLED), "no_sizes"),  # a column that is computed is none
        (EMPTY.bytes, "no_collective"),  # nothing ran
        (Export().kernel(1, 2, 3, 4).bytes, "no_collective"),  # nothing was sent
        (hostile("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'x'"), "no_collective"),
        (
            hostile("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 9223372036854775807"),
            "out_of_range",
        ),
        (hostile("UPDATE NVTX_EVENTS SET text = 'é', textId = NULL"), "no_sizes"),
        (hostile("DROP TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES"), "no_sizes"),
    ],
)
def test_broken_files(content, code):
    assert faults(content) == [("", code)]


def test_a_file_that_makes_much_work_is_refused(monkeypatch):
    monkeypatch.setattr("solver.traces.nsys.database._STEPS_A_BYTE", 0)
    monkeypatch.setattr("solver.traces.nsys.database._STEPS", 10)
    monkeypatch.setattr("solver.traces.nsys.database._ASKED", 10)
    assert faults(GOOD) == [("", "too_large")]


def test_a_file_whose_log_is_elsewhere():
    logged = GOOD[:18] + b"\x02\x02" + GOOD[20:]
    assert read(logged) == read(GOOD)


def test_what_is_told_by_content():
    assert detect([GOOD]) == "nsys"
    other = Export("CREATE TABLE t (x);").bytes
    with pytest.raises(InvalidTrace, match="SQLite database that Nsight Systems has not exported"):
        detect([other])


JOB = trace_files.Job((50, 30, 70), (4_000, 8_000, 1_200))


def test_any_job_is_told_as_by_pytorchs_profiler():
    """Steps of the same times, bytes and ranks: the same samples, and the step as long."""
    found, theirs = read(*trace_files.nsys(JOB)), read_trace(trace_files.kineto(JOB))
    assert found.samples == theirs.samples
    assert found.report.measured_us == found.report.recorded_us == 359
    assert found.channels[0].workers == JOB.workers
    assert found.report.collectives["all_reduce"].bytes == 13_200


TIMES = st.lists(st.integers(1, 9), min_size=8, max_size=8)


@settings(max_examples=cases(25))
@given(TIMES, st.integers(1, 2**40))
def test_times_and_sizes_come_back(gaps, size):
    """Kernels one after another on one stream, and one all-reduce between."""
    at = [sum(gaps[: i + 1]) for i in range(8)]
    export = Export().range("step 1", 0, at[7] + 5).range("ncclAllReduce", 0, 1, payload(size))
    export.kernel(1, 0, at[0], at[1]).kernel(2, 0.5, at[2], at[3], ALL_REDUCE, 20)
    trace = read(export.kernel(3, 0.75, at[4], at[5]).bytes)
    assert trace.measured == (("all_reduce 1", at[3] - at[2]),)
    assert [op.bytes for op in trace.graph.ops if op.bytes] == [size]
    assert trace.report.measured_us == trace.report.recorded_us == at[7] + 5


@settings(max_examples=cases(40))
@given(mangled(GOOD))
def test_mangled_files_are_read_or_refused(content):
    with suppress(InterlaceError):
        read(content)
