"""Clusters of very many channels: read, simulated, planned as far as that is done, refused."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from app.errors import InvalidRequest
from app.limits import MAX_CHANNELS, MAX_COLLECTIVES, MAX_LINKS
from app.reading.requests import problem_of, read_body, read_parsed
from app.schemas.plans import PlanRequest
from app.schemas.simulations import SimulationRequest
from app.services.plans import solve
from app.services.simulations import run
from solver.bounds.bound import lower_bound
from solver.chain import chain_of
from solver.costs import network_of
from solver.explanation.sensitivity import CHANNEL_DOUBLE, CHANNELS
from solver.limits import MAX_JOINT_CHANNELS
from solver.simulation.engine import costs_of
from tests.pipelines import Pipeline

Json = dict[str, Any]


def request(pipeline: Pipeline, **beside: Any) -> Json:
    return {
        "graph": {"name": "pipeline", "ops": pipeline.ops()},
        "cluster": {"channels": pipeline.channels()},
        **beside,
    }


def star(channels: int) -> Json:
    """Send a MB on each of many channels, all at once."""
    ops = [{"id": "c", "kind": "compute", "duration_us": 10}]
    own = {"workers": 2, "bandwidth_gbps": 8, "startup_us": 5}
    ops += [
        {"id": f"s{i}", "kind": "send_recv", "bytes": 1_000_000, "channel": f"l{i}", "after": ["c"]}
        for i in range(channels)
    ]
    return {
        "graph": {"ops": ops},
        "cluster": {"channels": {f"l{i}": own for i in range(channels)}},
    }


def test_a_pipeline_of_eight_stages_has_a_channel_for_each_link() -> None:
    pipeline = Pipeline(8, 16)
    body = request(pipeline, policy="wfbp", bins=1)
    answer = run(problem_of(read_body(json.dumps(body).encode(), SimulationRequest)))
    hand_over = 20 + 4_000_000 / 3_125
    assert answer.iteration_time_us == pytest.approx(pipeline.time(hand_over))
    assert len(answer.channels) == 14
    assert answer.compute_time_us == pytest.approx((16 + 8 - 1) * 3_000)
    tried = [each for each in answer.sensitivities if each.name == CHANNEL_DOUBLE]
    assert len(tried) == 14


def test_as_many_channels_as_there_may_be_are_simulated() -> None:
    body = star(500) | {"policy": "wfbp", "bins": 1}
    own = body["cluster"]["channels"]["l0"]
    body["cluster"]["channels"] |= {f"idle{i}": own for i in range(MAX_CHANNELS - 500)}
    answer = run(problem_of(read_body(json.dumps(body).encode(), SimulationRequest)))
    assert answer.iteration_time_us == 10 + 5 + 1_000
    tried = [each.channel for each in answer.sensitivities if each.name == CHANNEL_DOUBLE]
    assert len(tried) == CHANNELS
    assert "l0" in tried  # the critical path is on it


def test_a_plan_of_many_channels_says_that_it_was_not_searched() -> None:
    pipeline = Pipeline(MAX_JOINT_CHANNELS // 2 + 2, 2)
    answer = solve(problem_of(read_parsed(request(pipeline), PlanRequest)))
    assert answer.iteration_time_us >= answer.lower_bound_us
    (warning,) = answer.warnings
    assert (warning.pointer, warning.code) == ("/graph/ops", "not_searched")
    assert f"{2 * (pipeline.stages - 1)} channels" in warning.detail


def test_a_plan_of_fewer_is_searched() -> None:
    pipeline = Pipeline(3, 2)
    answer = solve(problem_of(read_parsed(request(pipeline), PlanRequest)))
    assert (answer.status, answer.warnings) == ("optimal", [])


@pytest.mark.parametrize("stages", [4, MAX_JOINT_CHANNELS // 2 + 2])
def test_the_bound_holds_on_any_number_of_channels(stages: int) -> None:
    pipeline = Pipeline(stages, 3, bytes=12_000_000)
    graph, read = read_parsed(request(pipeline), PlanRequest)
    assert graph is not None
    network = network_of(read.cluster.to_cluster())
    chain = chain_of(graph)
    bound = lower_bound(graph, chain, costs_of(chain, network))
    hand_over = 20 + 12_000_000 / 3_125
    assert 0.5 * pipeline.time(hand_over) < bound.value <= pipeline.time(hand_over) * (1 + 1e-9)


def bad_bodies() -> Iterator[tuple[Json, list[tuple[str, str]]]]:
    many = star(1)
    own = many["cluster"]["channels"]["l0"]
    many["cluster"]["channels"] |= {f"x{i}": own for i in range(MAX_CHANNELS)}
    yield many, [("/cluster/channels", "out_of_range")]
    wrong = star(200)  # one of many is wrong
    wrong["cluster"]["channels"]["l150"] = own | {"bandwidth_gbps": -1}
    yield wrong, [("/cluster/channels/l150/bandwidth_gbps", "out_of_range")]
    states = star(1)  # an op states the slowdowns of more channels than a cluster has
    states["graph"]["ops"][0]["slowdown"] = {f"x{i}": 2 for i in range(MAX_CHANNELS + 2)}
    yield states, [("/graph/ops/0/slowdown", "out_of_range")]


@pytest.mark.parametrize(("body", "faults"), list(bad_bodies()))
def test_what_is_wrong_among_many_channels_is_named(
    body: Json, faults: list[tuple[str, str]]
) -> None:
    with pytest.raises(InvalidRequest) as error:
        read_body(json.dumps(body).encode(), PlanRequest)
    assert [(fault.pointer, fault.code) for fault in error.value.faults] == faults


def test_all_of_many_wrong_channels_are_not_listed() -> None:
    body = star(500)
    body["cluster"]["channels"] = {
        name: {"bandwidth_gbps": -1, "startup_us": -1, "hop_us": -1}
        for name in body["cluster"]["channels"]
    }
    with pytest.raises(InvalidRequest) as error:
        read_body(json.dumps(body).encode(), PlanRequest)
    codes = [fault.code for fault in error.value.faults]
    assert "too_many_faults" in codes
    assert len(codes) < 1_000


def test_more_collectives_are_simulated_than_planned() -> None:
    body = star(1)
    ops = body["graph"]["ops"]
    ops += [{**ops[1], "id": f"more{i}", "bytes": 1_000} for i in range(MAX_COLLECTIVES)]
    answer = run(
        problem_of(read_body(json.dumps(body | {"policy": "wfbp"}).encode(), SimulationRequest))
    )
    assert answer.iteration_time_us == pytest.approx(10 + 5 + 1_000 + MAX_COLLECTIVES * 6)
    with pytest.raises(InvalidRequest) as error:
        read_body(json.dumps(body).encode(), PlanRequest)
    (fault,) = error.value.faults
    assert (fault.pointer, fault.code) == ("/graph/ops", "out_of_range")
    assert fault.detail == "Graph: at most 3,000 collectives are planned, got 3,001."
    body["graph"]["ops"][0]["duration_us"] = -1  # all faults of a body that does not fit
    with pytest.raises(InvalidRequest) as error:
        read_body(json.dumps(body | {"policy": "wfbp"}).encode(), SimulationRequest)
    assert [f.pointer for f in error.value.faults] == ["/graph/ops/0/duration_us"]


def test_what_many_channels_lack_is_said_briefly() -> None:
    # each sentence named all links, and each of all paths was listed: some 1.5 GB for 224 KB
    own = {"workers": 2, "bandwidth_gbps": 8, "path": [f"x{i}" for i in range(16)]}
    body = request(Pipeline(2, 2))
    body["cluster"] = {
        "channels": {f"c{i}": own for i in range(100)} | body["cluster"]["channels"],
        "links": {f"link{i}": {"capacity_gbps": 1} for i in range(MAX_LINKS)},
    }
    body["graph"]["ops"] += [
        {"id": f"s{i}", "kind": "all_reduce", "bytes": 1, "channel": "none"} for i in range(10)
    ]
    with pytest.raises(InvalidRequest) as error:
        read_body(json.dumps(body).encode(), PlanRequest)
    faults = error.value.faults
    codes = Counter(fault.code for fault in faults)
    assert codes == {"unknown_link": 1_000, "too_many_faults": 1, "unknown_channel": 10}
    assert "it has 'link0', 'link1', " in faults[0].detail
    assert faults[0].detail.endswith("'link19' and 4,076 more.")
    assert max(len(fault.detail) for fault in faults) < 400
