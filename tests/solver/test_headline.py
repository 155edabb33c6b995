"""What a plan gains over today, under PyTorch's barrier and without it."""

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.costs import Affine, Cluster, alike, network_of
from solver.errors import InvalidPlan
from solver.exports import EXPORTS, ExplicitPlan
from solver.graph import COMPUTE, Op, build, has_barrier, with_barrier
from solver.models import MODELS
from solver.models.layers import Layer, iteration, merge_layers
from solver.models.parallel import fsdp
from solver.planning.explicit import ExplicitBucket, ExplicitPart
from solver.planning.headline import headline
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.planning.runtimes import runtime_of
from solver.policies.choice import Choice
from solver.policies.ddp import ddp
from solver.simulation.engine import simulate
from solver.units import same, slack
from tests.sampling import cases
from tests.strategies import affine_costs, graphs

MIB = 2**20


EXPORT = "PyTorch: interlace export --format"

IN_ORDER = "the plan's order of launches"

ALONE = Options(baselines=())


def of(graph, network, options=ALONE):
    return headline(graph, network, options, plan(graph, network, options))


def two_layers():
    """The first gradient fills DDP's first bucket, and is needed last."""
    return build(
        "two",
        [
            Op("b2", COMPUTE, 10.0),
            Op("g2", "all_reduce", None, 4 * MIB, ("b2",)),
            Op("b1", COMPUTE, 10.0, None, ("b2",)),
            Op("g1", "all_reduce", None, MIB, ("b1",)),
            Op("f1", COMPUTE, 50.0, None, ("b1", "g1")),
            Op("f2", COMPUTE, 10.0, None, ("f1", "g2")),
        ],
    )


def test_the_update_is_between_a_bucket_and_its_first_use():
    # As above, with updates of 5 us. Under the barrier both wait for all: 60 us of forward pass and
    # 10 of updates after 62. Without it layer 2's update waits for g2 behind layer 1: g1 goes
    # first, 20 to 31, g2 until 72; layer 1 is done at 86, layer 2 at 101.
    layers = [
        Layer("1", 50.0, 10.0, (("1", MIB),), 5.0),
        Layer("2", 10.0, 10.0, (("2", 4 * MIB),), 5.0),
    ]
    graph = iteration("two", layers)
    barred = with_barrier(graph)
    assert not has_barrier(graph)
    assert has_barrier(barred)
    after = {op.id: op.after for op in barred.ops}
    assert {name for name, others in after.items() if "barrier" in others} == {
        "update:1",
        "update:2",
    }
    found = of(graph, alike(Affine(1.0, 10 / MIB)))
    barrier, _, free, _ = found.gains
    assert (barrier.today_us, barrier.plan_us, barrier.gain) == (132, 132, 0)
    assert free.today_us == 132
    assert free.plan_us == 101
    on_stream = [
        op._replace(stream="worker", after=tuple(o for o in op.after if o.startswith("grad:")))
        if op.kind == COMPUTE
        else op
        for op in graph.ops
    ]
    assert of(build("worker", on_stream), alike(Affine(1.0, 10 / MIB))) == found


def test_without_time_an_update_is_no_op():
    layers = [Layer("1", 50.0, 10.0, (("1", MIB),)), Layer("2", 10.0, 10.0, (("2", 4 * MIB),))]
    kinds = [op.id.partition(":")[0] for op in iteration("two", layers).ops]
    assert kinds == ["backward", "grad", "backward", "grad", "forward", "forward"]
    both = merge_layers(
        "both", [replace(layers[0], update_us=3.0), replace(layers[1], update_us=4.0)]
    )
    assert both.update_us == 7


