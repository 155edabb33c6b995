"""Jobs and sweeps on the workers of a real Dask cluster, whose processes may die at any time."""

import asyncio
import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from pydantic import ValidationError

from app.jobs.rows import QUEUED, RUNNING
from app.limits import MAX_JOB_ATTEMPTS
from app.operations.settings import Settings
from tests.app.long import drafted_us, gone, needs_proc, search
from tests.app.service import Json, Service, running, two_layers
from tests.waiting import pause, until

pytest.importorskip("distributed", reason="Dask is not installed: interlace[cluster]")

from distributed import Client
from distributed.comm.core import CommClosedError

from app.errors import WorkersUnavailable
from app.jobs.engines.cells import results_of
from app.jobs.engines.dask_tasks import RETURNED, do_job
from tests.app.dask_cluster import DaskCluster, children_of, dask_cluster, ticks

pytestmark = [needs_proc, pytest.mark.live]

PLANS, SWEEPS = "/v1/plans", "/v1/sweeps"
#: What differs between two runs that give the same answer.
VOLATILE = {"runtime_s", "id", "created_at", "started_at", "finished_at", "attempts", "progress"}


class Place(NamedTuple):
    """A server, and the cluster that does its jobs."""

    service: Service
    cluster: DaskCluster


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One server and two workers; who ends one of them starts another."""
    folder = tmp_path_factory.mktemp("cluster")
    settings = {"INTERLACE_JOB_MEMORY_BYTES": str(2**28), "INTERLACE_JOB_GRACE_S": "0"}
    with (
        dask_cluster(folder / "dask", 2) as cluster,
        running(folder, INTERLACE_SCHEDULER=cluster.address, **settings) as service,
    ):
        until(lambda: is_ready(service))
        yield Place(service, cluster)
        assert "Traceback" not in service.log.read_text(), "the server failed inside"


def is_ready(service: Service) -> bool:
    return service.client.get("/readyz").status_code == 200


def begin(service: Service, body: Json, path: str = PLANS) -> str:
    answer = service.client.post(path, json=body, headers={"prefer": "wait=0"})
    assert answer.status_code == 202, answer.text
    place: str = answer.headers["location"]
    return place


def look(service: Service, place: str) -> Json:
    found: Json = service.client.get(place, headers={"prefer": "wait=0"}).json()
    return found


def ended(service: Service, place: str) -> Json:
    until(lambda: look(service, place)["finished_at"] is not None)
    return look(service, place)


def lasting(answer: Json) -> Json:
    return {key: value for key, value in answer.items() if key not in VOLATILE}


def small(**options: Any) -> Json:
    """Return a request that no slow machine makes late: jobs here have no grace."""
    return two_layers(time_limit_s=600, **options)


def sweep(cells: int, **more: object) -> Json:
    body = two_layers()
    axes = {"workers": [2, 4], "bandwidths_gbps": list(range(1, cells // 2 + 1))}
    return {key: body[key] for key in ("graph", "cluster")} | axes | more


@pytest.fixture(scope="module")
def local(service: Service) -> Service:
    """A server that does its jobs by itself."""
    return service


def test_a_plan_is_the_same_as_here(place: Place, local: Service) -> None:
    there, here = place.service.post(small()), local.post(small())
    assert there.status_code == here.status_code == 201, there.text
    assert lasting(there.json()) == lasting(here.json())
    assert "Job sent to the cluster" in place.service.log.read_text()


def test_what_a_request_names_goes_with_it(place: Place) -> None:
    service, body = place.service, small()
    points = [[10**k, 50 + 0.001 * 10**k] for k in range(3, 8)]
    made = service.client.post("/v1/cost-models", json={"samples": points})
    assert made.status_code == 201, made.text
    model = made.json()["id"]
    body["cluster"] = {"workers": 8, "cost_model": {"id": model}}
    found = service.post(body)
    assert found.status_code == 201, found.text
    body["cluster"]["cost_model"]["id"] = "0" * 64
    unknown = service.post(body)
    assert unknown.json()["errors"][0]["code"] == "unknown_cost_model"


def test_an_import_is_kept_by_the_server(place: Place) -> None:
    service = place.service
    sizes = "activation_size=64.0, parameter_size=4096.000"
    times = "forward_compute_time=1.000, backward_compute_time=2.000"
    text = f"node1 -- Linear -- {times}, {sizes}\n"
    headers = {"content-type": "application/octet-stream"}
    answer = service.client.post("/v1/graphs", content=text, headers=headers)
    assert answer.status_code == 201, answer.text
    graph = answer.json()["id"]
    body = {**small(), "graph_id": graph}
    del body["graph"]
    assert service.post(body).status_code == 201


def test_a_fault_is_told_as_here(place: Place, local: Service) -> None:
    body = small()
    body["options"] = {"fusion": "maxmin", "schedule": "lp", "slot_us": 1e-6, "time_limit_s": 600}
    there, here = place.service.post(body), local.post(body)
    assert there.status_code == here.status_code >= 400
    kept = ("code", "detail", "errors", "status")
    assert [there.json()[key] for key in kept] == [here.json()[key] for key in kept]


def test_a_sweep_is_the_same_as_here(place: Place, local: Service) -> None:
    body = sweep(40)
    there, here = (each.post(body, SWEEPS) for each in (place.service, local))
    assert there.status_code == here.status_code == 201, there.text
    assert lasting(there.json()) == lasting(here.json())


def test_progress_and_cancel(place: Place) -> None:
    service = place.service
    job = begin(service, search(options={"time_limit_s": 600}))
    child = at_work(place.cluster)
    until(lambda: look(service, job)["progress"]["incumbent_us"] is not None)
    until(lambda: drafted_us(service, job.rpartition("/")[2]) < math.inf)
    cancelled = service.client.post(f"{job}/cancel").json()
    until(lambda: gone([child]))
    assert (cancelled["state"], cancelled["status"]) == ("cancelled", "feasible")
    assert service.post(small(seed=7)).status_code == 201  # the worker is free


def test_a_cancelled_sweep_frees_the_workers(place: Place) -> None:
    service = place.service
    job = begin(service, many(service), SWEEPS)
    child = at_work_on(place, job)
    os.kill(child, signal.SIGSTOP)  # else it might end its cell before it is killed, and stay
    assert service.client.post(f"{job}/cancel").json()["state"] == "cancelled"
    until(lambda: gone([child]))
    until(lambda: not computing(place.cluster))
    assert service.post(small(seed=8)).status_code == 201


def test_a_job_that_needs_too_much_memory(place: Place) -> None:
    service = place.service
    ops = [{"id": f"b{i}", "kind": "compute", "duration_us": 1} for i in range(600_000)]
    ops.append({"id": "g", "kind": "all_reduce", "bytes": 1_000, "after": ["b0"]})
    body = {**small(), "graph": {"ops": ops}}
    found = ended(service, begin(service, body))
    assert (found["state"], found["error"]["status"]) == ("failed", 503)
    code, attempts = found["error"]["code"], found["attempts"]
    assert code == "out_of_memory" or (code, attempts) == ("worker_died", MAX_JOB_ATTEMPTS)
    assert service.post(small()).status_code == 201


def test_a_job_that_takes_too_long_is_ended(place: Place) -> None:
    # its limit ends it before the search has come to what needs more memory than a job may have
    job = begin(place.service, search(options={"time_limit_s": 1}))
    child = at_work(place.cluster)
    found = ended(place.service, job)
    assert found["state"] in {"succeeded", "timed_out"}, found.get("error")
    until(lambda: gone([child]))


def test_a_process_that_is_killed_costs_an_attempt(place: Place) -> None:
    service = place.service
    job = begin(service, search(400, options={"time_limit_s": 600}))
    for attempt in range(1, MAX_JOB_ATTEMPTS + 1):
        until(lambda: look(service, job)["attempts"] == attempt)  # noqa: B023
        os.kill(at_work(place.cluster), signal.SIGKILL)
    found = ended(service, job)
    assert (found["state"], found["error"]["code"]) == ("failed", "worker_died")
    assert "SIGKILL" in found["error"]["detail"]


def test_a_lost_worker_costs_an_attempt(place: Place) -> None:
    service, cluster = place
    job = begin(service, search(150, options={"time_limit_s": 600}))
    child = at_work(cluster)
    kill_worker_of(cluster, child)
    until(lambda: gone([child]))
    cluster.start_worker()
    found = ended(service, job)
    assert (found["state"], found["attempts"]) == ("succeeded", 2)


def test_a_lost_worker_costs_a_sweep_its_cells_only(place: Place, local: Service) -> None:
    service, cluster = place
    body = many(service, workers=[2, 4], bandwidths_gbps=[*range(1, 41)])
    job = begin(service, body, SWEEPS)
    child = at_work_on(place, job)
    os.kill(child, signal.SIGSTOP)  # so that its worker is lost in the middle of a cell
    kill_worker_of(cluster, child)
    os.kill(child, signal.SIGCONT)
    until(lambda: gone([child]))
    assert look(service, job)["finished_at"] is None
    cluster.start_worker()
    found = ended(service, job)
    assert (found["state"], found["attempts"]) == ("succeeded", 1)
    assert lasting(found) == lasting(local.post(body, SWEEPS).json())


def test_a_killed_process_costs_a_sweep_its_cell_only(place: Place, local: Service) -> None:
    service, _ = place
    body = many(service, workers=[2, 4], bandwidths_gbps=[*range(1, 41)], startups_us=[30])
    job = begin(service, body, SWEEPS)
    os.kill(at_work_on(place, job), signal.SIGKILL)
    found = ended(service, job)
    assert (found["state"], found["attempts"]) == ("succeeded", 1)
    assert lasting(found) == lasting(local.post(body, SWEEPS).json())


def test_another_release_is_not_asked(place: Place) -> None:
    with Client(place.cluster.address, set_as_default=False) as client:
        word, why = client.submit(do_job, b"", "nobody", "0.0").result()
    assert word == RETURNED
    assert "this server 0.0" in why


def test_a_scheduler_that_starts_again_costs_no_attempt(place: Place) -> None:
    """The workers of the one before end with it."""
    service, cluster = place
    job = begin(service, search(150, options={"time_limit_s": 600}))
    child = at_work(cluster)
    cluster.kill_scheduler()
    until(lambda: look(service, job)["state"] == QUEUED)
    until(lambda: gone([child]))
    until(lambda: not is_ready(service))  # it asks the scheduler now and then
    refused = service.client.get("/readyz")
    assert (refused.status_code, refused.json()["code"]) == (503, "workers_unavailable")
    assert cluster.address in refused.json()["detail"]
    cluster.start_scheduler()
    cluster.start_worker()
    found = ended(service, job)
    assert (found["state"], found["attempts"]) == ("succeeded", 1)
    assert is_ready(service)


@pytest.mark.parametrize("lost", [CommClosedError("reset"), TimeoutError(), AttributeError()])
def test_cells_whose_connection_is_lost(lost: Exception) -> None:
    class Lost:
        async def gather(self, _batch: list[Any]) -> list[Any]:
            raise lost

    class Asked:
        status = "lost"

        async def exception(self) -> Exception:
            return lost

    def found() -> list[Any]:
        return asyncio.run(results_of(cast("Client", Lost()), [cast("Any", Asked())]))

    with pytest.raises(WorkersUnavailable, match="connection"):
        found()
    Asked.status = "error"
    with pytest.raises(type(lost)):
        found()


def test_a_server_starts_without_its_scheduler_and_is_killed(tmp_path: Path) -> None:
    """It leaves nothing on the workers; the next one goes on with its jobs."""
    cluster = DaskCluster(tmp_path)
    try:
        with running(tmp_path, INTERLACE_SCHEDULER=cluster.address) as service:
            job = begin(service, small())
            assert not is_ready(service)
            assert look(service, job)["state"] == QUEUED
            cluster.start_scheduler()
            until(lambda: is_ready(service))
            until(lambda: look(service, job)["state"] == RUNNING)  # sent: Dask waits for a worker
            cluster.start_worker()
            assert ended(service, job)["state"] == "succeeded"
            job = begin(service, search(150, options={"time_limit_s": 600}))
            child = at_work(cluster)
            os.kill(service.process, signal.SIGKILL)
            until(lambda: gone([child]))
        with running(tmp_path, INTERLACE_SCHEDULER=cluster.address) as service:
            assert ended(service, job)["attempts"] == 1
    finally:
        cluster.stop()


@pytest.mark.parametrize("address", ["tcp://nowhere", "http://localhost:8786", "localhost:8786"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="tcp://host:port"):
        Settings(scheduler=address)


def many(service: Service, **axes: list[int]) -> Json:
    """Return a sweep of a minute or more; with axes given, of a part of that."""
    asked = service.client.get("/v1/examples/llama_7b").json()
    axes = {"workers": [*range(2, 34)], "bandwidths_gbps": [*range(1, 65)]} | axes
    return {"graph": asked["graph"], "cluster": asked["cluster"], "policies": ["pace"], **axes}


def at_work(cluster: DaskCluster) -> int:
    """Return a process of a Dask worker that computes, as soon as there is one."""
    found: list[int] = []

    def some() -> bool:
        found[:] = computing(cluster)
        return bool(found)

    until(some)
    return found[0]


def at_work_on(place: Place, job: str) -> int:
    """Return the same for a sweep, whose first cells the server does by itself.

    A sweep that has ended by then may have told nothing of its progress, which is told now and
    then: who waits for that could wait forever.
    """
    service, cluster = place
    while not (found := computing(cluster)):
        assert look(service, job)["finished_at"] is None, "it ended without the cluster"
    return found[0]


def kill_worker_of(cluster: DaskCluster, child: int) -> None:
    """Kill the Dask worker that has started a process."""
    (at,) = (i for i, each in enumerate(cluster.workers) if child in children_of(each.pid))
    cluster.kill_worker(at)


def computing(cluster: DaskCluster) -> list[int]:
    """Return the processes of the Dask workers that compute."""
    before = {pid: ticks(pid) for each in cluster.workers for pid in children_of(each.pid)}
    pause(0.3)
    return [pid for pid, spent in before.items() if ticks(pid) - spent > 1]
