"""XLA's profiles: of a CPU, a TPU and a GPU by hand, a recorded one, and broken ones."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from solver.errors import InterlaceError, InvalidTrace
from solver.traces import Sample, Total, TraceChannel, TraceOptions, detect, read_trace, xla
from solver.traces.xla.hlo import instruction
from tests.mangled import mangled
from tests.sampling import cases

DATA = Path(__file__).parents[1] / "data"
HLO = b"""HloModule jit_step, num_partitions=4
%add (x: f32[], y: f32[]) -> f32[] {
}
ENTRY %main {
  %fusion.1 = f32[8]{0} fusion(%p), kind=kLoop
  %all-reduce.2 = (f32[100]{0}, bf16[50,2]{1,0}) all-reduce(%a, %b), replica_groups={{0,1,2,3}}
  ROOT %psum.7 = f32[2,4]{1,0} reduce-scatter(%x), replica_groups=[2,4]<=[8], dimensions={0}
}
"""
#: Stand for all that is more than a graph or a cluster has.
LARGE, MANY = 2**60 + 1, 1_000_001
AXES = [f"'a{i}'" for i in range(1000)]
MESH = f"mesh[{'=999999999,'.join(AXES)}=999999999] {{{','.join(AXES)}}}"


def name(what, pid, label, tid=None):
    where = {"pid": pid} if tid is None else {"pid": pid, "tid": tid}
    return {"ph": "M", **where, "name": what, "args": {"name": label}}


def ran(pid, tid, label, ts, dur, **fields):
    return {"ph": "X", "pid": pid, "tid": tid, "name": label, "ts": ts, "dur": dur, "args": fields}


def text(events):
    head = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}}
    return json.dumps({**head, "traceEvents": [*events, {}]}).encode()


def read(*files, **asked):
    return xla.read(files, TraceOptions("run", **asked))


def faults(*files, **asked):
    with pytest.raises(InvalidTrace) as caught:
        read(*files, **asked)
    return [(fault.pointer, fault.code) for fault in caught.value.faults]


def rows(trace):
    return [(op.id, op.kind, op.duration_us, op.bytes, op.after) for op in trace.graph.ops]


def on_cpu(device, label, ts, dur, run="1", module="jit_step"):
    where = {"device_ordinal": str(device), "hlo_module": module, "hlo_op": label, "run_id": run}
    return ran(701, device, label, ts, dur, **where)


CPU = [name("process_name", 701, "/host:CPU")]


def cpu_run(device, at, run="1", late=0):
    return [
        on_cpu(device, "fusion.1", at, 10, run),
        on_cpu(device, "dot.3", at + 12, 8 + late, run),
        on_cpu(device, "all-reduce.2", at + 20 + late, 40 - late, run),
        ran(701, device, "end: all-reduce.2", at + 60, 1),
        on_cpu(device, "fusion.4", at + 61, 5, run),
        on_cpu(device, "while.1", at, 70, run),
    ]


def test_a_run_on_a_cpu_by_hand():
    """The second device came last to the all-reduce: the graph is its own."""
    trace = read(text([*CPU, *cpu_run(0, 0), *cpu_run(1, 1, late=6)]), HLO)
    assert rows(trace) == [
        ("fusion.1", "compute", 10, None, ()),
        ("host", "compute", 2, None, ("fusion.1",)),
        ("dot.3", "compute", 14, None, ("host",)),
        ("all-reduce.2", "all_reduce", None, 600, ("dot.3",)),  # 100 of 4 bytes, 100 of 2
        ("host #2", "compute", 1, None, ("dot.3", "all-reduce.2")),
        ("fusion.4", "compute", 5, None, ("host #2",)),
    ]
    report = trace.report
    assert (report.format, report.steps, report.step) == ("xla", 1, 0)
    assert report.collectives == {"all_reduce": Total(1, 600)}
    assert report.measured_us == report.recorded_us == 66
    assert trace.channels == (TraceChannel("network", 4, "the program's replica groups"),)
    assert trace.samples == (Sample("network", "all_reduce", 600, 34),)
    assert "The graph is that of /device:CPU:1, of 2 devices." in report.assumed
    other = read(HLO, text([*CPU, *cpu_run(0, 0), *cpu_run(1, 1, late=6)]), rank=0)
    assert other.measured == (("all-reduce.2", 40),)
    assert report.warnings == report.dropped == ()


def test_bytes_that_are_given_and_no_program():
    trace = read(text([*CPU, *cpu_run(0, 0), *cpu_run(1, 0)]), parameters=(("all-reduce.2", 8),))
    assert trace.report.collectives == {"all_reduce": Total(1, 8)}
    assert trace.report.assumed[-1] == "Bytes of 1 collectives are those that were given."
    assert trace.channels == (TraceChannel("network", 2, "the devices of the trace"),)
    assert faults(text([*CPU, *cpu_run(0, 0)])) == [("", "no_sizes")]
    with pytest.raises(InvalidTrace, match=r"No bytes of 'all-reduce.2' in .* HLO text"):
        read(text([*CPU, *cpu_run(0, 0)]))
    one = read(text([*CPU, *cpu_run(0, 0)]), parameters=(("all-reduce.2", 8),))
    assert one.channels == (TraceChannel("network", None, "one device alone"),)


def test_runs_of_a_program_are_steps():
    """Four runs, the first and the last cut off; another program ran between."""
    events = [*CPU, *cpu_run(0, 0, "1")[2:], *cpu_run(0, 100, "2"), *cpu_run(0, 200, "3", 2)]
    events += [on_cpu(0, "copy.1", 180, 900, "9", "jit_other"), *cpu_run(0, 300, "4")[:1]]
    events += [on_cpu(0, "all-reduce.9", 2000, 1, "10", "jit_third")]
    found = read(text(events), HLO)
    assert (found.report.steps, found.report.step) == (2, 0)
    assert found.report.dropped == (
        "2 runs of other programs than jit_step.",
        "2 runs that were recorded in part, or not on all devices.",
    )
    assert len(found.samples) == 2
    assert read(text(events), HLO, step=1).measured == (("all-reduce.2", 38),)
    assert faults(text(events), HLO, step=2) == [("", "out_of_range")]
    assert faults(text(events), HLO, rank=1) == [("", "out_of_range")]


def test_runs_that_are_all_unlike_are_kept():
    one, two = cpu_run(0, 0, "1"), cpu_run(1, 0, "1")
    more = [on_cpu(0, "copy.1", 70, 1, "1"), on_cpu(1, "copy.1", 170, 1, "2")]
    events = [*CPU, *one, *two, *cpu_run(0, 100, "2"), *cpu_run(1, 100, "2"), *more]
    assert read(text(events), HLO).report.steps == 2


def test_a_run_without_collectives_is_refused_when_it_is_asked_for():
    """The runs of a program with a branch differ: one of three sends nothing."""
    dull = [on_cpu(0, label, 200 + i, 1, "2") for i, label in enumerate("abcd")]
    events = [*CPU, *cpu_run(0, 0), *dull, *cpu_run(0, 300, "3")]
    assert faults(text(events), HLO, step=1) == [("/files/0", "no_collective")]


TPU = [
    name("process_name", 3, "/device:TPU:0"),
    name("thread_name", 3, "XLA Modules", 1),
    name("thread_name", 3, "XLA Ops", 2),
    name("thread_name", 3, "Async XLA Ops", 4),
    name("thread_name", 3, "Steps", 5),
]
RESULT = "f32[10]{0:T(128)}"
LONG = (
    f"%all-gather-start.1 = (f32[5]{{0}}, {RESULT}) all-gather-start(f32[5] %x), "
    "replica_groups={{0,1}}"
)
TPU_RUN = [
    ran(3, 5, "0", 0, 100),
    ran(3, 1, "jit_step(123)", 0, 100),
    ran(3, 4, "all-gather-start.1", 1, 30),
    ran(3, 2, "all-gather-start.1", 0, 1, long_name=LONG),
    ran(3, 2, "fusion.1", 1, 20, long_name="%fusion.1 = f32[5] fusion(f32[5] %x)"),
    ran(3, 2, "all-gather-done.1", 21, 9),
    ran(3, 2, "fusion.2", 30, 10),
    ran(
        3, 2, "all-reduce.4", 40, 20, shape_with_layout=f"({RESULT}, bf16[2,3]{{1,0:T(8,128)S(1)}})"
    ),
    ran(3, 2, "while.3", 40, 60),
    ran(3, 2, "collective-permute.5", 60, 5),
    ran(3, 2, "fusion.3", 65, 35),
]


def test_a_run_on_a_tpu_by_hand():
    trace = read(text([*TPU, *TPU_RUN]))
    assert rows(trace) == [
        ("all-gather-start.1", "all_gather", None, 40, ()),
        ("host", "compute", 1, None, ()),  # the start itself
        ("fusion.1", "compute", 20, None, ("host",)),
        ("fusion.2", "compute", 10, None, ("fusion.1", "all-gather-start.1")),
        ("all-reduce.4", "all_reduce", None, 52, ("fusion.2",)),
        ("collective-permute.5", "compute", 5, None, ("fusion.2", "all-reduce.4")),
        ("fusion.3", "compute", 35, None, ("collective-permute.5",)),
    ]
    assert trace.measured == (("all-gather-start.1", 30), ("all-reduce.4", 20))
    assert trace.report.warnings == (
        "1 ops that send to one device each are compute in the graph.",
    )
    assert trace.report.measured_us == 100


def test_groups_of_several_sizes_are_told():
    four = "%all-reduce.4 = f32[2] all-reduce(%x), replica_groups={{0,1,2,3}}"
    events = [
        {**e, "args": {"long_name": four}} if e["name"] == "all-reduce.4" else e for e in TPU_RUN
    ]
    found = read(text([*TPU, *events]))
    assert found.channels == (TraceChannel("network", 4, "the largest of the replica groups"),)
    assert "groups of 2, 4 workers" in found.report.warnings[1]


def gpu(pid, at=0):
    return [
        name("process_name", pid, f"/device:GPU:{pid}"),
        name("thread_name", pid, "Stream #13(Compute)", 13),
        name("thread_name", pid, "Stream #20(Compute)", 20),
        name("thread_name", pid, "XLA Ops", 9),
        ran(pid, 13, "gemm", at, 10, hlo_op="gemm_fusion.1"),
        ran(pid, 13, "Memcpy", at, 10),
        ran(pid, 20, "ncclDevKernel_AllReduce_Sum_f32", at + 10, 30, hlo_op="all-reduce-start.1"),
        ran(pid, 13, "loop", at + 11, 20, hlo_op="fusion.2"),
        ran(pid, 20, "ncclKernel_ReduceScatter", at + 42, 3, hlo_op="psum.7"),
        ran(pid, 13, "loop", at + 31, 10, hlo_op="fusion.2"),
        ran(pid, 13, "apply", at + 45, 5, hlo_op="fusion.3"),
        ran(pid, 9, "fusion.3", at + 45, 5),
    ]


def test_a_run_on_gpus_by_hand():
    """The kernel of a start is the whole; an op that begins when it is over waits for it."""
    program = HLO.replace(b"%all-reduce.2 =", b"%all-reduce-start.1 =").replace(
        b"all-reduce(", b"all-reduce-start("
    )
    trace = read(text([*gpu(1), *gpu(2)]), program)
    assert rows(trace) == [
        ("gemm_fusion.1", "compute", 10, None, ()),
        ("all-reduce-start.1", "all_reduce", None, 600, ("gemm_fusion.1",)),
        ("host", "compute", 1, None, ("gemm_fusion.1",)),
        ("fusion.2", "compute", 20, None, ("host",)),
        ("fusion.2 #2", "compute", 10, None, ("fusion.2",)),
        ("host #2", "compute", 1, None, ("fusion.2 #2",)),
        ("psum.7", "reduce_scatter", None, 128, ("host #2",)),  # 8 of 4 bytes on each of 4
        ("fusion.3", "compute", 5, None, ("host #2", "all-reduce-start.1", "psum.7")),
    ]
    assert trace.report.recorded_us == trace.report.measured_us == 50
    assert trace.report.collectives == {
        "all_reduce": Total(1, 600),
        "reduce_scatter": Total(1, 128),
    }
    given = read(text(gpu(1)), parameters=(("all-reduce-start.1", 600), ("psum.7", 128)))
    assert rows(given) == rows(trace)
    with pytest.raises(InvalidTrace, match=r"No bytes of 'all-reduce-start.1' and 1 more"):
        read(text(gpu(1)))


def test_parts_of_collectives_are_paired():
    """By number, else the first that is open; an end of none is left out."""
    events = [
        *TPU[:3],
        ran(3, 2, "all-reduce-done.9", 0, 1),
        ran(3, 2, "all-reduce-start.1", 1, 1),
        ran(3, 2, "all-reduce-start.2", 2, 1),
        ran(3, 2, "all_reduce-start.3", 3, 1),
        ran(3, 2, "all-reduce-done.3", 4, 1),
        ran(3, 2, "all-reduce-done.8", 6, 1),
        ran(3, 2, "all-reduce-done.2", 8, 1),
        ran(3, 2, "all-reduce-done.5", 9, 1),
        ran(3, 2, "fusion", 9, 2),
    ]
    names = ("all-reduce-start.1", "all-reduce-start.2", "all_reduce-start.3")
    trace = read(text(events), parameters=tuple((one, 8) for one in names))
    # from 1 to 7, 2 to 9, 3 to 5: the channel carries one after another
    assert trace.measured == ((names[2], 2), (names[0], 2), (names[1], 2))
    assert trace.samples == ()
    assert any("3 launches overlap" in said for said in trace.report.warnings)


def test_ops_that_overlap_count_once():
    events = [*TPU[:3], ran(3, 2, "a", 0, 10), ran(3, 2, "b", 4, 3), ran(3, 2, "c", 8, 6)]
    events += [ran(3, 2, "all-reduce.1", 5, 1), ran(3, 2, "all-reduce.1", 11, 0)]
    trace = read(text(events), parameters=(("all-reduce.1", 8),))
    assert [op.duration_us for op in trace.graph.ops] == [10, 0, None, 4, None]
    assert trace.graph.ops[2].after == ()  # nothing had ended
    assert [sample.time_us for sample in trace.samples] == [1]  # not of one that took no time


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%a = f32[2,3]{1,0} all-reduce(%x), replica_groups={}", ("a", "all-reduce", 24, None)),
        ("ROOT a.1 = (s8[3], pred[2]) all-to-all(x)", ("a.1", "all-to-all", 5, None)),
        ("%a = f8e4m3fn[4] collective-broadcast(%x)", ("a", "collective-broadcast", 4, None)),
        ("%a = f64[] all-gather(%x)", ("a", "all-gather", 8, None)),
        ("%a = (f32[2], f32[8]) all-gather-start(%x)", ("a", "all-gather", 32, None)),
        ("%a = f32[8] all-gather-start(%x)", ("a", "all-gather", 32, None)),
        ("%a = f32[2] reduce-scatter(%x)", ("a", "reduce-scatter", None, None)),
        (
            "%a = f32[2] reduce-scatter(%x), replica_groups={{0,2},{1,3}}",
            ("a", "reduce-scatter", 16, 2),
        ),
        ("%a = u4[2] all-reduce(%x), replica_groups=[1,8]<=[8]", ("a", "all-reduce", None, 8)),
        ("%a = token all-reduce(%x)", ("a", "all-reduce", None, None)),
        (
            "%a = c128[2] all-reduce(%x), replica_groups=mesh['x'=2,'y'=4] {'y', 'x'}",
            ("a", "all-reduce", 32, 8),
        ),
        (
            "%a = s32[2] all-reduce(%x), replica_groups=mesh['x'=8] {'x':(2)4}",
            ("a", "all-reduce", 8, 4),
        ),
        ("%a = s32[2] all-reduce(%x), replica_groups=mesh[] {}", ("a", "all-reduce", 8, None)),
        ("%a = f32[2,] all-reduce(%x)", ("a", "all-reduce", 8, None)),
        ("%a = f32[2] all-reduce(%x), replica_groups={}", ("a", "all-reduce", 8, None)),
        ("%a = f32[2] all-reduce(%x), channel_id=1", ("a", "all-reduce", 8, None)),
        # more than any graph has: the least that is
        (f"%a = s8[{2**60}] all-reduce(%x)", ("a", "all-reduce", LARGE, None)),
        (f"%a = s8[{2**59},2] all-reduce(%x)", ("a", "all-reduce", 2**60, None)),
        (f"%a = f32[{'9,' * 63}9] all-reduce(%x)", ("a", "all-reduce", LARGE, None)),
        (f"%a = f32[{'9' * 5000}] all-reduce(%x)", ("a", "all-reduce", LARGE, None)),
        (f"%a = f32[{'9' * 5000},0] all-reduce(%x)", ("a", "all-reduce", 0, None)),
        (
            f"%a = (s8[{2**59}], s8[{2**59}], s8[1]) all-to-all(%x)",
            ("a", "all-to-all", LARGE, None),
        ),
        # more dimensions than any tensor has
        (f"%a = f32[{'1,' * 64}1] all-reduce(%x)", ("a", "all-reduce", None, None)),
        # more workers than there are, and none
        (f"%a = f32[2] all-reduce(%x), replica_groups={MESH}", ("a", "all-reduce", 8, MANY)),
        ("%a = s8[2] all-reduce(%x), replica_groups=[1,999999999]<=", ("a", "all-reduce", 2, MANY)),
        ("%a = s8[2] reduce-scatter(%x), replica_groups=[9,0]<=", ("a", "reduce-scatter", None, 0)),
        ("%a = f32[2] fusion(%x)", None),
        ("%a = f32[2] all-reduce-done(%x)", None),
        ("%a = f32[2]", None),
        ("all-reduce(%x)", None),
        ("", None),
    ],
)
def test_lines_of_hlo(line, expected):
    found = instruction(line)
    assert (None if found is None else tuple(found)) == expected


@pytest.mark.parametrize(
    "piece",
    [
        " ",
        "a",
        " a",
        "[",
        "f32[1,",
        "{",
        "%a = ",
        "f32[9],",
        "9,",
        "'a'=9,",
        "replica_groups=mesh[",
    ],
)
def test_long_lines_of_hlo_take_no_time(piece):
    instruction(f"%a = {piece * 200_000}")
    instruction(f"%a = f32[2] all-reduce(%x), replica_groups=mesh['{piece * 200_000}")
    instruction(f"%a = f32[2] all-reduce(%x), {piece * 200_000}")
    instruction(f"%a = f32[{piece * 200_000}] all-reduce(%x)")
    instruction(f"%a = {piece * 200_000} all-reduce(%x)")
    instruction(piece * 200_000)


def on_tpu(line):
    return text(
        [
            {**e, "args": {"long_name": line}} if e["name"] == "all-reduce.4" else e
            for e in [*TPU, *TPU_RUN]
        ]
    )


def test_more_bytes_than_a_graph_has_are_refused_without_their_number():
    for shape in (f"{'9,' * 63}9", f"{'9' * 9000}"):
        line = f"%all-reduce.4 = f32[{shape}] all-reduce(%x)"
        with pytest.raises(InvalidTrace) as caught:
            read(on_tpu(line))
        [fault] = caught.value.faults
        assert (fault.code, fault.pointer) == ("out_of_range", "")
        assert fault.detail == "The bytes of 'all-reduce.4' in the trace are more than 2^60."


@pytest.mark.parametrize("groups", [MESH, "[1,0]<=[1]", "[1,1000001]<=[1000001]"])
def test_groups_that_cannot_be_are_no_workers(groups):
    trace = read(on_tpu(f"%all-reduce.4 = f32[2] all-reduce(%x), replica_groups={groups}"))
    assert trace.channels == (TraceChannel("network", 2, "the program's replica groups"),)
    assert trace.report.warnings[1:] == (
        "1 collectives are of groups of no worker or of more than 1,000,000: these do not count.",
    )
    most = read(on_tpu("%all-reduce.4 = f32[2] all-reduce(%x), replica_groups=[1,1000000]<=[1]"))
    assert most.channels[0].workers == 1_000_000


def test_what_was_recorded():
    """Four devices; the gradients of 256 x 128 and 128 x 64 weights, 4 bytes each, as one."""
    content, program = (
        gzip.decompress((DATA / name).read_bytes())
        for name in ("jax_profile.json.gz", "jax_hlo.txt.gz")
    )
    assert detect([content]) == detect([content, program]) == "xla"
    trace = read_trace([content, program])
    assert trace.report.collectives == {"all_reduce": Total(1, 4 * (256 * 128 + 128 * 64))}
    assert trace.channels[0].workers == 4
    assert trace.report.steps == 3
    assert trace.report.recorded_us == pytest.approx(trace.report.measured_us, rel=0.01)
    with pytest.raises(InvalidTrace, match="Give the program's HLO text beside the trace"):
        read_trace([content])


ODD = [
    *CPU,
    {"ph": "X", "pid": 701, "ts": 1},
    {**ran(701, 1, "x", 1, 1), "args": {"device_ordinal": "x", "hlo_op": "a"}},
    {**ran(701, 1, "x", 1, 1), "args": {"device_ordinal": "1", "hlo_op": 7}},
    {**ran(701, 1, "x", 1, 1), "ph": "i", "args": {"device_ordinal": "1", "hlo_op": "a"}},
    *TPU,
    ran(3, 2, "late-done.1", 1, 1),
    ran(3, 2, "all-reduce-done.1", 1, 1),
]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ([], [("", "empty")]),
        ([HLO], [("", "empty")]),
        ([b"{", b"{}"], [("", "too_many_files")]),
        ([b"{", HLO, HLO], [("", "too_many_files")]),
        ([b"{"], [("", "truncated")]),
        ([b"{", HLO], [("/files/0", "truncated")]),
        ([text(CPU), HLO + b"\xff"], [("", "not_text")]),
        ([text(CPU)], [("", "no_collective")]),
        ([text([*CPU, *cpu_run(0, 0)[:2]])], [("", "no_collective")]),
        ([text(ODD)], [("", "no_collective")]),
        ([text([*TPU[:3], ran(3, 2, "all-reduce-done.1", 1, 1)])], [("", "no_collective")]),
    ],
)
def test_rejected(files, found):
    assert faults(*files) == found


def test_a_graph_that_breaks_a_rule():
    sizes = (("all-reduce.2", 2**61),)
    assert faults(text([*CPU, *cpu_run(0, 0)]), parameters=sizes) == [("", "out_of_range")]


@pytest.mark.parametrize("number", ["9" * 10, "9" * 5000, "٣", ""])
def test_devices_of_numbers_that_none_has(number):
    """Neither the device of a GPU or TPU nor that of a CPU's op is one."""
    device = [
        name("process_name", 3, f"/device:TPU:{number}"),
        name("thread_name", 3, "XLA Ops", 2),
    ]
    ops = [ran(3, 2, "fusion.1", 0, 5), ran(3, 2, "all-reduce.2", 5, 5)]
    ops = [*ops, on_cpu(number, "all-reduce.2", 0, 5)]
    assert faults(text([*CPU, *device, *ops]), HLO) == [("/files/0", "no_collective")]
    longest = [name("process_name", 3, f"/device:TPU:{'9' * 9}"), *device[1:], *ops[:2]]
    assert read(text(longest), HLO).report.collectives == {"all_reduce": Total(1, 600)}


def test_detected():
    assert detect([text([*CPU, *cpu_run(0, 0)])]) == detect([text(TPU)]) == "xla"
    assert detect([HLO]) == detect([b"\xef\xbb\xbf" + HLO]) == "hlo"
    assert detect([HLO, text(TPU)]) == "xla"
    assert detect([text(CPU)]) == "tensorflow"
    assert detect([b'{"traceEvents": [{"name": "\\"hlo_op\\""}]}']) == "kineto"


@settings(max_examples=cases(150))
@given(mangled(text([*TPU, *TPU_RUN])))
def test_broken_profiles_are_refused_or_read(content):
    try:
        trace = read(content)
    except InterlaceError:
        return
    assert trace.graph.collectives


@settings(max_examples=cases(100))
@given(mangled(HLO))
def test_broken_programs_are_refused_or_read(content):
    try:
        trace = read(text([*CPU, *cpu_run(0, 0)]), b"HloModule" + content)
    except InterlaceError:
        return
    assert trace.graph.collectives
