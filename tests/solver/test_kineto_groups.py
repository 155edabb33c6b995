"""Sizes and channels of collectives whose process groups are written in any of the ways."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InvalidTrace
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, COMPUTE, REDUCE_SCATTER
from solver.traces import Sample, Total, TraceChannel, TraceOptions, kineto
from solver.traces.kineto.groups import ProcessGroup, titles
from tests.kineto_events import AUTOGRAD, MAIN, NCCL, STEP, event, kernel, note, op, sized, text
from tests.sampling import cases

WORLD = {"distributedInfo": {"world_size": 16}}
GROUPS = [
    {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 16, "ranks": list(range(16))},
    {"pg_name": "1", "pg_desc": "mesh_shard", "pg_size": 8, "ranks": list(range(8))},
    {"pg_name": "2", "pg_desc": "mesh_replicate", "pg_size": 2, "ranks": [0, 8]},
]


def read(events, **top):
    return kineto.read([text(events, **top)], TraceOptions("x"))


def shapes(dims, types, values=()):
    return {"Input Dims": dims, "Input type": types, "Concrete Inputs": list(values)}


def sent(kind, around=None, noted=None, ran=None, record=None):
    """A step with one collective of NCCL's: the op, the record, the annotation, the kernel."""
    launched, run = kernel(2, 10, 12, 30, MAIN, NCCL, "ncclDevKernel_Generic")
    run["args"] |= ran or {}
    made = [note(STEP, 0, 50), *kernel(1, 3, 5, 10), launched, run, *kernel(3, 31, 32, 40)]
    made.append(note(f"nccl:{kind}", 9, 3, **(noted or {})))
    if record is not None:
        made.append(event("record_param_comms", "cpu_op", 8, 6) | {"args": record})
    if around is not None:
        name, args = around
        made.append(op(name, 7, 8) | {"args": args})
    return made


FLOAT = ["float", "float", "", "", ""]
SHARE = shapes([[1024]], ["float"])


def base(out, into):
    return shapes([[out], [into], [], [], []], FLOAT)


@pytest.mark.parametrize(
    ("events", "kind", "size", "workers"),
    [
        # an all-gather in a group of 8 of the 16 ranks: the whole tensor is the first argument
        (
            sent("_all_gather_base", ("c10d::_allgather_base_", base(8192, 1024)), SHARE),
            ALL_GATHER,
            32768,
            8,
        ),
        # the functional op says the group's size, and only a share's shape
        (
            sent(
                "_all_gather_base",
                (
                    "_c10d_functional::all_gather_into_tensor",
                    shapes([[1024], [], []], ["float", "Scalar", ""], ["", "8", ""]),
                ),
                SHARE,
            ),
            ALL_GATHER,
            32768,
            8,
        ),
        # PyTorch's own counts, with and without what comes out
        (
            sent("x", ran=sized(1024, "_allgather_base") | {"Out msg nelems": 8192}),
            ALL_GATHER,
            32768,
            16,
        ),
        (
            sent("x", ran=sized(1024, "_allgather_base") | {"Group size": 8}),
            ALL_GATHER,
            32768,
            8,
        ),
        (
            sent("x", record=sized(1024, "_allgather_base") | {"Group size": 8}),
            ALL_GATHER,
            32768,
            8,
        ),
        # several tensors at once: the lists have no type, the annotation has
        (
            sent(
                "x",
                (
                    "c10d::allgather_into_tensor_coalesced_",
                    shapes([[[8, 64], [8, 64]], [[64], [64]], []], ["TensorList"] * 2 + [""]),
                ),
                shapes([[64], [64]], ["float", "float"]),
            ),
            ALL_GATHER,
            4096,
            8,
        ),
        # a reduce-scatter's bytes are what goes in, whatever is written first
        (
            sent("_reduce_scatter_base", ("c10d::_reduce_scatter_base_", base(1024, 8192)), SHARE),
            REDUCE_SCATTER,
            32768,
            8,
        ),
        (
            sent("_reduce_scatter_base", None, shapes([[8192]], ["float"])),
            REDUCE_SCATTER,
            32768,
            16,
        ),
        (
            sent("x", ran=sized(8192, "_reduce_scatter_base") | {"Out msg nelems": 1024}),
            REDUCE_SCATTER,
            32768,
            16,
        ),
        # no annotation has shapes: the op's, of an all-to-all the second, what goes in
        (
            sent(
                "all_reduce", ("c10d::allreduce_", shapes([[[100], [28]], []], ["TensorList", ""])),
                shapes([[]], ["c10::BFloat16"]),
            ),
            ALL_REDUCE,
            2,
            16,
        ),
        (sent("x", ("c10d::alltoall_base_", base(2048, 1024))), ALL_TO_ALL, 4096, 16),
        (sent("x", ("c10d::broadcast_", base(1024, 0))), BROADCAST, 4096, 16),
    ],
)  # fmt: skip
def test_sizes_and_workers(events, kind, size, workers):
    trace = read(events, **WORLD)
    assert trace.report.collectives == {kind: Total(1, size)}
    assert [(c.name, c.workers) for c in trace.channels] == [("network", workers)]
    assert trace.samples == (Sample("network", kind, size, 18.0),)
    assert (trace.report.measured_us, trace.report.recorded_us) == (50.0, 50.0)


