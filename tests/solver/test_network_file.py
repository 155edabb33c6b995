"""Chakra files and their network, replayed message by message as ASTRA-sim replays them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.costs import Affine, Cluster, alike, network_of
from solver.exports import EXPORTS
from solver.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    COMPUTE,
    REDUCE_SCATTER,
    Op,
    build,
)
from solver.models import MODELS
from solver.models.layers import Layer, iteration
from solver.models.parallel import fsdp
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from solver.traces.chakra.codec import decode
from tests.sampling import cases
from tests.solver.test_exports import planned


def dimensions(text):
    """Read the lists of network.yml."""
    rows = [line.partition("#")[0].split(": ") for line in text.splitlines()]
    found = {name: value.strip("[ ]").split(", ") for name, value in rows}
    assert set(found["topology"]) == {"Ring"}
    columns = [[float(each) for each in found[n]] for n in ("npus_count", "bandwidth", "latency")]
    return list(zip(*columns, strict=True))


def collective_ns(attributes, dims):
    """Send the messages of a ring, each in whole nanoseconds."""
    involved = attributes.get("involved_dim", [True] * len(dims))
    ((ranks, bandwidth, latency),) = (d for d, used in zip(dims, involved, strict=True) if used)
    messages, share = {
        0: (2 * (ranks - 1), attributes["comm_size"] / ranks),
        2: (ranks - 1, attributes["comm_size"]),
        7: (ranks - 1, attributes["comm_size"] / ranks),
    }[attributes["comm_type"]]
    return messages * int(latency + share / (bandwidth * 2**30 / 1e9))


def value_of(attribute):
    which = attribute.WhichOneof("value")
    value = getattr(attribute, which)
    return list(value.values) if which == "bool_list" else value


def replayed_us(export):
    """Run a rank's nodes: one compute op and one collective at a time, least number first."""
    nodes = {node.id: node for node in list(decode(export.files["plan.0.et"]))[1:]}
    dims = dimensions(export.files["network.yml"])
    times = {}
    for number, node in nodes.items():
        told = {attribute.name: value_of(attribute) for attribute in node.attr}
        times[number] = 1000 * node.duration_micros
        if node.type == 7:
            times[number] = collective_ns(told, dims)
    ended: dict[int, int] = {}
    running: dict[int, tuple[int, int]] = {}
    now = 0
    while len(ended) < len(nodes):
        for number in sorted(nodes.keys() - ended.keys() - {n for _, n in running.values()}):
            sort = nodes[number].type
            if sort not in running and all(d in ended for d in nodes[number].data_deps):
                running[sort] = (now + times[number], number)
        sort = min(running, key=lambda each: running[each])
        now, number = running.pop(sort)
        ended[number] = now
    return now / 1000


def exported(graph, cluster, policy="wfbp"):
    network = network_of(cluster)
    plan = planned(graph, simulate(graph, network, POLICIES[policy]).launches)
    channels = tuple((name, own.workers) for name, own in cluster.channels)
    plan = type(plan)(plan.buckets, plan.parts, None, cluster.workers, channels)
    return EXPORTS["chakra"](graph, network, plan)


@pytest.mark.parametrize("policy", ["wfbp", "ddp", "p3", "single"])
@pytest.mark.parametrize("name", ["vgg16", "resnet50"])
def test_a_replay_on_one_network(name, policy):
    cluster = Cluster(8, bandwidth_gbps=25, startup_us=30, hop_us=2)
    export = exported(MODELS[name](), cluster, policy)
    assert "network.yml" in export.files
    assert replayed_us(export) == pytest.approx(export.iteration_time_us, rel=1e-3)


@pytest.mark.parametrize("shards", [None, 4])
def test_a_replay_of_sharded_data_parallelism(shards):
    layers = [Layer(f"l{i}", 900.0, 1800.0, ((f"w{i}", 40_000_000),)) for i in range(6)]
    within = Cluster(4, bandwidth_gbps=200, startup_us=12)
    channels = (("nvlink", within),) if shards else ()
    cluster = Cluster(8, bandwidth_gbps=50, startup_us=40, channels=channels)
    export = exported(fsdp("sharded", layers, shards, step_us=300.0), cluster)
    assert len([name for name in export.files if name.endswith(".et")]) == (32 if shards else 8)
    assert replayed_us(export) == pytest.approx(export.iteration_time_us, rel=1e-3)
    if shards:
        assert [dim[0] for dim in dimensions(export.files["network.yml"])] == [4, 8]
        assert any("4 x 8 ranks, the first of 'nvlink'" in note for note in export.notes)
        assert export.iteration_time_us > export.plan_time_us * 1.05
        assert any("take turns" in note for note in export.notes)


