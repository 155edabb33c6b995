"""The pass of compiled plans on paper: merged collectives, places in an order, and refusals."""

import random

import pytest

torch = pytest.importorskip("torch")

from torch import fx  # noqa: E402
from torch._inductor import config as inductor  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from interlace_client.torch.compiled.collectives import KINDS  # noqa: E402
from interlace_client.torch.compiled.fingerprint import fingerprint  # noqa: E402
from interlace_client.torch.compiled.merging import merge, merge_faults  # noqa: E402
from interlace_client.torch.compiled.order import places_of  # noqa: E402
from interlace_client.torch.compiled.planned_pass import (  # noqa: E402
    NotThisGraph,
    PlannedPass,
    differences,
)
from interlace_client.torch.compiled.program import (  # noqa: E402
    Collectives,
    CompiledPlan,
    read_program,
)
from interlace_client.torch.compiled.releases import RELEASES, of_this_torch  # noqa: E402
from interlace_client.torch.compiled.settings import switched_off  # noqa: E402
from interlace_client.torch.plans import UnusablePlan  # noqa: E402
from tests.sampling import cases  # noqa: E402

ATEN, OPS = torch.ops.aten, torch.ops._c10d_functional
GATHER, SCATTER = OPS.all_gather_into_tensor.default, OPS.reduce_scatter_tensor.default
REDUCE, EXCHANGE = OPS.all_reduce.default, OPS.all_to_all_single.default
WAIT = OPS.wait_tensor.default


class Writing:
    """A graph that is written node by node, with fake values."""

    def __init__(self):
        self.graph, self.mode = fx.Graph(), FakeTensorMode()

    def input(self, name, *shape, dtype=torch.float32):
        node = self.graph.placeholder(name)
        with self.mode:
            node.meta["val"] = torch.empty(shape, dtype=dtype)
        return node

    def __call__(self, name, target, *args):
        node = self.graph.create_node("call_function", target, args, {}, name=name)
        with self.mode:
            node.meta["val"] = target(*fx.map_arg(args, lambda other: other.meta["val"]))
        return node

    def end(self, *nodes):
        self.graph.output(nodes)
        return fx.GraphModule(torch.nn.Module(), self.graph)


def communicated(kind, values, splits):
    """What each rank has after a collective, in plain sums and pieces; splits: of what goes out."""
    ranks = range(len(values))
    if kind == "all_gather":
        return [torch.cat(values) for _ in ranks]
    if kind == "all_to_all":
        pieces = [x.split(splits[r]) for r, x in enumerate(values)]
        return [torch.cat([pieces[s][r] for s in ranks]) for r in ranks]
    whole = values[0].clone()
    for x in values[1:]:
        whole += x
    return [whole.chunk(len(values))[r] if kind == "reduce_scatter" else whole for r in ranks]


def ran(graphs, inputs):
    """Run a graph for each rank, in lockstep; return what the last nodes give."""
    known: list[dict] = [{} for _ in graphs]
    for nodes in zip(*(graph.nodes for graph in graphs), strict=True):
        pairs = list(zip(nodes, known, strict=True))
        args = [fx.map_arg(n.args, lambda o, k=k: k[o]) for n, k in pairs]
        kwargs = [fx.map_arg(n.kwargs, lambda o, k=k: k[o]) for n, k in pairs]
        node = nodes[0]
        if node.op == "placeholder":
            found = [own[node.name] for own in inputs]
        elif node.op == "output":
            return [own[0] for own in args]
        elif node.target in KINDS:
            sent = [own[0].clone() for own in args]
            found = communicated(KINDS[node.target], sent, [own[2] for own in args])
        elif node.target is WAIT:
            found = [own[0] for own in args]
        else:
            found = [node.target(*a, **k) for a, k in zip(args, kwargs, strict=True)]
        for each, own, value in zip(nodes, known, found, strict=True):
            own[each] = value
    raise AssertionError("no output")


