"""Critical path, times of tensors, phases and use of the channels."""

from dataclasses import astuple
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given, settings

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine, Cluster, alike, cost_of
from solver.explanation.critical import WAIT, PathStep
from solver.explanation.explain import Breakdown, TensorTimes, explain
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, NETWORK, Op, build
from solver.policies import POLICIES
from solver.policies.choice import Choice, applies
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from tests.sampling import cases
from tests.solver.test_simulate import RING, TWO_LAYERS
from tests.strategies import dags, networks


def explained(graph, network, policy, bins=100):
    timeline = simulate(graph, network, policy)
    return timeline, explain(graph, network, timeline, bins)


def near(*times):
    return pytest.approx(times, abs=1e-6)


def test_two_layers_by_hand():
    # b2 to 800, g2 to 6450, g1 (ready at 1700) to 7900, f1 to 8300, f2 to 8750
    _, found = explained(TWO_LAYERS, alike(RING), POLICIES["wfbp"], bins=2)
    path = [(s.kind, s.ops, s.reason, s.channel, s.part) for s in found.critical_path]
    assert path == [
        (COMPUTE, ("b2",), "start", None, None),
        (ALL_REDUCE, ("g2",), "after", NETWORK, 1),
        (ALL_REDUCE, ("g1",), "channel", NETWORK, 1),
        (COMPUTE, ("f1",), "after", None, None),
        (COMPUTE, ("f2",), "after", None, None),
    ]
    assert [s.end_us for s in found.critical_path] == pytest.approx([800, 6450, 7900, 8300, 8750])
    g2, g1 = found.tensors
    assert (g2.id, g2.bytes, g2.kind, g2.channel) == ("g2", 4_000_000, ALL_REDUCE, NETWORK)
    assert (g2.release_us, g2.start_us, g2.end_us) == near(800, 800, 6450)
    assert (g2.wait_us, g2.exposed_us) == near(0, 4750)
    assert (g1.release_us, g1.start_us, g1.end_us) == near(1700, 6450, 7900)
    assert (g1.wait_us, g1.exposed_us) == near(4750, 1450)
    phases = found.breakdown
    assert (phases.negotiate_us, phases.wait_us) == near(100, 4750)
    assert (phases.all_reduce_us, phases.other_us) == near(7000, 0)
    (use,) = found.channels
    assert (use.channel, use.bytes, use.launches) == (NETWORK, 5_000_000, 2)
    assert use.busy_us == pytest.approx(7100)
    assert use.busy == pytest.approx([(4375 - 800) / 4375, (7900 - 4375) / 4375])
    first = 4_000_000 * (4375 - 800) / 5650  # spread over the launch
    assert use.gbps == pytest.approx([first / 4375 / 125, (5_000_000 - first) / 4375 / 125])


def test_a_plan_cuts_a_tensor_and_both_parts_are_on_the_path():
    parts = [Launch((0,), 607_142), Launch((1,), 1_000_000), Launch((0,), 3_392_858)]
    timeline, found = explained(TWO_LAYERS, alike(RING), replay(parts))
    steps = [(s.ops, s.part, s.reason) for s in found.critical_path]
    assert steps == [
        (("b2",), None, "start"),
        (("b1",), None, "after"),  # g1 is released with it, the channel is free just before
        (("g1",), 1, "after"),
        (("g2",), 2, "channel"),
        (("f2",), None, "after"),
    ]
    g2 = found.tensors[0]
    assert g2.wait_us == pytest.approx(timeline.launches[2].start - timeline.launches[0].end)
    assert found.breakdown.other_us == pytest.approx(1700 - timeline.launches[0].end)  # a hole


def test_a_tick_is_a_wait_and_a_stream_a_reason():
    ops = [
        Op("c0", COMPUTE, 300.0, stream="gpu"),
        Op("c1", COMPUTE, 1000.0, stream="gpu"),
        Op("a", ALL_REDUCE, None, 1000, ("c1",)),
        Op("b", ALL_REDUCE, None, 3000, ("c0",)),
        Op("end", COMPUTE, 10.0, None, ("a", "b")),
    ]
    timeline, found = explained(build("t", ops), alike(Affine(0.0, 0.1)), POLICIES["horovod"])
    # cycles at 0, 1000 (b, to 1300), 2000 (a, ready at 1300, to 2100)
    assert timeline.iteration_time == 2110
    assert found.critical_path == (
        PathStep(COMPUTE, ("c0",), 0, 300, "start"),
        PathStep(COMPUTE, ("c1",), 300, 1300, "stream"),
        PathStep(WAIT, ("a",), 1300, 2000, "policy", NETWORK),
        PathStep(ALL_REDUCE, ("a",), 2000, 2100, "policy", NETWORK, 1),
        PathStep(COMPUTE, ("end",), 2100, 2110, "after"),
    )
    assert astuple(found.breakdown) == near(0, 0, 400, 700 + 700)


