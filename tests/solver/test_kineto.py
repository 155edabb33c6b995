"""The profiler's traces: one on paper, dialects, traps of real files, real ones, broken ones."""

import gzip
import itertools
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InterlaceError, InvalidTrace
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, COMPUTE, REDUCE_SCATTER
from solver.traces import READERS, Total, TraceOptions, detect, kineto
from solver.traces.recorded import recorded_ops, recorded_time
from solver.traces.report import Report
from solver.traces.trace import Trace
from tests.kineto_events import (
    AUTOGRAD,
    GPU,
    GRAD,
    MAIN,
    NCCL,
    STEP,
    backward,
    event,
    kernel,
    note,
    op,
    sized,
    small,
    text,
    total,
)
from tests.mangled import mangled
from tests.sampling import cases

DATA = Path(__file__).parents[1] / "data"
NAMES = (("a.weight", 150), ("a.bias", 50), ("b.weight", 100))


def read(*files, **asked):
    return kineto.read(files, TraceOptions("small", **asked))


def length(trace):
    """The recorded step, as the report has it [us]."""
    said = next(line for line in trace.report.assumed if " took " in line)
    return float(said.split(" took ")[1].split(" us")[0])


def rows(trace):
    return [
        (o.id, o.duration_us if o.kind == COMPUTE else o.bytes, o.after) for o in trace.graph.ops
    ]


def without(events, *names):
    return [e for e in events if not any(name in e["name"] for name in names)]


PAPER = [
    ("backward 1", 11.0, ()),
    ("all_reduce 1", 100, ("backward 1",)),
    ("backward 2", 9.0, ("backward 1",)),
    ("all_reduce 2", 200, ("backward 2",)),
    ("update 1", 8.0, ("backward 2", "all_reduce 2")),
    ("rest 1 host", 17.0, ("update 1",)),
    ("forward 1", 10.0, ("rest 1 host",)),
    ("forward 1 host", 5.0, ("forward 1",)),
    ("update 2", 4.0, ("forward 1 host", "all_reduce 1")),
    ("forward 2", 10.0, ("update 2",)),
    ("forward 2 host", 5.0, ("forward 2",)),
]


def test_a_step_on_paper():
    trace = read(text(small()))
    assert rows(trace) == PAPER
    assert trace.measured == (("all_reduce 1", 20.0), ("all_reduce 2", 10.0))
    assert (length(trace), recorded_time(trace)) == (100.0, 100.0)
    report = trace.report
    assert (report.format, report.steps, report.step, report.ops) == ("kineto", 1, 0, 11)
    assert report.collectives == {ALL_REDUCE: Total(2, 300)}
    assert any("needs, known from autograd" in line for line in report.assumed)
    assert any("The 12.000 us from the end of the backward pass" in line for line in report.assumed)
    assert {o.stream for o in trace.graph.ops} == {None, "gpu 0 stream 7", "host", "update"}


def test_a_barrier_when_nobody_knows_who_needs_what():
    events = small()
    for e in events:
        e["args"].pop("Sequence number", None)
    trace = read(text(events))
    assert rows(trace) == [
        *PAPER[:4],
        ("optimizer 1", 10.0, ("backward 2", "all_reduce 1", "all_reduce 2")),
        ("optimizer 1 host", 19.0, ("optimizer 1",)),
        ("forward 1", 20.0, ("optimizer 1 host",)),
        ("forward 1 host", 10.0, ("forward 1",)),
    ]
    assert recorded_time(trace) == 100.0
    assert any("(a barrier)" in line for line in trace.report.assumed)


def test_a_barrier_when_a_forward_op_launched_nothing():
    """What its thread launched next, the optimizer's kernel, is no forward pass."""
    events = [e for e in small() if e["args"].get("correlation") != 2]
    trace = read(text(events))
    assert [op for op, *_ in rows(trace)][4:] == [
        *("optimizer 1", "optimizer 1 host"),
        *("forward 1", "forward 1 host"),
    ]
    assert any("(a barrier)" in line for line in trace.report.assumed)


def test_buckets_split_into_tensors():
    trace = read(text(small()), parameters=NAMES)
    assert [(o.id, o.bytes) for o in trace.graph.ops if o.kind != COMPUTE] == [
        ("grad:b.weight", 100),
        ("grad:a.bias", 50),
        ("grad:a.weight", 150),
    ]
    # two tensors, one call of AccumulateGrad: both are ready and needed with their bucket
    assert trace.measured == (("grad:b.weight", 20.0), ("grad:a.bias", 2.5), ("grad:a.weight", 7.5))
    assert recorded_time(trace) == 99.0  # b.weight was ready 1 us before its bucket began
    assert any("split into 3 tensors" in line for line in trace.report.assumed)


