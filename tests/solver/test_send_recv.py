"""Sends from one rank to another: what they cost, when they run, what may be one launch."""

import json
from typing import Any

import pytest

from app.errors import InvalidRequest
from app.reading.requests import read_body, read_parsed
from app.schemas.plans import PlanRequest
from app.schemas.problem import graph_json, graph_sha256
from app.schemas.simulations import SimulationRequest
from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import TABLE, Cluster, cost_of, network_of
from solver.errors import InvalidGraph, InvalidPlan
from solver.exports import EXPORTS, export
from solver.graph import ALL_REDUCE, COMPUTE, SEND_RECV, Graph, Op, build
from solver.planning.check import check
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from tests.pipelines import Pipeline

Json = dict[str, Any]
#: 4 MB at 25 Gbit/s, and the start-up [us].
HAND_OVER = 20.0 + 4_000_000 / 3_125


def request(pipeline: Pipeline, **beside: Any) -> Json:
    return {
        "graph": {"ops": pipeline.ops()},
        "cluster": {"channels": pipeline.channels()},
        **beside,
    }


def graph_of(pipeline: Pipeline) -> Graph:
    graph, _ = read_parsed(request(pipeline), PlanRequest)
    assert graph is not None
    return graph


def pair(*sends: tuple[str | None, str | None]) -> Graph:
    """Build sends of 1,000 bytes each, released at once on one channel."""
    ops = [Op("c", COMPUTE, 1.0)]
    ops += [
        Op(f"s{i}", SEND_RECV, None, 1_000, ("c",), source=a, target=b)
        for i, (a, b) in enumerate(sends)
    ]
    return build("pair", ops)


@pytest.mark.parametrize("workers", [2, 3, 64])
def test_a_send_costs_its_start_up_a_hop_and_its_bytes_once(workers: int) -> None:
    cluster = Cluster(workers, 8.0, startup_us=5.0, hop_us=2.0)  # 1,000 bytes a microsecond
    assert cost_of(cluster, SEND_RECV).time(10_000) == 5.0 + 2.0 + 10.0
    assert cost_of(Cluster(1, 8.0, startup_us=5.0), SEND_RECV).time(10_000) == 0.0


def test_a_measured_send_takes_as_long_among_more_workers() -> None:
    points = ((SEND_RECV, ((1_000, 10.0), (2_000, 20.0))),)
    cluster = Cluster(
        64, algorithm=TABLE, tables=points, measured_workers=2, extrapolate=True, startup_us=3.0
    )
    assert cost_of(cluster, SEND_RECV).time(1_500) == 18.0


@pytest.mark.parametrize("stages", [1, 2, 4, 8])
@pytest.mark.parametrize("batches", [1, 4, 16])
def test_a_pipeline_takes_its_longest_path(stages: int, batches: int) -> None:
    pipeline = Pipeline(stages, batches)
    if stages == 1:
        assert pipeline.time(0.0) == batches * 3_000  # nothing to send
        return
    body = request(pipeline)
    graph, read = read_parsed(body, PlanRequest)
    assert graph is not None
    cluster = read.cluster.to_cluster()
    found = simulate(graph, cluster, POLICIES["wfbp"])
    assert found.iteration_time == pytest.approx(pipeline.time(HAND_OVER))
    assert pipeline.time(0.0) == pytest.approx((batches + stages - 1) * 3_000)


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "pace"])
def test_no_policy_fuses_sends(policy: str) -> None:
    graph = pair((None, None), (None, None), ("a", "b"))
    launches = simulate(graph, Cluster(2, 8.0), POLICIES[policy]).launches
    assert {len(launch.bucket) for launch in launches} == {1}


def test_a_plan_fuses_sends_of_one_pair_alone() -> None:
    slow = Cluster(2, 8.0, startup_us=1_000.0)
    together = plan(pair(("a", "b"), ("a", "b")), slow)
    assert (together.iteration_time_us, len(together.launches)) == (1_003.0, 1)
    apart = plan(pair(("a", "b"), ("b", "a")), slow)
    assert (apart.iteration_time_us, len(apart.launches)) == (2_003.0, 2)
    assert apart.status == "optimal"
    assert check(apart.graph, network_of(slow), apart) == 2_003.0


