"""Cursors of lists: they tell nothing of what others have, and go on where a page ended."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest

from app.errors import InvalidRequest
from app.jobs import queue
from app.jobs import table as jobs
from app.jobs.queue import NewJob, Room, Submission
from app.jobs.table import JobRecord
from app.operations.callers import Caller
from app.storage.cursors import MOST_CHARACTERS, cursor_of
from app.storage.database import Store
from app.storage.runs import life

ALICE, BOB = (Caller(name, None, frozenset({"submit"}), name) for name in ("alice", "bob"))


def add(store: Store, caller: Caller | None = None) -> str:
    asked = NewJob("plan", "", b"{}", [], "", 1.0, "", caller=caller)
    [found] = queue.add_all(store, [Submission(asked, fresh=True)], Room(99, 2**40))
    assert not isinstance(found, Exception)
    return found.id


def page(store: Store, caller: Caller | None, cursor: str | None, limit: int) -> list[JobRecord]:
    mine = store.seen_by(caller)
    return jobs.listed(mine, ["plan"], limit=limit, cursor=cursor, states=[], tags=[])


def ids(found: list[JobRecord]) -> list[str]:
    return [job.id for job in found]


def test_a_cursor_is_the_same_whatever_others_have(store: Store) -> None:
    mine = [add(store, ALICE) for _ in range(3)]
    (last,) = page(store, ALICE, None, 1)
    before = cursor_of(last)
    for _ in range(5):
        add(store, BOB)
    (last,) = page(store, ALICE, None, 1)
    assert cursor_of(last) == before
    told = urlsafe_b64decode(before + "=" * (-len(before) % 4)).decode()
    assert told == f"{last.created_at} {last.id}", "what its caller was told already"
    assert ids(page(store, ALICE, before, 9)) == mine[1::-1]
    assert len(before) <= MOST_CHARACTERS


def test_a_cursor_of_another_lists_ones_own(store: Store) -> None:
    mine, other = [], []
    for _ in range(3):
        mine.append(add(store, ALICE))
        other.append(add(store, BOB))
    cursor = cursor_of(page(store, BOB, None, 1)[0])
    assert ids(page(store, ALICE, cursor, 9)) == mine[::-1]
    assert ids(page(store, None, cursor, 9)) == [*(mine[2], other[1], mine[1], other[0], mine[0])]


def test_a_list_goes_on_when_its_last_job_was_deleted(store: Store) -> None:
    made = [add(store) for _ in range(6)]
    newest = page(store, None, None, 2)
    cursor = cursor_of(newest[-1])
    for job in newest:
        jobs.remove(store, "plan", job.id)
    assert ids(page(store, None, cursor, 2)) == made[3:1:-1]
    for job_id in made[:4]:
        jobs.remove(store, "plan", job_id)
    assert page(store, None, cursor, 2) == []


@pytest.mark.parametrize(
    "cursor",
    [
        "x",  # no base64
        "17",  # as they were before
        "é",  # no ASCII
        "",  # nothing
        urlsafe_b64encode(b"\xff\xff\xff").decode(),  # no text
        urlsafe_b64encode(b"2026-01-01T00:00:00Z").decode(),  # no id
        urlsafe_b64encode(b"2026-01-01T00:00:00Z a\0b").decode(),  # what no text can have
    ],
)
def test_what_is_no_cursor(store: Store, cursor: str) -> None:
    for listed in (
        lambda: page(store, None, cursor, 9),
        lambda: life.listed(store, limit=9, cursor=cursor, states=[]),
    ):
        with pytest.raises(InvalidRequest) as error:
            listed()
        (fault,) = error.value.faults
        assert (fault.pointer, fault.code) == ("/query/cursor", "out_of_range")
        assert "none for the first page" in fault.detail