def test_tensors_are_ready_and_needed_on_their_own():
    more = [op(GRAD, 36, 1, AUTOGRAD), op("aten::c", 12, 1, seq=3), *kernel(8, 12.5, 25, 27)]
    more += [backward("CBackward0", 35, 1, 3)]
    names = (("a.weight", 150), ("c.weight", 50), ("b.weight", 100))
    trace = read(text(small() + more), parameters=names)
    after = {o.id: o.after for o in trace.graph.ops}
    assert after["grad:c.weight"] == ("backward 1",)  # its call ends at 37, the kernel before at 40
    assert after["grad:a.weight"] == ("backward 2",)
    waits = {name: o.id for o in trace.graph.ops for name in o.after if name.startswith("grad:")}
    assert waits == {
        "grad:a.weight": "update 1",
        "grad:b.weight": "update 2",
        "grad:c.weight": "update 3",
    }


@pytest.mark.parametrize(
    "names",
    [
        # wrong order, wrong sizes, too few, too many, none
        NAMES[::-1],
        (("a", 200), ("b", 101)),
        (("b", 100),),
        (("z", 5), *NAMES),
        (),
    ],
)
def test_parameters_that_do_not_fill_the_buckets(names):
    trace = read(text(small()), parameters=names)
    assert rows(trace) == PAPER
    assert "do not fill the buckets of 100, 200 bytes" in trace.report.warnings[0]


def shapes(dims, types):
    return {"Input Dims": dims, "Input type": types}


SHAPES = shapes([[5, 5]], ["float"])


def dialect(notes=None, record=None):
    """The small step with its sizes elsewhere than on the kernels."""
    events = []
    for e in small({}, {}):
        if e["name"] == "nccl:all_reduce" and e["cat"] == "user_annotation":
            e["args"] |= notes or {}
            if record is not None:
                events.append(
                    event("record_param_comms", "cpu_op", e["ts"] - 0.5, 4, AUTOGRAD)
                    | {"args": record}
                )
        events.append(e)
    return events


@pytest.mark.parametrize(
    ("events", "kind", "size"),
    [
        (small(sized(25), sized(25)), ALL_REDUCE, 100),
        (dialect(SHAPES), ALL_REDUCE, 100),
        (dialect(None, sized(25)), ALL_REDUCE, 100),
        # types as C++ writes them, several tensors, what is no tensor
        (dialect(shapes([[5], [2, 3], []], ["c10::Half", "long int", "Scalar"])), ALL_REDUCE, 58),
        (small(sized(25, dtype="BFloat16"), sized(25, dtype="BFloat16")), ALL_REDUCE, 50),
        # kinds by their own names, whatever the kernel's
        (small(*[sized(25, "_reduce_scatter_base")] * 2), REDUCE_SCATTER, 100),
        (small(sized(25, "all_to_allv"), sized(25, "all_to_allv")), ALL_TO_ALL, 100),
        # of uneven pieces the larger of what is sent and what is received
        (small(*[sized(25, "all_to_allv") | {"Out msg nelems": 40}] * 2), ALL_TO_ALL, 160),
        (small(*[sized(25, "all_to_allv") | {"Out msg nelems": 10}] * 2), ALL_TO_ALL, 100),
        # an all-gather's bytes are the whole tensor's
        (
            small(*[sized(25, "allgather") | {"Out msg nelems": 50, "Group size": 2}] * 2),
            ALL_GATHER,
            200,
        ),
    ],
)  # fmt: skip
def test_dialects(events, kind, size):
    assert read(text(events)).report.collectives == {kind: Total(2, 2 * size)}


def renamed(events, name, annotation):
    for e in events:
        if e["cat"] == "kernel" and "nccl" in e["name"]:
            e["name"] = name
        elif e["name"] == "nccl:all_reduce":
            e["name"] = annotation
    return events