def test_a_launch_of_two_pairs_is_refused() -> None:
    body = {
        "graph": graph_json(pair(("a", "b"), ("b", "a"))),
        "cluster": {"workers": 2, "bandwidth_gbps": 8},
        "plan": {
            "buckets": [{"id": "x", "tensors": ["s0", "s1"]}],
            "schedule": {"parts": [{"bucket": "x", "bytes": 2_000}]},
        },
    }
    from app.reading.requests import problem_of  # noqa: PLC0415 - of this test alone
    from app.services.simulations import run  # noqa: PLC0415

    with pytest.raises(InvalidRequest) as error:
        run(problem_of(read_parsed(body, SimulationRequest)))
    assert [fault.code for fault in error.value.faults] == ["mixed_bucket"]


def test_a_bucket_of_one_pair_runs() -> None:
    graph = pair(("a", "b"), ("a", "b"))
    found = simulate(graph, Cluster(2, 8.0), replay([Launch((0, 1), 2_000)]))
    assert found.iteration_time == 3.0


def test_pairs_come_back_as_they_were_sent() -> None:
    graph = pair(("0", "1"), (None, None))
    body = json.dumps(
        {"graph": graph_json(graph), "cluster": {"workers": 2, "bandwidth_gbps": 8}}
    ).encode()
    again, _ = read_body(body, PlanRequest)
    assert again is not None
    assert again.ops == graph.ops
    assert graph_sha256(again) == graph_sha256(graph)
    slow = read_parsed(json.loads(body), PlanRequest)[0]
    assert slow is not None
    assert slow.ops == graph.ops
    lanes = chain_of(graph).lanes
    assert [str(lane) for lane in lanes] == [
        "send_recv on network from '0' to '1'",
        "send_recv on network",
    ]


@pytest.mark.parametrize("form", sorted(set(EXPORTS) & {"chakra", "ddp", "horovod", "deepspeed"}))
def test_a_format_without_sends_refuses_them(form: str) -> None:
    graph, cluster = pair(("a", "b")), Cluster(2, 8.0)
    found = plan(graph, cluster, Options())
    with pytest.raises(InvalidPlan) as error:
        export(form, network_of(cluster), found, 2)
    assert "send_recv" in str(error.value)


@pytest.mark.parametrize(
    ("op", "pointer", "code"),
    [
        (Op("x", SEND_RECV, None, 1, source="a"), "/ops/1/target", "missing_field"),
        (Op("x", SEND_RECV, None, 1, target="a"), "/ops/1/source", "missing_field"),
        # to itself
        (Op("x", SEND_RECV, None, 1, source="a", target="a"), "/ops/1/target", "out_of_range"),
        # a collective of all ranks has no pair
        (Op("x", ALL_REDUCE, None, 1, source="a", target="b"), "/ops/1/source", "extra_field"),
        # a number is no name
        (Op("x", SEND_RECV, None, 1, source=0, target="b"), "/ops/1/source", "wrong_type"),  # type: ignore[arg-type]
        (Op("x", SEND_RECV), "/ops/1/bytes", "missing_field"),
    ],
)
def test_odd_sends_are_refused(op: Op, pointer: str, code: str) -> None:
    with pytest.raises(InvalidGraph) as error:
        build("odd", [Op("c", COMPUTE, 1.0), op])
    assert (pointer, code) in {(f.pointer, f.code) for f in error.value.faults}


def test_faults_of_a_body_name_the_pair() -> None:
    body = request(Pipeline(2, 1))
    send = next(op for op in body["graph"]["ops"] if op["kind"] == SEND_RECV)
    send["source"] = "0"
    with pytest.raises(InvalidRequest) as error:
        read_parsed(body, PlanRequest)
    place = body["graph"]["ops"].index(send)
    assert [f.pointer for f in error.value.faults] == [f"/graph/ops/{place}/target"]
