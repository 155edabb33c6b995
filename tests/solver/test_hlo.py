# ruff: noqa: E501 - HLO text as XLA writes it
"""HLO text as graphs: recorded programs of JAX against a reader of its own, and forms by hand."""

import gzip
import json
import random
import re
from pathlib import Path

import pytest

from solver.codes import FaultCode
from solver.errors import InterlaceError, InvalidTrace
from solver.graph import COMPUTE
from solver.traces import TraceOptions, detect, read_trace
from solver.traces.hlo.costs import costs_text, read_costs
from solver.traces.hlo.groups import GroupFault, channel_names, groups_of
from solver.traces.hlo.module import HloInstruction
from solver.traces.hlo.shapes import ShapeFault, bytes_of, shape_of
from solver.traces.hlo.text import read_module
from solver.traces.hlo.work import fused_bytes, moved, product_flops, trips
from tests.fuzzed_files import mangled
from tests.sampling import cases

DATA = Path(__file__).parents[1] / "data"
RECORDED = ("data_parallel", "sharded", "tensor_parallel", "scanned", "exchanged")
STRAIGHT = ("data_parallel", "sharded", "tensor_parallel", "exchanged")
FACTS = json.loads((DATA / "hlo_facts.json").read_text())


def text_of(name):
    return (DATA / f"hlo_{name}.txt").read_text()


def read(text, *beside, device="h100"):
    files = [each.encode() if isinstance(each, str) else each for each in (text, *beside)]
    return read_trace(files, TraceOptions("hlo", device=device))


def faults(text, *beside, device="h100"):
    with pytest.raises(InvalidTrace) as refused:
        read(text, *beside, device=device)
    return [(fault.code, fault.detail) for fault in refused.value.faults]


# -- an own reader: lines of the entry, by a few patterns

SIZES = {"f32": 4, "s32": 4, "u32": 4, "bf16": 2, "pred": 1}
PASSED = {"get-tuple-element", "bitcast", "tuple", "parameter", "constant", "partition-id"}
SENDS = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"}


def entry_lines(text):
    """Name, shape, opcode and operands of each instruction of the entry."""
    body = text.split("\nENTRY ")[1].split("\n}")[0].splitlines()[1:]
    for line in (re.sub(r"/\*.*?\*/", "", each) for each in body):
        name, rest = re.match(r"\s*(?:ROOT )?%(\S+) = (.*)", line).groups()
        opcode = re.search(r" ([a-z][a-z-]*)\(", f" {rest}")
        shape, behind = rest[: opcode.start()], rest[opcode.end() - 1 :]
        depth, end = 1, 0
        while depth:
            depth += {"(": 1, ")": -1}.get(behind[end], 0)
            end += 1
        yield name, shape, opcode[1], re.findall(r"%([\w.-]+)", behind[:end])


def size_of(shape):
    total = 0
    for kind, dims in re.findall(r"\b(f32|s32|u32|bf16|pred)\[([\d,]*)\]", shape):
        count = 1
        for each in filter(None, dims.split(",")):
            count *= int(each)
        total += count * SIZES[kind]
    return total


def ancestors(after):
    """All that come before each, of direct predecessors by name."""
    found: dict[str, set[str]] = {}
    for name, direct in after.items():
        found[name] = set(direct).union(*(found[each] for each in direct))
    return found


@pytest.mark.parametrize("name", STRAIGHT)
def test_dependencies_and_bytes_against_an_own_reader(name):
    graph = read(text_of(name)).graph
    lines = {each[0]: each[1:] for each in entry_lines(text_of(name))}
    needs = ancestors({one: operands for one, (_, _, operands) in lines.items()})
    ran = {one for one, (_, opcode, _) in lines.items() if opcode not in PASSED}
    assert {op.id for op in graph.ops} == ran
    ours = ancestors({graph.ops[i].id: graph.ops[i].after for i in graph.order})
    for one in ran:
        assert ours[one] == needs[one] & ran
    sent = {op.id: op.bytes for op in graph.ops if op.kind != COMPUTE}
    assert set(sent) == {one for one in ran if lines[one][1] in SENDS}
    for one, size in sent.items():
        shape, opcode, operands = lines[one]
        whole = sum(size_of(lines[each][0]) for each in operands)
        assert size == (whole if opcode == "reduce-scatter" else size_of(shape))