@pytest.mark.parametrize(
    ("name", "annotation", "args", "kind", "is_noted"),
    [
        (
            "ncclDevKernel_Generic(ncclDevKernelArgsStorage)",
            "nccl:all_reduce",
            SHAPES,
            ALL_REDUCE,
            False,
        ),
        (
            "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t",
            "nccl:all_to_all",
            SHAPES,
            ALL_TO_ALL,
            False,
        ),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "nccl:send 0->1", SHAPES, ALL_TO_ALL, True),
        ("ncclKernel_Reduce_RING_LL_Sum_float", "nccl:reduce", SHAPES, BROADCAST, True),
    ],
)
def test_kernels_with_names_that_say_little(name, annotation, args, kind, is_noted):
    trace = read(text(renamed(dialect(args), name, annotation)))
    assert trace.report.collectives == {kind: Total(2, 200)}
    assert any("taken for" in line for line in trace.report.warnings) == is_noted


def test_stages_of_a_pipeline_are_called_so():
    """One sends, the other receives: a transfer of two ranks is no collective of theirs."""
    kernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage)"
    sends = text(renamed(dialect(SHAPES), kernel, "nccl:send 0->1"))
    assert any("between stages of a pipeline" in line for line in read(sends).report.warnings)
    sums = text(small())
    for files in ((sums, sends), (sends, sums)):
        with pytest.raises(InvalidTrace, match=r"stages of a pipeline.*the ranks of one stage"):
            read(*files)
    with pytest.raises(InvalidTrace, match="not ranks of one job"):
        read(sums, text(small(sized(25, "broadcast"))))


def test_an_all_gather_by_shapes_needs_the_workers():
    events = renamed(dialect(SHAPES), "ncclKernel_AllGather", "nccl:all_gather")
    found = read(text(events, distributedInfo={"world_size": 4})).report.collectives
    assert found == {ALL_GATHER: Total(2, 800)}
    with pytest.raises(InvalidTrace, match="no size"):
        read(text(events))


def old(events):
    """As in 2021: other categories, thread ids as text, external ids of 64 bits."""
    cats = {
        "cpu_op": "Operator",
        "user_annotation": "Operator",
        "kernel": "Kernel",
        "cuda_runtime": "Runtime",
    }
    for e in events:
        e["cat"] = cats.get(e["cat"], e["cat"])
        e["tid"] = f"stream {e['tid']}" if e["pid"] == 0 else str(e["tid"])
        e["args"]["External id"] = 2**64 + 5
    return events


def shuffled(events):
    random.Random(1).shuffle(events)
    return events


SPILLED = [
    event("gemm", "kernel", 1, 3, GPU, correlation=99),  # launched before the recording began
    *kernel(98, -20, -10, -5),  # launched before the step
    *kernel(97, 150, 160, 170),  # launched after it
    event("gemm", "kernel", 1, 3, GPU),
]


@pytest.mark.parametrize(
    "content",
    [
        text(shuffled(small())),
        text(old(small())),
        json.dumps(small()).encode(),
        b"\xef\xbb\xbf" + text(small(), deviceProperties=[{"totalGlobalMem": 2**65}]),
        text(small() + SPILLED),
        text(
            [*small(), {"ph": "i", "s": "g", "name": "mark", "ts": 1}, {"ph": "M", "pid": "Spans"}]
        ),
        text([*small(), event("twice", "cuda_driver", 3.5, 1, correlation=1)]),
    ],
    ids=["shuffled", "old", "list", "long-integers", "spilled", "other-events", "two-calls"],
)
def test_traps(content):
    trace = read(content)
    assert rows(trace) == PAPER
    assert recorded_time(trace) == 100.0


def test_what_is_left_out_is_said():
    assert read(text(small() + SPILLED)).report.dropped == (
        "2 kernels that were launched before the recording began.",
        "2 kernels or ops launched outside of all steps.",
    )


def later(events, by, ids, step=STEP):
    """The same again at another time."""
    found = json.loads(json.dumps(events))
    for e in found:
        e["ts"] += by
        if "correlation" in e["args"]:
            e["args"]["correlation"] += ids
        e["name"] = e["name"].replace(STEP, step)
    return found


def test_the_median_step_by_launch():
    # the second waits 40 us longer for its GPU, the third is 10 us longer on the CPU
    second = later(small(), 100, 100, "ProfilerStep#6")
    for e in second:
        if e["args"].get("correlation") == 107 and e["cat"] == "kernel":
            e["dur"] += 40  # ends at 223
    third = later(small(), 250, 200, "ProfilerStep#7")
    next(e for e in third if "Profiler" in e["name"])["dur"] = 130
    content = text(small() + second + third)
    assert [length(read(content, step=i)) for i in range(3)] == [100.0, 150.0, 130.0]
    report = read(content).report
    assert (report.steps, report.step) == (3, 2)
    for step in range(3):
        assert recorded_time(read(content, step=step)) == pytest.approx(
            length(read(content, step=step))
        )


