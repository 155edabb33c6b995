"""Whose job is next: by processor time used, in the order of an oracle that shares no code."""

import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select, update

from app.errors import QueueFull, RateLimited
from app.jobs import leases, queue, turns
from app.jobs import table as jobs
from app.jobs.checks import check
from app.jobs.kinds import SMALL, SOLVES
from app.jobs.leases import Claim
from app.jobs.queue import NewJob, Receipt, Room, Submission
from app.operations.callers import Caller, Quotas
from app.operations.settings import Settings
from app.storage.database import Store
from app.storage.tables import JobRow, PayloadRow, ShareRow
from tests.app.keyed import Keyed
from tests.app.long import both_passes, busy, needs_proc, search
from tests.app.service import running, two_layers
from tests.attacks.test_long_calls import SCALING, prediction, sent
from tests.waiting import until

LANES = [SMALL, SOLVES]
#: Those before a stroke are owners of that team.
OWNERS = [None, "a", "b", "heavy", "light", "team/a", "team/heavy", "other/a"]
#: Of whose keys so many seconds count as one.
WEIGHTS = {"heavy": 4.0, "light": 0.5, "team/heavy": 4.0}


@pytest.fixture
def store(tmp_path: Path, database: Callable[[], str | None]) -> Iterator[Store]:
    with closing(Store(Settings(data_dir=tmp_path, database_url=database()))) as found:
        yield found


def caller_of(owner: str | None) -> Caller | None:
    if owner is None:
        return None
    *team, name = owner.split("/")
    quotas = Quotas(weight=WEIGHTS.get(owner, 1))
    return Caller(name, team[0] if team else None, frozenset(), quotas=quotas)


def asked_of(
    store: Store, *owners: str | None, is_small: bool, kind: str, room: Room, size: int = 2
) -> list[Any]:
    """Ask for a job of each owner; return the receipts, and why there are none."""
    asked = [
        Submission(
            NewJob(
                kind,
                "",
                b" " * size,
                [],
                "",
                None,
                "",
                caller=caller_of(owner),
                is_small=is_small,
            ),
            fresh=True,
        )
        for owner in owners
    ]
    return queue.add_all(store, asked, room)


def add(store: Store, *owners: str | None, is_small: bool = False, kind: str = "plan") -> list[str]:
    """Add a job of each owner; return their ids."""
    room = Room(1_000, 2**40)
    receipts = asked_of(store, *owners, is_small=is_small, kind=kind, room=room)
    return [receipt.id for receipt in receipts]


def claimed(store: Store, *lanes: str) -> Claim:
    found = leases.claim(store, "it", lanes or LANES)
    assert found is not None
    return found


def done(store: Store, job: Claim, spent_s: float) -> None:
    assert leases.succeed(store, job, b"{}", {}, spent_s)


def used(store: Store) -> dict[str, float]:
    with store.reading() as connection:
        rows = connection.execute(select(ShareRow.share, ShareRow.used_s))
        return {row.share: row.used_s for row in rows}


class Oracle:
    """The same rule on plain lists: each owner a line, and what it has used in exact seconds.

    What is used is kept by path: that of a team, of its owners, and of who is in none.
    """

    def __init__(self) -> None:
        self.lines: dict[str, deque[str]] = {}
        self.used: dict[tuple[str, ...], Fraction] = {}
        self.work: list[tuple[str, str]] = []

    @staticmethod
    def path(who: str) -> tuple[str, ...]:
        return tuple(who.split("/")) if "/" in who else (f"lone {who}",)

    def present(self) -> set[tuple[str, ...]]:
        alive = [who for who, line in self.lines.items() if line] + [who for who, _ in self.work]
        paths = [self.path(who) for who in alive]
        return {path[:depth] for path in paths for depth in range(1, len(path) + 1)}

    def add(self, owner: str | None, job: str) -> None:
        present, path = self.present(), self.path(owner or "")
        for depth in range(1, len(path) + 1):
            name = path[:depth]
            if name in present:
                continue
            rivals = {each for each in self.used if each[:-1] == name[:-1] and len(each) == depth}
            floor = min((self.used[each] for each in rivals & present), default=Fraction(0))
            if not rivals & present:
                for each in rivals:
                    del self.used[each]
            self.used[name] = max(self.used.get(name, floor), floor)
        self.lines.setdefault(owner or "", deque()).append(job)

    def due(self, path: tuple[str, ...]) -> Fraction:
        """What it has used, all at work taking 1 s."""
        working = [who for who, _ in self.work if self.path(who)[: len(path)] == path]
        return self.used[path] + sum(1 / Fraction(WEIGHTS.get(who, 1)) for who in working)

    def claim(self) -> str | None:
        """Give the front of the line of who would have used least in the team that has."""
        waits = {self.path(who): line for who, line in self.lines.items() if line}
        if not waits:
            return None
        fronts: dict[tuple[str, ...], list[int]] = {}
        for path, line in waits.items():
            fronts.setdefault(path[:1], []).append(int(line[0], 16))
        whole = min(fronts, key=lambda path: (self.due(path), min(fronts[path])))
        its = [path for path in waits if path[:1] == whole]
        best = min(its, key=lambda path: (self.due(path), int(waits[path][0], 16)))
        job = waits[best].popleft()
        who = next(each for each in self.lines if self.path(each) == best)
        self.work.append((who, job))
        return job

    def end(self, place: int, spent: Fraction) -> str:
        owner, job = self.work.pop(place)
        path = self.path(owner)
        for depth in range(1, len(path) + 1):
            self.used[path[:depth]] += spent / Fraction(WEIGHTS.get(owner, 1))
        return job


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(OWNERS), st.integers(1, 4)),
        *[st.tuples(st.just("claim"), st.just(None), st.just(0))] * 2,
        st.tuples(st.just("end"), st.integers(0, 9), st.integers(0, 20)),
    ),
    min_size=20,
    max_size=40,
)