@pytest.mark.parametrize("name", RECORDED)
def test_memory_against_what_the_compiler_says(name):
    """Inputs and results as XLA counts them; it counts a result's tuple too, 8 bytes each."""
    graph, facts = read(text_of(name)).graph, FACTS[name]
    inputs = sum(each.bytes for each in graph.buffers if each.written_by is None)
    assert inputs == facts["arguments"]
    kept = sum(each.bytes for each in graph.buffers if each.kept)
    pointers = facts["results"] - facts["aliased"] if facts["aliased"] else 0
    results = facts["results"] - pointers
    assert kept == inputs + results - facts["aliased"]
    for buffer in graph.buffers:
        if buffer.written_by is None:
            assert buffer.kept


@pytest.mark.parametrize(
    ("name", "layers", "rows", "inner"),
    [("data_parallel", 2, 32, 64), ("tensor_parallel", 2, 64, 32), ("sharded", 1, 32, 64)],
)
def test_products_on_paper(name, layers, rows, inner):
    """Two products forward and four back for each layer, but for the first input's gradient."""
    module = read_module(text_of(name))
    flops = sum(
        product_flops(one, computation) or 0
        for computation in module.computations.values()
        for one in computation.instructions.values()
    )
    each = 2 * rows * 16 * inner
    assert flops == (6 * layers - 1) * each
    assert flops <= FACTS[name]["flops"] <= 1.1 * flops


def test_channels_are_the_meshs_axes():
    trace = read(text_of("tensor_parallel"))
    assert {each.name: each.workers for each in trace.channels} == {
        "groups_of_2": 2,
        "groups_of_4": 4,
    }
    by_channel: dict[str, list[int]] = {}
    for op in trace.graph.ops:
        if op.kind != COMPUTE:
            by_channel.setdefault(op.channel, []).append(op.bytes)
    assert sorted(by_channel["groups_of_4"]) == [16 * 32 * 4] * 4  # each half of a weight
    assert sorted(by_channel["groups_of_2"]) == [64 * 16 * 4] * 3  # activations of a row of devices
    trace = read(text_of("exchanged"))
    assert {each.name for each in trace.channels} == {"network", "pairs"}


def test_a_loop_that_sends_is_taken_apart_turn_by_turn():
    trace = read(text_of("scanned"))
    loops = [said for said in trace.report.warnings if said.startswith("Loop")]
    assert len(loops) == 2
    assert all("taken apart into 3 turns" in said for said in loops)
    sent = [op.id for op in trace.graph.ops if op.kind != COMPUTE]
    assert len([each for each in sent if each.startswith("while")]) == 3 + 3 + 3 + 3
    before = ancestors({trace.graph.ops[i].id: trace.graph.ops[i].after for i in trace.graph.order})
    turns: dict[tuple[str, int], list[str]] = {}
    for op in trace.graph.ops:
        if found := re.match(r"(while[\w.]*)\[(\d)\]/", op.id):
            turns.setdefault((found[1], int(found[2])), []).append(op.id)
    for (loop, turn), own in turns.items():
        for one in own:
            earlier = turns.get((loop, turn - 1), [])
            assert set(earlier) <= before[one]


def test_a_loop_writes_its_stack_in_place():
    """The stacks of activations are live once, however often a turn updates a slice of them."""
    graph = read(text_of("scanned")).graph
    stacks = [each for each in graph.buffers if each.bytes == 3 * 64 * 16 * 4]
    assert len(stacks) <= 2
    assert any(len(each.read_by) > 3 for each in stacks)


# -- forms of GPUs and TPUs, by hand