def test_a_step_ends_when_its_gpu_work_does():
    events = small()
    for e in events:
        if e["args"].get("correlation") == 7 and e["cat"] == "kernel":
            e["dur"] = 60
    assert length(read(text(events))) == 133.0


def test_a_step_begins_when_the_work_of_before_is_done():
    trace = read(text([*small(), *kernel(98, -20, -10, 4)]))
    assert rows(trace)[:6] == PAPER[:6]
    assert rows(trace)[7] == ("forward 1 host", 1.0, ("forward 1",))
    assert (length(trace), recorded_time(trace)) == (96.0, 96.0)


def test_no_steps_at_all():
    trace = read(text(without(small(), STEP)))
    assert length(trace) == 80.0  # from the first launch to the last kernel's end
    assert trace.report.assumed[0].startswith("The whole file took 80.000 us")
    assert any("No ProfilerStep" in line for line in trace.report.warnings)


def test_no_backward_pass():
    trace = read(text(without(small(), "evaluate_function")))
    assert [o.id for o in trace.graph.ops][:2] == ["step 1", "step 1 host"]
    assert recorded_time(trace) == 100.0
    assert any("No backward pass" in line for line in trace.report.assumed)


def waiting(**record):
    """A step with an all-to-all in the forward pass, waited for by the second kernel."""
    return [
        note(STEP, 0, 60),
        *kernel(1, 3, 5, 10),
        *total(2, 8, 10, 30, sized(8, "all_to_all"), by=MAIN),
        event("record_param_comms", "cpu_op", 6.5, 4, MAIN) | {"args": sized(8, "all_to_all")},
        *kernel(3, 12, 13, 18),
        event("record_param_comms", "cpu_op", 14, 1, MAIN) | {"args": record},
        *kernel(4, 16, 32, 40),
    ]


@pytest.mark.parametrize("record", [{"Collective name": "wait"}, {}])
def test_a_recorded_wait(record):
    trace = read(text(waiting(**record)))
    assert rows(trace) == [
        ("step 1", 5.0, ()),
        ("step 1 host", 5.0, ("step 1",)),
        ("all_to_all 1", 32, ("step 1 host",)),
        ("step 2", 5.0, ("step 1 host",)),
        ("step 2 host", 3.0, ("step 2",)),
        ("step 3", 8.0, ("step 2 host", "all_to_all 1")),
        ("step 3 host", 22.0, ("step 3",)),
    ]
    assert recorded_time(trace) == 60.0


def test_without_a_recorded_wait_the_next_work_waits():
    trace = read(text(without(waiting(), "record_param_comms")))
    assert ("step 3", 8.0, ("step 2 host", "all_to_all 1")) in rows(trace)


def test_a_wait_that_nothing_follows_or_that_did_not_wait():
    events = waiting(**{"Collective name": "wait"})
    for e in events:
        if e["name"] == "record_param_comms" and e["args"] == {"Collective name": "wait"}:
            e["ts"] = 50
    assert ("step 3", 8.0, ("step 2 host", "all_to_all 1")) in rows(read(text(events)))
    for e in events:
        if e["name"] == "record_param_comms" and e["args"] == {"Collective name": "wait"}:
            e["ts"] = 11  # the next work, at 13, does not wait
    assert ("step 3", 8.0, ("step 2 host", "all_to_all 1")) in rows(read(text(events)))


def test_a_collective_of_several_kernels_is_one():
    events = waiting(**{"Collective name": "wait"})
    launched, ran = kernel(5, 8.5, 30, 31, MAIN, NCCL, "ncclKernel_SendRecv")
    ran["args"] |= sized(8, "all_to_all")
    trace = read(text([*events, launched, ran]))
    assert trace.measured == (("all_to_all 1", 21.0),)