@settings(max_examples=cases(40))
@given(st.data())
def test_any_plain_iteration(data):
    """Within 0.1 %, or the nanosecond that ASTRA-sim's whole numbers are off in a step."""
    count = data.draw(st.integers(1, 5))
    sizes = data.draw(st.lists(st.integers(10**5, 10**8), min_size=count, max_size=count))
    layers = [
        Layer(
            f"l{i}",
            data.draw(st.integers(100, 5000)),
            data.draw(st.integers(100, 5000)),
            ((f"w{i}", size),),
        )
        for i, size in enumerate(sizes)
    ]
    cluster = Cluster(
        data.draw(st.integers(2, 64)),
        bandwidth_gbps=data.draw(st.sampled_from([10, 25, 100])),
        startup_us=data.draw(st.sampled_from([0, 10, 100])),
        hop_us=data.draw(st.sampled_from([0, 3])),
        reduction_gbps=data.draw(st.sampled_from([None, 400])),
    )
    policy = data.draw(st.sampled_from(["wfbp", "p3"]))
    export = exported(iteration("drawn", layers), cluster, policy)
    launches = sum(-(-size // 200_000) for size in sizes) if policy == "p3" else count
    whole = launches * 2 * (cluster.workers - 1) * 1e-3
    assert replayed_us(export) == pytest.approx(export.iteration_time_us, rel=1e-3, abs=whole)


def of_kinds(*kinds, channel="network"):
    ops = [Op("b", COMPUTE, 10.0, stream="gpu")]
    ops += [Op(f"c{i}", kind, None, 400, ("b",), channel) for i, kind in enumerate(kinds)]
    return build("kinds", ops)


@pytest.mark.parametrize(
    ("graph", "cluster", "said"),
    [
        # an all-reduce has twice the steps, so a start-up is not the same latency
        (
            of_kinds(ALL_REDUCE, ALL_GATHER),
            Cluster(4, 8, startup_us=12),
            "those of all_gather: ASTRA-sim takes 2 times the start-up of all_reduce",
        ),
        # only one of them adds
        (
            of_kinds(REDUCE_SCATTER, ALL_GATHER),
            Cluster(4, 8, reduction_gbps=8),
            "those of all_gather: ASTRA-sim takes 0.5 times the time per byte of reduce_scatter",
        ),
        # its ring sends an all-to-all hop by hop
        (
            of_kinds(ALL_REDUCE, ALL_TO_ALL),
            Cluster(8, 8),
            "ASTRA-sim takes 4 times the time per byte of all_to_all",
        ),
    ],
)
def test_kinds_that_do_not_fit_together_are_said(graph, cluster, said):
    export = exported(graph, cluster)
    assert "network.yml" in export.files
    assert any(said in note for note in export.notes), export.notes


@pytest.mark.parametrize(
    ("graph", "cluster", "said"),
    [
        # measured
        (
            of_kinds(ALL_REDUCE),
            Cluster(4, algorithm="table", table=((1, 5.0), (100, 50.0), (1000, 60.0))),
            "The cost of all_reduce over 'network' is no start-up and bandwidth.",
        ),
        # nothing is sent
        (of_kinds(ALL_REDUCE), Cluster(1, 8), "Channel 'network' has one rank"),
        (of_kinds(BROADCAST), Cluster(4, 8), "Channel 'network' has broadcasts alone"),
    ],
)
def test_what_a_network_cannot_hold_is_said(graph, cluster, said):
    export = exported(graph, cluster)
    assert "network.yml" not in export.files
    assert any(said in note for note in export.notes), export.notes
    assert "So there is no network.yml: write one." in export.notes


def test_ranks_that_are_not_known():
    graph = of_kinds(ALL_REDUCE, channel="other")
    network = alike(Affine(1.0, 1.0))
    plan = planned(graph, simulate(graph, network, POLICIES["wfbp"]).launches)
    export = EXPORTS["chakra"](graph, network, plan)
    assert "The ranks of channel 'other' are not known." in export.notes
    assert list(export.files) == ["plan.0.et"]
