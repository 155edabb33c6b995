"""Jobs end, whatever dies: the server, a child, both, or the memory."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.errors import StorageUnavailable
from app.jobs import leases, queue
from app.jobs import table as jobs
from app.jobs.kinds import PLAN, SWEEP
from app.jobs.pool import Pool
from app.jobs.process import JobProcess
from app.jobs.queue import NewJob, Room, Submission
from app.jobs.rows import KEPT
from app.limits import MAX_CELLS, MAX_JOB_ATTEMPTS
from app.operations.settings import Settings
from app.services.sweeps.attempts import kept_cells
from app.storage.database import Store
from tests.app.dask_cluster import children_of
from tests.app.long import busy, gone, highs, needs_proc, search, sweep
from tests.app.service import Json, Service, running, two_layers
from tests.waiting import until

pytestmark = [needs_proc, pytest.mark.live]
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
    until(lambda: gone([service.process]))


def grace(seconds: float) -> str:
    """Change how long a server that leaves lets its jobs go on."""
    return f"import app.service; app.service.GRACE_S = {seconds}\n"


class Lives:
    """The servers of one database, one after the other: a new one when the last was stopped."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self._folder, self._url = folder, url
        self._running = ExitStack()
        self._service: Service | None = None

    def service(self) -> Service:
        """Return the server, started if there is none."""
        if self._service is None:
            self._service = self._running.enter_context(
                running(self._folder, grace(0.5), database_url=self._url)
            )
        return self._service

    @contextmanager
    def stopped(self, how: signal.Signals) -> Iterator[None]:
        """Stop the server with a signal, and see that it leaves."""
        with stopped(self.service(), how):
            yield
        self.end()

    def end(self) -> None:
        """Leave no server."""
        self._service = None
        self._running.close()


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)]
)
def lives(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lives]:
    folder = tmp_path_factory.mktemp("survival") / "who? #1 100% a&b=c"  # any directory will do
    folder.mkdir()
    url = request.getfixturevalue("postgresql").make() if request.param == "postgresql" else None
    found = Lives(folder, url)
    yield found
    found.end()


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


def state(service: Service, place: str) -> str:
    found: str = job(service, place)["state"]
    return found


def is_at_work(service: Service, place: str) -> bool:
    """Tell whether a job is worked on, in the first attempt."""
    found = job(service, place)
    assert found["attempts"] <= 1
    return bool(found["state"] == "running")


def unfinished(service: Service, places: list[str]) -> set[str]:
    """Return the states of jobs of which none may have ended."""
    found = [job(service, place) for place in places]
    assert not [each for each in found if each["finished_at"]]
    return {each["state"] for each in found}


def brief(seconds: float, **options: Json) -> Json:
    """Return a plan that is searched for so long."""
    return search(400, options={"baselines": [], "effort": 100, "time_limit_s": seconds, **options})


def test_a_killed_server_loses_no_job(lives: Lives) -> None:
    service = lives.service()
    made = service.post(two_layers()).json()
    drawn = service.client.get(f"{PLANS}/{made['id']}/timeline.json").content
    endless, bounded = begin(service, search()), begin(service, brief(3))
    queued = [begin(service, two_layers(seed=i)) for i in range(5)]
    until(lambda: job(service, endless)["progress"])
    until(lambda: busy(service))
    children = busy(service)
    with lives.stopped(signal.SIGKILL):
        pass
    until(lambda: gone(children))
    service = lives.service()
    assert service.client.get(f"{PLANS}/{made['id']}").json() == made
    assert service.client.get(f"{PLANS}/{made['id']}/timeline.json").content == drawn
    for place in (*queued, bounded):
        until(lambda: job(service, place)["finished_at"])  # noqa: B023
        found = job(service, place)
        assert (found["state"], found["attempts"]) == ("succeeded", 1), found["error"]
    until(lambda: is_at_work(service, endless))
    service.client.delete(endless)


def test_a_server_that_is_told_to_leave_hands_back(lives: Lives) -> None:
    service = lives.service()
    before = len(service.log.read_text())
    with ThreadPoolExecutor(1) as clients:
        swept = begin(service, sweep(service), "/v1/sweeps")
        post = clients.submit(service.client.post, PLANS, json=highs())
        until(lambda: service.client.get(f"{PLANS}?state=running").json()["plans"])
        until(lambda: job(service, swept)["progress"])
        with lives.stopped(signal.SIGTERM):
            answer = post.result()
        assert answer.status_code == 202, "who waited is told where to look"
    assert not busy(service)
    log = service.log.read_text()[before:]
    assert "Finished server process" in log
    assert "Traceback" not in log
    service = lives.service()
    for place in (swept, answer.headers["location"]):
        until(partial(is_at_work, service, place))
        service.client.delete(place)