@contextmanager
def emptied(store: Store) -> Iterator[None]:
    yield
    with store.writing() as connection:
        for table in (PayloadRow, JobRow, ShareRow):
            connection.execute(delete(table))


@given(steps=STEPS)
def test_the_order_is_that_of_the_oracle(shared: Store, steps: list[tuple[str, Any, int]]) -> None:
    """Owners come, go and come again, beside each other; quarters of seconds make ties."""
    oracle, numbers, at_work = Oracle(), dict[str, str](), dict[str, Claim]()
    with emptied(shared):
        for step, which, quarters in steps:
            if step == "add":
                for job_id in add(shared, *[which] * quarters):
                    numbers[job_id] = f"{len(numbers):x}"
                    oracle.add(which, numbers[job_id])
            elif step == "claim":
                found = leases.claim(shared, "it", LANES)
                assert (found and numbers[found.id]) == oracle.claim()
                if found:
                    at_work[numbers[found.id]] = found
            elif oracle.work:
                job = oracle.end(which % len(oracle.work), Fraction(quarters, 4))
                done(shared, at_work[job], quarters / 4)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with closing(Store(Settings(data_dir=tmp_path_factory.mktemp("shared")))) as found:
        yield found


def test_nobody_is_far_behind(shared: Store) -> None:
    """Two that always wait: what they used differs by no more than the longest job takes."""
    with emptied(shared):
        add(shared, *["a"] * 60, *["b"] * 60)
        for turn in range(60):
            job = claimed(shared)
            done(shared, job, 5.0 if job.owner == "a" else 0.5 + turn % 3 / 2)
            found = used(shared)
            assert abs(found["a"] - found["b"]) <= 5.0


def test_time_is_shared_by_weight(shared: Store) -> None:
    """On paper: of 55 jobs of a second, of weights 4, 1 and 1/2: 40, 10 and 5."""
    with emptied(shared):
        add(shared, *["heavy"] * 60, *["a"] * 60, *["light"] * 60)
        owners = []
        for _ in range(55):
            job = claimed(shared)
            owners.append(job.owner)
            done(shared, job, 1.0)
        assert [owners.count(who) for who in ("heavy", "a", "light")] == [40, 10, 5]


def test_time_is_shared_between_teams_then_between_their_owners(shared: Store) -> None:
    """On paper: of 40 jobs of a second a lone owner has 20, each of a team's four 5."""
    team = [f"team/{i}" for i in range(4)]
    with emptied(shared):
        add(shared, *[who for who in team for _ in range(20)], *["lone"] * 40)
        owners = []
        for _ in range(40):
            job = claimed(shared)
            owners.append(job.owner)
            done(shared, job, 1.0)
        assert [owners.count(who) for who in ("lone", *"0123")] == [20, 5, 5, 5, 5]
        add(shared, "team/late")
        late = turns.share_for(caller_of("team/late"))
        assert used(shared)[late] == 5.0, "level with the least of his team"


