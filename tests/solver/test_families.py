"""The families of general graphs: their sizes, their edges, and their seeds."""

from itertools import pairwise

import pytest

from solver.chain import chain_of
from solver.costs import ChannelCost, Cluster, network_of
from solver.planning.options import Options
from solver.planning.plan import plan
from tests.families import FAMILIES, SIZES, Instance, drawn, instances, network, small
from tests.families.files import requests
from tests.families.grid import lines, on_grid, optima
from tests.families.pipelines import one_forward_one_backward

BEHIND = {name for name in FAMILIES if name != "branched"}


def after(graph) -> dict[str, set[str]]:
    return {op.id: set(op.after) for op in graph.ops}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_graph_has_about_so_many_collectives(family):
    for size in SIZES:
        assert len(drawn(family, size).collectives) == pytest.approx(size, rel=0.15)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_seed_decides(family):
    assert drawn(family, 50, 3).ops == drawn(family, 50, 3).ops
    assert drawn(family, 50, 3).ops != drawn(family, 50, 4).ops


@pytest.mark.parametrize("family", FAMILIES)
def test_only_branched_graphs_have_no_collective_behind_another(family):
    assert bool(chain_of(drawn(family, 50)).before) == (family in BEHIND)


@pytest.mark.parametrize("limit", [2, 4])
def test_units_are_gathered_a_limit_ahead(limit):
    edges = after(drawn(f"fsdp-even-{limit}", 50))
    for k in range(17):
        assert edges[f"gather:{k}"] == ({f"forward:{k - limit}"} if k >= limit else set())


def test_even_units_are_of_one_size_and_others_of_many():
    for family, sizes in (("fsdp-even-2", 1), ("fsdp-uneven-2", 17)):
        graph = drawn(family, 50)
        assert len({op.bytes for op in graph.ops if op.bytes}) == sizes


def test_micro_batches_take_turns():
    graph = drawn("moe-2", 50)
    passes = [op.id for op in graph.ops if op.stream]
    assert passes[:4] == ["fa0.0", "fa0.1", "fe0.0", "fe0.1"]
    edges = after(graph)
    assert edges["d1.0"] == {"fa1.0"}
    assert edges["fa1.0"] == {"c0.0"}
    assert edges["g0"] == {"ba0.0", "ba0.1"}
    assert edges["cb5.1"] == {"c5.1"}  # the last layer turns round


def test_parameters_are_gathered_behind_their_update():
    edges = after(drawn("zero-1", 16))
    assert edges["rs3"] == {"b3"}
    assert edges["u3"] == {"rs3"}
    assert edges["ag3"] == {"u3"}
    assert edges["f3"] == {"f2", "ag3"}
    assert edges["f0"] == {"b0", "ag0"}


def test_tensor_parallel_layers_use_both_channels():
    graph = drawn("tp-zero", 50)
    channels = [op.channel for op in graph.ops if op.bytes]
    assert channels.count("nvlink") == 2 * channels.count("network")
    assert after(graph)["f0.0"] == {"bx0.0", "ag0"}


def test_stages_run_one_forward_one_backward():
    passes = [f"{direction}{k}" for direction, k in one_forward_one_backward(2, 4)]
    assert passes == ["f0", "f1", "f2", "b0", "f3", "b1", "b2", "b3"]
    assert [f"{d}{k}" for d, k in one_forward_one_backward(3, 1)] == ["f0", "b0"]
    edges = after(drawn("pipeline", 50))
    assert edges["f1.2"] == {"sf0.2"}
    assert edges["b3.2"] == {"f3.2"}
    assert edges["b2.2"] == {"sb3.2"}
    assert edges["g2.0"] == {"b2.4"}


def test_branches_are_no_chain():
    graph = drawn("branched", 50)
    edges = after(graph)
    backward = [op.id for op in graph.ops if op.id.startswith("b")]
    assert any(edges[late] != {early} for early, late in pairwise(backward))
    assert [op.id for op in graph.ops if "g0" in op.after] == ["f0"]
    assert len({op.after for op in graph.ops if op.bytes}) == 50  # no two released together


def test_all_networks_are_planned_on():
    found = list(instances(["moe", "pipeline"], 50))
    assert len(found) == 2 * 2 * 4
    assert len({instance.name for instance in found}) == len(found)


def test_small_graphs_are_branched_and_drawn():
    found = [small(seed) for seed in range(60)]
    assert {len(instance.graph.collectives) for instance in found} == set(range(8, 21))
    assert all(chain_of(instance.graph).is_layered for instance in found)
    assert small(3).graph.ops == found[3].graph.ops


def test_files_have_a_best_known_time(shared):
    found = {instance.name: instance for instance in requests(shared / "general")}
    assert found["mini.json"].known == 30869.0
    assert found["r_pp8x16.json"].known == 608200.0
    assert len(found["mini.json"].graph.collectives) == 10


def test_a_folder_without_a_table_has_no_requests(tmp_path):
    assert list(requests(tmp_path)) == []


def test_rounding_keeps_times():
    instance = next(instances(["tp-zero"], 16))
    costs = lines(instance)
    rounded = on_grid(instance, costs)
    for op, whole in zip(instance.graph.ops, rounded.graph.ops, strict=True):
        if op.bytes is None:
            assert whole.duration_us == round(op.duration_us)
        else:
            lane = ChannelCost(op.channel, op.kind)
            time = rounded.costs[lane].time(whole.bytes)
            assert time == pytest.approx(costs[lane].time(op.bytes), abs=1.0)


def test_tables_are_no_lines():
    table = Cluster(8, algorithm="table", table=((1024, 10.0), (1 << 20, 100.0)))
    graph = drawn("branched", 8)
    assert lines(Instance("branched", "", graph, network_of(table))) == {}
    assert len(lines(Instance("branched", "", graph, network(50, 25)))) == 1


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.long
def test_cp_sat_says_only_what_is_shorter(parts):
    instance = Instance("zero-1", "", drawn("zero-1", 4), network(500, 100))
    found = plan(instance.graph, instance.network, Options(baselines=())).best_time_us
    asked = [(instance, 2 * found), (instance, 0.9 * found)]
    optimum, nothing = optima(asked, parts, 5.0)
    assert optimum.closed
    assert optimum.time > 0.999 * found
    assert parts == 1 or optimum.time < 1.001 * found  # the best plan has a cut
    assert nothing == (True, None)