@pytest.mark.parametrize(
    ("sizes", "found"), [((100, 50), [400, 200]), ((100, 100), [400]), ((100, None), [400])]
)
def test_kernels_of_one_record_with_sizes_of_their_own_are_two(sizes, found):
    events = [note(STEP, 0, 60), event("record_param_comms", "cpu_op", 8, 8)]
    for i, count in enumerate(sizes):
        launched, ran = kernel(2 + i, 10 + 2 * i, 14 + 10 * i, 22 + 10 * i, MAIN, NCCL, "nccl")
        ran["args"] |= {} if count is None else sized(count)
        events += [launched, ran]
    trace = read(text([*events, *kernel(9, 33, 35, 40)]))
    sent = {o.id: o.bytes for o in trace.graph.ops if o.kind != COMPUTE}
    assert [sent[name] for name in sorted(sent)] == found


def test_gradients_of_no_known_bucket_wait_for_the_barrier():
    """A reduce-scatter in the backward pass outside of AccumulateGrad."""
    events = without(
        small(sized(25, "reduce_scatter"), sized(50, "reduce_scatter")), "AccumulateGrad"
    )
    trace = read(text(events))
    assert ("optimizer 1", 10.0, ("backward 2", "reduce_scatter 1", "reduce_scatter 2")) in rows(
        trace
    )
    assert recorded_time(trace) == 100.0


def test_two_streams_of_collectives_are_two_channels():
    events = small()
    for e in events:
        if e["args"].get("correlation") == 6 and e["cat"] == "kernel":
            e["tid"] = 21
    channels = {o.channel for o in read(text(events)).graph.ops if o.kind == ALL_REDUCE}
    assert channels == {"gpu 0 stream 20", "gpu 0 stream 21"}


def test_a_collective_of_no_bytes_is_left_out():
    trace = read(text(small(sized(0), sized(50))))
    assert trace.report.collectives == {ALL_REDUCE: Total(1, 200)}
    assert any(
        line.startswith("An all_reduce of 0 bytes") and "left out" in line
        for line in trace.report.warnings
    )


def test_the_least_time_over_the_ranks():
    slow = small()
    for e in slow:
        if e["args"].get("correlation") == 4 and e["cat"] == "kernel":
            e["ts"], e["dur"] = 55, 6  # came late: the first file waited for it
    trace = read(text(small()), text(slow))
    assert trace.measured == (("all_reduce 1", 6.0), ("all_reduce 2", 10.0))
    assert any("that of file 2" in line for line in trace.report.assumed)
    assert not any("slower ranks" in line for line in trace.report.warnings)


def test_the_first_rank_counts_the_steps():
    second = later(small(), 100, 100, "ProfilerStep#6")
    trace = read(text(small() + second), text(second), step=1)
    assert trace.report.assumed[0].startswith("ProfilerStep#6 took 100.000 us")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_order_of_the_ranks_does_not_choose_the_step(order):
    """Each rank has another median step; over the ranks the lengths are 110, 100 and 120 us."""
    files = []
    for lengths in [(110, 90, 150), (100, 140, 120), (130, 100, 110)]:
        events = []
        for k in range(3):
            events += later(small(), sum(lengths[:k]), 10 * k, f"ProfilerStep#{k}")
        marks = [e for e in events if e["name"].startswith("ProfilerStep")]
        for mark, took in zip(marks, lengths, strict=True):
            mark["dur"] = took
        files.append(text(events))
    trace = read(*(files[i] for i in order))
    assert trace.report.step == 0
    assert trace.report.assumed[0].startswith("ProfilerStep#0 took ")
    alone = [read(file).report.step for file in files]
    assert alone == [0, 2, 2]


def test_same_input_same_graph():
    assert read(text(small())) == read(text(small()))


def test_recorded_order_that_contradicts_the_graph():
    trace = read(text(waiting(**{"Collective name": "wait"})))
    assert [o.kind for o in recorded_ops(trace)] == [COMPUTE] * 7
    graph = read(text(small())).graph
    report = Report("x", 1, 0, 0, {})
    assert recorded_time(Trace(None, report)) == 0.0
    assert (
        recorded_time(Trace(graph, report, (("all_reduce 1", 1.0), ("all_reduce 2", 1.0)))) == 80.0
    )
    chained = read(text(waiting() + total(9, 45, 50, 55, sized(1), by=MAIN)))
    with pytest.raises(ValueError, match="contradicts"):
        recorded_time(Trace(chained.graph, report, (("all_reduce 2", 1.0), ("all_to_all 1", 1.0))))


def test_a_list_may_lack_its_end():
    """The Chrome format lets its writer leave out the bracket, and a comma stand before it."""
    whole = json.dumps(small()).encode()
    for end in (b"", b",", b",\n", b" \n"):
        assert read(whole[:-1] + end) == read(whole)
    with pytest.raises(InvalidTrace, match="No JSON"):
        read(whole[: whole.rindex(b"{")] + b"]")


