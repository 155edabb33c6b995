"""Graphs and cost models are deleted, but not from under a job that needs them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.errors import InUse, NotFound
from app.jobs import queue
from app.jobs import table as jobs
from app.jobs.queue import NewJob, Room, Submission
from app.jobs.removal import remove
from app.operations.settings import Settings
from app.routers.cost_models import EXAMPLE
from app.storage.clock import now
from app.storage.database import Store
from app.storage.tables import CostModelRow, GraphRow
from interlace_client import Client
from tests.app.command import Run
from tests.app.long import highs
from tests.app.service import Json, Service, faults
from tests.waiting import until

MODELS = "/v1/cost-models"


def kept(service: Service) -> str:
    made = service.client.post(MODELS, json=EXAMPLE)
    assert made.status_code == 201
    found: str = made.json()["id"]
    return found


def test_deleted_and_gone(service: Service) -> None:
    model = kept(service)
    answer = service.client.delete(f"{MODELS}/{model}")
    assert (answer.status_code, answer.content) == (204, b"")
    for again in (service.client.delete(f"{MODELS}/{model}"), service.client.get(f"{MODELS}/x")):
        faults(again)
        assert (again.status_code, again.json()["code"]) == (404, "not_found")
    missing = service.client.delete("/v1/graphs/nothing")
    faults(missing)
    assert missing.status_code == 404


def test_not_while_a_job_needs_it(service: Service) -> None:
    model = kept(service)
    cluster = {"workers": 8, "cost_model": model}
    begun = service.client.post("/v1/plans", json=highs(cluster=cluster), params={"wait": 0})
    assert begun.status_code == 202
    for state in ("queued", "running"):
        if state == "running":
            until(lambda: at_work(service, begun))
        refused = service.client.delete(f"{MODELS}/{model}")
        faults(refused)
        assert (refused.status_code, refused.json()["code"]) == (409, "in_use")
    place = begun.headers["location"]
    assert service.client.post(f"{place}/cancel").status_code == 200
    assert service.client.delete(f"{MODELS}/{model}").status_code == 204
    assert service.client.get(place).json()["state"] == "cancelled", "what was made stays"


def at_work(service: Service, begun: Any) -> bool:
    return bool(service.client.get(begun.headers["location"]).json()["state"] == "running")


@pytest.mark.parametrize("kind", [CostModelRow, GraphRow])
def test_on_both_databases(tmp_path: Path, database: Callable[[], str | None], kind: Any) -> None:
    store = Store(Settings(data_dir=tmp_path, database_url=database()))
    own: Json = {"algorithm": "ring"} if kind is CostModelRow else {"format": "csv", "ops": 1}
    for name in ("needed", "free"):
        store.add(kind(id=name, name="", request="{}", result="{}", created_at=now(), **own))
    request = b'\x00\xff {"graph_id": "needed"}'  # whatever its bytes are
    new = NewJob("plan", "", request, [], "r", 1.0, "c")
    [job] = queue.add_all(store, [Submission(new, fresh=True)], Room(9, 2**40))
    remove(store, kind, "free")
    with pytest.raises(InUse, match="A job that has not ended names this"):
        remove(store, kind, "needed")
    jobs.cancel(store, "plan", job.id)  # type: ignore[union-attr]
    remove(store, kind, "needed")
    with pytest.raises(NotFound):
        remove(store, kind, "needed")
    store.close()


def test_by_the_client_and_the_command(service: Service, run: Run) -> None:
    url = str(service.client.base_url)
    one, other = kept(service), kept(service)
    with Client(url) as client:
        client.delete_cost_model(one)
        with pytest.raises(Exception, match="No graph has this id"):
            client.delete_graph("nothing")
    done = run("delete", "cost-model", other, "--server", url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    again = run("delete", "cost-model", other, "--server", url)
    assert again.returncode == 1
    assert "No cost model has this id" in again.stderr
    assert run("delete", "plan", other, "--server", url).returncode == 2
    for gone in (one, other):
        assert service.client.get(f"{MODELS}/{gone}").status_code == 404
