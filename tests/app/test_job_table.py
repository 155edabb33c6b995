"""The steps of a job's life, each by itself."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select, update

from app.errors import InvalidRequest, NotFound, QueueFull
from app.jobs import leases, queue
from app.jobs import table as jobs
from app.jobs.leases import Claim
from app.jobs.messages import DraftAnswer
from app.jobs.queue import NewJob, Receipt, Room, Submission
from app.jobs.rows import DRAFT, FILE, KEPT, RESULT
from app.operations.callers import Caller
from app.operations.settings import Settings
from app.storage import audit
from app.storage.clock import ago, now
from app.storage.database import Store
from app.storage.idempotency import IdempotencyKey
from app.storage.tables import GraphRow, JobRow, PayloadRow

if TYPE_CHECKING:
    from tests.app.service import Json

OWNER = "me"
ALICE = Caller("alice", None, frozenset({"submit"}), "k1")


@pytest.fixture
def settings(tmp_path: Path, database: Callable[[], str | None]) -> Settings:
    return Settings(data_dir=tmp_path, database_url=database())


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    found = Store(settings)
    found.open()
    yield found
    found.close()


@pytest.fixture
def other(store: Store, settings: Settings) -> Iterator[Store]:
    """The same database, as another server has it."""
    found = Store(settings, is_migrated=True)
    yield found
    found.close()


def new(name: str = "a", **fields: Any) -> NewJob:
    values: Json = {"kind": "plan", "name": name, "request": b"{}", "tags": [], "request_id": "r"}
    return NewJob(**{**values, "limit_s": 1.0, "content": name, **fields})


def add(
    store: Store,
    asked: NewJob,
    key: IdempotencyKey | None = None,
    *,
    fresh: bool = True,
    room: int = 10,
) -> str:
    [found] = queue.add_all(store, [Submission(asked, key, fresh)], Room(room, 2**40))
    if isinstance(found, Exception):
        raise found
    return found.id


def claim(store: Store, owner: str = OWNER) -> Claim:
    found = leases.claim(store, owner, ["solves"])
    assert found is not None
    return found


def state(store: Store, job_id: str, kind: str = "plan") -> str:
    return jobs.get(store, kind, job_id).state


def test_claimed_in_order_and_once(store: Store) -> None:
    ids = [add(store, new(name)) for name in "abc"]
    assert [claim(store).id for _ in ids] == ids
    assert leases.claim(store, OWNER, ["solves"]) is None
    assert len(leases.held(store, OWNER)) == 3
    assert leases.held(store, "other") == {}


def test_a_queue_is_full_of_bytes(store: Store) -> None:
    """Counted with what is posted together; a job that waits alone may be of any size."""

    def added(*sizes: int, kind: str = "plan") -> list[bool]:
        asked = [
            Submission(
                new(f"{kind}{size}", kind=kind, request=b"r" * (size - 2), files=[b"f", b"g"])
            )
            for size in sizes
        ]
        found = queue.add_all(store, asked, Room(100, 1_000))
        assert all("1,000 may" in str(each) for each in found if isinstance(each, QueueFull))
        return [isinstance(each, Receipt) for each in found]

    assert added(5_000, 10) == [True, False]
    assert added(20, kind="sweep") == [True], "each queue has its own"
    claim(store)
    assert added(500, 501, 400, 99, 101) == [True, False, True, True, False]
    assert added(2) == [False]
    claim(store)
    assert added(2, 499) == [True, True]


def test_many_claim_at_once(store: Store) -> None:
    ids = {add(store, new(str(i)), room=100) for i in range(40)}
    claimed: list[str] = []

    def work() -> None:
        while (
            found := leases.claim(store, threading.current_thread().name, ["solves"])
        ) is not None:
            claimed.append(found.id)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == sorted(ids)


@pytest.mark.parametrize("step", ["succeed", "fail", "beat", "settle", "hand_back", "describe"])
def test_without_the_lease_nothing_is_written(store: Store, step: str) -> None:
    job_id = add(store, new(kind="import", files=[b"one", b"two"]))
    lost = claim(store)
    assert leases.hand_back(store, lost.number, lost.lease, died=False)
    mine = claim(store)
    assert leases.renew(store, mine, None, DraftAnswer(b"{}", {}, b"kept"))
    before = jobs.get(store, "import", job_id)
    steps = {
        "succeed": lambda: leases.succeed(store, lost, b"{}", {}),
        "fail": lambda: leases.fail(store, lost, {}),
        "beat": lambda: leases.renew(store, lost, {"phase": "x"}, DraftAnswer(b"worse", {})),
        "settle": lambda: leases.settle(store, lost, {}),
        "hand_back": lambda: leases.hand_back(store, lost.number, lost.lease, died=True),
        "describe": lambda: leases.describe(store, lost, "x", 9.0),
    }
    assert steps[step]() is False
    assert jobs.get(store, "import", job_id) == before
    assert jobs.files(store, lost.number) == [b"one", b"two"]
    assert jobs.payload(store, lost.number, DRAFT) == b"{}"
    assert jobs.payload(store, lost.number, KEPT) == b"kept"
    assert leases.succeed(store, mine, b"{}", {})
    assert jobs.payload(store, lost.number, KEPT) is None


def test_attempts_count_deaths_alone(store: Store) -> None:
    job_id = add(store, new())
    for died in (False, True, False, True):
        job = claim(store)
        leases.hand_back(store, job.number, job.lease, died=died)
    assert jobs.get(store, "plan", job_id).attempts == 2
    assert claim(store).attempts == 3


def test_what_is_large_goes_at_the_end(store: Store) -> None:
    ids = [add(store, new(kind="import", files=[b"x"])) for _ in range(4)]
    ended = [claim(store) for _ in ids]
    leases.succeed(store, ended[0], b"{}", {})
    leases.fail(store, ended[1], {})
    leases.settle(store, ended[2], {})
    jobs.cancel(store, "import", ids[3])
    assert [state(store, job_id, "import") for job_id in ids] == [
        *("succeeded", "failed", "timed_out", "cancelled")
    ]
    assert [jobs.files(store, job.number) for job in ended] == [[]] * 4
    assert all(jobs.payload(store, job.number, FILE + "00000") is None for job in ended)


def test_a_job_at_work_is_asked_to_end(store: Store) -> None:
    job_id, waits = add(store, new("a")), add(store, new("b"))
    job = claim(store)
    assert not leases.held(store, OWNER)[job.lease].is_cancelled
    assert jobs.ask_to_end(store, "plan", job_id).state == "running"
    assert leases.held(store, OWNER)[job.lease].is_cancelled
    assert jobs.ask_to_end(store, "plan", waits).state == "cancelled"
    leases.renew(store, job, {"phase": "a"}, DraftAnswer(b"1", {"iteration_time_us": 5.0}))
    last = DraftAnswer(b"2", {"iteration_time_us": 4.0})
    assert leases.settle(store, job, None, {"phase": "b"}, last)
    found = jobs.get(store, "plan", job_id)
    assert (found.state, found.summary) == ("cancelled", last.summary)
    assert found.progress is not None
    assert found.progress["phase"] == "b"
    assert jobs.payload(store, job.number, "result") == b"2"
    assert jobs.payload(store, job.number, DRAFT) is None
    assert jobs.ask_to_end(store, "plan", job_id) == found
    assert jobs.cancel(store, "plan", job_id) == found


ENDS: dict[str, Callable[[Store, Claim], object]] = {
    "handed in": lambda store, job: leases.settle(store, job, None),
    "by who cancels": lambda store, job: jobs.cancel(store, "plan", job.id),
    "done before": lambda store, job: leases.succeed(store, job, b"1", {}),
    "failed before": lambda store, job: leases.fail(store, job, {}),
    "queued again": lambda store, job: leases.hand_back(store, job.number, job.lease, died=True),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_cancel_is_kept_once(store: Store, end: Callable[[Store, Claim], object]) -> None:
    """When it is asked for, whoever ends the job then, and however often it is asked."""
    alice = store.seen_by(ALICE)
    job_id = add(store, new(caller=ALICE))
    job = claim(store)
    assert jobs.ask_to_end(alice, "plan", job_id).state == "running"
    asked = jobs.ask_to_end(alice, "plan", job_id)
    assert asked.state == "running"
    end(store, job)
    assert jobs.ask_to_end(alice, "plan", job_id).has_ended
    jobs.ask_to_end(alice, "plan", job_id)
    assert actions(store) == ["cancel", "make"]


def test_a_cancel_of_what_waits_is_kept_once(store: Store) -> None:
    alice = store.seen_by(ALICE)
    job_id = add(store, new(caller=ALICE))
    for _ in range(2):
        assert jobs.ask_to_end(alice, "plan", job_id).state == "cancelled"
    assert actions(store) == ["cancel", "make"]


def actions(store: Store) -> list[str]:
    """Return what was changed with a key, the newest first."""
    with store.reading() as connection:
        return [each.action for each in audit.listed(connection, limit=10)]


def test_time_over_with_a_draft_in_hand(store: Store) -> None:
    job_id = add(store, new())
    job = claim(store)
    leases.renew(store, job, None, DraftAnswer(b'{"a": 1}', {"iteration_time_us": 5.0}))
    assert leases.drafted(store, job) == {"iteration_time_us": 5.0}
    assert leases.settle(store, job, {"code": "time_limit"})
    assert state(store, job_id) == "succeeded"
    assert jobs.answered(store, "plan", job_id) == (b"{}", b'{"a": 1}')
    assert add(store, new(), fresh=False) != job_id, "a draft is no answer to the same content"


def test_silent_servers_lose_their_jobs(store: Store) -> None:
    silent, set_back, alive, mine = (add(store, new(name)) for name in "abcd")
    for _ in range(3):
        claim(store, "other")
    claim(store)
    with store.writing() as connection:
        for job_id, beat_at in ((silent, ago(9)), (set_back, ago(-99)), (mine, "")):
            change = update(JobRow).where(JobRow.id == job_id)
            connection.execute(change.values(heartbeat_at=beat_at))
    assert leases.recover(store, OWNER, 5) == 2
    assert [state(store, job_id) for job_id in (silent, set_back, alive, mine)] == [
        *("queued", "queued", "running", "running")
    ]


def test_a_busy_database_makes_nobody_silent(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = add(store, new())
    claim(store, "other")
    with store.writing() as connection:
        connection.execute(update(JobRow).values(heartbeat_at=ago(9)))
    for waited_s, lost in ((1.5, 0), (0.5, 1)):
        clock = SimpleNamespace(monotonic=partial(next, iter([0.0, waited_s])))
        monkeypatch.setattr(leases, "time", clock)
        assert leases.recover(store, OWNER, 5) == lost
        assert state(store, job_id) == ("queued" if lost else "running")


def test_keys(store: Store) -> None:
    key = IdempotencyKey("k", "f")
    job_id = add(store, new(), key)
    assert add(store, new("other"), key) == job_id == queue.id_of_key(store, key)
    with pytest.raises(InvalidRequest):
        add(store, new(), IdempotencyKey("k", "g"))
    jobs.remove(store, "plan", job_id)
    assert queue.id_of_key(store, key) is None
    with pytest.raises(NotFound):
        jobs.get(store, "plan", job_id)


def test_many_ask_with_one_key_at_once(store: Store, other: Store) -> None:
    """By way of two servers; each call is answered with the one job."""
    stores = [store, other]
    key = IdempotencyKey("k", "f")
    with ThreadPoolExecutor(48) as calls:
        ids = set(calls.map(lambda i: add(stores[i % 2], new(), key), range(288)))
    assert len(ids) == 1


@pytest.mark.parametrize("step", ["succeed", "fail", "settle"])
def test_what_has_ended_is_not_cancelled(store: Store, other: Store, step: str) -> None:
    """A child ends its job, and a client cancels it, at the same moment on two servers."""
    start = threading.Barrier(2)

    def ended(job: Claim) -> bool:
        start.wait()
        match step:
            case "succeed":
                return leases.succeed(store, job, b"result", {})
            case "fail":
                return leases.fail(store, job, {"code": "x"})
        return leases.settle(store, job, {"code": "x"})

    def cancelled(job: Claim) -> str:
        start.wait()
        return jobs.cancel(other, "plan", job.id).state

    own = {"succeed": "succeeded", "fail": "failed", "settle": "succeeded"}[step]
    with ThreadPoolExecutor(2) as both:
        for i in range(40):
            add(store, new(str(i)), room=100)
            job = claim(store)
            leases.renew(store, job, None, DraftAnswer(b"draft", {}))
            child, client = both.submit(ended, job), both.submit(cancelled, job)
            expected = own if child.result() else "cancelled"
            assert state(store, job.id) == client.result() == expected
            kept = jobs.payload(store, job.number, RESULT)
            lasts = {"succeed": b"result", "fail": None, "settle": b"draft"}[step]
            assert kept == (lasts if child.result() else b"draft")


def test_what_is_deleted_while_its_child_writes(store: Store, other: Store) -> None:
    """Nobody waits for the other for ever, and nothing of the job is left."""
    start = threading.Barrier(2)

    def written(job: Claim) -> None:
        start.wait()
        for _ in range(20):  # on and on, it could keep SQLite's lock from the other for seconds
            leases.renew(store, job, {"phase": "x"}, DraftAnswer(b"draft", {}))

    def deleted(job: Claim) -> None:
        start.wait()
        jobs.remove(other, "plan", job.id)

    with ThreadPoolExecutor(2) as both:
        for i in range(20):
            add(store, new(str(i)), room=100)
            job = claim(store)
            leases.renew(store, job, None, DraftAnswer(b"draft", {}))
            for done in (both.submit(written, job), both.submit(deleted, job)):
                done.result()
            assert not leases.renew(store, job, {"phase": "x"}, DraftAnswer(b"draft", {}))
    with store.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(PayloadRow)) == 0


def test_ids_that_no_text_can_have(store: Store) -> None:
    with pytest.raises(NotFound):
        jobs.get(store, "plan", "a\0")
    assert isinstance(jobs.get_all(store, [("plan", "a\0")])[0], NotFound)
    with pytest.raises(NotFound):
        jobs.cancel(store, "plan", "\0")
    with pytest.raises(NotFound):
        store.get(GraphRow, "\0")
    assert jobs.revisions(store, ["\0", add(store, new())])


def test_a_batch_of_old_jobs_at_a_time(store: Store) -> None:
    for i in range(130):
        job: Any = queue.add_all(store, [Submission(new(str(i)), fresh=True)], Room(1_000, 2**40))[
            0
        ]
        jobs.cancel(store, "plan", job.id)
    counted = [jobs.expire(store, 0, now()) for _ in range(3)]
    assert counted == [100, 30, 0]