def test_told_to_leave_with_all_its_children(lives: Lives) -> None:
    """As systemd does: the end of a child is then the end of the server, and no attempt."""
    service = lives.service()
    place = begin(service, highs())
    until(lambda: job(service, place)["progress"])
    for child in [*busy(service), *forkers(service)]:
        os.kill(child, signal.SIGTERM)
    beats = {job(service, place)["progress"]["heartbeat_at"]}

    def beats_on() -> bool:
        found = job(service, place)
        assert (found["state"], found["attempts"]) == ("running", 1)
        beats.add(found["progress"]["heartbeat_at"])
        return len(beats) > 2

    until(beats_on)
    with lives.stopped(signal.SIGTERM):
        pass
    service = lives.service()
    until(lambda: is_at_work(service, place))
    service.client.delete(place)


def test_what_is_nearly_done_is_done_before_leaving(tmp_path: Path) -> None:
    """And what forks the children may be slow: what it imports takes longer than it may hang."""
    script = grace(600) + "import app.children.process; app.children.process.START_S = 1.0\n"
    with running(tmp_path, script) as service:
        place = begin(service, brief(1))
        until(lambda: job(service, place)["progress"])
        with stopped(service, signal.SIGTERM):
            pass
    store = Store(Settings(data_dir=tmp_path))
    assert jobs.get(store, PLAN, place.rpartition("/")[2]).state == "succeeded"
    store.close()
    log = service.log.read_text()
    assert "Traceback" not in log
    assert "it hung" not in log, "it is left alone while it computes"


def test_a_child_that_dies_is_replaced_twice(lives: Lives) -> None:
    service = lives.service()
    place = begin(service, highs())

    def has_ended() -> bool:
        for child in busy(service):  # at the job, or getting ready for one
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGSEGV)
        return state(service, place) not in {"queued", "running"}

    until(has_ended)
    found = job(service, place)
    assert (found["state"], found["attempts"]) == ("failed", 3)
    assert found["error"]["code"] == "worker_died"
    assert "SIGSEGV" in found["error"]["detail"]
    assert service.post(two_layers()).status_code == 201  # how soon: tests.benchmarks.crashes


def test_a_child_that_dies_once_is_made_good(lives: Lives) -> None:
    service = lives.service()
    place = begin(service, search())
    until(lambda: job(service, place)["progress"])
    until(lambda: busy(service))
    for child in busy(service):
        os.kill(child, signal.SIGKILL)
    until(lambda: job(service, place)["attempts"] == 2 and state(service, place) == "running")
    until(lambda: job(service, place)["progress"])
    found = service.client.post(f"{place}/cancel").json()
    assert (found["state"], found["attempts"]) == ("cancelled", 2)


def at_cells(service: Service) -> tuple[int, list[int]]:
    """Return the process of a sweep, and those that compute its cells, once there are some."""
    found: list[tuple[int, list[int]]] = []

    def some() -> bool:
        parents = [each for forker in forkers(service) for each in children_of(forker)]
        found[:] = [(each, cells) for each in parents if (cells := cells_of(each))]
        return bool(found)

    until(some)
    return found[0]


def cells_of(parent: int) -> list[int]:
    """Return the processes that compute cells for another."""
    found = []
    for each in children_of(parent):
        with suppress(OSError):
            if "app.children.items" in Path(f"/proc/{each}/cmdline").read_text():
                found.append(each)
    return found


def kept(service: Service, place: str) -> int:
    """Count the cells of a sweep that its next attempt would have."""
    store = Store(Settings(data_dir=service.log.parent), is_migrated=True)
    try:
        number = jobs.get(store, SWEEP, place.rpartition("/")[2]).number
        return len(kept_cells(jobs.payload(store, number, KEPT), MAX_CELLS))
    finally:
        store.close()


def test_a_killed_cell_costs_a_sweep_no_attempt(one_worker: Service) -> None:
    service, body = one_worker, sweep(one_worker, workers=[2, 4], bandwidths_gbps=[*range(1, 31)])
    expected = service.client.post("/v1/sweeps", json=body, params={"wait": 60}).json()
    place = begin(service, body | {"seed": 1}, "/v1/sweeps")
    _, cells = at_cells(service)
    os.kill(cells[0], signal.SIGKILL)
    until(lambda: job(service, place)["finished_at"])
    found = job(service, place)
    assert (found["state"], found["attempts"]) == ("succeeded", 1), found["error"]
    assert found["cells"] == expected["cells"]


def test_a_sweep_whose_process_is_killed_goes_on_from_its_cells(one_worker: Service) -> None:
    service = one_worker
    place = begin(service, sweep(service), "/v1/sweeps")
    until(lambda: kept(service, place))
    before = kept(service, place)
    parent, _ = at_cells(service)
    os.kill(parent, signal.SIGKILL)
    until(lambda: job(service, place)["attempts"] == 2)
    told: list[int] = []

    def goes_on() -> bool:
        told.append(job(service, place)["progress"]["completed"])
        return told[-1] > max(before, told[0])

    until(goes_on)  # what the attempt before told last may be less than what it kept
    assert told == sorted(told)
    service.client.delete(place)