def test_by_hand():
    # A launch takes 1 us and 10 us a MiB. DDP: g2 from 10 to 51, g1 to 62; then 60 us, as f1 needs
    # g1. Under the barrier nothing is better than both at once, from 20 to 71: 131, or FIFO: 122.
    found = of(two_layers(), alike(Affine(1.0, 10 / MIB)))
    assert [(each.over, each.barrier) for each in found.gains] == [
        ("ddp", True),
        ("ddp_tuned", True),
        ("ddp", False),
        ("ddp_tuned", False),
    ]
    barred, _, free, tuned = found.gains
    assert (barred.today_us, barred.plan_us, barred.gain, barred.verdict) == (
        122,
        122,
        0,
        "nothing",
    )
    assert barred.why == "No schedule is faster, proven."
    # g2 is cut when g1 is released at 20: 9 us carry bytes; g1 to 31, then f1 to 81, f2 to 91.
    assert (free.today_us, free.verdict) == (122, "worth_it")
    assert free.plan_us == pytest.approx(91)
    assert free.gain == pytest.approx(1 - 91 / 122)
    assert (tuned.today_us, tuned.bucket_cap_mb) == (122, None)  # two buckets or one at 131
    assert free.gain_low < free.gain < free.gain_high
    assert "export" in barred.runtime
    assert free.runtime == "PyTorch: interlace_client.torch.PlannedDDP"
    assert found.sentence == (
        "As long as DDP, as long as DDP tuned: nothing to gain under PyTorch's barrier; without a "
        "barrier 25.4 % less than DDP, 25.4 % less than DDP tuned: worth it. "
        "Under PyTorch's barrier: No schedule is faster, proven."
    )


@given(graph=graphs(), cost=affine_costs(), barrier=st.booleans())
@settings(max_examples=cases(60))
def test_each_gain_is_that_of_its_own_plan(graph, cost, barrier):
    found = of(graph, alike(cost), Options(baselines=(), barrier=barrier))
    assert len(found.gains) == (2 if has_barrier(graph) else 4)
    for gain in found.gains:
        ran = with_barrier(graph) if gain.barrier else graph
        cap = gain.bucket_cap_mb
        theirs = partial(ddp, bucket_cap_mb=cap)
        assert same(gain.today_us, simulate(ran, alike(cost), theirs).iteration_time)
        alone = plan(graph, alike(cost), Options(baselines=(), barrier=gain.barrier))
        assert same(gain.plan_us, alone.iteration_time_us)
        assert same(gain.lower_bound_us, alone.lower_bound_us)
        assert gain.plan_us <= gain.today_us + slack(gain.today_us)
        if gain.gain is not None:
            assert gain.gain_low <= gain.gain <= gain.gain_high
            assert (gain.verdict == "worth_it") == (gain.gain >= 0.01 and gain.gain_low > 0)
    by_barrier = {(gain.over, gain.barrier): gain for gain in found.gains}
    for each in found.gains:
        default = by_barrier["ddp", each.barrier]
        assert each.today_us <= default.today_us + slack(default.today_us)
    if len(found.gains) > 2:
        barred, _, free, _ = found.gains
        assert free.plan_us <= barred.plan_us + slack(barred.plan_us)


def test_a_graph_with_a_barrier_has_one_gain():
    layers = [Layer(f"l{i}", 3_000.0, 6_000.0, ((f"w{i}", 9_000_000),)) for i in range(5)]
    graph = fsdp("fsdp", layers)
    assert has_barrier(graph)
    network = network_of(Cluster(8, 800, 0))
    (gain,) = of(graph, network).gains
    assert (gain.over, gain.barrier, gain.gain) == ("fsdp2", True, pytest.approx(0, abs=1e-9))
    assert gain.verdict in {"nothing", "too_close"}
    assert gain.runtime == f"{EXPORT} fsdp"
    # what is compared with does not say what you run
    asked = of(graph, network, Options(baselines=(Choice("ddp"), Choice("wfbp"))))
    assert asked.gains == (gain,)


