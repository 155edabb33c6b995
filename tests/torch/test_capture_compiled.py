"""Compiled graphs as requests: ops, buffers and costs, against graphs on paper and plain walks."""

import json
import random

import pytest

pytest.importorskip("torch")

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from app.schemas.clusters import ChannelBody
from interlace_client.torch.compiled import (
    CaptureCompiled,
    Costs,
    Fabric,
    Gpu,
    PlannedPass,
    Uncapturable,
    capture_compiled,
    fake_ranks,
    fingerprint,
    read_program,
)
from interlace_client.torch.compiled.capture_collectives import CapturedGroup
from interlace_client.torch.compiled.capture_networks import channels_of
from solver.costs import Cluster, network_of
from solver.graph import Buffer, Op, build
from solver.programs.execute import execute
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, WAIT, HostStep, Program
from tests.sampling import cases

OPS = torch.ops._c10d_functional
#: 1 TFLOP/s and 1 MB/us in round figures: 1 byte in 1e-6 us.
ROUND = Gpu(1, 1, 1, 1, 800, "paper")


@pytest.fixture(autouse=True)
def ranks():
    with fake_ranks(64):
        yield


def traced(function, *shapes):
    return make_fx(function, tracing_mode="fake")(*(torch.empty(shape) for shape in shapes))


def captured(function, *shapes, **costs):
    return capture_compiled(traced(function, *shapes), costs=Costs(gpu=ROUND, **costs))


def parts_of(request):
    ops = {op["id"]: op for op in request["graph"]["ops"]}
    return ops, {buffer["id"]: buffer for buffer in request["graph"]["buffers"]}


def layer(shard, x):
    """Gather a weight, look at a half of it, multiply, reduce a gradient."""
    whole = OPS.wait_tensor(OPS.all_gather_into_tensor(shard, 64, "0"))
    y = torch.relu(x @ whole.view(64, 2, 8)[:, 0])
    return OPS.wait_tensor(OPS.reduce_scatter_tensor(y, "avg", 64, "0"))


def test_on_paper():
    request = captured(layer, (1, 16), (128, 64)).request
    ops, buffers = parts_of(request)
    assert list(ops) == ["all_gather_into_tensor", "mm", "relu", "reduce_scatter_tensor"]
    assert ops["all_gather_into_tensor"] == {
        "id": "all_gather_into_tensor",
        "kind": "all_gather",
        "after": [],
        "bytes": 64 * 16 * 4,
        "channel": "0",
        "cut": False,
        "fuse_key": "float32",
    }
    flops = 2 * 128 * 64 * 8
    assert ops["mm"]["after"] == ["all_gather_into_tensor"]
    assert ops["mm"]["duration_us"] == pytest.approx(flops / 0.6e6, abs=1e-6)
    moved = 2 * 128 * 8 * 4
    assert ops["relu"]["duration_us"] == pytest.approx(moved / 1e6, abs=1e-6)
    scatter = ops["reduce_scatter_tensor"]
    assert (scatter["bytes"], scatter["fuse_key"]) == (128 * 8 * 4, "float32,avg")
    assert [(b["bytes"], b["written_by"], b["read_by"], b["kept"]) for b in buffers.values()] == [
        (64, None, ["all_gather_into_tensor"], True),
        (32768, None, ["mm"], True),
        (4096, "all_gather_into_tensor", ["mm"], False),  # the views are folded
        (4096, "mm", ["relu"], False),
        (4096, "relu", ["reduce_scatter_tensor"], False),
        (64, "reduce_scatter_tensor", [], True),  # the wait too
    ]
    assert request["options"] == {"copy_gbps": 8000.0, "inputs_held": "wait"}


def test_writes_wait_for_readers_and_readers_for_writes():
    def function(a, b):
        before = a * 2
        a.add_(b)
        after = a * 3
        b.copy_(after)
        return before

    ops, buffers = parts_of(captured(function, (4,), (4,)).request)
    assert [op["after"] for op in ops.values()] == [[], ["mul"], ["add_"], ["add_", "mul_1"]]
    assert buffers["a_1"]["read_by"] == ["mul", "add_", "mul_1"]
    assert buffers["b_1"]["read_by"] == ["add_", "copy_"]
    assert len(buffers) == 4