def test_an_all_gather_of_no_known_group_is_taken_for_one_of_all_ranks_and_said():
    events = sent("_all_gather_base", None, SHARE)
    trace = read(events, **WORLD)
    assert trace.report.collectives == {ALL_GATHER: Total(1, 65536)}
    said = "ncclDevKernel_Generic: its group is not recorded; taken for an all_gather of all 16"
    assert any(line.startswith(said) for line in trace.report.warnings), trace.report.warnings
    with pytest.raises(InvalidTrace, match="no size"):
        read(events)


@pytest.mark.parametrize(
    "events",
    [
        # one tensor's shape, in a list, its type elsewhere; equal counts and no group
        sent("all_gather", ("c10d::allgather_", shapes([[], [[1024]]], ["", "TensorList"])), SHARE),
        sent("x", ran=sized(1024, "_allgather_base")),
    ],
)
def test_a_share_alone_needs_the_workers(events):
    with pytest.raises(InvalidTrace, match="no size"):
        read(events)
    trace = read(events, distributedInfo={"world_size": 16})
    assert trace.report.collectives == {ALL_GATHER: Total(1, 65536)}
    assert any("its group is not recorded" in line for line in trace.report.warnings)
    group = {"world_size": 16, "pg_config": [{"pg_name": "0", "pg_size": 4}]}
    trace = read(events, distributedInfo=group)
    assert trace.report.collectives == {ALL_GATHER: Total(1, 16384)}
    assert not any("its group is not recorded" in line for line in trace.report.warnings)


def grouped(number, at, group, description, ranks, stream):
    launched, ran = kernel(number, at, at + 2, at + 10, AUTOGRAD, (0, stream), "ncclDevKernel_X")
    ran["args"] |= sized(25) | {
        "Process Group Name": group,
        "Process Group Description": description,
        "Process Group Ranks": ranks,
    }
    return [launched, ran]


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("mesh_tp", "tp"),
        ("TENSOR_MODEL_PARALLEL_GROUP", "tp"),
        ("DATA_PARALLEL_GROUP_WITH_CP", "dp"),
        ("undefined", "group 7"),
        ("", "group 7"),
        ("fsdp", "fsdp"),
        ("mesh_network", "network 7"),
    ],
)
def test_channels_have_the_names_of_their_groups(description, name):
    events = [note(STEP, 0, 60), *kernel(1, 3, 5, 10), *kernel(9, 40, 45, 50)]
    events += grouped(2, 11, "0", "default_pg", "[0, 1, 2, 3]", 20)
    events += grouped(3, 25, "7", description, "[0, 1]", 21)
    trace = read(events, distributedInfo={"world_size": 4})
    assert [(c.name, c.workers) for c in trace.channels] == [("network", 4), (name, 2)]
    assert {o.channel for o in trace.graph.ops if o.kind != COMPUTE} == {"network", name}
    said = f"Channel {name}: 2 workers, from process group 7"
    assert any(line.startswith(said) for line in trace.report.assumed)


def test_channels_of_different_groups_have_different_names():
    described = [("3", "dp 2"), ("1", "dp"), ("2", "dp"), ("4", "nvlink"), ("5", "network")]
    described += [("6", "default_pg"), ("7", "default_pg"), ("8", "dp\n2"), ("9\n", "")]
    described += [("10", "a" * 600), ("11", "a" * 600), ("12", "dp 2 2")]
    names = titles([ProcessGroup(name, description, 2) for name, description in described])
    assert list(names.values()) == [
        *("dp 2", "dp", "dp 2 2", "nvlink 4", "network 5", "network", "network 7", "dp 2 8"),
        *("group 9", "a" * 80 + "...", "a" * 80 + "... 11", "dp 2 2 12"),
    ]