MANY = [event("nccl", "kernel", i, 1, NCCL) for i in range(10_001)]
OTHER_STEP = later(small(), 0, 0, "ProfilerStep#8")


@pytest.mark.parametrize(
    ("files", "asked", "faults"),
    [
        # no file, nothing in it
        ([], {}, [("", "empty")]),
        ([b"  \n"], {}, [("", "empty")]),
        # cut off, no JSON, no text, too deep, another kind of JSON
        ([text(small())[:100]], {}, [("", "truncated")]),
        ([b"{'traceEvents': []}"], {}, [("", "wrong_format")]),
        ([b'{"traceEvents": [{"name": "\xff"}]}'], {}, [("", "wrong_format")]),
        ([b'{"a": ' + b"[" * 100_000], {}, [("", "too_deep")]),
        ([b'{"ops": []}'], {}, [("", "wrong_format")]),
        ([b"7"], {}, [("", "wrong_format")]),
        # values of another type, out of range
        ([b'{"traceEvents": [{"ts": "now"}]}'], {}, [("/traceEvents/0/ts", "wrong_format")]),
        ([b'[{}, {"args": {"correlation": 1.5}}]'], {}, [("/1/args/correlation", "wrong_format")]),
        ([b'[{"ph": "X", "name": "a", "ts": 1e300}]'], {}, [("/0", "out_of_range")]),
        # nothing to read, no collective, none with a size, all of no bytes
        ([b"[]"], {}, [("", "no_collective")]),
        ([text(without(small(), "nccl"))], {}, [("", "no_collective")]),
        ([text(small({}, {}))], {}, [("", "no_sizes")]),
        ([text(dialect(shapes(5, None)))], {}, [("", "no_sizes")]),
        ([text(dialect(shapes([[2], [-1], 5], ["Odd", "int", "int"])))], {}, [("", "no_sizes")]),
        ([text(dialect(shapes([[5]], [5])))], {}, [("", "no_sizes")]),
        ([text(small(sized(2**60), sized(2**60)))], {}, [("", "no_sizes")]),
        ([text(small(sized(0), sized(0)))], {}, [("", "no_collective")]),
        # more collectives than anyone launches
        ([text(MANY)], {}, [("", "too_large")]),
        # a step of ten years, two parameters of one name
        ([text([note("ProfilerStep#6", 3e14, 1), *small()])], {"step": 0}, [("", "out_of_range")]),
        ([text(small())], {"parameters": (("a", 200), ("a", 100))}, [("", "duplicate_id")]),
        # steps that are not there, or hold no collective
        ([text(small())], {"step": 1}, [("", "out_of_range")]),
        ([text([*small(), note("ProfilerStep#6", 101, 9)])], {"step": 1}, [("", "no_collective")]),
        ([text([*without(small(), STEP), note(STEP, 200, 9)])], {}, [("", "no_collective")]),
        # ranks of other steps, with other collectives, one of them broken
        ([text(small()), text(OTHER_STEP)], {}, [("/files/1", "ranks_differ")]),
        ([text(small()), text(small(sized(25, "broadcast")))], {}, [("/files/1", "ranks_differ")]),
        ([text(small()), b'{"traceEvents": 5}'], {}, [("/files/1", "wrong_format")]),
    ],
)  # fmt: skip
def test_rejected(files, asked, faults):
    with pytest.raises(InvalidTrace) as caught:
        read(*files, **asked)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


def test_a_chrome_trace_of_another_tool_is_said_to_be_one():
    other = text([{**one, "cat": "blink"} for one in small()])
    with pytest.raises(
        InvalidTrace, match=r"no whole event has a category .*are 'blink'\."
    ) as error:
        read(other)
    assert [fault.code for fault in error.value.faults] == ["no_collective"]


def test_how_to_record_is_said():
    with pytest.raises(InvalidTrace, match="record_shapes=True"):
        read(text(small({}, {})))


@pytest.mark.parametrize(
    ("content", "is_one"),
    [
        (text(small()), True),
        (json.dumps(small()).encode(), True),
        (b'\xef\xbb\xbf {"schemaVersion": 1, "deviceProperties": [', True),
        (b'{"displayTimeUnit": "ms", "traceEvents": [', True),
        (b"[1, 2]", False),
        (b'{"schema": "1.0.1", "nodes": [', False),
        (b"", False),
    ],
)
def test_looks_like(content, is_one):
    assert kineto.looks_like(content) == is_one