def test_a_bucket_shares_its_exposed_time_by_bytes_and_waits_for_its_members():
    ops = [
        Op("c0", COMPUTE, 100.0),
        Op("c1", COMPUTE, 300.0, None, ("c0",)),
        Op("a", ALL_REDUCE, None, 1000, ("c0",)),
        Op("b", ALL_REDUCE, None, 3000, ("c1",)),
    ]
    _, found = explained(build("t", ops), alike(Affine(40.0, 0.1)), replay([Launch((0, 1), 4000)]))
    a, b = found.tensors
    assert (a.wait_us, b.wait_us, a.exposed_us, b.exposed_us) == near(300, 0, 110, 330)
    assert astuple(found.breakdown) == near(40, 300, 400, 0)


def test_one_worker_sends_in_no_time():
    network = alike(cost_of(Cluster(1)))
    _, found = explained(TWO_LAYERS, network, POLICIES["wfbp"], bins=4)
    assert [s.ops for s in found.critical_path] == [("b2",), ("b1",), ("f1",), ("f2",)]
    assert found.breakdown == Breakdown(0.0, 0.0, 0.0, 0.0)
    (use,) = found.channels
    assert (use.busy_us, use.busy) == (0.0, (0.0,) * 4)
    # ends of the bins: 637.5, 1275, 1912.5, 2550; b2 ends at 800, b1 at 1700
    assert use.gbps == pytest.approx([0, 4e6 / 637.5 / 125, 1e6 / 637.5 / 125, 0])


def test_an_iteration_without_time_has_no_bins():
    graph = build("t", [Op("c", COMPUTE, 0.0), Op("a", ALL_REDUCE, None, 5)])
    timeline, found = explained(graph, alike(Affine(0.0, 0.0)), POLICIES["wfbp"])
    assert timeline.iteration_time == 0
    assert (found.channels[0].busy, found.channels[0].gbps) == ((), ())
    assert found.critical_path == (PathStep(COMPUTE, ("c",), 0, 0, "start"),)
    assert found.tensors == (TensorTimes("a", ALL_REDUCE, NETWORK, 5, 0, 0, 0, 0, 0),)


def longest_path(graph, chain, network, timeline):
    """Longest path, by networkx, through ops and launches in the order in which channels ran."""
    net: nx.DiGraph = nx.DiGraph()
    position = chain.positions.tolist()
    for i, op in enumerate(graph.ops):
        time = op.duration_us or 0.0
        if network.compute_slowdown > 1 and op.kind == COMPUTE:
            time = timeline.ends[i] - timeline.starts[i]
        net.add_edge((op.id, "in"), (op.id, "out"), weight=time)
        for other in op.after:
            net.add_edge((other, "out"), (op.id, "in"), weight=0.0)
    streams: dict[str, str] = {}
    for op in graph.ops:
        if op.stream:
            if op.stream in streams:
                net.add_edge((streams[op.stream], "out"), (op.id, "in"), weight=0.0)
            streams[op.stream] = op.id
    channel: dict[str, int] = {}
    for k, sent in enumerate(timeline.launches):
        net.add_edge(("begin", k), ("end", k), weight=sent.end - sent.start)
        for i in sent.bucket:
            op = graph.ops[position[i]]
            net.add_edge((op.id, "in"), ("begin", k), weight=0.0)
            net.add_edge(("end", k), (op.id, "out"), weight=0.0)
        where = graph.ops[position[sent.bucket[0]]].channel
        if where in channel:
            net.add_edge(("end", channel[where]), ("begin", k), weight=0.0)
        channel[where] = k
    return nx.dag_longest_path_length(net)


def swept(graph, chain, timeline):
    """Exposed time and use, by looking at each stretch between two events."""
    position = chain.positions.tolist()
    computing = [i for i, op in enumerate(graph.ops) if op.kind == COMPUTE]
    spans = [(timeline.starts[i], timeline.ends[i]) for i in computing]
    events = sorted(
        {t for span in spans for t in span} | {t for s in timeline.launches for t in s[1:3]}
    )
    exposed = {op.id: 0.0 for op in graph.ops if op.kind != COMPUTE}
    for low, high in pairwise(events):
        middle = (low + high) / 2
        if any(start < middle < end for start, end in spans):
            continue
        for sent in timeline.launches:
            if sent.start < middle < sent.end:
                sizes = [graph.ops[position[i]].bytes for i in sent.bucket]
                for i, size in zip(sent.bucket, sizes, strict=True):
                    exposed[graph.ops[position[i]].id] += (high - low) * size / sum(sizes)
    return exposed


