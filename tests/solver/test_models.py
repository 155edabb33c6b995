"""Generated iterations, and traces of them."""

import pytest

from solver.costs import Cluster, alike, cost_of
from solver.graph import COMPUTE, Op, build
from solver.models import MODELS
from solver.plan import Options, plan
from solver.timeline import chrome_trace
from tests.solver.test_simulate import RING, TWO_LAYERS


@pytest.mark.parametrize(
    ("name", "tensors", "parameters", "width"),
    [
        # counts published for each model, at its bytes per parameter
        ("vgg16", 32, 138_357_544, 4),
        ("resnet50", 161, 25_557_032, 4),
        ("t5_small", 131, 60_506_624, 4),
        ("llama_7b", 291, 6_738_415_616, 2),
    ],
)
def test_published_sizes(name, tensors, parameters, width):
    sizes = [op.bytes for op in MODELS[name]().ops if op.bytes]
    assert len(sizes) == tensors
    assert sum(sizes) == parameters * width


def test_time_is_split_by_flops():
    graph = MODELS["vgg16"]()
    forward = sum(op.duration_us or 0 for op in graph.ops if op.id.startswith("forward:"))
    backward = sum(op.duration_us or 0 for op in graph.ops if op.id.startswith("backward:"))
    assert backward == pytest.approx(2 * forward)
    # VGG-16 takes 15.5 GMAC an image: 64 images at 7 TFLOP/s
    assert forward == pytest.approx(64 * 2 * 15.47e9 / 7e6, rel=0.001)


def test_a_chrome_trace_holds_every_op_and_part_under_both():
    answer = plan(TWO_LAYERS, alike(RING), Options(fusion="none"))
    trace = chrome_trace(TWO_LAYERS, alike(RING), answer)
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    channel = [
        (e["pid"], e["name"], round(e["ts"]), round(e["dur"])) for e in events if e["tid"] == 0
    ]
    assert channel == [
        (1, "g2", 800, 900),
        (1, "g1", 1700, 1450),
        (1, "g2", 3150, 4800),
        (2, "g2", 800, 5650),
        (2, "g1", 6450, 1450),
    ]
    compute = {(e["pid"], e["name"]): round(e["ts"]) for e in events if e["tid"] == 1}
    assert compute[1, "f1"] == 3150
    assert compute[1, "f2"] == 7950
    assert compute[2, "f1"] == 7900
    assert len(compute) == 8
    ends = [e["ts"] + e["dur"] for e in events if e["pid"] == 1]
    assert max(ends) == answer.iteration_time_us


def test_ops_that_overlap_get_threads_of_their_own_and_buckets_a_short_name():
    graph = MODELS["resnet50"]()
    cost = cost_of(Cluster(8, 10, 50))
    trace = chrome_trace(graph, alike(cost), plan(graph, alike(cost), Options()))
    names = [event["name"] for event in trace["traceEvents"] if event["tid"] == 0]
    assert any(name.endswith(" more") for name in names)
    wide = build("wide", [*TWO_LAYERS.ops, Op("side", COMPUTE, 5000.0)])
    events = chrome_trace(wide, alike(RING), plan(wide, alike(RING), Options()))["traceEvents"]
    assert {e["tid"] for e in events if e["pid"] == 1} == {0, 1, 2}