@settings(max_examples=cases(300))
@given(
    st.lists(st.tuples(st.text("12 \n", min_size=1), st.text("dp12 \n")), unique_by=lambda g: g[0])
)
def test_names_of_channels_are_different_and_plain(described):
    names = titles([ProcessGroup(name, description, 2) for name, description in described]).values()
    assert len({*names, "nvlink"}) == len(described) + 1
    assert all(name and name.isprintable() and len(name) < 250 for name in names)


def test_ranks_that_are_cut_short_or_no_list_are_not_counted():
    events = [note(STEP, 0, 60), *kernel(1, 3, 5, 10)]
    events += grouped(2, 11, "5", "dp", "[0, 1, ..., 15]", 20)
    events += grouped(3, 25, 6, "tp", ["a"], 21)
    trace = read(events)
    assert [(c.name, c.workers) for c in trace.channels] == [("dp", None), ("tp", None)]
    assert any("share dp, tp is not recorded" in line for line in trace.report.warnings)
    listed = {"pg_config": [{"pg_name": "5", "pg_desc": "dp", "pg_size": 16}, 7, {"pg_name": []}]}
    trace = read(events, distributedInfo=listed)
    assert [(c.name, c.workers) for c in trace.channels] == [("dp", 16), ("tp", None)]


def test_streams_are_channels_where_no_group_is_written():
    events = [note(STEP, 0, 60), *kernel(1, 3, 5, 10)]
    for number, stream in ((2, 20), (3, 21)):
        launched, ran = kernel(number, 11 * number, 11 * number + 2, 11 * number + 9, MAIN,
                               (0, stream), "nccl")  # fmt: skip
        ran["args"] |= sized(25)
        events += [launched, ran]
    trace = read(events, distributedInfo={"world_size": 16, "pg_config": GROUPS})
    source = "the stream: no group is written"
    assert trace.channels == (
        TraceChannel("gpu 0 stream 20", None, source),
        TraceChannel("gpu 0 stream 21", None, source),
    )
    assert any("The job has 3 process groups, but" in line for line in trace.report.warnings)


def gloo(kind, at, thread, call, dims, noted):
    made = op(f"c10d::{call}", at, 2)
    made["args"] = shapes(dims, ["float"] * len(dims))
    return [made, note(f"gloo:{kind}", at + 1, 5, (1, thread), **shapes([noted], ["float"]))]


def sharded(shard=(93, 96), replicate=(90,)):
    """HSDP as gloo records it: threads of groups in the order in which the groups were made."""
    events = [note(STEP, 0, 100), op("aten::a", 1, 4), op("aten::b", 80, 10)]
    at = 10
    for thread in shard:
        events += gloo("all_gather", at, thread, "_allgather_base_", [[8000], [1000]], [1000])
        at += 8
    events += gloo("all_reduce", at, shard[0], "_reduce_scatter_base_", [[1000], [8000]], [8000])
    for thread in replicate:
        at += 8
        events += gloo("all_reduce", at, thread, "allreduce_", [[1000]], [1000])
    return events


# the shard group's threads come after those of the other, as the groups were made
MADE = [GROUPS[0], GROUPS[2] | {"pg_name": "1"}, GROUPS[1] | {"pg_name": "3"}]


@pytest.mark.parametrize("threads", [{}, {"replicate": (90, 91)}, {"shard": (96,)}])
def test_gloo_tells_groups_by_its_threads(threads):
    trace = read(sharded(**threads), distributedInfo={"world_size": 16, "pg_config": MADE})
    found = {c.name: c.workers for c in trace.channels}
    assert found == {"shard": 8, "replicate": 2}
    by_kind = {(o.kind, o.channel) for o in trace.graph.ops if o.kind != COMPUTE}
    assert by_kind == {
        (ALL_GATHER, "shard"),
        (REDUCE_SCATTER, "shard"),
        (ALL_REDUCE, "replicate"),
    }
    assert any("told by gloo's threads" in line for line in trace.report.assumed)
    assert any("way to do reduce_scatter" in line for line in trace.report.warnings)
    assert trace.report.collectives[ALL_GATHER].bytes == 32000 * len(threads.get("shard", (1, 2)))


@pytest.mark.parametrize(
    "groups",
    [
        # no group has the 8 workers of the later threads; two choices fit; none is listed
        [GROUPS[0], GROUPS[2] | {"pg_name": "1"}, GROUPS[2] | {"pg_name": "3"}],
        [*MADE, {"pg_name": "2", "pg_desc": "other", "pg_size": 4}],
        [],
    ],
)
def test_gloo_groups_that_cannot_be_told_are_one_channel(groups):
    trace = read(sharded(), distributedInfo={"world_size": 16, "pg_config": groups})
    assert {o.channel for o in trace.graph.ops if o.kind != COMPUTE} == {"network"}
    assert trace.report.collectives[ALL_GATHER] == Total(2, 64000)
    told = any("process groups, but which" in line for line in trace.report.warnings)
    assert told == bool(groups)


