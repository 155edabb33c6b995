"""Chrome traces."""

from itertools import pairwise

from solver.buckets import Launch
from solver.costs import Affine, alike
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, Op, build
from solver.models import MODELS
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from solver.simulation.timeline import chrome_trace
from tests.solver.test_simulate import RING, TWO_LAYERS


def drawn(graph, cost, **policies):
    timelines = {name: simulate(graph, alike(cost), policy) for name, policy in policies.items()}
    trace = chrome_trace(graph, timelines, {"why": "test"})
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    threads = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "thread_name"
    }
    return trace, events, threads


def test_every_op_and_part_of_each_timeline_by_hand():
    parts = [Launch((0,), 607_142), Launch((1,), 1_000_000), Launch((0,), 3_392_858)]
    trace, events, threads = drawn(TWO_LAYERS, RING, plan=replay(parts), fifo=POLICIES["wfbp"])
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert names == ["plan", "fifo"]
    assert trace["otherData"] == {"graph": "two layers", "why": "test"}
    assert threads == {
        (pid, tid): name for pid in (1, 2) for tid, name in enumerate(["network", "compute"])
    }
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
    assert [e["args"]["offset_bytes"] for e in events if e["name"] == "g2"] == [0, 607_142, 0]
    compute = {(e["pid"], e["name"]): round(e["ts"]) for e in events if e["tid"] == 1}
    assert compute[1, "f1"] == 3150
    assert compute[1, "f2"] == 7950
    assert compute[2, "f1"] == 7900
    assert len(compute) == 8


def test_channels_and_streams_have_threads_of_their_names_and_others_share():
    ops = [
        Op("w", ALL_GATHER, None, 1000, (), "nvlink"),
        Op("f", COMPUTE, 50.0, None, ("w",), stream="gpu0"),
        Op("h", COMPUTE, 20.0, stream="gpu1"),
        Op("long", COMPUTE, 70.0),
        Op("short", COMPUTE, 10.0),
        Op("next", COMPUTE, 10.0, None, ("short",)),
        Op("g", ALL_REDUCE, None, 1000, ("f",)),
    ]
    _, events, threads = drawn(build("t", ops), Affine(0.0, 0.1), fifo=POLICIES["wfbp"])
    assert list(threads) == [(1, tid) for tid in range(6)]
    assert list(threads.values()) == ["nvlink", "network", "gpu0", "gpu1", "compute", "compute"]
    assert {e["name"]: (e["cat"], threads[1, e["tid"]]) for e in events} == {
        "w": (ALL_GATHER, "nvlink"),
        "f": (COMPUTE, "gpu0"),
        "h": (COMPUTE, "gpu1"),
        "long": (COMPUTE, "compute"),
        "short": (COMPUTE, "compute"),
        "next": (COMPUTE, "compute"),
        "g": (ALL_REDUCE, "network"),
    }


def test_nothing_overlaps_in_a_thread_and_buckets_have_short_names():
    graph = MODELS["resnet50"]()
    _, events, _ = drawn(graph, RING, ddp=POLICIES["ddp"])
    assert any(e["name"].endswith(" more") for e in events)
    for thread in {e["tid"] for e in events}:
        spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["tid"] == thread)
        assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(spans))
