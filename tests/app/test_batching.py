"""Calls that wait together are answered together, each with its own answer or error."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from app.errors import InvalidRequest, NotFound, QueueFull
from app.jobs import queue
from app.jobs import table as jobs
from app.jobs.answers import Answers
from app.jobs.batching import Batcher
from app.jobs.checks import check
from app.jobs.kinds import PLAN
from app.jobs.queue import NewJob, Receipt, Room, Submission
from app.jobs.requests import Requests
from app.jobs.rows import RESULT, SUCCEEDED, end, put
from app.operations.settings import Settings
from app.services.examples import TWO_LAYERS
from app.storage.clock import now
from app.storage.database import Store
from app.storage.idempotency import IdempotencyKey
from app.storage.tables import GraphRow, JobRow


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(Settings(data_dir=tmp_path))


def new(name: str = "a", tags: tuple[str, ...] = ()) -> NewJob:
    return NewJob(PLAN, name, b"{}", tags, "r", 1.0, name)


def test_what_waits_is_asked_for_at_once() -> None:
    begun, go_on = threading.Event(), threading.Event()
    batches = []

    def work(asked):
        batches.append(list(asked))
        begun.set()
        assert go_on.wait()
        return [NotFound("odd") if each % 2 else 10 * each for each in asked]

    async def all_of_them():
        together = Batcher(work, 4)
        first = asyncio.create_task(together.ask(0))
        assert await asyncio.to_thread(begun.wait, 30)
        rest = [asyncio.create_task(together.ask(i)) for i in range(1, 8)]
        await asyncio.sleep(0)
        rest[3].cancel()
        go_on.set()
        return await asyncio.gather(first, *rest, return_exceptions=True)

    found = asyncio.run(all_of_them())
    assert batches == [[0], [1, 2, 3], [5, 6, 7]]
    assert [found[i] for i in (0, 2, 6)] == [0, 20, 60]
    assert all(isinstance(found[i], NotFound) for i in (1, 3, 5, 7))
    assert isinstance(found[4], asyncio.CancelledError)


def test_what_the_work_raises_is_everybodys() -> None:
    def work(asked):
        raise ValueError("lost")

    async def both():
        together = Batcher(work, 9)
        return await asyncio.gather(together.ask(1), together.ask(2), return_exceptions=True)

    assert [type(each) for each in asyncio.run(both())] == [ValueError, ValueError]


def test_jobs_are_taken_together_each_by_its_own_rules(store: Store) -> None:
    key = IdempotencyKey("k", "f")
    asked = [
        Submission(new("a"), key),
        Submission(new("b"), key),  # the same call again: the first one's job
        Submission(new("c"), IdempotencyKey("k", "other")),
        Submission(new("d")),
        Submission(new("e")),  # no room any more
    ]
    found: Any = queue.add_all(store, asked, Room(2, 2**40))
    assert found[0] == found[1] != found[3]
    assert isinstance(found[2], InvalidRequest)
    assert isinstance(found[4], QueueFull)
    got: Any = jobs.get_all(store, [(PLAN, found[3].id), (PLAN, "?"), ("sweep", found[0].id)])
    assert got[0].name == "d"
    assert [type(each) for each in got[1:]] == [NotFound, NotFound]


def test_what_was_answered_is_not_asked_again_but_for_its_tags(store: Store) -> None:
    receipt: Any = queue.add_all(store, [Submission(new())], Room(9, 2**40))[0]
    job = jobs.get(store, PLAN, receipt.id)
    with store.writing() as connection:
        connection.execute(update(JobRow).values(end(SUCCEEDED)))
    found: Any = queue.add_all(
        store,
        [Submission(new()), Submission(new(tags=("t",))), Submission(new(), fresh=True)],
        Room(1, 2**40),
    )
    assert found[:2] == [Receipt(receipt.id, is_stored=True)] * 2
    assert found[2].id != receipt.id
    after = jobs.get(store, PLAN, receipt.id)
    assert (after.tags, after.revision) == (["t"], job.revision + 1)


def test_a_body_that_was_right_is_known_unless_it_names_what_may_go(store: Store) -> None:
    requests = Requests()
    body = json.dumps(TWO_LAYERS).encode()
    assert requests.known(PLAN, body) is None
    found = check(store, PLAN, body)
    requests.know(PLAN, body, found)
    assert requests.known(PLAN, body) == found
    assert requests.known("sweep", body) is None
    broken = body.replace(b"{", b"[", 1)
    with pytest.raises(Exception, match="JSON"):
        check(store, PLAN, broken)
    rest = {key: value for key, value in TWO_LAYERS.items() if key != "graph"}
    named = json.dumps({**rest, "graph_id": "ab"}).encode()
    graph = json.dumps(TWO_LAYERS["graph"])
    fields = {"id": "ab", "created_at": now(), "name": "", "format": "interlace", "ops": 4}
    store.put(GraphRow(**fields, request=graph, result="{}"))
    found = check(store, PLAN, named)
    assert found.limit_s is not None
    requests.know(PLAN, named, found)
    assert requests.known(PLAN, named) is None


def test_the_answer_of_an_ended_job_is_read_once_for_each_revision(store: Store) -> None:
    receipt: Any = queue.add_all(store, [Submission(new())], Room(9, 2**40))[0]
    answers = Answers(store)

    def told():
        return asyncio.run(answers.text_of(jobs.get(store, PLAN, receipt.id)))

    assert json.loads(told())["state"] == "queued"
    with store.writing() as connection:
        connection.execute(update(JobRow).values({**end(SUCCEEDED), "revision": 7}))
        put(connection, 1, RESULT, b'{"iteration": 1}')
    assert json.loads(told())["iteration"] == 1
    with store.writing() as connection:
        put(connection, 1, RESULT, b'{"iteration": 2}')
    assert json.loads(told())["iteration"] == 1
    with store.writing() as connection:
        connection.execute(update(JobRow).values(revision=8))
    assert json.loads(told())["iteration"] == 2
