"""Keys, use and changes as they are kept, in both databases."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import select

from app.errors import QuotaUsedUp
from app.operations.callers import Caller, Quotas
from app.operations.settings import Settings
from app.storage import audit, keys, quotas
from app.storage.database import Store
from app.storage.owners import may_see, visible
from app.storage.tables import CostModelRow
from tests.app.keyed import make

ALICE = Caller("alice", "vision", frozenset({"submit"}), "k1")
MATE = Caller("carol", "vision", frozenset({"submit"}), "k2")
BOB = Caller("bob", "speech", frozenset({"submit"}), "k3")
ALONE = Caller("dave", None, frozenset({"submit"}), "k4")
ADMIN = Caller("root", None, frozenset({"admin"}), "k5")
CALLERS = [None, ALICE, MATE, BOB, ALONE, ADMIN]


@pytest.fixture(scope="module")
def store(
    database: Callable[[], str | None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    folder: Path = tmp_path_factory.mktemp("keys")
    found = Store(Settings(data_dir=folder, database_url=database()))
    yield found
    found.close()


def test_a_key_is_found_by_all_of_its_text(store: Store) -> None:
    text, made = make(store, "alice", "read", team="vision", limits={"queued": 3})
    assert keys.of_text(store, text) == made == keys.get(store, made.id)
    other, _ = make(store, "alice")
    mixed = text[: text.rindex("_")] + other[other.rindex("_") :]
    for wrong in (mixed, text[:-1], f"{text}0", text.upper(), "", f"{text}\n", f" {text}"):
        assert keys.of_text(store, wrong) is None
    caller = keys.caller_of(made, Quotas(requests_per_s=5, queued=100))
    assert caller.quotas == Quotas(requests_per_s=5, queued=3)
    assert [caller.may(scope) for scope in ("read", "submit", "admin")] == [True, False, False]


def test_a_key_ends(store: Store) -> None:
    late, _ = make(store, "alice", expires_at="2020-01-01T00:00:00.000000Z")
    assert keys.of_text(store, late) is None
    text, made = make(store, "alice")
    keys.note_use(store, made.id)
    used = keys.of_text(store, text)
    assert used is not None
    assert used.used_at is not None
    first = keys.revoke(store, made.id)
    assert keys.of_text(store, text) is None
    assert keys.revoke(store, made.id) == first, "it stays as it is"


def test_some_key_is_usable(database: Callable[[], str | None], tmp_path: Path) -> None:
    store = Store(Settings(data_dir=tmp_path, database_url=database()))
    assert not keys.is_any_usable(store)
    make(store, "alice", expires_at="2020-01-01T00:00:00.000000Z")
    _, made = make(store, "alice")
    assert keys.is_any_usable(store)
    keys.revoke(store, made.id)
    assert not keys.is_any_usable(store)
    store.close()


def model(name: str) -> CostModelRow:
    """Return a cost model of two empty objects."""
    return CostModelRow(
        id=name, created_at="2026", name="", algorithm="x", request="{}", result="{}"
    )


def test_one_rule_in_two_forms(store: Store) -> None:
    """What :func:`may_see` says of a row, the database says of all rows."""
    rows = {}
    for i, caller in enumerate(CALLERS):
        row_id = f"{i:016}"
        store.seen_by(caller).add(model(row_id))
        rows[row_id] = caller
    for caller in [*CALLERS, Caller("", None, frozenset())]:
        with store.reading() as connection:
            query = select(CostModelRow.id).where(visible(CostModelRow, caller))
            found = set(connection.scalars(query))
        assert found == {
            row_id
            for row_id, by in rows.items()
            if may_see(by.owner if by else None, by.team if by else None, caller)
        }
        assert {row.id for row in store.seen_by(caller).newest(CostModelRow, 100)} == found
    assert not may_see(None, None, ALONE), "no team is no team mate of no team"


def test_use_is_added_up_by_many(store: Store) -> None:

    def add() -> None:
        for _ in range(10):
            quotas.add_solving(store, "erin", 0.5)

    threads = [Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.reading() as connection:
        assert quotas.solved_s(connection, "erin") == 20
    erin = Caller("erin", None, frozenset(), quotas=Quotas(solving_s=20))
    with pytest.raises(QuotaUsedUp, match="at most 20, now 20"):
        quotas.StoredUsage(store).check(erin)


def test_stored_bytes_of_an_owner(store: Store) -> None:
    fay = Caller("fay", None, frozenset(), quotas=Quotas(stored_bytes=100))
    store.seen_by(fay).add(model("stored"))
    with store.reading() as connection:
        assert quotas.stored_bytes(connection, "fay") == 4, "two empty objects"
        assert quotas.stored_bytes(connection, "nobody") == 0
    usage = quotas.StoredUsage(store)
    usage.check(fay, 90)
    with pytest.raises(QuotaUsedUp, match="bytes stored: at most 100, now 4"):
        usage.check(fay, 97)
    usage.check(fay, 96)
    usage.check(fay, None)  # it comes in pieces: what is stored then is looked at next time
    usage.check(fay, 90)


def test_a_change_is_kept_with_its_transaction(store: Store) -> None:
    frank = Caller("frank", None, frozenset(), "k9", address="192.0.2.1", request_id="r1")

    def fail() -> None:
        with store.writing() as connection:
            audit.note(connection, frank, "make", "plan", "lost")
            raise RuntimeError("the transaction fails")

    with pytest.raises(RuntimeError):
        fail()
    with store.writing() as connection:
        audit.note(connection, frank, "make", "plan", "kept")
        audit.note(connection, None, "make", "plan", "nobody's")
    with store.reading() as connection:
        [found] = audit.listed(connection, limit=10, owner="frank")
        assert audit.listed(connection, limit=10, owner="frank", since="2999") == []
        assert audit.listed(connection, limit=10, key="k9") == [found]
    assert (found.target, found.address, found.request_id) == ("kept", "192.0.2.1", "r1")
    with store.writing() as connection:
        audit.expire(connection, "2999")
    with store.reading() as connection:
        assert audit.listed(connection, limit=10) == []