HEAD = "HloModule m, is_scheduled=true, replica_count=1, num_partitions=8\n\n"
SUM = """%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

"""
GPU = (
    HEAD
    + SUM
    + """%wrapped (p: f32[1024]) -> f32[128] {
  %p = f32[1024]{0} parameter(0)
  ROOT %rs = f32[128]{0} reduce-scatter(%p), channel_id=3, replica_groups=[1,8]<=[8], dimensions={0}, to_apply=%add
}

ENTRY %main (x: bf16[512,256], w: bf16[256,1024], g: f32[1024]) -> (bf16[512,1024], f32[128]) {
  %x = bf16[512,256]{1,0} parameter(0)
  %w = bf16[256,1024]{1,0} parameter(1)
  %g = f32[1024]{0} parameter(2)
  %ag = (bf16[256,1024]{1,0}, bf16[2048,1024]{1,0}) all-gather-start(%w), channel_id=1, replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}
  %ar = f32[1024]{0} all-reduce-start(%g), channel_id=2, replica_groups={}, to_apply=%add
  %rs.start = ((f32[1024]{0}), f32[128]{0}) async-start(%g), calls=%wrapped
  %cp = (f32[1024]{0}, f32[1024]{0}, u32[], u32[]) collective-permute-start(%g), channel_id=4, source_target_pairs={{0,1},{1,2}}
  %gemm = (bf16[512,1024]{1,0}, s8[4194304]{0}) custom-call(%x, %w), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]}}}
  %out = bf16[512,1024]{1,0} get-tuple-element(%gemm), index=0
  %cp.done = f32[1024]{0} collective-permute-done(%cp)
  %rs.done = f32[128]{0} async-done(%rs.start)
  %ar.done = f32[1024]{0} all-reduce-done(%ar)
  %ag.done = bf16[2048,1024]{1,0} all-gather-done(%ag)
  %use = f32[128]{0} fusion(%ar.done, %rs.done, %cp.done, %ag.done), kind=kLoop, calls=%fused
  ROOT %t = (bf16[512,1024]{1,0}, f32[128]{0}) tuple(%out, %use)
}
"""
)
FUSED = """%fused (p0: f32[1024], p1: f32[128], p2: f32[1024], p3: bf16[2048,1024]) -> f32[128] {
  %p0 = f32[1024]{0} parameter(0)
  %p1 = f32[128]{0} parameter(1)
  %p2 = f32[1024]{0} parameter(2)
  %p3 = bf16[2048,1024]{1,0} parameter(3)
  ROOT %r = f32[128]{0} add(%p1, %p1)
}

"""
GPU = GPU.replace("%wrapped (p", FUSED + "%wrapped (p", 1)


def test_collectives_in_two_parts_on_paper():
    graph = read(GPU).graph
    sent = {op.id: op for op in graph.ops if op.kind != COMPUTE}
    assert {name: (op.kind, op.bytes, op.channel) for name, op in sent.items()} == {
        "ag": ("all_gather", 2048 * 1024 * 2, "groups_of_4"),
        "ar": ("all_reduce", 4096, "network"),
        "rs.start": ("reduce_scatter", 8 * 128 * 4, "network"),  # all shares together
        "cp": ("broadcast", 4096, "pairs"),
    }
    assert {name: (op.fuse_key, op.element_bytes) for name, op in sent.items()} == {
        "ag": ("bf16", 2),
        "ar": ("f32 add", 4),
        "rs.start": ("f32 add", 4),
        "cp": ("f32", 4),
    }
    use = next(op for op in graph.ops if op.id == "use")
    assert set(use.after) == {"ar", "rs.start", "cp", "ag"}
    buffers = {each.id: each for each in graph.buffers}
    assert buffers["ag"].written_by == "ag"
    assert buffers["ag"].read_by == ("use",)
    assert set(buffers["g"].read_by) == {"ar", "rs.start", "cp"}
    # products of bf16 at 0.6 of 989.4 TFLOP/s, against 1.75 MiB and 4 MiB at 3.35 TB/s
    gemm = next(op for op in graph.ops if op.id == "gemm")
    moved_bytes = 2 * (512 * 256 + 256 * 1024 + 512 * 1024) + 4_194_304
    assert gemm.duration_us == pytest.approx(
        max(2 * 512 * 1024 * 256 / (0.6 * 989.4e6), moved_bytes / 3.35e6)
    )


def test_names_without_sigils_and_operands_with_types_are_the_same():
    plain = re.sub(r"%(?=[A-Za-z])", "", GPU)
    typed = re.sub(r"add\(%p1, %p1\)", "add(f32[128]{0} %p1, f32[128]{0} %p1)", GPU)
    assert read(plain).graph == read(typed).graph == read(GPU).graph


def test_a_device_twice_as_fast_takes_half():
    slow = read(GPU, device="tflops=1,memory_gbs=1").graph
    fast = read(GPU, device="tflops=2,memory_gbs=2").graph
    for one, other in zip(slow.ops, fast.ops, strict=True):
        assert (one.duration_us or 0) == pytest.approx(2 * (other.duration_us or 0), abs=1e-5)
    assert read(GPU, device="h100:tflops=1,memory_gbs=1").graph == slow