def test_gloo_without_the_calls():
    """Annotations alone: each collective was called when it began."""
    events = [note(STEP, 0, 50), op("aten::a", 5, 10), op("aten::b", 30, 10)]
    events.append(note("gloo:all_reduce", 16, 10, (1, 9), **SHAPES))
    trace = read(text(events))
    assert trace.measured == (("all_reduce 1", 10.0),)
    assert recorded_time(trace) == 50.0


def own(rank):
    return gzip.decompress((DATA / f"kineto_gloo_{rank}.json.gz").read_bytes())


@pytest.mark.parametrize("files", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("step", [None, 0, 1, 2])
@pytest.mark.parametrize("is_split", [False, True])
def test_our_own_recordings(files, step, is_split):
    names = tuple(map(tuple, json.loads((DATA / "kineto_parameters.json").read_text())))
    content = [own(rank) for rank in files]
    assert detect(content) == "kineto"
    trace = read(*content, step=step, parameters=names if is_split else None)
    assert trace.report.collectives == {ALL_REDUCE: Total(6 if is_split else 2, 1_597_480)}
    assert recorded_time(trace) == pytest.approx(length(trace), rel=0.05)
    assert any("needs, known from autograd" in line for line in trace.report.assumed)


HTA = "facebookresearch+HolisticTraceAnalysis"
DLRM = "facebookresearch+param/dlrm_8rank_kineto/worker{}_step_12.16941282015{}.pt.trace.json.gz"
FIRST, SECOND = DLRM.format(0, 45), DLRM.format(1, 56)


def real(shared, *paths):
    return [gzip.decompress((shared / "kineto" / path).read_bytes()) for path in paths]


RESNET = {ALL_REDUCE: Total(5, 102_228_128), BROADCAST: Total(2, 212_904)}
SMALL_DLRM = {ALL_REDUCE: Total(3, 2_485_252), ALL_TO_ALL: Total(5, 64_448)}


@pytest.mark.parametrize(
    ("paths", "steps", "found"),
    [
        ([f"{HTA}/nccl_data.json.gz"], 3, RESNET),
        ([f"{HTA}/trace_diff_control.json.gz"], 6, None),
        ([FIRST], 1, SMALL_DLRM),
        ([SECOND], 1, SMALL_DLRM),
        ([FIRST, SECOND], 1, SMALL_DLRM),
    ],
)
def test_real_traces_run_again_as_recorded(shared, paths, steps, found):
    content = real(shared, *paths)
    for step in (None, *range(min(steps, 3))):
        trace = READERS["kineto"](content, TraceOptions("real", step=step))
        assert trace.report.steps == steps
        assert recorded_time(trace) == pytest.approx(length(trace), rel=0.05)
        assert len(trace.graph.ops) < 100
        if found is not None:
            assert trace.report.collectives == found
        else:
            kinds = {k: t.count for k, t in trace.report.collectives.items()}
            assert kinds == {ALL_REDUCE: 3, ALL_TO_ALL: 7}
            assert trace.report.collectives[ALL_REDUCE].bytes == 1_200_223_224 // 6


def resnet50():
    """Names and bytes of ResNet-50's parameters, as torchvision registers them."""

    def conv(name, out, width, kernel):
        yield f"{name}.weight", 4 * out * width * kernel**2

    def norm(name, width):
        yield f"{name}.weight", 4 * width
        yield f"{name}.bias", 4 * width

    yield from conv("conv1", 64, 3, 7)
    yield from norm("bn1", 64)
    before = 64
    for layer, (blocks, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)], 1):
        for block in range(blocks):
            name = f"layer{layer}.{block}"
            yield from conv(f"{name}.conv1", width, before, 1)
            yield from norm(f"{name}.bn1", width)
            yield from conv(f"{name}.conv2", width, width, 3)
            yield from norm(f"{name}.bn2", width)
            yield from conv(f"{name}.conv3", 4 * width, width, 1)
            yield from norm(f"{name}.bn3", 4 * width)
            if block == 0:
                yield from conv(f"{name}.downsample.0", 4 * width, before, 1)
                yield from norm(f"{name}.downsample.1", 4 * width)
            before = 4 * width
    yield "fc.weight", 4 * 2048 * 1000
    yield "fc.bias", 4000