def test_foreach_and_index_put_change_what_they_are_given():
    def function(a, b, c):
        torch._foreach_add_([a, b], [c, c])
        a.index_put_((a.long(),), c)
        return b + a

    gm = make_fx(function, tracing_mode="fake")(torch.empty(4), torch.empty(4), torch.empty(4))
    ops, buffers = parts_of(capture_compiled(gm).request)
    assert ops["index_put_"]["after"] == ["_foreach_add_", "_to_copy"]
    assert ops["add"]["after"] == ["_foreach_add_", "index_put_"]
    assert [b["id"] for b in buffers.values() if b["written_by"]] == ["_to_copy", "add"]


def test_several_outputs_are_buffers_of_their_own():
    ops, buffers = parts_of(captured(lambda x: torch.topk(x, 2)[1] + 1, (8,)).request)
    assert list(ops) == ["topk", "add"]
    assert buffers["topk.0"]["read_by"] == []
    assert (buffers["topk.1"]["bytes"], buffers["topk.1"]["read_by"]) == (16, ["add"])


def kinds(a, b):
    out = OPS.all_gather_into_tensor_out(a, 64, "0", out=b.new_empty(256))
    both = OPS.all_gather_into_tensor_coalesced([a, a[:2]], 64, "0")
    reduced = OPS.all_reduce_(b, "sum", "0")
    moved = OPS.all_to_all_single(reduced, [1] * 64, [1] * 64, "0")
    spread = OPS.broadcast(moved, 0, "0")
    scattered = OPS.reduce_scatter_tensor_coalesced([spread, out], "sum", 64, "0")
    waited = [OPS.wait_tensor(x) for x in (both[0], both[1], *scattered)]
    return waited[0], waited[2]


def test_every_form_of_collective():
    ops, buffers = parts_of(captured(kinds, (4,), (64,)).request)
    sent = {i: (op["kind"], op["bytes"]) for i, op in ops.items() if op["kind"] != "compute"}
    assert sent == {
        "all_gather_into_tensor_out": ("all_gather", 1024),
        "all_gather_into_tensor_coalesced": ("all_gather", 1536),
        "all_reduce_": ("all_reduce", 256),
        "all_to_all_single": ("all_to_all", 256),
        "broadcast": ("broadcast", 256),
        "reduce_scatter_tensor_coalesced": ("reduce_scatter", 1280),
    }
    assert ops["all_to_all_single"]["after"] == ["all_reduce_"]  # new_empty only asks for a size
    assert buffers["new_empty"]["read_by"] == [
        "all_gather_into_tensor_out",
        "reduce_scatter_tensor_coalesced",
    ]
    assert "all_reduce_" not in buffers
    assert buffers["all_gather_into_tensor_coalesced.1"]["bytes"] == 512


def test_unknown_collectives_are_refused_all_at_once():
    gm = traced(layer, (1, 16), (128, 64))
    for node in gm.graph.nodes:
        if node.name in {"all_gather_into_tensor", "reduce_scatter_tensor"}:
            node.args = (*node.args[:-1], "nobody")
    with pytest.raises(Uncapturable) as refused:
        capture_compiled(gm)
    assert str(refused.value).count("no process group 'nobody'") == 2
    with pytest.raises(ValueError, match="gpu: must be one of h100"):
        capture_compiled(traced(layer, (1, 16), (128, 64)), costs=Costs(gpu="abacus"))


def test_chains_of_pointwise_ops_count_once():
    def function(x):
        return (x + 1).relu() * x

    alone, _ = parts_of(captured(function, (1000,), fused=False).request)
    fused, _ = parts_of(captured(function, (1000,)).request)
    assert [op["duration_us"] for op in alone.values()] == pytest.approx([0.008, 0.008, 0.012])
    assert [op["duration_us"] for op in fused.values()] == pytest.approx([0.004, 0, 0.004])


def test_a_table_wins_and_what_it_lacks_is_listed():
    table = {"aten.mm.default(float32[128,64], float32[64,8])": 7.0}
    result = captured(layer, (1, 16), (128, 64), table=table)
    ops, _ = parts_of(result.request)
    assert ops["mm"]["duration_us"] == 7.0
    assert result.report.unmeasured == (("relu", "aten.relu.default(float32[128,8])"),)


def event(name, start, duration, category="cpu_op", **args):
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration, "tid": 1,
            "pid": 1, "args": args}  # fmt: skip