def drawn(kind, rng, ranks):
    """Draw collectives of a kind, a graph for each rank, and the inputs."""
    count = rng.randint(2, 4)
    shapes = [[rng.randint(1, 3) for _ in range(rng.randint(1, 3))] for _ in range(count)]
    splits = [[[rng.randint(0, 2) for _ in range(ranks)] for _ in range(ranks)] for _ in shapes]
    writings, inputs = [], []
    for rank in range(ranks):
        w, own, results = Writing(), {}, []
        for k, shape in enumerate(shapes):
            if kind == "reduce_scatter":
                shape = [shape[0] * ranks, *shape[1:]]  # noqa: PLW2901
            if kind == "all_to_all":
                shape = [sum(splits[k][rank]), *shape[1:]]  # noqa: PLW2901
            own[f"x{k}"] = torch.randint(-9, 9, shape).float()
            x = w.input(f"x{k}", *shape)
            out = [splits[k][other][rank] for other in range(ranks)]
            more = {
                "all_gather": (ranks, "0"),
                "reduce_scatter": ("sum", ranks, "0"),
                "all_reduce": ("sum", "0"),
                "all_to_all": (out, splits[k][rank], "0"),
            }[kind]
            target = next(each for each, name in KINDS.items() if name == kind)
            results.append(w(f"r{k}", WAIT, w(f"c{k}", target, x, *more)))
        w.end(*results)
        writings.append(w.graph)
        inputs.append(own)
    return writings, inputs


@pytest.mark.parametrize("kind", KINDS.values())
@pytest.mark.parametrize("seed", range(cases(8)))
def test_merged_collectives_give_the_same(kind, seed):
    rng, ranks = random.Random(seed), 2 + seed % 2
    torch.manual_seed(seed)
    graphs, inputs = drawn(kind, rng, ranks)
    before = ran(graphs, inputs)
    for graph in graphs:
        nodes = [n for n in graph.nodes if n.target in KINDS]
        assert merge_faults("b", nodes) == []
        made = merge(graph, "b", nodes)
        graph.lint()
        assert [n for n in graph.nodes if n.target in KINDS] == [made.launch]
        assert [n for n in graph.nodes if n.target is WAIT] == [made.wait]
        assert made.launch.name == "b_launch"
    after = ran(graphs, inputs)
    for rank in range(ranks):
        for one, other in zip(before[rank], after[rank], strict=True):
            assert one.shape == other.shape
            assert torch.equal(one, other)
            assert other.is_contiguous()


def pair(first, second, dtype=torch.float32):
    """Two collectives, each (target, more arguments)."""
    w = Writing()
    one = w("one", first[0], w.input("x", 4), *first[1:])
    two = w("two", second[0], w.input("y", 4, dtype=dtype), *second[1:])
    w.end(w("w1", WAIT, one), w("w2", WAIT, two))
    return [one, two]


@pytest.mark.parametrize(
    ("nodes", "fault"),
    [
        (pair((REDUCE, "sum", "0"), (REDUCE, "sum", "0")), None),
        (pair((REDUCE, "sum", "0"), (REDUCE, "avg", "0")), "reduction"),
        (pair((REDUCE, "sum", "0"), (REDUCE, "sum", "1")), "group"),
        (pair((REDUCE, "sum", "0"), (REDUCE, "sum", "0"), torch.float64), "dtype"),
        (pair((REDUCE, "sum", "0"), (GATHER, 2, "0")), "kind"),
        (pair((GATHER, 2, "0"), (GATHER, 4, "0")), "group"),
        (pair((OPS.broadcast.default, 0, "0"), (REDUCE, "sum", "0")), "which is not merged"),
    ],
)
def test_what_cannot_be_one(nodes, fault):
    found = merge_faults("b", nodes)
    assert (fault is None) == (not found)
    assert fault is None or fault in found[0]


def test_unknown_shapes_are_not_merged():
    from torch.fx.experimental.symbolic_shapes import ShapeEnv  # noqa: PLC0415

    def two(x):
        return WAIT(REDUCE(x, "sum", "0")), WAIT(REDUCE(x + 1, "sum", "0"))

    mode = FakeTensorMode(shape_env=ShapeEnv())
    fake = mode.from_tensor(torch.empty(5, 3), static_shapes=False)
    graph = fx.experimental.proxy_tensor.make_fx(two, tracing_mode="symbolic")(torch.empty(5, 3))
    assert any(not isinstance(size, int) for size in fake.shape)
    nodes = [n for n in graph.graph.nodes if n.target is REDUCE]
    assert "shapes that are not known" in merge_faults("b", nodes)[0]


