"""Jobs end, whatever dies: the server, a child, both, or the memory."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from app.errors import StorageUnavailable
from app.jobs import leases
from app.jobs import submission as intake
from app.jobs import table as jobs
from app.jobs.kinds import PLAN
from app.jobs.pool import Pool
from app.jobs.process import Child
from app.jobs.submission import NewJob
from app.operations.settings import Settings
from app.storage.database import Store
from tests.app.long import busy, gone, highs, needs_proc, search, sweep, until
from tests.app.service import Json, Service, faults, running, two_layers

pytestmark = needs_proc
PLANS = "/v1/plans"


def begin(service: Service, body: Json, path: str = PLANS) -> str:
    """Post without waiting; return the place of the job."""
    answer = service.client.post(path, json=body, params={"wait": 0})
    assert answer.status_code == 202
    return answer.headers["location"]


def job(service: Service, place: str, wait: float = 0) -> Json:
    answer = service.client.get(place, params={"wait": wait})
    assert answer.status_code == 200
    found: Json = answer.json()
    return found


@contextmanager
def stopped(service: Service, how: signal.Signals) -> Iterator[None]:
    """Stop a server with a signal, and see that it leaves."""
    os.kill(service.process, how)
    yield
    until(lambda: not Path("/proc", str(service.process), "exe").exists(), 15)


def forkers(service: Service) -> list[int]:
    """Return the process of a server that forks the children."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            command = (process / "cmdline").read_text()
            if int(parent) == service.process and "forkserver" in command:
                found.append(int(process.name))
    assert found
    return found


def is_running(service: Service, place: str) -> bool:
    state: str = job(service, place)["state"]
    return state == "running"


def quick(seed: int) -> Json:
    return two_layers(seed=seed)