def several(*written, listed=()):
    """A step with one all-reduce of 100 bytes for each, on one stream, with what is written."""
    events = [note(STEP, 0, 100), *kernel(1, 3, 5, 10), *kernel(99, 90, 92, 95)]
    for i, args in enumerate(written):
        at = 12 + 15 * i
        launched, ran = kernel(2 + i, at, at + 2, at + 10, MAIN, NCCL, "ncclDevKernel_Generic")
        ran["args"] |= sized(25) | args
        events += [launched, ran]
    return read(events, distributedInfo={"world_size": 16, "pg_config": list(listed)})


def test_sizes_of_groups_without_names_tell_channels_apart():
    source = "the stream: no group is written, only its size"
    apart = (
        TraceChannel("gpu 0 stream 20 of 2", 2, source),
        TraceChannel("gpu 0 stream 20 of 8", 8, source),
    )
    sizes = {"Group size": 2}, {"Group size": 8}
    assert several(*sizes).channels == apart
    only = [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 16}]
    assert several(*sizes, listed=only).channels == apart
    some = several(*sizes, {}, listed=only).channels
    assert [(c.name, c.workers) for c in some] == [
        *((c.name, c.workers) for c in apart),
        ("network", 16),
    ]
    same = several({"Group size": 8}, {"Group size": 8}).channels
    assert [(c.name, c.workers) for c in same] == [("network", 8)]


def test_the_size_beside_a_collective_wins_over_the_list():
    listed = [{"pg_name": "1", "pg_desc": "dp", "pg_size": 8}]
    beside = {"Process Group Name": "1", "Group size": 4}
    trace = several(beside, listed=listed)
    assert [c.workers for c in trace.channels] == [4]
    said = "Process group 1 (dp) has 8 ranks in the trace's list, 4 beside its collectives"
    assert any(line.startswith(said) for line in trace.report.warnings)
    agreed = several(beside | {"Group size": 8}, listed=listed)
    assert not any("trace's list" in line for line in agreed.report.warnings)


@pytest.mark.parametrize(
    ("name", "each", "out", "said"),
    [
        ("all_gather", 100, 300, "an all_gather of 100 elements in and 300 out contradicts a"),
        ("all_gather", 100, 800, ""),
        ("all_gather", 100, 100, ""),
        ("reduce_scatter", 800, 100, ""),
        ("reduce_scatter", 800, 800, ""),
        ("reduce_scatter", 800, 300, "a reduce_scatter of 800 elements in and 300 out contradicts"),
        ("allreduce", 100, 100, ""),
        ("allreduce", 100, 50, "an all_reduce of 100 elements in and 50 out contradicts itself"),
        ("allreduce", 100, 800, "an all_reduce of 100 elements in and 800 out contradicts itself"),
        ("broadcast", 100, 50, ""),
    ],
)
def test_counts_that_contradict_their_collective_are_said(name, each, out, said):
    args = {"Collective name": name, "In msg nelems": each, "Out msg nelems": out}
    trace = several(args | {"Group size": 8})
    found = [line for line in trace.report.warnings if "contradicts" in line]
    assert len(found) == bool(said)
    assert all(said in line for line in found)


def broadcasts(threads):
    """A rank that asks for two broadcasts, of 1,000 and of 250 elements; two threads begin them."""
    events = [note(STEP, 0, 100), op("aten::a", 1, 4), op("aten::b", 80, 10)]
    for i, (elements, begins) in enumerate(zip((1000, 250), threads, strict=True)):
        call = op("c10d::broadcast_", 10 + 3 * i, 2)
        call["args"] = shapes([[elements]], ["float"])
        ran = note("gloo:broadcast", begins, 10, (1, 90 + i), **shapes([[elements]], ["float"]))
        events += [call, ran]
    return events


def test_threads_of_gloo_may_begin_out_of_order():
    """Ranks ask in one order, but each has threads that begin when the machine lets them."""
    ranks = [text(broadcasts(begins)) for begins in ((20, 30), (31, 21))]
    trace = kineto.read(ranks, TraceOptions("x"))
    assert trace.report.collectives == {BROADCAST: Total(2, 5000)}