def test_resnet50(shared):
    content = real(shared, f"{HTA}/nccl_data.json.gz")
    whole = read(*content)
    sizes = [o.bytes for o in whole.graph.ops if o.kind == ALL_REDUCE]
    assert sizes == [8_196_000, 31_502_336, 26_255_360, 26_550_272, 9_724_160]
    trace = read(*content, parameters=tuple(resnet50()))
    assert trace.report.collectives[ALL_REDUCE] == Total(161, 102_228_128)
    assert recorded_time(trace) == pytest.approx(length(trace), rel=0.05)
    first = next(o.id for o in trace.graph.ops if "grad:conv1.weight" in o.after)
    assert first == "update 1"


@pytest.mark.parametrize(
    "path",
    [
        f"{HTA}/benchmark_simple_add_trace.json.gz",
        "pytorch+kineto/worker0.1623143089861.pt.trace.json.gz",
    ],
)
def test_real_traces_of_one_worker(shared, path):
    with pytest.raises(InvalidTrace, match="No collective found"):
        read(*real(shared, path))


@st.composite
def recordings(draw):
    """Works on two streams and collectives on one, at whole microseconds."""
    events = [note(STEP, 0, 400)]
    ends = {GPU: 0, (0, 8): 0, NCCL: 0}
    at = 0
    for number in range(1, draw(st.integers(2, 14))):
        at += draw(st.integers(1, 20))
        on = draw(st.sampled_from([GPU, GPU, (0, 8), NCCL]))
        start = max(at + draw(st.integers(0, 3)), ends[on])
        ends[on] = end = start + draw(st.integers(1, 30))
        made = kernel(number, at, start, end, MAIN, on, "nccl" if on == NCCL else "gemm")
        made[1]["args"] |= sized(number) if on == NCCL else {}
        events += made
    return events


@settings(max_examples=cases(300))
@given(recordings(), st.randoms(use_true_random=False))
def test_the_line_adds_up(events, rng):
    """The oracle counts microseconds; shuffling the file changes nothing."""
    works = [(e["ts"], e["ts"] + e["dur"], e["name"]) for e in events if e["cat"] == "kernel"]
    if all(name == "gemm" for *_, name in works):
        with pytest.raises(InvalidTrace):
            read(text(events))
        return
    trace = read(text(events))
    end = max(400, *(end for _, end, _ in works))
    busy = [any(a <= t < b and name == "gemm" for a, b, name in works) for t in range(end)]
    ops = [o for o in trace.graph.ops if o.kind == COMPUTE]
    assert sum(o.duration_us for o in ops if o.stream != "host") == sum(busy)
    assert sum(o.duration_us for o in ops) <= end == length(trace)
    count = len(trace.measured)
    assert sum(time for _, time in trace.measured) == sum(b - a for a, b, n in works if n == "nccl")
    assert end - 20 * count <= recorded_time(trace) <= end + count + 1e-6
    rng.shuffle(events)
    assert read(text(events)) == trace


@settings(max_examples=cases(100))
@given(st.one_of(recordings(), st.just(small())), st.integers(-(2**40), 2**40))
def test_the_clock_does_not_matter(events, by):
    """Nothing depends on where the clock has its zero: relative traces have negative times."""
    try:
        trace = read(text(events))
    except InvalidTrace:
        return
    assert read(text([e | {"ts": e["ts"] + by} for e in events])) == trace


SEED = text(small())


@settings(max_examples=cases(600))
@given(st.one_of(mangled(SEED), mangled(text(waiting())), mangled(json.dumps(small()).encode())))
def test_mangled(content):
    assert kineto.looks_like(content) in {True, False}
    try:
        trace = read(content, parameters=NAMES)
    except InterlaceError:
        return
    assert trace.graph is not None


def test_a_collective_that_ran_beside_the_last_work_of_the_step_before():
    """Its step begins when that work ends, long after its kernel did."""
    events = [note("ProfilerStep#1", 0, 100), *kernel(1, 3, 5, 500)]
    events += [note("ProfilerStep#2", 100, 500)]
    events += [*total(2, 110, 120, 140, sized(25), MAIN), *kernel(3, 150, 510, 520)]
    trace = kineto.read([text(events)], TraceOptions("run", step=1))
    assert [op.bytes for op in trace.graph.ops if op.bytes] == [100]
    assert trace.report.steps == 2