ITERATE = (
    HEAD
    + SUM
    + """%fused (p0: f32[10,64], p1: s32[], p2: f32[1,64]) -> f32[10,64] {
  %p0 = f32[10,64] parameter(0)
  %p1 = s32[] parameter(1)
  %p2 = f32[1,64] parameter(2)
  %z = s32[] constant(0)
  ROOT %u = f32[10,64] dynamic-update-slice(%p0, %p2, %p1, %z)
}

%cut (q0: f32[10,64], q1: s32[]) -> f32[1,64] {
  %q0 = f32[10,64] parameter(0)
  %q1 = s32[] parameter(1)
  %z.1 = s32[] constant(0)
  ROOT %s = f32[1,64] dynamic-slice(%q0, %q1, %z.1), dynamic_slice_sizes={1,64}
}

ENTRY %main (a: f32[10,64], i: s32[]) -> f32[10,64] {
  %a = f32[10,64] parameter(0)
  %i = s32[] parameter(1)
  %one = f32[1,64] fusion(%a, %i), kind=kLoop, calls=%cut
  %ar = f32[1,64] all-reduce(%one), replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=%add
  %copy = f32[10,64] copy(%a)
  ROOT %up = f32[10,64] fusion(%copy, %i, %ar), kind=kLoop, calls=%fused
}
"""
)


def test_slices_move_what_they_cut_and_updates_are_in_place():
    module = read_module(ITERATE)
    entry = module.entry
    sizes = {
        name: fused_bytes(entry.instructions[name], entry, module.computations[calls])
        for name, calls in (("one", "cut"), ("up", "fused"))
    }
    assert sizes == {"one": 256 + 4 + 256, "up": 4 + 256 + 2 * 256}
    assert sum(moved(entry.instructions["copy"], entry)) == 2 * 2560
    buffers = {each.id: each for each in read(ITERATE).graph.buffers}
    assert "up" not in buffers  # it is in the copy's place
    assert buffers["copy"].kept
    # where somebody reads the copy in some order, it stays
    late = ITERATE.replace("  ROOT %up", "  %late = f32[10,64] add(%copy, %copy)\n  ROOT %up")
    trace = read(late)
    assert "up" in {each.id for each in trace.graph.buffers}
    assert any("both are counted" in said for said in trace.report.warnings)


# -- groups


