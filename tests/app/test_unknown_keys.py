"""Texts that are no keys: each is looked up once in a while, and what cannot be one is not."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cachetools import TTLCache

from app.errors import StorageUnavailable, Unauthenticated
from app.http import keys as http_keys
from app.http.keys import UNKNOWN_FOR_S, Keys
from app.operations.callers import Quotas
from app.operations.settings import Settings
from app.storage import keys
from app.storage.database import Store
from app.storage.keys import NewKey

STRANGERS = [f"ilk_{i:012x}_{'0' * 64}" for i in range(3)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store(Settings(data_dir=tmp_path))
    found.open()
    yield found
    found.close()


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All texts that the database was asked for."""
    found: list[str] = []
    of_text = keys.of_text

    def noted(store: Store, text: str) -> Any:
        found.append(text)
        return of_text(store, text)

    monkeypatch.setattr(keys, "of_text", noted)
    return found


async def nobody(*_: Any) -> None:
    """Answer nothing."""


def door(store: Store) -> Keys:
    return Keys(nobody, store, Quotas(), required=True)


async def is_in(found: Keys, text: str) -> bool:
    return await found.is_active(text)


def test_a_text_that_is_no_key_is_looked_up_once(store: Store, looked_up: list[str]) -> None:
    async def ask() -> None:
        found = door(store)
        for text in STRANGERS * 20:
            assert not await is_in(found, text)

    asyncio.run(ask())
    assert looked_up == STRANGERS


def test_what_cannot_be_a_key_is_not_looked_up(store: Store, looked_up: list[str]) -> None:
    async def ask() -> None:
        found = door(store)
        for text in ("", "x", "ilk_", STRANGERS[0] + "0", STRANGERS[0].upper()):
            with pytest.raises(Unauthenticated, match="unknown, has expired or was revoked"):
                await found._verify(text)

    asyncio.run(ask())
    assert looked_up == []


def test_how_many_are_known_is_bounded(
    store: Store, looked_up: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_keys, "_KNOWN", 2)

    async def ask() -> None:
        found = door(store)
        for text in (*STRANGERS, STRANGERS[0], STRANGERS[0]):
            assert not await is_in(found, text)
        assert len(found._unknown) == 2

    asyncio.run(ask())
    assert looked_up == [*STRANGERS, STRANGERS[0]]


def test_a_key_that_was_none_before_works_soon(store: Store, looked_up: list[str]) -> None:
    text, _ = keys.make(store, NewKey("new", "alice", None, ["read"], None, {}))
    now = 0.0

    async def ask() -> None:
        nonlocal now
        found = door(store)
        found._unknown = TTLCache(9, UNKNOWN_FOR_S, timer=lambda: now)
        with pytest.MonkeyPatch.context() as before:
            before.setattr(keys, "of_text", lambda *_: None)
            assert not await is_in(found, text)
        assert not await is_in(found, text)
        now = UNKNOWN_FOR_S
        assert await is_in(found, text)

    asyncio.run(ask())
    assert looked_up == [text]


def test_where_nobody_can_look_nothing_is_known(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise StorageUnavailable("The disk is full.")

    async def ask() -> None:
        found = door(store)
        with pytest.MonkeyPatch.context() as while_broken:
            while_broken.setattr(keys, "of_text", broken)
            with pytest.raises(StorageUnavailable):
                await found._verify(STRANGERS[0])
        assert len(found._unknown) == 0
        assert not await is_in(found, STRANGERS[0])

    asyncio.run(ask())
