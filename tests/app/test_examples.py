"""The examples by themselves: each is a whole request, and its cluster carries its graph."""

import pytest

from app.errors import NotFound
from app.schemas.plans import PlanRequest
from app.services.examples import example, names
from solver.costs import ChannelCost, network_of
from solver.graph import COMPUTE, build
from solver.models import MODELS
from solver.policies import POLICIES
from solver.simulation.engine import simulate

NAMES = [listed.name for listed in names().examples]


def test_every_model_is_listed_and_described():
    assert ["two_layers", *MODELS] == NAMES
    for listed in names().examples:
        assert listed.url == f"/v1/examples/{listed.name}"
        assert not listed.description.endswith("made by Interlace.")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_survives_its_own_json(name):
    body = example(name).model_dump_json()
    assert PlanRequest.model_validate_json(body) == example(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_cluster_carries_every_collective(name):
    request = example(name)
    network = network_of(request.cluster.to_cluster())
    for op in build(name, request.graph.ops_of()).ops:
        if op.kind != COMPUTE:
            assert network(ChannelCost(op.channel, op.kind)).time(op.bytes or 0) > 0


def test_the_graph_is_the_generated_one_with_its_streams_and_channels():
    request = example("fsdp_llama_7b")
    assert build("", request.graph.ops_of()).ops == MODELS["fsdp_llama_7b"]().ops
    assert {op.stream for op in request.graph.ops if op.kind == "compute"} == {"gpu"}


@pytest.mark.parametrize("name", ["fsdp_llama_7b", "tp_gpt_8b"])
@pytest.mark.parametrize("policy", ["wfbp", "tictac"])
def test_the_iteration_is_longer_than_its_compute_and_than_each_channel(name, policy):
    request = example(name)
    graph = build(name, request.graph.ops_of())
    network = network_of(request.cluster.to_cluster())
    time = simulate(graph, network, POLICIES[policy]).iteration_time
    assert time > sum(graph.durations)  # one stream
    for channel in ("network", "nvlink"):
        busy = sum(
            network(ChannelCost(op.channel, op.kind)).time(op.bytes or 0)
            for op in graph.ops
            if op.kind != COMPUTE and op.channel == channel
        )
        assert time > busy


def test_an_example_is_made_once():
    assert example("vgg16") is example("vgg16")


def test_no_example_of_this_name():
    with pytest.raises(NotFound):
        example("nothing")