def test_a_killed_server_loses_no_job(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        long = begin(service, search(400, options={"baselines": [], "time_limit_s": 4}))
        also = begin(service, search(400, options={"baselines": [], "time_limit_s": 4, "seed": 1}))
        queued = [begin(service, quick(i)) for i in range(5)]
        until(lambda: job(service, long)["progress"], 20)
        children = busy(service)
        assert children
        with stopped(service, signal.SIGKILL):
            pass
    until(lambda: gone(children), 3)
    with running(tmp_path) as service:
        for place in (long, also, *queued):
            found = job(service, place, 60)
            assert (found["state"], found["attempts"]) == ("succeeded", 1), found["error"]


def test_a_server_that_is_told_to_leave_hands_back(tmp_path: Path) -> None:
    with running(tmp_path) as service, ThreadPoolExecutor(2) as clients:
        long = begin(service, sweep(service), "/v1/sweeps")
        post = clients.submit(service.post, highs())
        until(lambda: len(service.client.get(PLANS + "?state=running").json()["plans"]) == 1, 20)
        until(lambda: job(service, long)["progress"], 20)
        began = time.monotonic()
        with stopped(service, signal.SIGTERM):
            answer = post.result(10)
        assert time.monotonic() - began < 12
        assert answer.status_code == 202, "who waited is told where to look"
        assert not busy(service)
        log = service.log.read_text()
        assert "Finished server process" in log
        assert "Traceback" not in log
    with running(tmp_path) as service:
        for place in (long, answer.headers["location"]):
            until(partial(is_running, service, place), 20)
            assert job(service, place)["attempts"] == 1
            service.client.delete(place)


def test_told_to_leave_with_all_its_children(tmp_path: Path) -> None:
    """As systemd does: the end of a child is then the end of the server, and no attempt."""
    with running(tmp_path) as service:
        place = begin(service, highs())
        until(lambda: job(service, place)["progress"], 20)
        for child in [*busy(service), *forkers(service)]:
            os.kill(child, signal.SIGTERM)
        time.sleep(1)
        assert job(service, place)["attempts"] == 1
        with stopped(service, signal.SIGTERM):
            pass
    with running(tmp_path) as service:
        until(lambda: job(service, place)["state"] == "running", 20)
        assert job(service, place)["attempts"] == 1
        service.client.delete(place)


def test_what_is_nearly_done_is_done_before_leaving(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        place = begin(service, search(400, options={"baselines": [], "time_limit_s": 1}))
        until(lambda: job(service, place)["progress"], 20)
        with stopped(service, signal.SIGTERM):
            pass
        log = service.log.read_text()
    with running(tmp_path) as service:
        assert job(service, place, 60)["state"] == "succeeded"
    assert "Traceback" not in log


def test_a_child_that_dies_is_replaced_twice(tmp_path: Path) -> None:
    with running(tmp_path, INTERLACE_WORKERS="1") as service:
        place = begin(service, highs())
        deadline = time.monotonic() + 60
        while job(service, place)["state"] in {"queued", "running"}:
            assert time.monotonic() < deadline
            for child in busy(service):  # at the job, or getting ready for one
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGSEGV)
        found = job(service, place)
        assert (found["state"], found["attempts"]) == ("failed", 3)
        assert found["error"]["code"] == "worker_died"
        assert "SIGSEGV" in found["error"]["detail"]
        assert service.post(two_layers()).status_code == 201  # how soon: tests.benchmarks.crashes


def test_a_child_that_dies_once_is_made_good(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        place = begin(service, search(400, options={"baselines": [], "time_limit_s": 3}))
        until(lambda: job(service, place)["progress"], 20)
        os.kill(busy(service)[0], signal.SIGKILL)
        found = job(service, place, 60)
        assert (found["state"], found["attempts"]) == ("succeeded", 2)


def test_a_job_that_needs_too_much_memory(tmp_path: Path) -> None:
    ops = [{"id": f"b{i}", "kind": "compute", "duration_us": 1} for i in range(600_000)]
    ops.append({"id": "g", "kind": "all_reduce", "bytes": 1_000, "after": ["b0"]})
    body = {"graph": {"ops": ops}, "cluster": two_layers()["cluster"]}
    with running(tmp_path, INTERLACE_JOB_MEMORY_BYTES=str(2**28)) as service:
        answer = service.post(body)
        faults(answer)
        assert (answer.status_code, answer.json()["code"]) == (503, "out_of_memory")
        found = job(service, answer.headers["location"])
        assert (found["state"], found["attempts"]) == ("failed", 1)
        assert service.post(two_layers()).status_code == 201  # how soon: tests.benchmarks.crashes


def test_a_child_that_dies_while_the_database_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data_dir=tmp_path)
    store = Store(settings)
    asked = NewJob(PLAN, "", b"{}", [], "", None, "")
    place = intake.add(store, asked, None, fresh=True, beside=[PLAN], room=1)
    children = Pool(store, settings)
    children.leave()  # so that no other child takes it up
    process = multiprocessing.get_context("forkserver").Process(target=os.abort)
    process.start()
    process.join()
    ours, _ = multiprocessing.Pipe()
    claimed = leases.claim(store, children._owner, [PLAN])
    children._children.append(Child(process, ours, claimed))
    with monkeypatch.context() as broken:
        broken.setattr(leases, "hand_back", _unusable)
        with pytest.raises(StorageUnavailable):
            children._tick()
    assert jobs.get(store, PLAN, place.id).state == "running"
    children._tick()
    found = jobs.get(store, PLAN, place.id)
    assert (found.state, found.attempts) == ("queued", 1)
    assert not children._children


def _unusable(*_: object, **__: object) -> bool:
    raise StorageUnavailable("The disk is full.")


def test_two_servers_share_a_database(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    url = f"sqlite:///{tmp_path}/shared.db"
    with (
        running(tmp_path / "a", INTERLACE_DATABASE_URL=url, INTERLACE_WORKERS="1") as one,
        running(tmp_path / "b", INTERLACE_DATABASE_URL=url, INTERLACE_WORKERS="1") as other,
    ):
        long = [
            begin(one, search(400, options={"baselines": [], "time_limit_s": 5, "seed": i}))
            for i in range(2)
        ]
        until(lambda: all(job(one, place)["state"] == "running" for place in long), 20)
        with stopped(one, signal.SIGKILL):
            pass
        for place in long:
            assert job(other, place, 60)["state"] == "succeeded"
        place = begin(other, highs())
        assert other.client.post(f"{place}/cancel").json()["state"] == "cancelled"


def test_sweeps_keep_no_plan_waiting_and_end_with_all_their_processes(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        places = [begin(service, sweep(service, seed=i), "/v1/sweeps") for i in range(4)]
        until(lambda: len(busy(service)) > 1, 20)
        began = time.monotonic()
        assert service.post(two_layers()).status_code == 201
        assert time.monotonic() - began < 5
        states = [job(service, place)["state"] for place in places]
        assert states == ["running", *["queued"] * 3]
        at_work = busy(service)
        for place in reversed(places):
            assert service.client.post(f"{place}/cancel").json()["state"] == "cancelled"
        until(lambda: gone(at_work), 1)
        small = {key: two_layers()[key] for key in ("graph", "cluster")}
        assert service.client.post("/v1/sweeps", json=small).status_code == 201