def groups(attributes, devices=8):
    one = HloInstruction(1, "c", "all-reduce", (), (), attributes, attributes)
    return groups_of(one, devices)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("replica_groups={{0,1},{2,3}}", ((0, 1), (2, 3))),
        ("replica_groups=[2,4]<=[8]", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("replica_groups=[2,4]<=[4,2]T(1,0)", ((0, 2, 4, 6), (1, 3, 5, 7))),
        ("replica_groups=[4,2]<=[2,2,2]T(0,2,1)", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("replica_groups=mesh['x'=4,'y'=2] {'y'}", ((0, 1), (2, 3), (4, 5), (6, 7))),
        ("replica_groups=mesh['x'=4,'y'=2] {'x'}", ((0, 2, 4, 6), (1, 3, 5, 7))),
        ("replica_groups=mesh['x'=8] {'x':(2)2}", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("replica_groups=mesh['x'=8] {'x':(1)4}", ((0, 2, 4, 6), (1, 3, 5, 7))),
        ("replica_groups={}", (tuple(range(8)),)),
        ("source_target_pairs={{0,1},{1,0}}", ((0, 1), (1, 0))),
    ],
)
def test_groups_on_paper(attributes, expected):
    assert groups(attributes) == expected


@pytest.mark.parametrize(
    "attributes",
    [
        "replica_groups={{}}",
        "replica_groups=[3,4]<=[8]",  # more than there are
        "replica_groups=[2,4]<=[4,2]T(1,1)",
        "replica_groups=[1,0]<=[0]",
        "replica_groups=[1,999999999]<=[999999999]",
        "replica_groups=mesh['x'=8] {'y'}",
        "replica_groups=mesh['x'=8] {'x':(3)2}",
        "replica_groups=mesh['x'=4,'y'=2] {'x'}, device_ids=([8]<=[8])",
        "replica_groups=all",
        "source_target_pairs={{0,1,2}}",
        "source_target_pairs={}",
        f"replica_groups={{{{{'9' * 5000}}}}}",
        f"replica_groups=[1,{'9' * 5000}]<=[8]",
    ],
)
def test_groups_that_are_none(attributes):
    with pytest.raises(GroupFault):
        groups(attributes)


def test_names_of_channels():
    near, far, other = ((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 1), (3, 2), (4, 5))
    every = [(near, False), (far, False), (other, False), (near, True), (((0,), (1,)), False)]
    names = channel_names(every, 4, "network")
    assert list(names.values()) == [
        "groups_of_2_by_1", "groups_of_2_by_2", "groups_of_2_by_1_2", "pairs", "groups_of_1",
    ]  # fmt: skip
    assert channel_names([(((1, 0, 2, 3),), False)], 4, "network") == {
        (((1, 0, 2, 3),), False): "network"
    }


def test_no_groups_of_a_program_of_unknown_devices():
    with pytest.raises(GroupFault):
        groups("to_apply=%add", None)


# -- times


COSTS = """# of a profile
costs { name: "gemm" cost_us: 12.5 }
costs: < name: 'use', cost_us: 1e1; >
costs { name: "f00::ar" cost_us: 8 }
costs { name: "f00::ar" cost_us: 10 }
latencies { source: "ag" target: "ag.done" latency_us: 40 }
"""


def test_costs_as_xla_reads_them():
    expected = {"gemm": 12.5, "use": 10.0, "ar": 9.0, "ag": 40.0}
    assert read_costs(COSTS.encode(), "") == expected
    assert read_costs(costs_text(expected).encode(), "") == expected
    assert read_costs(json.dumps(expected).encode(), "") == expected


def test_given_times_are_taken_and_collectives_become_samples():
    trace = read(GPU, COSTS, device=None)
    times = {op.id: op.duration_us for op in trace.graph.ops if op.kind == COMPUTE}
    assert times == {"gemm": 12.5, "use": 10.0}
    assert trace.measured == (("ag", 40.0), ("ar", 9.0))
    assert [(each.kind, each.bytes, each.time_us) for each in trace.samples] == [
        ("all_gather", 4_194_304, 40.0),
        ("all_reduce", 4096, 9.0),
    ]
    assert any("2 of 2 ops of compute take the times" in said for said in trace.report.assumed)
    mixed = read(GPU, json.dumps({"use": 3}))
    assert {op.id: op.duration_us for op in mixed.graph.ops}["use"] == 3.0
    assert {op.id: op.duration_us for op in mixed.graph.ops}["gemm"] == pytest.approx(
        {op.id: op.duration_us for op in read(GPU).graph.ops}["gemm"]
    )


def test_times_of_what_the_text_does_not_have_are_said():
    usual = read(GPU)
    trace = read(GPU, json.dumps({"elsewhere": 3, "gemm": 1, "other": 2}))
    said = "Of 2 times that were given ('elsewhere' and 1 more) the text has no instruction"
    assert [line.startswith(said) for line in trace.report.warnings] == [True] + [
        False for _ in usual.report.warnings
    ]
    inside = next(iter(read_module(GPU).computations["fused"].instructions))
    assert read(GPU, json.dumps({inside: 3})).report.warnings == usual.report.warnings


def test_a_profile_gives_times_where_it_is_asked_for():
    profile, text = (
        gzip.decompress((DATA / name).read_bytes())
        for name in ("jax_profile.json.gz", "jax_hlo.txt.gz")
    )
    assert detect([profile, text]) == detect([text, profile]) == "xla"
    trace = read_trace([profile, text], TraceOptions("hlo"), "hlo")
    assert trace.report.format == "hlo"
    assert trace.graph.free == ("xla",)
    assert all(op.duration_us > 0 for op in trace.graph.ops if op.kind == COMPUTE)
    assert len(trace.measured) == len(trace.graph.collectives)


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ("costs { name: 'gemm' }", "cost_us is missing"),
        ("costs { name: 'gemm' cost_us: -1 }", "0 to"),
        ("costs { name: 'gemm' cost_us: nan }", "0 to"),
        ("costs { name: 'gemm' cost_us: 1", "ends within costs"),
        ("costs { name: 'gemm' name: 'x' cost_us: 1 }", "no field with a value"),
        ("costs {\n name 'gemm' }", "line 2"),
        ("costs { name: 'a' cost_us: 1 } more { }", "'more' is no field"),
        ("costs { name: 'a' cost_us: 1 } costs", "has no brace"),
        ("costs { name: 'a' cost_us: 1 } ?", "nothing of this format"),
        ("latencies { source: 'ag' }", "latency_us is missing"),
        ("costs { name: 'gemm' cost_us: much }", "0 to"),
    ],
)
def test_costs_that_are_none(costs, said):
    [(_, detail)] = faults(GPU, costs)
    assert said in detail