@pytest.mark.parametrize(
    ("events", "times", "missing"),
    [
        ([event("aten::mm", 0, 5), event("mm", 9, 3, "user_annotation")], (3, None), 1),  # by name
        ([event("aten::mm", 0, 5), event("aten::relu", 6, 2)], (5, 2), 0),  # by sequence
        ([event("aten::mm", 0, 5), event("aten::mm", 6, 2)], (None, None), 2),  # one too many
        (
            [  # kernels count where there are some
                event("mm", 0, 9, "user_annotation"),
                event("aten::mm", 1, 5, **{"External id": 4}),
                event("gemm", 20, 40, "kernel", **{"External id": 4}),
            ],
            (40, None),
            1,
        ),
    ],
)
def test_a_trace_is_joined_by_name_then_by_sequence(tmp_path, events, times, missing):
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    result = captured(layer, (1, 16), (128, 64), trace=tmp_path / "trace.json")
    ops, _ = parts_of(result.request)
    for name, time in zip(("mm", "relu"), times, strict=True):
        assert (ops[name]["duration_us"] == time) == (time is not None)
    assert len(result.report.unmeasured) == missing


def test_a_real_trace_of_the_profiler_is_joined(tmp_path):
    gm = make_fx(lambda x, y: torch.relu(x @ y), tracing_mode="fake")(
        torch.empty(64, 64), torch.empty(64, 64)
    )
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        torch.relu(torch.ones(64, 64) @ torch.ones(64, 64))
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    result = capture_compiled(gm, costs=Costs(trace=tmp_path / "trace.json"))
    assert result.report.unmeasured == ()


@pytest.mark.parametrize(
    ("members", "bandwidth", "hop"),
    [
        (range(8), 800, 1.0),  # inside a node
        (range(16), 800, 2 / 16 * 6 + 14 / 16),  # eight cards: the links are slower
        (range(0, 64, 8), 400, 6.0),  # one of each node
        ((0, 1, 8), 400, 2 / 3 * 6 + 1 / 3),  # the node with one card
    ],
)
def test_channels_by_where_ranks_are(members, bandwidth, hop):
    made = channels_of([CapturedGroup("g", tuple(members))], ROUND, Fabric(), {})["g"]
    assert (made["workers"], made["bandwidth_gbps"]) == (len(members), bandwidth)
    assert made["hop_us"] == pytest.approx(hop)
    ChannelBody.model_validate(made)
    table = {"algorithm": "table", "table": [[1, 2.0], [2, 3.0]]}
    assert (
        channels_of([CapturedGroup("g", (0, 1))], ROUND, Fabric(), {"g": table})["g"]["workers"]
        == 2
    )


def drawn(seed):
    """Draw a function of matrices with views, changes in place, and collectives."""
    choose = random.Random(seed)
    steps = [(choose.randrange(7), choose.randrange(99), choose.randrange(99)) for _ in range(12)]

    def function(a, b):
        known = [a, b]
        for what, i, j in steps:
            x, y = known[i % len(known)], known[j % len(known)]
            if what == 0:
                known.append(x @ y)
            elif what == 1:
                known.append(x.t())
            elif what == 2:
                known.append(OPS.wait_tensor(OPS.all_reduce(x.clone(), "sum", "0")))
            elif what == 3:
                x.add_(1)
            elif what == 4:
                known.append(x + y)
            elif what == 5:
                known.append(x.view(-1).view(8, 8) if x.is_contiguous() else x.relu())
            else:
                x.copy_(y + 1)
        return known[-1], OPS.wait_tensor(OPS.all_reduce(known[-1] + 1, "sum", "0"))

    return function


def live_at_most(gm):
    """Walk over a graph node by node: the most memory of any op [bytes]."""
    nodes = [node for node in gm.graph.nodes if node.op != "output"]
    place = {node: i for i, node in enumerate(nodes)}
    aten = torch.ops.aten
    folded = {aten.t.default, aten.view.default, OPS.wait_tensor.default}
    same = folded | {aten.add_.Tensor, aten.copy_.default}
    owner: dict = {}
    for node in nodes:
        owner[node] = owner[node.args[0]] if node.target in same else node
    first: dict = {}
    last: dict = {}
    size: dict = {}
    final = next(node for node in gm.graph.nodes if node.op == "output")
    inputs = [node for node in nodes if node.op == "placeholder"]
    for node in nodes:
        key = owner[node]
        first.setdefault(key, place[node])
        size.setdefault(key, 8 * 8 * 4)
        takes_time = node.target not in folded
        for other in (node, *node.all_input_nodes):
            if takes_time:
                last[owner[other]] = place[node]
    for node in (*final.all_input_nodes, *inputs):
        last[owner[node]] = len(nodes)
    ops = [i for i, node in enumerate(nodes) if node.op != "placeholder"]
    begun = {key: -1 if first[key] < len(inputs) else first[key] for key in first}
    return max(sum(size[k] for k in first if begun[k] <= i <= last[k]) for i in ops)