def test_no_team_fills_the_queue(store: Store) -> None:
    """On paper, of room for 8: a team has half, and each of its owners one beyond."""
    room = Room(8, 2**20)
    assert accepted(store, room, *["t/a"] * 3, "t/b", "t/b", "t/c") == [True] * 4 + [False, True]
    assert accepted(store, room, "t/a", "lone", "lone") == [False, True, True]
    (much,) = asked_of(store, "t/b", is_small=False, kind="plan", room=room)
    assert str(much).startswith("Of 7 jobs that wait 1 are yours, 5 your team's: ")


def test_free_children_go_to_different_owners(store: Store) -> None:
    add(store, "a", "a", "a", "b", "b", None)
    assert [claimed(store).owner for _ in range(6)] == ["a", "b", None, "a", "b", "a"]


def test_an_owner_alone_has_all(store: Store) -> None:
    ids = add(store, *["a"] * 5)
    assert [claimed(store).id for _ in ids] == ids


def test_who_comes_later_neither_waits_nor_has_saved_up(store: Store) -> None:
    add(store, "a", "a", "a", "a", "b")
    done(store, claimed(store), 1_000.0)
    job = claimed(store)
    assert job.owner == "b"
    done(store, job, 1_000.0)
    add(store, "c")
    assert used(store)["c"] >= 1_000.0
    owners = [claimed(store).owner for _ in range(2)]
    assert sorted(owners, key=str) == ["a", "c"]


def test_all_begin_anew_when_nobody_is_there(store: Store) -> None:
    add(store, "a")
    done(store, claimed(store), 36_000.0)
    add(store, "b")
    assert used(store) == {"b": 0.0}
    add(store, "a")
    assert used(store) == {"a": 0.0, "b": 0.0}


def test_what_ends_otherwise_is_charged_too(store: Store) -> None:
    """Cancelled, deleted, failed, handed back, lost with its server: nothing is free."""
    ids = add(store, *["a"] * 6, "b")
    ends: list[Callable[[Claim], Any]] = [
        lambda job: jobs.cancel(store, "plan", job.id),
        lambda job: jobs.remove(store, "plan", job.id),
        lambda job: leases.fail(store, job, {}),
        lambda job: leases.settle(store, job, {}),
        lambda job: leases.hand_back(store, job.number, job.lease, died=True),
        lambda job: leases.recover(store, "other", -60.0),
    ]
    with store.writing() as connection:  # another's turn comes between, else
        connection.execute(update(ShareRow).where(ShareRow.share == "b").values(used_s=1e6))
    for count, end in enumerate(ends, 1):
        job = claimed(store)
        assert job.owner == "a"
        assert leases.renew(store, job, None, None, 2.0)
        end(job)
        assert used(store)["a"] == 2.0 * count, count
    assert len(ids) == 7


def test_small_work_has_a_lane(store: Store) -> None:
    """The small one is claimed alone, else an owner's jobs come as they were asked for."""
    large = add(store, "a", "a")
    small = add(store, "a", "a", is_small=True)
    assert claimed(store, SMALL).id == small[0]
    assert [claimed(store).id for _ in range(3)] == [*large, small[1]]


def test_what_was_no_small_work_waits_as_large(store: Store) -> None:
    add(store, "a", is_small=True)
    job = claimed(store, SMALL)
    assert leases.hand_back(store, job.number, job.lease, died=False, spent_s=3.5, lane=SOLVES)
    assert leases.claim(store, "it", [SMALL]) is None
    again = claimed(store, SOLVES)
    assert (again.id, again.attempts) == (job.id, 1)
    assert used(store) == {"a": 3.5}


def accepted(store: Store, room: Room, *owners: str | None, size: int = 2) -> list[bool]:
    """Ask for a job of each owner; tell which were taken."""
    found = asked_of(store, *owners, is_small=False, kind="plan", room=room, size=size)
    assert all(isinstance(each, Receipt | QueueFull | RateLimited) for each in found)
    return [isinstance(each, Receipt) for each in found]


def test_no_owner_fills_the_queue(store: Store) -> None:
    """On paper, of room for 8: one has half, the next half of the rest, and so on to the last."""
    room = Room(8, 2**20)
    assert accepted(store, room, *["a"] * 6) == [True] * 4 + [False] * 2
    assert accepted(store, room, "b", "b", "b") == [True, True, False]
    assert accepted(store, room, "c", "c") == [True, False]
    assert accepted(store, room, "a", "b", "d", "e") == [False, False, True, False]
    (full,) = asked_of(store, "e", is_small=False, kind="plan", room=room)
    assert isinstance(full, QueueFull)
    (others,) = asked_of(store, "a", is_small=False, kind="sweep", room=room)
    assert isinstance(others, Receipt), "another queue has room of its own"


