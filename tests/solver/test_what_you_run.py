"""What a plan is compared with, by one rule; DDP's best cap against all caps."""

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.costs import Affine, Cluster, alike, network_of
from solver.evidence.what_you_run import CAPS_MB, at_best_cap, compiler_of, what_you_run
from solver.graph import COMPUTE, Op, RecordedStep, build
from solver.models import MODELS
from solver.models.layers import Layer
from solver.models.parallel import fsdp
from solver.policies.ddp import ddp
from solver.simulation.engine import simulate
from solver.units import same
from tests.sampling import cases

MIB = 2**20

NETWORK = network_of(Cluster(8, 10, 50))


def sent(*collectives, after=()):
    """A backward op, what it sends, and an op that needs all of it."""
    ops = [Op("b", COMPUTE, 5.0)]
    ops += [Op(name, kind, None, MIB, ("b", *after)) for name, kind in collectives]
    return build("sent", [*ops, Op("f", COMPUTE, 5.0, None, tuple(n for n, _ in collectives))])


def recorded(graph):
    return replace(graph, recorded=RecordedStep(20.0, 20.0))


UNITS = fsdp("units", [Layer(f"l{i}", 3.0, 6.0, ((f"w{i}", 9_000),)) for i in range(3)])

BUCKETS = sent(("all_reduce 1", "all_reduce"), ("all_reduce 2", "all_reduce"))

MIXED = sent(("g", "all_reduce"), ("x", "all_to_all"))


@pytest.mark.parametrize(
    ("graph", "names"),
    [
        (sent(("grad:a", "all_reduce"), ("grad:b", "all_reduce")), ["ddp", "ddp_tuned"]),
        (BUCKETS, ["ddp", "ddp_tuned"]),
        (recorded(BUCKETS), ["recorded", "ddp_tuned"]),
        (recorded(sent(("conv.weight", "all_reduce"))), ["ddp", "ddp_tuned"]),
        (UNITS, ["fsdp2"]),
        (recorded(UNITS), ["recorded"]),
        (MIXED, ["fifo"]),
        (recorded(MIXED), ["recorded"]),
        (sent(("g", "all_gather")), ["fifo"]),
    ],
)
def test_what_you_run_by_what_the_graph_shows(graph, names):
    found = what_you_run(graph, NETWORK)
    assert [each.name for each in found] == names
    for each in found:
        policy = "ddp" if each.name.startswith("ddp") else "wfbp"
        assert each.choice.policy == policy


def test_all_reduces_one_after_another_are_no_ddp():
    ops = [
        Op("b", COMPUTE, 5.0),
        Op("g", "all_reduce", None, MIB, ("b",)),
        Op("h", "all_reduce", None, MIB, ("g",)),
        Op("f", COMPUTE, 5.0, None, ("h",)),
    ]
    assert [each.name for each in what_you_run(build("two", ops), NETWORK)] == ["fifo"]


@given(
    sizes=st.lists(st.integers(1, 30 * MIB), min_size=1, max_size=9),
    startup=st.floats(0, 2_000),
    gap=st.floats(0, 3_000),
)
@settings(max_examples=cases(60))
def test_no_cap_of_the_grid_is_faster_than_the_best(sizes, startup, gap):
    network = alike(Affine(startup, 1 / 5_000))
    ops = [Op(f"b{i}", COMPUTE, gap, None, (f"b{i - 1}",) if i else ()) for i in range(len(sizes))]
    ops += [Op(f"g{i}", "all_reduce", None, size, (f"b{i}",)) for i, size in enumerate(sizes)]
    ops += [Op("f", COMPUTE, 1.0, None, tuple(f"g{i}" for i in range(len(sizes))))]
    graph = build("drawn", ops)

    def time(cap):
        policy = partial(ddp, bucket_cap_mb=cap)
        return simulate(graph, network, policy).iteration_time

    best = at_best_cap(graph, network)
    every = [time(None), *map(time, CAPS_MB), time(sum(sizes) / MIB + 1)]
    found = time(best.bucket_cap_mb)
    assert same(found, min(every))
    if same(every[0], min(every)):
        assert best.bucket_cap_mb is None  # equal ones stay with the defaults


def test_ddp_is_at_its_best_where_a_bucket_is_there_in_time():
    # 2 MiB each 10 ms, sent in 3.5 ms: one by one 2 start-ups of 1 ms hide, one bucket of all waits
    # for the last. Without start-ups to save, the smallest cap is as good as any.
    layers = [Op(f"b{i}", COMPUTE, 10_000.0, None, (f"b{i - 1}",) if i else ()) for i in range(3)]
    grads = [Op(f"g{i}", "all_reduce", None, 2 * MIB, (f"b{i}",)) for i in range(3)]
    last = Op("f", COMPUTE, 1.0, None, ("g0", "g1", "g2"))
    graph = build("three", [*layers, *grads, last])
    best = at_best_cap(graph, alike(Affine(1_000.0, 2_500 / (2 * MIB))))
    assert best.bucket_cap_mb == 1
    assert best.choice.parameters == (("bucket_cap_mb", 1.0),)
    # One start-up is all that counts where it is long: one bucket, which 5 MiB keep open for all.
    assert at_best_cap(graph, alike(Affine(90_000.0, 0.0))).bucket_cap_mb == 5


def test_the_tuned_cap_of_a_model_is_the_same_again():
    graph = MODELS["resnet50"]()
    assert at_best_cap(graph, NETWORK) == at_best_cap(replace(graph), NETWORK)


def test_the_compiler_of_a_graph_is_told_by_its_names():
    assert compiler_of(MIXED) == "inductor"
    assert compiler_of(sent(("all-reduce.3", "all_reduce"))) == "xla_lhs"
    assert (
        compiler_of(sent(("all-gather-start.1", "all_gather"), ("g", "all_gather"))) == "inductor"
    )