@pytest.mark.parametrize("seed", range(cases(200)))
def test_drawn_graphs_have_the_peak_of_a_plain_walk(seed):
    function = drawn(seed)
    gm = make_fx(function, tracing_mode="fake")(torch.empty(8, 8), torch.empty(8, 8))
    # what a fused kernel never writes takes no time and holds nothing; the walk knows of no kernels
    body = capture_compiled(gm, costs=Costs(fused=False)).request["graph"]
    ops = [Op(**{**op, "after": tuple(op["after"])}) for op in body["ops"]]
    buffers = [Buffer(**{**b, "read_by": tuple(b["read_by"])}) for b in body["buffers"]]
    graph = build(body["name"], ops, buffers, ["gpu"])
    cluster = Cluster(64, bandwidth_gbps=1)
    network = network_of(Cluster(64, bandwidth_gbps=1, channels=(("0", cluster),)))
    positions = {op.id: i for i, op in enumerate(ops)}
    buckets = tuple((i,) for i in graph.collectives)
    number = {i: b for b, (i,) in enumerate(buckets)}
    steps: list[HostStep] = []
    for i in positions.values():  # a launch is waited for at once: one op after another
        if i in number:
            steps += [HostStep(LAUNCH, number[i]), HostStep(WAIT, number[i])]
        else:
            steps.append(HostStep(COMPUTE, i))
    run = execute(ProgramProblem(graph, network), Program(buckets, tuple(steps)))
    assert run.peak_bytes == live_at_most(gm)


@pytest.mark.parametrize("seed", range(cases(200)))
def test_any_order_of_the_dependencies_computes_the_same(seed):
    function = drawn(seed)
    with torch.random.fork_rng():
        gm = make_fx(function, tracing_mode="fake")(torch.empty(8, 8), torch.empty(8, 8))
    body = capture_compiled(gm).request["graph"]
    after = {op["id"]: set(op["after"]) for op in body["ops"]}
    choose = random.Random(-seed)
    order, left = [], dict(after)
    while left:
        ready = sorted(name for name, before in left.items() if not before & set(left))
        name = choose.choice(ready)
        order.append(name)
        del left[name]
    assert run_in(gm, order) == run_in(gm, list(after))


def run_in(gm, order):
    """Run a graph's ops in an order, views and waits when asked for; return all results."""
    nodes = {node.name: node for node in gm.graph.nodes}
    a = torch.arange(64.0).view(8, 8) % 5
    values = {
        node: a + i for i, node in enumerate(n for n in nodes.values() if n.op == "placeholder")
    }

    def value(node):
        if node not in values:
            args = torch.fx.map_arg(node.args, value)
            if node.target is OPS.wait_tensor.default:
                values[node] = args[0]
            elif node.target is OPS.all_reduce.default:
                values[node] = (args[0] * 2).contiguous()  # as what PyTorch makes for it is
            else:
                values[node] = node.target(*args, **node.kwargs)
        return values[node]

    for name in order:
        value(nodes[name])
    inputs = [values[n] for n in nodes.values() if n.op == "placeholder"]
    result = [value(n) for n in nodes["output"].all_input_nodes]
    return [tensor.tolist() for tensor in (*result, *inputs)]