def small():
    """Two gathers, each used; x is overwritten after its first use."""
    w = Writing()
    x, y = w.input("x", 2), w.input("y", 2)
    g0 = w("g0", GATHER, x, 2, "0")
    w0 = w("w0", WAIT, g0)
    use = w("use", ATEN.mul.Tensor, x, 3.0)
    w("write", ATEN.copy_.default, x, y)
    again = w("again", ATEN.mul.Tensor, x, 5.0)
    g1 = w("g1", GATHER, y, 2, "0")
    w1 = w("w1", WAIT, g1)
    return w.end(w("total", ATEN.add.Tensor, w0, w1), use, again)


def plan_of(*steps, buckets=(("b0", "g0"), ("b1", "g1")), sizes=None, fingerprint=None):
    made = tuple(
        Collectives(name, tuple(nodes), (sizes or {}).get(name)) for name, *nodes in buckets
    )
    return CompiledPlan(made, tuple(tuple(step.split()) for step in steps), fingerprint)


ORDER = (
    "launch b0", "launch b1", "compute use", "compute write", "compute again", "wait b0",
    "wait b1", "compute total",
)  # fmt: skip


def test_an_order_that_keeps_what_is_written_fits():
    assert differences(small().graph, plan_of(*ORDER)) == []
    # the op in place need not be a step: it stays between those that read before and after it
    assert differences(small().graph, plan_of(*(s for s in ORDER if "write" not in s))) == []


@pytest.mark.parametrize(
    ("order", "late", "needed"),
    [
        # written before it is read, read before it is written, used before it has come
        (("compute write", "compute use"), "write", "use"),
        (("compute again", "compute write"), "again", "write"),
        (("compute total", "wait b1"), "total", "w1"),
        (("compute write", "launch b0"), "write", "g0"),
    ],
)
def test_an_order_that_breaks_what_is_written_is_refused(order, late, needed):
    rest = [step for step in ORDER if step not in order]
    place = min(ORDER.index(step) for step in order)
    if late == "total":
        place = len(rest)
    steps = [*rest[:place], *order, *rest[place:]]
    faults = differences(small().graph, plan_of(*steps))
    assert f"{late!r} is asked for before {needed!r}, which it takes" in faults


def test_places_of_nodes_that_no_step_names():
    w = Writing()
    x = w.input("x", 4)
    view = w("view", ATEN.view.default, x, [2, 2])
    used = w("used", ATEN.mul.Tensor, view, 2.0)
    late = w("late", ATEN.view.default, x, [4, 1])
    g = w("g0", GATHER, x, 2, "0")
    w.end(w("w0", WAIT, g), used, late)
    steps = ("launch b0", "compute used", "wait b0")
    places = places_of(w.graph, plan_of(*steps, buckets=(("b0", "g0"),)))
    assert places.faults == ()
    assert (places.needed[view], places.needed[used]) == (1, 1)  # right before what looks at it
    assert places.needed[late] == 3  # at the end
    assert places.of_step["wait", "b0"] == 2


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (plan_of(*ORDER, "compute nowhere"), "the graph has no node 'nowhere'"),
        (plan_of(*ORDER[:2], *ORDER[3:]), "the plan has no step for 'use'"),
        (
            plan_of(*(s for s in ORDER if "b1" not in s), buckets=(("b0", "g0"),)),
            "the plan has no step for 'g1'",
        ),
        (plan_of(*ORDER, buckets=(("b0", "g0"), ("b1", "use"))), "no collective is 'use'"),
        (plan_of(*ORDER, sizes={"b0": 16, "b1": 4}), "bucket 'b1' has 16 bytes, planned 4"),
        (plan_of(*ORDER, fingerprint="0" * 64), "planned 000000000000"),
    ],
)
def test_another_graph_is_refused(plan, fault):
    graph = small().graph
    assert any(fault in each for each in differences(graph, plan))
    before = [node.name for node in graph.nodes]
    with pytest.raises(NotThisGraph, match="Plan 1 of 1"):
        PlannedPass([plan])(graph)
    with pytest.warns(UserWarning, match="compiled without one"):
        PlannedPass([plan], keep_unplanned=True)(graph)
    assert [node.name for node in graph.nodes] == before