def test_what_lacks_a_time_is_named():
    [(code, detail)] = faults(GPU, device=None)
    assert code == FaultCode.NO_TIMES
    assert "--device" in detail
    [(code, detail)] = faults(GPU, json.dumps({"gemm": 1}), device=None)
    assert (code, "'use'" in detail) == (FaultCode.NO_TIMES, True)
    assert faults(GPU, GPU + "\n")[0][0] == FaultCode.TOO_MANY_FILES
    assert faults(COSTS, device=None)[0][0] == FaultCode.WRONG_FORMAT


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("h10", "Did you mean h100?"),
        ("tflops=1", "both tflops and memory_gbs"),
        ("", "both tflops and memory_gbs"),
        ("h100:tflops=x", 'got "tflops=x"'),
        ("h100:tflops=1,tflops=2", "each =NUMBER and once"),
        ("h100:tflops=0", "10^-6 to 10^7"),
        ("h100:efficiency=1.1", "efficiency must be 10^-6 to 1, got 1.1"),
        ("h100:flops=1", "each =NUMBER and once"),
    ],
)
def test_devices_that_are_none(device, said):
    [(_, detail)] = faults(GPU, device=device)
    assert said in detail


# -- what is refused


def changed(old, new):
    assert old in GPU
    return GPU.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (changed("ENTRY ", ""), "no ENTRY computation"),
        (changed("async-start(%g)", "async-start(%nobody)"), "takes 'nobody', which is nowhere"),
        (changed("all-reduce-done(%ar)", "all-reduce-done(%t)"), "which is later there"),
        (changed("calls=%fused", "calls=%nothing"), "runs 'nothing', which is not there"),
        (changed(", calls=%fused", ""), "does not say which computation"),
        (changed("%out = ", "%ag = "), "there twice"),
        (changed("f32[128]{0} async-done", "f99[128]{0} async-done"), "no shape of a known type"),
        (changed("%x = bf16[512,256]{1,0} parameter(0)", "%x = bf16[512,256]"), "no opcode"),
        (changed("parameter(0)", "parameter(zero)"), "has no number"),
        (changed("  %x = ", "  nonsense "), "is no instruction"),
        (changed("[512,256]{1,0} parameter", "[999999999,999999999,999] parameter"), "2^60"),
        (changed("element(%gemm), index=0", "element(%gemm), index=7"), "no element"),
        (changed("all-reduce-done(%ar)", "all-reduce-done(%g)"), "ends nothing"),
        (changed("  %ar.done = f32[1024]{0} all-reduce-done(%ar)\n", "").replace("%ar.done", "%g"),
         "begun and never done"),
        (changed("replica_groups={}", "replica_groups=?"), "no way that is known"),
        (changed("fusion(%ar.done", "send(%ar.done"), "sends alone are not read"),
        (GPU[: GPU.index("%out")], "ends within computation 'main'"),
        (changed("%c = f32[] add(%a, %b)", "%c = f32[] call(%a), to_apply=%add"), "runs itself"),
        ("HloModule m\n", "no ENTRY computation"),
        (GPU + SUM, "computation 'add' is there twice"),
        (GPU.replace("%fused (p0", "%none () -> f32[] {\n}\n\n%fused (p0"), "has no instruction"),
        (changed("%gemm = (bf16[512,1024]{1,0}, ", "%gemm = (bf16[512,1024]{1,0} "), "is no shape"),
        (changed("custom-call(%x, %w)", "custom-call(%x, %w"), "bracket is not closed"),
        (changed("%g = f32[1024]{0} parameter", "%g = ? parameter"), "is no shape"),
        (changed("add(%p1, %p1)", "dot(%p1)"), "lacks an operand of dot"),
        (changed("all-gather-start(%w)", "all-gather-start(!)").replace("%", ""), "is no operand"),
        (changed("%gemm), index=0", f"%gemm), index={'9' * 5000}"), "no element of a tuple"),
    ],
)  # fmt: skip
def test_texts_that_are_refused(text, said):
    assert any(said in detail for _, detail in faults(text)), faults(text)


def test_every_fault_has_its_line():
    text = changed("bf16[512,256]{1,0} parameter", "b[512] parameter")
    text = text.replace("%w = bf16[256,1024]{1,0}", "%w = q8[1]")
    assert [detail.split(":")[0] for _, detail in faults(text)] == [
        f"HLO text, line {text[: text.index(mark)].count(chr(10)) + 1}" for mark in ("%x =", "%w =")
    ]