def test_the_same_graph_gives_the_same_bytes_and_fingerprint(tmp_path):
    first, second = (captured(layer, (1, 16), (128, 64)) for _ in range(2))
    first.write(tmp_path / "a.json")
    second.write(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert first.fingerprint == second.fingerprint
    other = fingerprint(traced(layer, (1, 16), (64, 64)))
    assert other != first.fingerprint


def test_random_ops_keep_their_order():
    result = captured(lambda x: (torch.rand_like(x), torch.rand_like(x)), (4,))
    ops, _ = parts_of(result.request)
    assert ops["rand_like_1"]["after"] == ["rand_like"]
    assert any("Random" in note for note in result.report.notes)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch's own import
def test_torch_compile_is_captured_and_computes_the_same():
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    x = torch.ones(4, 8)
    recorder = CaptureCompiled("net")
    with torch._inductor.config.patch(post_grad_custom_post_pass=recorder):
        loss = torch.compile(net)(x).sum()
        loss.backward()
    assert torch.equal(loss, net(x).sum())
    forward, backward = recorder.captured
    assert forward.request["graph"]["name"] == "net_0"
    _, buffers = parts_of(backward.request)
    kept = {name: buffer["kept"] for name, buffer in buffers.items() if not buffer["written_by"]}
    assert any(kept.values()) or not any(name.startswith("primals") for name in kept)
    assert not kept["tangents_1"]


def two_of(op, *more):
    def function(a, b):
        return tuple(OPS.wait_tensor(op(each, *more)) for each in (a, b))

    return function


@pytest.mark.parametrize(
    ("function", "is_one_key"),
    [
        (two_of(OPS.all_reduce, "sum", "0"), True),
        (two_of(OPS.all_gather_into_tensor, 64, "0"), True),
        (two_of(OPS.broadcast, 0, "0"), False),  # the pass has no rule that merges these
        (two_of(OPS.all_reduce_, "sum", "0"), False),  # writes into what it is given
    ],
)
def test_only_what_the_pass_merges_may_be_merged(function, is_one_key):
    made = captured(function, (64,), (64,))
    keys = [op["fuse_key"] for op in made.request["graph"]["ops"]]
    assert (len(set(keys)) == 1) == is_one_key
    assert any("Sent alone" in note for note in made.report.notes) != is_one_key


def test_collectives_of_symbolic_sizes_are_sent_alone():
    function = two_of(OPS.all_reduce, "sum", "0")
    gm = make_fx(function, tracing_mode="symbolic")(torch.empty(5, 3), torch.empty(7, 3))
    made = capture_compiled(gm)
    assert len({op["fuse_key"] for op in made.request["graph"]["ops"]}) == 2
    assert [op["bytes"] for op in made.request["graph"]["ops"]] == [60, 84]


def test_a_size_that_data_decide_is_refused():
    def function(x):
        return OPS.wait_tensor(OPS.all_reduce(x.nonzero(), "sum", "0"))

    mode = FakeTensorMode(
        shape_env=ShapeEnv(allow_dynamic_output_shape_ops=True, allow_scalar_outputs=True)
    )
    with mode:
        x = torch.empty(4)
    gm = make_fx(function, tracing_mode="symbolic")(x)
    with pytest.raises(Uncapturable, match="is not known before it runs; pad it"):
        capture_compiled(gm)


def test_a_graph_without_collectives_says_so_where_ranks_train():
    notes = captured(torch.relu, (4,)).report.notes
    assert any("fully_shard of FSDP2" in note and "64 ranks" in note for note in notes)


def test_modules_that_send_from_hooks_are_refused():
    class DistributedDataParallel(torch.nn.Linear):
        """Has the name that tells it."""

    model = torch.nn.Sequential(DistributedDataParallel(2, 2))
    with pytest.raises(Uncapturable, match=r"'0 \(DistributedDataParallel\)'"):
        capture_compiled(model, [torch.empty(2, 2)])


def test_the_exchange_of_dtensors_is_captured_and_run_alone():
    import torch.distributed.tensor  # noqa: PLC0415 - has its fake form

    gm = traced(lambda x: torch.ops._dtensor.shard_dim_alltoall(x, 0, 1, "0") + 1, (2, 64))
    made = capture_compiled(gm)
    names = [op["id"] for op in made.request["graph"]["ops"]]
    assert names == ["shard_dim_alltoall", "add"]
    assert any("Sent alone" in note for note in made.report.notes)
    buckets = [{"id": "b", "tensors": names[:1]}]
    steps = ["launch b", "wait b", "compute add"]
    program = [dict(zip(("do", "id"), step.split(), strict=True)) for step in steps]
    plan = read_program({"buckets": buckets, "program": program}, made.fingerprint)
    compiling = PlannedPass([plan])
    compiling(gm.graph)
    (written,) = compiling.written
    assert written.steps == (("launch", "b"), ("compute", "add"))  # it has waited


def test_times_of_symbolic_sizes_are_those_of_the_first_and_bind_none():
    gm = make_fx(torch.mm, tracing_mode="symbolic")(torch.empty(5, 3), torch.empty(3, 7))
    environment = next(iter(gm.graph.nodes)).meta["val"].fake_mode.shape_env
    before = len(environment.guards)
    (op,) = capture_compiled(gm, costs=Costs(gpu=ROUND)).request["graph"]["ops"]
    assert op["duration_us"] == pytest.approx(2 * 5 * 3 * 7 / 0.6e6, abs=1e-6)
    assert len(environment.guards) == before
