"""What addresses may ask before anybody knows who asks; the clock is turned by the tests."""

import asyncio
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.http import addresses
from app.http.addresses import AHEAD_S, MAX_WAIT_S, Addresses, Paced
from app.http.keys import Keys
from app.operations.callers import Quotas
from app.operations.settings import Settings
from app.storage import keys
from app.storage.database import Store
from app.storage.keys import NewKey

HERE = "192.0.2.1"


class Clock:
    """What time it is [s], and what was slept."""

    def __init__(self) -> None:
        self.at_s, self.slept = 0.0, list[float]()

    def __call__(self) -> float:
        return self.at_s

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(addresses, "monotonic", found)
    monkeypatch.setattr(addresses, "sleep", found.sleep)
    return found


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["take"] * 4 + ["pass", "give"]), st.integers(0, 24)), max_size=60
    )
)
def test_turns_are_those_of_a_leaking_bucket(steps: list[tuple[str, int]]) -> None:
    """The other form of the same rule: what was asked leaks away, and waits where it spills."""
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(addresses, "monotonic", clock)
        found, level, given_s = Addresses(0.5, 0), Fraction(0), Fraction(2)
        for step, quarters in steps:
            if step == "pass":
                clock.at_s += quarters / 4
                level = max(Fraction(0), level - Fraction(quarters, 4))
            elif step == "give":
                found.give_back(HERE)
                level = max(Fraction(0), level - given_s)
            else:
                waits = max(Fraction(0), level + given_s - Fraction(AHEAD_S))
                assert found.is_ahead(HERE) == (waits > 0)
                if waits > MAX_WAIT_S:
                    assert found.take(HERE) is None
                else:
                    assert found.take(HERE) == waits
                    level += given_s


def test_so_many_at_once_then_one_after_the_other(clock: Clock) -> None:
    """On paper: two a second, twenty at once, then each half a second later, for ten seconds."""
    found = Addresses(2.0, 0)
    assert [found.take(HERE) for _ in range(41)] == [0.0] * 20 + [n / 2 for n in range(1, 21)] + [
        None
    ]
    assert found.take("192.0.2.2") == 0.0, "another has a turn of its own"
    clock.at_s = 1.0
    assert found.take(HERE) == 9.5


def test_nothing_is_saved_up(clock: Clock) -> None:
    found = Addresses(1.0, 0)
    found.take(HERE)
    for _ in range(5):
        found.give_back(HERE)
    clock.at_s = 1_000.0
    assert [found.take(HERE) for _ in range(11)] == [0.0] * 10 + [1.0]


def test_zero_is_no_limit(clock: Clock) -> None:
    found = Addresses(0.0, 0)
    assert {found.take(HERE) for _ in range(10_000)} == {0.0}
    assert not found.is_ahead(HERE)
    assert all(found.connect(HERE) for _ in range(10_000))


def test_connections(clock: Clock) -> None:
    found = Addresses(1.0, 2)
    assert [found.connect(HERE) for _ in range(3)] == [True, True, False]
    assert found.connect("192.0.2.2")
    for _ in range(2):
        found.disconnect(HERE)
    assert found.connect(HERE)
    for _ in range(2):
        found.disconnect(HERE)
    found.disconnect("192.0.2.2")
    assert not found._open, "nothing is left of who has left"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),  # one network, perhaps one host
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", HERE, True),  # a socket for both
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("what: a proxy said", "what: it said", False),
    ],
)
def test_what_is_one_address(clock: Clock, one: str, other: str, *, is_same: bool) -> None:
    found = Addresses(0.1, 0)
    found.take(one)
    assert found.is_ahead(other) is is_same


def test_how_many_are_remembered_is_bounded(clock: Clock) -> None:
    found = Addresses(0.1, 0)
    for number in range(addresses._KNOWN + 5):
        found.take(str(number))
    assert len(found._done_at) == addresses._KNOWN
    assert found.is_ahead(str(addresses._KNOWN))
    assert not found.is_ahead("0"), "the longest silent is forgotten"