LOOP = (
    HEAD
    + SUM
    + """%body (s: (f32[8])) -> (f32[8]) {
  %s = (f32[8]) parameter(0)
  %e = f32[8] get-tuple-element(%s), index=0
  %r = f32[8] all-reduce(%e), replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=%add
  ROOT %n = (f32[8]) tuple(%r)
}

%cond (s.1: (f32[8])) -> pred[] {
  %s.1 = (f32[8]) parameter(0)
  ROOT %yes = pred[] constant(true)
}

ENTRY %main (a: f32[8]) -> (f32[8]) {
  %a = f32[8] parameter(0)
  %t = (f32[8]) tuple(%a)
  %m = f32[8] multiply(%a, %a)
  ROOT %w = (f32[8]) while(%t), condition=%cond, body=%body, backend_config={"known_trip_count":{"n":"2"}}
}
"""
)


def test_loops_that_send():
    trace = read(LOOP)
    assert [op.id for op in trace.graph.ops] == [
        "m", "w[begin]", "w[0]/r", "w[0]", "w[1]/r", "w[1]",
    ]  # fmt: skip
    endless = LOOP.replace(', backend_config={"known_trip_count":{"n":"2"}}', "")
    assert "how often it runs is not known" in faults(endless)[0][1]
    long = LOOP.replace('"n":"2"', '"n":"99999"')
    assert faults(long)[0][0] == FaultCode.TOO_LARGE
    chosen = LOOP.replace(
        "while(%t), condition=%cond, body=%body",
        ("conditional(%a, %t, %t), branch_computations={%body, %body}"),
    )
    assert "which run is not known" in faults(chosen)[0][1]
    called = LOOP.replace("while(%t), condition=%cond, body=%body", "call(%t), to_apply=%body")
    assert [op.id for op in read(called).graph.ops] == ["m", "w/r"]


def test_loops_and_branches_that_do_not_send_are_one_op():
    quiet = LOOP.replace(
        "all-reduce(%e), replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=%add", "multiply(%e, %e)"
    ).replace("multiply(%a, %a)", "all-reduce(%a), replica_groups={}, to_apply=%add")
    ops = {op.id: op for op in read(quiet, device="tflops=1,memory_gbs=1").graph.ops}
    assert ops["w"].duration_us == pytest.approx(2 * 3 * 32 / 1e3)  # two turns, three arrays
    endless = quiet.replace(', backend_config={"known_trip_count":{"n":"2"}}', "")
    assert "loops of unknown length" in faults(endless)[0][1]
    assert {op.id: op.duration_us for op in read(endless, '{"w": 5}').graph.ops}["w"] == 5.0
    either = quiet.replace(
        "while(%t), condition=%cond, body=%body",
        ("conditional(%a, %t, %t), true_computation=%body, false_computation=%body"),
    )
    assert {op.id for op in read(either).graph.ops} == {"m", "w"}


def test_nothing_to_send():
    alone = LOOP.replace(
        "all-reduce(%e), replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=%add", "multiply(%e, %e)"
    )
    assert faults(alone)[0][0] == FaultCode.NO_COLLECTIVE


def test_donated_inputs_share_memory_with_results():
    """Of two inputs of which one is donated and one aliased, the aliased one holds the result."""
    head = HEAD.replace(
        "is_scheduled=true",
        "is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, "
        "buffer_donor={ (1, {}) }",
    )
    text = (
        head
        + SUM
        + """ENTRY %main (a: f32[8], b: f32[8], c: f32[8]) -> f32[8] {
  %a = f32[8] parameter(0)
  %b = f32[8] parameter(1)
  %c = f32[8] parameter(2)
  %r = f32[8] all-reduce(%b), replica_groups={}, to_apply=%add
  ROOT %n = f32[8] add(%a, %r)
}
"""
    )
    buffers = {each.id: each for each in read(text).graph.buffers}
    assert {name: each.kept for name, each in buffers.items()} == {
        "a": True, "b": False, "c": True, "r": False,
    }  # fmt: skip
    assert set(buffers["a"].read_by) == {"n"}


