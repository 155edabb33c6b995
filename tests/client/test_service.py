"""The client and the real service understand each other."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from app.services.examples import CLUSTER, TWO_LAYERS
from interlace_client import (
    IMPORTS,
    PARAMETER_SERVERS,
    PLANS,
    RANKINGS,
    SIMULATIONS,
    SWEEPS,
    Cancelled,
    Client,
    ImportedGraph,
    Placements,
    Plan,
    ProblemError,
    Progress,
    Ranking,
    Throughput,
    WaitTimeout,
    problems,
)
from tests.app.long import drafted_us, highs, search
from tests.app.service import ROOT, Service, two_layers
from tests.client.conftest import Ask, Clock
from tests.kineto_events import small, text
from tests.waiting import until

GRAPH: Any = TWO_LAYERS["graph"]
TRACE = (
    b"node1 -- Linear -- forward_compute_time=4.0, backward_compute_time=8.0, "
    b"activation_size=1.0, parameter_size=4000000.0"
)


def test_plan(ask_server: Ask) -> None:
    options = {"baselines": ["wfbp"]}
    plan = ask_server("plan", GRAPH, cluster=CLUSTER, options=options, tags=["a"])
    assert isinstance(plan, Plan)
    assert (plan.state, plan.status) == ("succeeded", "optimal")
    assert plan.iteration_time_us >= plan.lower_bound_us > 0
    assert plan.scaling_factor == pytest.approx(plan.compute_time_us / plan.iteration_time_us)
    assert sorted(name for bucket in plan.buckets for name in bucket.tensors) == ["g1", "g2"]
    assert sum(part.bytes for part in plan.parts) == 5_000_000
    assert plan.baselines[0].policy == "wfbp"
    assert Plan.of(json.loads(json.dumps(plan.raw))) == plan
    simulation = ask_server("simulate", GRAPH, cluster=CLUSTER, plan=plan, barrier=False)
    assert simulation.iteration_time_us == pytest.approx(plan.iteration_time_us)
    assert [part.bytes for part in simulation.parts] == [part.bytes for part in plan.parts]


def test_sweep(ask_server: Ask) -> None:
    sweep = ask_server("sweep", GRAPH, cluster=CLUSTER, workers=[2, 4], policies=["wfbp", "ddp"])
    assert [cell.workers for cell in sweep.cells] == [2, 4]
    assert set(sweep.cells[0].iteration_time_us) == {"wfbp", "ddp"}
    assert sweep.summary


STEP: Any = {
    "ops": [
        {"id": "pull", "resource": "downlink", "bytes": 1_000_000},
        {"id": "work", "resource": "worker", "duration_us": 500, "after": ["pull"]},
        {"id": "push", "resource": "uplink", "bytes": 1_000_000, "after": ["work"]},
    ]
}


def test_parameter_server(ask_server: Ask) -> None:
    how = {"batch_size": 10, "bandwidths_gbps": [10], "workers": [2, 1]}
    quick = {"simulated_steps": 40, "dropped_steps": 4}
    told: list[Progress] = []
    found = ask_server(
        "predict_parameter_server", steps=[STEP], spread=0, on_progress=told.append, **how, **quick
    )
    assert isinstance(found, Throughput)
    assert (found.state, found.raw["name"]) == ("succeeded", "")
    assert [row.workers for row in found.rows] == [1, 2]
    one = found.rows[0]
    assert one.examples_per_s == pytest.approx(10 / 2.1e-3)  # 800 + 500 + 800 us
    assert one.utilisation["worker"] == pytest.approx(500 / 2_100)
    assert one.gains["downlink"] == pytest.approx(2_100 / 1_700 - 1)
    assert one.limited_by == "links"
    assert found.knees[0].ceiling_examples_per_s == pytest.approx(10 / 800e-6)
    assert found.notes
    assert Throughput.of(json.loads(json.dumps(found.raw))) == found
    assert told[-1].state == "succeeded"
    listed = ask_server("list", PARAMETER_SERVERS, limit=1)
    assert listed.jobs[0].result is None
    assert ask_server("get", PARAMETER_SERVERS, found.id).result == found
    graph = ask_server("predict_parameter_server", graph=GRAPH, servers=2, **how, **quick)
    assert set(graph.rows[0].utilisation) >= {"uplink:ps1", "downlink:ps2"}
    with pytest.raises(problems.MissingField):
        ask_server("predict_parameter_server", **how)


def test_shapes(ask_server: Ask) -> None:
    level = {"name": "node", "gpus": 8, "bandwidth_gbps": 3600}
    job = {"model": "llama3-8b", "gpu": "h100", "levels": [level], "global_batch": 64}
    told: list[Progress] = []
    found = ask_server("rank_shapes", gpus=8, planned=0, on_progress=told.append, **job)
    assert isinstance(found, Ranking)
    assert found.is_proven
    assert found.best[0].time_us == found.lower_bound_us
    assert found.best[0].raw["shape"]["dp"] >= 1
    assert found.simulated + found.too_large <= found.shapes
    assert Ranking.of(json.loads(json.dumps(found.raw))) == found
    assert told[-1].state == "succeeded"
    assert told[-1].incumbent in (None, found.best[0].name)  # it was too quick to tell, perhaps
    assert ask_server("list", RANKINGS, limit=1).jobs[0].result is None
    assert ask_server("get", RANKINGS, found.id).result == found
    with pytest.raises(problems.OutOfRange):
        ask_server("rank_shapes", gpus=16, **job)


def test_examples_can_be_sent_as_they_are(ask_server: Ask) -> None:
    request = ask_server("read", "/v1/examples/two_layers")
    plan = ask_server("run", PLANS, request)
    assert [baseline.policy for baseline in plan.baselines] == ["wfbp", "pace"]


def test_graph_of_another_tool(ask_server: Ask) -> None:
    found = ask_server("import_graph", TRACE, format="pipedream", name="mine")
    assert isinstance(found, ImportedGraph)
    assert found.graph["name"] == "mine"
    assert found.report["format"] == "pipedream"
    assert found.cluster == {"workers": 8, "bandwidth_gbps": 10.0, "startup_us": 50.0}
    assert found.costs == ()  # a profile has no launches to fit to
    assert ask_server("plan", found.id, cluster=found.cluster).buckets
    assert ask_server("import_graph", [TRACE], format="pipedream", name="mine").id == found.id
    with pytest.raises(ProblemError) as caught:
        ask_server("import_graph", b"no trace", name="other")
    assert caught.value.status == 422


def test_steps_of_a_trace(ask_server: Ask) -> None:
    content = (ROOT / "tests" / "data" / "tensorflow_timeline.json.gz").read_bytes()
    found = ask_server("import_graph", content)
    assert (found.id, found.graph, len(found.steps)) == (None, None, 1)
    predicted = ask_server(
        "predict_parameter_server", steps=found.steps, batch_size=32, bandwidths_gbps=[10],
        workers=[1], simulated_steps=40, dropped_steps=4,
    )  # fmt: skip
    assert predicted.rows[0].utilisation["worker"] > 0
    assert ask_server("import_graph", TRACE, format="pipedream").steps is None


def test_graph_of_a_rank(ask_server: Ask) -> None:
    files = [text(small(), distributedInfo={"rank": rank, "world_size": 2}) for rank in (0, 1)]
    found = ask_server("import_graph", files, name="second", rank=1)
    assert any("that of file 2, as asked" in line for line in found.report["assumed"])
    slowest = ask_server("import_graph", files, name="second")
    assert any("that of file 1, the slowest" in line for line in slowest.report["assumed"])
    with pytest.raises(ProblemError, match="not rank 2"):
        ask_server("import_graph", files, rank=2)


def test_predictions_and_cost_models(ask_server: Ask) -> None:
    samples = [[2**i, 10 + 2**i / 1e4] for i in range(10, 24)]
    model = ask_server("post", "/v1/cost-models", {"samples": samples, "workers": 8})
    assert ask_server("read", f"/v1/cost-models/{model['id']}")["id"] == model["id"]
    layers = [{"bytes": 1_000_000, "forward_us": 400, "backward_us": 900}]
    asked = {"layers": layers, "cluster": CLUSTER, "workers": [8]}
    assert ask_server("post", "/v1/predictions/scaling", asked)


def test_placements(ask_server: Ask) -> None:
    model: Any = {"model_bytes": 10**6, "batch_time_us": 1000, "workers": 4, "chunk_bytes": 10**4}
    found = ask_server("placements", **model)
    assert isinstance(found, Placements)
    assert [row.placement for row in found.placements] == ["ncc", "cc", "ncs", "cs"]
    assert [row.bandwidth_gbps for row in found.placements] == [64, 48, 16, 24]
    assert all(row.simulated_gbps >= row.bandwidth_gbps for row in found.placements)
    assert {row.headroom for row in found.placements} == {None}
    assert (found.racks, found.prices, found.jobs) == (None, None, None)
    assert found.chunks["count"] == 100
    assert found.notes
    assert Placements.of(json.loads(json.dumps(found.raw))) == found


def test_placements_of_a_graph(ask_server: Ask) -> None:
    jobs = [{"model_bytes": 10**6, "batch_time_us": 1000, "workers": 2}] * 2
    found = ask_server("placements", GRAPH, cluster=CLUSTER, jobs=jobs, batch_time_us=None)
    assert found.raw["request"]["batch_time_us"] == 2550
    assert [job.name for job in found.jobs] == ["job 1", "job 2"]
    assert all(job.slowdown > 1 for job in found.jobs)
    with pytest.raises(problems.UnknownGraph):
        ask_server("placements", "none", cluster=CLUSTER)
    with pytest.raises(problems.ExtraField):
        ask_server("placements", GRAPH, cluster=CLUSTER, model_bytes=1)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"graph": {"ops": []}}, problems.NoCompute),
        ({"cluster": {**CLUSTER, "workers": 0}}, problems.OutOfRange),
        ({"colour": "red"}, problems.ExtraField),
        ({"graph": None, "graph_id": "none"}, problems.UnknownGraph),
    ],
)
def test_refusals(ask_server: Ask, change: Any, kind: type[ProblemError]) -> None:
    body = {name: value for name, value in {**two_layers(), **change}.items() if value is not None}
    with pytest.raises(kind) as caught:
        ask_server("run", PLANS, body)
    assert caught.value.faults
    assert caught.value.instance == "/v1/plans"


def test_unknown_job(ask_server: Ask) -> None:
    for kind in (PLANS, SIMULATIONS, SWEEPS, PARAMETER_SERVERS, IMPORTS):
        with pytest.raises(problems.NotFound):
            ask_server("get", kind, "0" * 16)


def test_best_so_far(service: Service, ask_server: Ask, clock: Clock) -> None:
    """The time is up as soon as a plan was told of."""
    heard: list[Progress] = []

    def hear(progress: Progress) -> None:
        heard.append(progress)
        if progress.incumbent_us:
            clock.ahead_s = 7_200.0

    job = ask_server("submit", PLANS, search(), tags=["long"])
    place = f"{PLANS.path}/{job.id}"
    until(lambda: drafted_us(service, job.id) < math.inf)
    until(lambda: service.client.get(place).json()["progress"]["incumbent_us"] is not None)
    waiting: Any = {"timeout_s": 3_600, "cancel_on_timeout": True, "on_progress": hear}
    with pytest.raises(WaitTimeout, match="was cancelled") as caught:
        ask_server("wait", job, **waiting)
    assert caught.value.job.state == "cancelled"
    assert caught.value.result.status == "feasible"
    assert caught.value.result.buckets
    assert {told.state for told in heard} <= {"queued", "running"}
    assert any(told.incumbent_us for told in heard)
    page = ask_server("list", PLANS, tag="long", states=["cancelled"], limit=1)
    assert page.jobs[0].id == caught.value.job_id
    ask_server("delete", page.jobs[0])
    with pytest.raises(problems.NotFound):
        ask_server("get", PLANS, page.jobs[0].id)


def test_job_by_hand(ask_server: Ask) -> None:
    job = ask_server("submit", PLANS, highs(), tags=["by hand"])
    assert job.state in {"queued", "running"}
    assert job.tags == ("by hand",)
    with pytest.raises(WaitTimeout, match="it goes on"):
        ask_server("wait", job, timeout_s=0.5)
    assert ask_server("get", PLANS, job.id).state in {"queued", "running"}
    stopped = ask_server("cancel", job)
    assert (stopped.state, stopped.result) == ("cancelled", None)
    with pytest.raises(Cancelled):
        ask_server("wait", stopped)
    ask_server("delete", stopped)


def test_one_key_is_one_job(service: Service) -> None:
    key = uuid4().hex
    with Client(str(service.client.base_url)) as client, ThreadPoolExecutor(8) as pool:
        body = two_layers(seed=5)
        made = [pool.submit(client.submit, PLANS, body, idempotency_key=key) for _ in range(8)]
        assert len({each.result().id for each in made}) == 1
        with pytest.raises(problems.IdempotencyKeyReused):
            client.submit(PLANS, two_layers(seed=6), idempotency_key=key)


def test_what_is_stored_is_used_unless_told_otherwise(ask_server: Ask) -> None:
    body = two_layers(seed=int(uuid4()) % 2**32)
    first = ask_server("run", PLANS, body)
    assert ask_server("run", PLANS, body).id == first.id
    assert ask_server("run", PLANS, body, use_stored=False).id != first.id


def test_pages(ask_server: Ask) -> None:
    tag = uuid4().hex
    anew: Any = {"tags": [tag], "use_stored": False}
    made = [ask_server("submit", PLANS, two_layers(seed=i), **anew).id for i in (1, 2, 3)]
    first = ask_server("list", PLANS, tag=tag, limit=2)
    second = ask_server("list", PLANS, tag=tag, limit=2, cursor=first.next_cursor)
    assert [job.id for job in (*first.jobs, *second.jobs)] == made[::-1]
    assert second.next_cursor is None