@pytest.mark.parametrize(
    ("change", "runtime"),
    [
        ({"id": "encoder.weight"}, "PyTorch: interlace_client.torch.PlannedDDP"),
        ({"fuse_key": "norms"}, "PyTorch: interlace_client.torch.PlannedDDP"),
        ({"id": "3x+y"}, "PyTorch: interlace_client.torch.PlannedDDP, given parameter names"),
        ({"kind": "broadcast"}, None),
        ({"channel": "nvlink"}, None),
        ({"after": ("b2", "g1")}, None),
    ],
)
def test_what_runs_a_plan_without_a_barrier(change, runtime):
    ops = [op._replace(**change) if op.id == "g2" else op for op in two_layers().ops]
    name = change.get("id", "g2")
    ops = [op._replace(after=tuple(name if a == "g2" else a for a in op.after)) for op in ops]
    needs = runtime_of(build("two", ops), barrier=False)
    assert needs.name == runtime
    assert (needs.why_not is None) == (runtime is not None)


def test_a_barrier_that_was_added_is_there():
    assert not has_barrier(two_layers())
    assert has_barrier(with_barrier(two_layers()))
    one = build("one", [Op("g", "all_reduce", None, 1), Op("c", COMPUTE, 1.0, None, ("g",))])
    assert has_barrier(one)


def test_both_gains_of_the_demo_are_gains():
    found = of(MODELS["t5_small"](), network_of(Cluster(8, 10, 50)))
    gains = {(gain.over, gain.barrier): gain for gain in found.gains}
    assert [gains["ddp", barrier].verdict for barrier in (True, False)] == ["worth_it"] * 2
    tuned = gains["ddp_tuned", True]
    assert (tuned.bucket_cap_mb, tuned.verdict) == (2, "nothing")
    assert found.sentence == (
        "5.4 % less than DDP: worth it. It saves at least 3.3 % where the costs are off as well. "
        "As long as DDP tuned (bucket_cap_mb 2): nothing to gain under PyTorch's barrier; "
        "without a barrier 1.1 % less than DDP tuned (bucket_cap_mb 2): worth it."
    )


@pytest.mark.parametrize(
    ("collectives", "runtime"),
    [
        ([("conv.weight", "all_reduce"), ("grad:a b", "all_reduce")], f"{EXPORT} ddp"),
        ([("all_reduce 1", "all_reduce")], f"{EXPORT} ddp, given parameter names"),
        ([("gather:a", "all_gather"), ("scatter:a", "reduce_scatter")], f"{EXPORT} fsdp"),
        ([("gather:a", "all_gather"), ("scatter:b", "reduce_scatter")], IN_ORDER),
        ([("gather:a", "all_gather"), ("x", "reduce_scatter")], IN_ORDER),
        ([("all_gather 1", "all_gather")], IN_ORDER),
        ([("g", "all_reduce"), ("x", "all_to_all")], IN_ORDER),
    ],
)
def test_what_runs_a_plan_is_an_export_that_takes_the_graph(collectives, runtime):
    ops = [Op("f", COMPUTE, 1.0), Op("b", COMPUTE, 1.0)]
    for name, kind in collectives:  # a gather before the forward pass, all else after the backward
        gather = kind == "all_gather"
        ops.append(Op(name, kind, None, 1000, () if gather else ("b",)))
        ops[0] = ops[0]._replace(after=(*ops[0].after, *((name,) if gather else ())))
    ops[1] = ops[1]._replace(after=("f",))
    graph = build("made", ops)
    asked = Options(baselines=(Choice("ddp"),))
    network = network_of(Cluster(8, 10, 50))
    found = plan(graph, network, asked)
    assert headline(graph, network, asked, found).gains[0].runtime == runtime
    explicit = ExplicitPlan(
        tuple(ExplicitBucket(bucket.id, bucket.tensors) for bucket in found.buckets),
        tuple(ExplicitPart(part.bucket, part.bytes) for part in found.parts),
    )
    for form in ("ddp", "fsdp"):
        if runtime == f"{EXPORT} {form}":
            assert EXPORTS[form](graph, network, explicit).files
        else:
            with pytest.raises(InvalidPlan):
                EXPORTS[form](graph, network, explicit)