KINDS = (
    HEAD
    + SUM
    + """%inner (i0: f32[4,8], i1: f32[8,2]) -> f32[4,2] {
  %i0 = f32[4,8] parameter(0)
  %i1 = f32[8,2] parameter(1)
  ROOT %d = f32[4,2] dot(%i0, %i1), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}
}

%outer (o0: f32[4,8], o1: f32[8,2]) -> f32[4,2] {
  %o0 = f32[4,8] parameter(0)
  %o1 = f32[8,2] parameter(1)
  ROOT %f = f32[4,2] fusion(%o0, %o1), kind=kOutput, calls=%inner
}

ENTRY %main (a: f32[4,8], b: f32[8,2], x: f32[1,6,6,3], k: f32[3,3,3,5]) -> f32[4,2] {
  %a = f32[4,8] parameter(0)
  %b = f32[8,2] parameter(1)
  %x = f32[1,6,6,3] parameter(2)
  %k = f32[3,3,3,5] parameter(3)
  %table = f32[2,2] constant({
    {1, 2},
    {3, 4} })
  %token = token[] after-all()
  %nested = f32[4,2] fusion(%a, %b), kind=kOutput, calls=%outer
  %begun = ((f32[4,8], f32[8,2]), f32[4,2]) call-start(%a, %b), to_apply=%inner
  %going = ((f32[4,8], f32[8,2]), f32[4,2]) async-update(%begun)
  %called = f32[4,2] call-done(%going)
  %window = f32[1,4,4,5] convolution(%x, %k), window={size=3x3}, dim_labels=b01f_01io->b01f
  %cudnn = (f32[1,4,4,5], u8[0]) custom-call(%x, %k), custom_call_target="__cudnn$convForward", dim_labels=b01f_01io->b01f
  %odd = f32[1,4,4,5] convolution(%x, %k), window={size=3x3}
  %mine = f32[4,2] custom-call(%a), custom_call_target="mine"
  %none = f32[0] copy(%table)
  ROOT %r = f32[4,2] all-reduce(%nested), replica_groups={}, to_apply=%add
}
"""
)


def test_work_on_paper():
    module = read_module(KINDS)
    entry = module.entry.instructions
    convolution = 2 * (4 * 4 * 5) * (3 * 3 * 3)
    flops = {name: product_flops(entry[name], module.entry) for name in ("window", "cudnn", "mine")}
    assert flops == {"window": convolution, "cudnn": convolution, "mine": None}
    trace = read(KINDS, device="h100:tflops=0.001,memory_gbs=1000000")
    times = {op.id: op.duration_us for op in trace.graph.ops}
    assert times["nested"] == pytest.approx(2 * 4 * 2 * 8 / 1e3, rel=1e-3)
    assert times["begun"] == pytest.approx(times["nested"], rel=1e-3)
    assert any("The work of 2 custom calls" in said for said in trace.report.warnings)
    exact = {op.id: op.duration_us for op in read(KINDS, device="h100").graph.ops}
    assert exact["nested"] == pytest.approx(max(128 / (0.6 * 66.9e6), 224 / 3.35e6), abs=1e-6)


def test_who_runs_whom_has_an_end():
    rows = [
        f"%c{k} (p: f32[]) -> f32[] {{\n  %p = f32[] parameter(0)\n"
        f"  ROOT %r = f32[] call(%p), to_apply=%{'add' if k == 0 else f'c{k - 1}'}\n}}\n"
        for k in range(70)
    ]
    assert faults(HEAD + SUM + "\n".join(rows))[0][0] == FaultCode.TOO_DEEP


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("f32[]", 4),
        ("bf16[<=8,4]{1,0:T(8,128)(2,1)}", 64),
        ("s4[10]{0:E(4)}", 5),
        ("s4[10]", 10),
        ("f8e4m3fn[3,3]", 9),
        ("f32[8]{0:S(5)}", 0),  # in the host's memory
        ("(f32[2], (s32[], token[]), pred[3])", 8 + 4 + 3),
        ("()", 0),
    ],
)
def test_bytes_of_shapes(shape, size):
    assert bytes_of(shape_of(shape)) == size


@pytest.mark.parametrize(
    "shape", ["(f32[2]", "(" * 20 + ")" * 20, "f32", "q[2]", "f32[x]", "f32[-1]"]
)
def test_shapes_that_are_none(shape):
    with pytest.raises(ShapeFault):
        shape_of(shape)


def test_same_text_same_graph():
    for name in RECORDED:
        assert read(text_of(name)) == read(text_of(name))


def test_trips_in_both_notations():
    quoted = HloInstruction(
        1, "w", "while", (), (), r'backend_config="{\"known_trip_count\":{\"n\":\"7\"}}"', ""
    )
    assert trips(quoted) == 7


@pytest.mark.parametrize("seed", range(cases(60)))
def test_broken_texts_are_refused_or_read(seed):
    draw = random.Random(seed)
    text = draw.choice([GPU, LOOP, ITERATE, text_of("exchanged"), text_of("sharded")]).encode()
    broken = mangled(text, draw)
    try:
        trace = read_trace([broken], TraceOptions("x", device="a100"), "hlo")
    except InterlaceError:
        return
    assert trace.graph.collectives