@pytest.mark.parametrize(
    ("address", "is_proxy"),
    [("10.1.2.3", True), ("2001:db8::7", True), ("192.0.2.1", False), ("", False)],
)
def test_a_trusted_proxy_is_never_ahead(clock: Clock, address: str, *, is_proxy: bool) -> None:
    found = Addresses(0.1, 0, ("10.0.0.0/8", "2001:db8::/32"))
    found.take(address)
    assert found.is_ahead(address) is not is_proxy


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store(Settings(data_dir=tmp_path))
    found.open()
    yield found
    found.close()


class Door:
    """An application behind keys and turns, and the statuses of its answers."""

    def __init__(self, store: Store, *, required: bool = True) -> None:
        self.statuses: list[int] = []
        inside = Keys(self._answer, store, Quotas(), required=required)
        self._app = Paced(inside, Addresses(1.0, 0), inside.is_known)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def _receive(self) -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.statuses.append(message["status"])

    async def ask(self, text: str | None, path: str = "/v1/plans", address: str = HERE) -> None:
        headers = [] if text is None else [(b"authorization", b"Bearer " + text.encode())]
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": b"",
            "headers": headers,
            "client": (address, 1),
            "state": {},
        }
        await self._app(scope, self._receive, self._send)


class Slow(Door):
    """One that reads a request at once, and answers all of them when it may."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.read, self.planned = asyncio.Semaphore(0), asyncio.Event()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        self.read.release()
        await self.planned.wait()
        await super()._answer(scope, receive, send)


def test_unknown_keys_are_looked_up_in_the_turn_of_their_address(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is another text that may be a key; who has a good one waits for none of them."""
    good, _ = keys.make(store, NewKey("good", "alice", None, ["read"], None, {}))
    looked_up, of_text = list[str](), keys.of_text

    def noted(store: Store, text: str) -> Any:
        looked_up.append(text)
        return of_text(store, text)

    monkeypatch.setattr(keys, "of_text", noted)

    async def run() -> list[int]:
        door = Door(store)
        await door.ask(good)
        for number in range(30):
            await door.ask(f"ilk_{number:012x}_{'0' * 64}")
        await door.ask(good)
        await door.ask(None, address="192.0.2.2")
        return door.statuses

    statuses = asyncio.run(run())
    assert statuses == [200] + [401] * 20 + [429] * 10 + [200, 401]
    assert clock.slept == [float(n) for n in range(1, 11)]
    assert len(looked_up) == 21


def test_who_is_let_in_gives_the_turn_back(store: Store, clock: Clock) -> None:
    """A thousand workers begin behind one address, each with a key of its own."""
    texts = [keys.make(store, NewKey("w", "alice", None, ["read"], None, {}))[0] for _ in range(30)]

    async def run() -> list[int]:
        door = Door(store)
        for text in texts:
            await door.ask(text)
        return door.statuses

    assert set(asyncio.run(run())) == {200}
    assert clock.slept == []


def test_who_is_let_in_and_waits_long_gives_the_turn_back_at_once(
    store: Store, clock: Clock
) -> None:
    """Thirty workers, each with a key of its own, wait for plans: no answer has begun."""
    texts = [keys.make(store, NewKey("w", "alice", None, ["read"], None, {}))[0] for _ in range(30)]

    async def run() -> list[int]:
        door, waiting = Slow(store), list[asyncio.Task[None]]()
        for text in texts:
            waiting.append(asyncio.create_task(door.ask(text)))
            read = asyncio.create_task(door.read.acquire())
            await asyncio.wait([read, waiting[-1]], return_when=asyncio.FIRST_COMPLETED)
            read.cancel()
        door.planned.set()
        await asyncio.gather(*waiting)
        return door.statuses

    assert asyncio.run(run()) == [200] * 30
    assert clock.slept == []


def test_what_is_open_to_all_is_counted(store: Store, clock: Clock) -> None:
    async def run() -> list[int]:
        door = Door(store)
        for _ in range(12):
            await door.ask(None, "/healthz")
        return door.statuses

    assert asyncio.run(run()) == [200] * 12
    assert clock.slept == [1.0, 2.0]


def test_where_no_keys_are_required_nobody_waits(store: Store, clock: Clock) -> None:
    async def run() -> list[int]:
        door = Door(store, required=False)
        for _ in range(50):
            await door.ask(None)
        return door.statuses

    assert asyncio.run(run()) == [200] * 50
    assert clock.slept == []