def test_with_its_fingerprint_what_takes_no_time_need_not_be_named_but_what_is_sent():
    whole = small()
    own = fingerprint(whole)
    few = [step for step in ORDER if "use" not in step]
    assert differences(whole.graph, plan_of(*few, fingerprint=own)) == []
    fewer = [step for step in few if "b1" not in step]
    faults = differences(whole.graph, plan_of(*fewer, buckets=(("b0", "g0"),), fingerprint=own))
    assert "the plan sends no 'g1'" in faults


def with_meshes(*names, kept):
    """A layer with inputs that are no tensors, of which the backward pass gets one."""
    w = Writing()
    x = w.input("x", 2)
    for name in names:
        w.graph.placeholder(name).meta["val"] = object()
    meshes = {n.name: n for n in w.graph.nodes if n.name in names}
    total = w("total", WAIT, w("sum", REDUCE, x, "sum", "0"))
    return w.end(total, *([meshes[kept]] if kept else []))


def test_meshes_are_no_part_of_a_fingerprint_but_sizes_are():
    one = fingerprint(with_meshes("mesh_2", "mesh_4", kept="mesh_2"))
    assert fingerprint(with_meshes("mesh_2", "mesh_4", kept="mesh_4")) == one
    assert fingerprint(with_meshes("mesh_1", kept="mesh_1")) == one
    assert fingerprint(with_meshes(kept=None)) == one
    sizes = []
    for name in ("s0", "s1"):
        w = Writing()
        w.graph.placeholder(name).meta["val"] = 4
        sizes.append(fingerprint(w.end(w.input("x", 2))))
    assert sizes[0] != sizes[1]


@pytest.mark.parametrize("release", RELEASES)
def test_inductor_has_each_setting_of_its_release(release, monkeypatch):
    own = ".".join(torch.__version__.split(".")[:2])
    if release != own:
        pytest.skip(f"this is PyTorch {own}")
    settings = of_this_torch().SETTINGS
    with inductor.patch(settings):
        assert switched_off(settings) == ()
    with inductor.patch({**settings, "bucket_all_reduces_fx": "all"}):
        assert switched_off(settings) == (
            "inductor's bucket_all_reduces_fx was 'all'; 'none' where a plan is captured or run.",
        )
    with inductor.patch({**settings, "post_grad_custom_post_pass": print}):
        (line,) = switched_off(settings)
        assert "had a pass already" in line


def test_a_release_to_come_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.15.0.dev20261101+cpu")
    with pytest.raises(NotImplementedError, match=r"run on 2.13, 2.14; .*release_2_15.py"):
        of_this_torch()


def answer(buckets=(("b", "g0", "g1"),), steps=("pack b", "launch b", "wait b", "unpack b")):
    return {
        "buckets": [{"id": name, "tensors": nodes} for name, *nodes in buckets],
        "program": [dict(zip(("do", "id"), step.split(), strict=True)) for step in steps],
    }


def test_a_program_is_read():
    plan = read_program(answer(), "f")
    assert plan.buckets == (Collectives("b", ("g0", "g1"), None),)
    assert plan.steps[0] == ("pack", "b")
    assert plan.fingerprint == "f"


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ({}, "it needs buckets"),
        (answer(steps=("launch b", "wait b")), "are launch, wait, not pack, launch, wait, unpack"),
        (answer(buckets=(("b", "g0"),)), "not launch, wait"),
        (answer(buckets=(("b",),)), "has no collective"),
        (answer(buckets=(("b", "g0", "g1"), ("b", "g2"))), "2 buckets have the name 'b'"),
        (answer(buckets=(("b", "g0", "g0"),)), "2 buckets have the collective 'g0'"),
        (answer(steps=("send b",)), "is to 'send', which is no step"),
        (answer(steps=("launch c",)), "is of bucket 'c', which is none"),
        (answer(steps=("compute a", "compute a")), "step 1 computes 'a' again"),
        (
            answer() | {"recomputed": {"ops": [{"op": "a"}]}},
            "'a' run twice.*torch.utils.checkpoint",
        ),
    ],
)
def test_no_program(told, fault):
    with pytest.raises(UnusablePlan, match=fault):
        read_program(told)