def test_a_job_that_needs_too_much_memory(one_worker: Service) -> None:
    ops = [{"id": f"b{i}", "kind": "compute", "duration_us": 1} for i in range(990_000)]
    ops.append({"id": "g", "kind": "all_reduce", "bytes": 1_000, "after": ["b0"]})
    body = {**two_layers(time_limit_s=600), "graph": {"ops": ops}}
    place = begin(one_worker, body)
    until(lambda: job(one_worker, place)["finished_at"])
    found = job(one_worker, place)
    assert (found["state"], found["error"]["status"]) == ("failed", 503)
    # a library that crashes where memory ends is tried again
    code, attempts = found["error"]["code"], found["attempts"]
    assert code == "out_of_memory" or (code, attempts) == ("worker_died", MAX_JOB_ATTEMPTS)
    assert (
        one_worker.post(two_layers(time_limit_s=600)).status_code == 201
    )  # how soon: tests.benchmarks.crashes


def test_a_child_that_dies_while_the_database_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data_dir=tmp_path)
    store = Store(settings)
    asked = NewJob(PLAN, "", b"{}", [], "", None, "")
    place: Any = queue.add_all(store, [Submission(asked, fresh=True)], Room(1, 2**40))[0]
    pool = Pool(store, settings)
    pool.leave()  # so that no other child takes it up
    process = multiprocessing.get_context("forkserver").Process(target=os.abort)
    process.start()
    process.join()
    ours, _ = multiprocessing.Pipe()
    claimed = leases.claim(store, pool._server, ["solves"])
    pool._local._children.append(JobProcess(process, ours, job=claimed))
    with monkeypatch.context() as broken:
        broken.setattr(leases, "hand_back", _unusable)
        with pytest.raises(StorageUnavailable):
            pool._tick()
    assert jobs.get(store, PLAN, place.id).state == "running"
    pool._tick()
    found = jobs.get(store, PLAN, place.id)
    assert (found.state, found.attempts) == ("queued", 1)
    assert not pool._local._children


def _unusable(*_: object, **__: object) -> bool:
    raise StorageUnavailable("The disk is full.")


def test_two_servers_share_a_database(tmp_path: Path, one_worker: Service) -> None:
    """On PostgreSQL: tests.app.test_servers."""
    url = f"sqlite:///{one_worker.log.parent}/interlace.db"
    with running(tmp_path, database_url=url, INTERLACE_WORKERS="1") as one:
        other = one_worker
        long = [begin(one, search(options={"seed": seed, "effort": 20})) for seed in range(2)]
        until(lambda: {state(one, place) for place in long} == {"running"})
        with stopped(one, signal.SIGKILL):
            pass
        until(lambda: "queued" in unfinished(other, long))
        lost, other_s = sorted(long, key=partial(state, other))
        assert other.client.post(f"{other_s}/cancel").json()["state"] == "cancelled"
        until(lambda: is_at_work(other, lost))
        assert other.client.post(f"{lost}/cancel").json()["state"] == "cancelled"


def test_sweeps_keep_no_plan_waiting_and_end_with_all_their_processes(lives: Lives) -> None:
    service = lives.service()
    places = [begin(service, sweep(service, seed=i), "/v1/sweeps") for i in range(4)]
    until(lambda: len(busy(service)) > 1)
    assert service.post(two_layers()).status_code == 201
    states = [state(service, place) for place in places]
    assert states == ["running", *["queued"] * 3]
    for place in reversed(places):
        assert service.client.post(f"{place}/cancel").json()["state"] == "cancelled"
    until(lambda: not busy(service))
    small = {key: two_layers()[key] for key in ("graph", "cluster")}
    assert service.client.post("/v1/sweeps", json=small).status_code == 201


def test_what_forks_the_children_may_hang(one_worker: Service) -> None:
    service = one_worker
    place = begin(service, search())
    until(lambda: job(service, place)["progress"])
    until(lambda: busy(service))
    (forker,) = forkers(service)
    children = busy(service)
    os.kill(forker, signal.SIGSTOP)
    for child in children:
        os.kill(child, signal.SIGKILL)
    until(lambda: "has not begun one" in service.client.get("/readyz").text)
    until(lambda: service.client.get("/readyz").status_code == 200)
    until(lambda: job(service, place)["attempts"] == 2)
    assert service.client.post(f"{place}/cancel").json()["state"] == "cancelled"
    assert service.post(two_layers(time_limit_s=600)).status_code == 201
    until(lambda: gone([forker]))