@pytest.mark.parametrize("policy", POLICIES)
@given(graph=dags(), network=networks((1.0, 1.26)))
@settings(max_examples=cases(60))
def test_an_explanation_adds_up(policy, graph, network):
    chain = chain_of(graph)
    if not applies(Choice(policy), chain):
        return
    timeline, found = explained(graph, network, POLICIES[policy], bins=7)
    path, time = found.critical_path, timeline.iteration_time
    # the path covers the iteration exactly, and each step ran as it says
    assert (path[0].start_us, path[-1].end_us) == (0, time)
    assert all(a.end_us == b.start_us for a, b in pairwise(path))
    assert sum(s.end_us - s.start_us for s in path) == pytest.approx(time)
    position = {op.id: i for i, op in enumerate(graph.ops)}
    for before, step in zip((None, *path), path, strict=False):
        check_step(graph, chain, timeline, position, before, step)
    if policy != "horovod":  # the one that waits for a clock
        assert not any(step.kind == WAIT for step in path)
        assert longest_path(graph, chain, network, timeline) == pytest.approx(time)
    exposed = swept(graph, chain, timeline)
    assert {t.id: t.exposed_us for t in found.tensors} == pytest.approx(exposed, abs=1e-6)
    check_phases(graph, chain, network, timeline, found)
    for use in found.channels:
        width = time / 7
        assert sum(use.busy) * width == pytest.approx(use.busy_us)
        assert sum(use.gbps) * width * 125 == pytest.approx(use.bytes if time else 0)
        assert all(-1e-9 <= share <= 1 + 1e-9 for share in use.busy)
    assert sum(use.launches for use in found.channels) == len(timeline.launches)
    assert sum(use.bytes for use in found.channels) == chain.bytes.sum()


def check_step(graph, chain, timeline, position, before, step):
    if step.kind == COMPUTE:
        at = position[step.ops[0]]
        assert (timeline.starts[at], timeline.ends[at]) == (step.start_us, step.end_us)
        gates = {graph.ops[j].id for j in graph.preds[at]}
    else:
        tensors = chain.positions.tolist()
        bucket = tuple(tensors.index(position[name]) for name in step.ops)
        sent = [s for s in timeline.launches if s.bucket == bucket]
        gates = {graph.ops[j].id for i in bucket for j in graph.preds[tensors[i]]}
        if step.kind != WAIT:
            assert sent[step.part - 1][1:3] == (step.start_us, step.end_us)
            assert graph.ops[position[step.ops[0]]].kind == step.kind
            assert graph.ops[position[step.ops[0]]].channel == step.channel
    if before is None:
        assert step.reason in {"start", "policy"}
    elif before.kind == WAIT:
        assert (step.reason, step.ops) == ("policy", before.ops)
    elif step.reason == "channel":
        assert before.channel == step.channel
    elif step.reason in {"after", "stream"}:
        assert gates & set(before.ops)
        named = {other for name in step.ops for other in graph.ops[position[name]].after}
        assert (step.reason == "after") == bool(named & set(before.ops))
    else:
        assert (step.kind, step.reason) == (WAIT, "policy")


def check_phases(graph, chain, network, timeline, found):
    phases = found.breakdown
    tensors = {t.id: t for t in found.tensors}
    names = [graph.ops[p].id for p in chain.positions.tolist()]
    buckets = {s.bucket for s in timeline.launches}
    whole = least = 0.0
    for bucket in buckets:
        times = [tensors[names[i]] for i in bucket]
        whole += times[0].end_us - min(t.release_us for t in times)
    for sent in timeline.launches:
        cost = network(chain.lanes[chain.lane[sent.bucket[0]]])
        # no start-up is more than the time of any launch
        least += min(cost.time(n) for n in (1, *range(50_000, 1_050_000, 50_000))) - (
            cost.per_byte if isinstance(cost, Affine) else 0.0
        )
    total = phases.negotiate_us + phases.wait_us + phases.all_reduce_us + phases.other_us
    assert total == pytest.approx(whole)
    assert phases.negotiate_us == pytest.approx(least)
    assert phases.other_us >= 0


def test_kinds_on_two_channels_are_told_apart():
    ops = [
        Op("w", ALL_GATHER, None, 1000, (), "nvlink"),
        Op("f", COMPUTE, 50.0, None, ("w",)),
        Op("g", ALL_REDUCE, None, 1000, ("f",)),
    ]
    _, found = explained(build("t", ops), alike(Affine(0.0, 0.1)), POLICIES["wfbp"])
    assert [(s.kind, s.channel, s.reason) for s in found.critical_path] == [
        (ALL_GATHER, "nvlink", "start"),
        (COMPUTE, None, "after"),
        (ALL_REDUCE, NETWORK, "after"),
    ]
    assert [use.channel for use in found.channels] == ["nvlink", NETWORK]