def test_no_owner_fills_the_bytes_of_the_queue(store: Store) -> None:
    room = Room(100, 80)
    assert accepted(store, room, *["a"] * 5, size=10) == [True] * 4 + [False]
    assert accepted(store, room, "b", size=41) == [False]
    assert accepted(store, room, "b", "b", size=20) == [True, False]


def test_without_keys_the_queue_is_whoevers(store: Store) -> None:
    assert accepted(store, Room(8, 2**20), *[None] * 9) == [True] * 8 + [False]


def test_jobs_of_an_older_server_are_adopted(store: Store) -> None:
    """It knows neither lane nor share: they wait where their kind does, for whom they are."""
    add(store, "a", kind="sweep")
    add(store, "b")
    with store.writing() as connection:
        connection.execute(update(JobRow).values(lane=None, share=None))
        connection.execute(delete(ShareRow))
    assert leases.claim(store, "it", [*LANES, "sweeps"]) is None
    turns.adopt(store)
    assert claimed(store, "sweeps").owner == "a"
    assert claimed(store).owner == "b"
    assert set(used(store)) == {"a", "b"}
    turns.adopt(store)


def test_shares_of_who_is_gone_are_dropped(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(insert(ShareRow), [{"share": f"s{i}"} for i in range(50)])
    add(store, "a", "b")
    assert set(used(store)) == {"a", "b"}


@pytest.mark.parametrize(
    ("options", "ops", "is_small"),
    [
        ({}, 400, True),
        ({}, 600, False),
        ({"effort": 100}, 10, True),  # many moves, of little
        ({"effort": 100}, 30, False),
        ({"slot_us": 1.0, "schedule": "lp"}, 10, False),  # as many slots as there are
        ({"margin_us": 1.0, "baselines": ["in_order"]}, 10, False),  # a program
    ],
)
def test_what_is_small(store: Store, options: dict[str, Any], ops: int, is_small: bool) -> None:
    body = two_layers(**options)
    more = [{"id": f"c{i}", "kind": "compute", "duration_us": 1, "after": []} for i in range(ops)]
    body["graph"]["ops"] = [*body["graph"]["ops"], *more][:ops]
    assert check(store, "plan", json.dumps(body).encode()).is_small is is_small


def test_a_small_plan_waits_for_no_large_one(keyed_server: Keyed) -> None:
    """Neither for another's, which take all children, nor for those of its owner."""
    with keyed_server.of("trent") as many, keyed_server.of("victor") as one:
        places = []
        for seed in range(2):
            begun = many.post("/v1/plans", json=search(3_000 - seed), params={"wait": 0})
            places.append(begun.headers["location"])
        until(lambda: many.get(places[0]).json()["state"] == "running")
        assert one.post("/v1/plans", json=two_layers(seed=77)).status_code == 201
        assert many.post("/v1/plans", json=two_layers(seed=78)).status_code == 201
        states = [many.get(place).json()["state"] for place in places]
        assert states == ["running", "queued"]
        for place in places:
            assert many.delete(place).status_code == 204


@needs_proc
def test_a_timeline_waits_for_no_long_predictions(keyed_server: Keyed) -> None:
    """Another's, which would take all turns for minutes."""
    key = keyed_server.key("walter")
    with keyed_server.of("peter") as one, ExitStack() as clients:
        place = one.post("/v1/plans", json=two_layers(seed=79)).headers["location"]
        for _ in range((os.cpu_count() or 1) + 2):
            clients.enter_context(sent(keyed_server.service, SCALING, prediction(), key))
        until(lambda: busy(keyed_server.service))
        for _ in range(3):
            assert one.get(f"{place}/timeline.json").status_code == 200
        assert busy(keyed_server.service), "they are still at work"
    until(lambda: not busy(keyed_server.service))


@pytest.mark.live
def test_what_takes_long_was_not_small(tmp_path: Path) -> None:
    """It is stopped, and done as large work; that is no attempt that failed."""
    often = "import app.jobs.pool, app.jobs.local\n"
    often += "app.jobs.pool._LOOK_S, app.jobs.local.SMALL_STOP_S = 0.02, 0.05\n"
    body = two_layers()
    body["graph"]["ops"] = both_passes(130)
    with running(tmp_path, often) as service:
        answer = service.post(body)
        assert answer.status_code == 201
        assert answer.json()["attempts"] == 1
        assert "it is not small" in service.log.read_text()
        with closing(service.store()) as store, store.reading() as connection:
            assert connection.scalar(select(JobRow.lane)) == SOLVES
