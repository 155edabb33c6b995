"""Links and paths on the wire: read, echoed, simulated, warned of, refused."""

import json
from typing import Any

import pytest

from app.errors import InvalidRequest
from app.reading.requests import problem_of, read_body, read_parsed
from app.schemas.plans import PlanRequest
from app.schemas.predictions import PredictionRequest
from app.schemas.simulations import SimulationRequest
from app.schemas.solver_objects import cluster_json
from app.services.plans import solve
from app.services.predictions import answer_of
from app.services.simulations import run
from solver.costs import Cluster
from solver.explanation.sensitivity import BANDWIDTH_DOUBLE, BANDWIDTH_FREE

Json = dict[str, Any]


def request(**beside: Any) -> Json:
    """Send 8 MB on two channels at 8 Gbit/s each, over an uplink of 8 Gbit/s for both."""
    own = {"workers": 2, "bandwidth_gbps": 8, "startup_us": 5, "path": ["up"]}
    send = {"kind": "send_recv", "bytes": 8_000_000, "after": ["c"]}
    return {
        "graph": {
            "ops": [
                {"id": "c", "kind": "compute", "duration_us": 100},
                {"id": "s0", "channel": "a", **send},
                {"id": "s1", "channel": "b", **send},
            ]
        },
        "cluster": {"channels": {"a": own, "b": own}, "links": {"up": {"capacity_gbps": 8}}},
        **beside,
    }


def simulated(body: Json) -> Any:
    return run(problem_of(read_body(json.dumps(body).encode(), SimulationRequest)))


def test_two_channels_share_a_link() -> None:
    answer = simulated(request(policy="wfbp"))
    assert answer.iteration_time_us == pytest.approx(100 + 5 + 16_000)
    assert answer.request.cluster.links["up"].capacity_gbps == 8
    gains = {each.name: each.iteration_time_us for each in answer.sensitivities if not each.channel}
    assert gains[BANDWIDTH_DOUBLE] == pytest.approx(100 + 5 + 8_000)
    assert gains[BANDWIDTH_FREE] == pytest.approx(100 + 5)
    assert sum(step.slowed_us for step in answer.critical_path) == pytest.approx(8_000)


def test_a_class_of_its_own_goes_first() -> None:
    body = request(policy="wfbp")
    body["cluster"]["channels"]["b"] = body["cluster"]["channels"]["b"] | {"priority": 1}
    ends = {each.id: each.end_us for each in simulated(body).tensors}
    assert ends == {"s0": pytest.approx(16_105), "s1": pytest.approx(8_105)}


def test_a_plan_warns_of_links() -> None:
    answer = solve(problem_of(read_parsed(request(), PlanRequest)))
    assert answer.iteration_time_us == pytest.approx(16_105)
    (warning,) = answer.warnings
    assert (warning.pointer, warning.code) == ("/cluster/links", "links_shared")
    assert answer.ideal_us is None


@pytest.mark.parametrize(
    ("given", "why", "notes"),
    [
        (
            {"path": ["up"], "links": {"up": {"capacity_gbps": 4}}},
            "they cross the link 'up', which may slow them.",
            ["Links keep their capacities."],
        ),
        ({"launch_slowdown": 2}, "launch_slowdown is 2.", []),
    ],
)
def test_a_prediction_says_why_osf_is_not_given(given: Json, why: str, notes: list[str]) -> None:
    body: Json = {
        "graph": {
            "ops": [
                {"id": "c", "kind": "compute", "duration_us": 100},
                {"id": "g", "kind": "all_reduce", "bytes": 1_000_000, "after": ["c"]},
            ]
        },
        "cluster": {"workers": 4, "bandwidth_gbps": 8, **given},
        "workers": [2, 4],
    }
    problem = problem_of(read_body(json.dumps(body).encode(), PredictionRequest))
    answer = answer_of(problem.graph, problem.request)
    assert {row.osf for row in answer.rows} == {None}
    assert answer.why_no_osf == f"OSF needs launches that always take as long; {why}"
    assert answer.notes == notes


def test_without_links_a_cluster_is_written_as_before() -> None:
    body = request(policy="wfbp")
    del body["cluster"]["links"]
    for channel in body["cluster"]["channels"].values():
        channel.pop("path", None)
    written = simulated(body).request.cluster.model_dump(mode="json")
    assert "links" not in written
    assert {"path", "priority"}.isdisjoint(written["channels"]["a"])


def test_a_cluster_of_the_solver_is_posted_with_its_links() -> None:
    own = Cluster(2, 8.0, path=("up",), priority=2)
    cluster = Cluster(2, 8.0, channels=(("a", own),), links=(("up", 8.0),))
    posted = cluster_json(cluster)
    assert posted["links"] == {"up": {"capacity_gbps": 8.0}}
    assert posted["channels"]["a"] == {
        "workers": 2,
        "bandwidth_gbps": 8.0,
        "path": ["up"],
        "priority": 2,
    }


@pytest.mark.parametrize(
    ("channel", "pointer", "code"),
    [
        ({"path": ["down"]}, "/cluster/channels/a/path/0", "unknown_link"),
        ({"path": ["up", "up"]}, "/cluster/channels/a/path/1", "duplicate_id"),
        # a card and links
        ({"shares": "nic"}, "/cluster/channels/a/shares", "extra_field"),
        ({"path": [], "priority": 1}, "/cluster/channels/a/priority", "extra_field"),
        ({"priority": 8}, "/cluster/channels/a/priority", "out_of_range"),
        ({"path": "up"}, "/cluster/channels/a/path", "wrong_type"),
    ],
)
def test_odd_paths_are_refused(channel: Json, pointer: str, code: str) -> None:
    body = request()
    body["cluster"]["channels"]["a"] = body["cluster"]["channels"]["a"] | channel
    with pytest.raises(InvalidRequest) as error:
        read_body(json.dumps(body).encode(), PlanRequest)
    assert [(f.pointer, f.code) for f in error.value.faults] == [(pointer, code)]


@pytest.mark.parametrize(
    ("link", "pointer", "code"),
    [
        ({"capacity_gbps": 0}, "/cluster/links/up/capacity_gbps", "out_of_range"),
        ({}, "/cluster/links/up/capacity_gbps", "missing_field"),
        ({"capacity_gbps": 1, "speed": 2}, "/cluster/links/up/speed", "extra_field"),
    ],
)
def test_odd_links_are_refused(link: Json, pointer: str, code: str) -> None:
    body = request()
    body["cluster"]["links"]["up"] = link
    with pytest.raises(InvalidRequest) as error:
        read_body(json.dumps(body).encode(), PlanRequest)
    assert [(f.pointer, f.code) for f in error.value.faults] == [(pointer, code)]
