"""Whose call is worked on next: in the order of an oracle that shares no code."""

import asyncio
import threading
from fractions import Fraction
from http import HTTPStatus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.codes import TemporaryCode
from app.errors import NoTurn
from app.limits import LARGE_ANSWER_BYTES
from app.operations.callers import working_for
from app.operations.large_answers import LargeAnswers
from app.operations.owner_turns import OwnerTurns
from tests.sampling import cases
from tests.waiting import until

OWNERS = "abc"


class Calls:
    """Calls that want turns, each a task; which have one is seen after each step."""

    def __init__(self, at_once: int, weights: dict[str, float] | None = None) -> None:
        self.weights = weights or {}
        self.turns = OwnerTurns(at_once)
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.owners: list[str] = []
        self.at_work: list[int] = []

    async def ask(self, owner: str) -> None:
        number = len(self.owners)
        self.owners.append(owner)

        async def wait() -> None:
            await self.turns.acquire(owner, self.weights.get(owner, 1.0))
            self.at_work.append(number)

        self.tasks[number] = asyncio.create_task(wait())
        await settled()

    async def end(self, number: int, spent_s: float) -> None:
        self.at_work.remove(number)
        self.turns.release(self.owners[number], spent_s)
        await settled()

    async def give_up(self, number: int) -> None:
        self.tasks[number].cancel()
        await settled()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def oracle(
    waiting: list[tuple[int, str]],
    working: list[tuple[int, str]],
    used: dict[str, Fraction],
    at_once: int,
    weights: dict[str, float],
) -> int | None:
    """Try all that wait: who would have used least, a call at work being an eighth of a second."""
    if len(working) > at_once:
        return None
    best = None
    for number, owner in sorted(waiting):
        own = [1 for _, other in working if other == owner]
        if len(working) == at_once and own:
            continue
        due = used[owner] + Fraction(1, 8) * len(own) / Fraction(weights[owner])
        if best is None or due < best[0]:
            best = (due, number)
    return None if best is None else best[1]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "ask", "end", "end", "leave"]),
        st.integers(0, 9),
        st.sampled_from([0, 0, 1, 2, 8]),
    ),
    min_size=30,
    max_size=80,
)


@settings(max_examples=cases(400, least=60))
@given(
    at_once=st.integers(1, 3),
    steps=STEPS,
    weights=st.fixed_dictionaries({who: st.sampled_from([1.0, 0.5, 4.0]) for who in OWNERS}),
)
def test_the_order_is_that_of_the_oracle(
    at_once: int, steps: list[tuple[str, int, int]], weights: dict[str, float]
) -> None:
    """Calls come, end and are given up; eighths of seconds make ties."""

    async def run() -> None:
        calls = Calls(at_once, weights)
        waiting: list[tuple[int, str]] = []
        working: list[tuple[int, str]] = []
        used: dict[str, Fraction] = {}
        for step, which, eighths in steps:
            if step == "ask":
                owner = OWNERS[which % len(OWNERS)]
                there = {other for _, other in waiting + working}
                if not there:
                    used.clear()
                if owner not in there:
                    least = min((used[other] for other in there), default=Fraction(0))
                    used[owner] = max(used.get(owner, least), least)
                waiting.append((len(calls.owners), owner))
                await calls.ask(owner)
            elif step == "end" and working:
                number, owner = working.pop(which % len(working))
                used[owner] += Fraction(eighths, 8) / Fraction(weights[owner])
                await calls.end(number, eighths / 8)
            elif step == "leave" and waiting:
                await calls.give_up(waiting.pop(which % len(waiting))[0])
            while (chosen := oracle(waiting, working, used, at_once, weights)) is not None:
                working += [each for each in waiting if each[0] == chosen]
                waiting = [each for each in waiting if each[0] != chosen]
            assert sorted(calls.at_work) == sorted(number for number, _ in working)
        for task in calls.tasks.values():
            task.cancel()
        await settled()

    asyncio.run(run())


def test_many_calls_of_one_keep_no_other_waiting() -> None:
    async def run() -> list[int]:
        calls = Calls(2)
        for _ in range(64):
            await calls.ask("many")
        await calls.ask("one")
        return calls.at_work

    assert asyncio.run(run()) == [0, 1, 64]


@settings(max_examples=cases(200, least=40))
@given(
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    seconds=st.lists(st.integers(1, 8), min_size=60, max_size=120),
)
def test_teams_are_level_whatever_they_count_and_so_are_the_owners_of_each(
    sizes: list[int], seconds: list[int]
) -> None:
    """Of those who always wait none is a longest call ahead of another, at either level."""

    async def run() -> None:
        turns = OwnerTurns(0)  # the extra turn alone: one call at a time
        owners = [(team, who) for team, size in enumerate(sizes) for who in range(size)]
        used = dict.fromkeys(owners, 0)
        at_work: list[tuple[int, int]] = []

        async def wait(team: int, who: int) -> None:
            await turns.acquire(f"{team}-{who}", team=str(team) if sizes[team] > 1 else None)
            at_work.append((team, who))

        tasks = [asyncio.create_task(wait(*each)) for each in owners for _ in range(2)]
        await settled()
        for spent in seconds:
            team, who = at_work.pop(0)
            used[team, who] += spent
            tasks.append(asyncio.create_task(wait(team, who)))
            await settled()
            turns.release(f"{team}-{who}", spent, str(team) if sizes[team] > 1 else None)
            await settled()
            level = max(seconds)
            teams = [sum(used[i, j] for j in range(size)) for i, size in enumerate(sizes)]
            assert max(teams) - min(teams) <= level
            for i, size in enumerate(sizes):
                own = [used[i, j] for j in range(size)]
                assert max(own) - min(own) <= level
        for task in tasks:
            task.cancel()
        await settled()

    asyncio.run(run())


def test_who_comes_to_a_team_takes_nothing_of_another() -> None:
    """A lone owner has every second turn beside a team of twenty."""

    async def run() -> list[int]:
        turns = OwnerTurns(0)
        given: list[int] = []

        async def call(owner: int, team: str | None) -> None:
            await turns.acquire(str(owner), team=team)
            given.append(owner)
            turns.release(str(owner), 1.0, team)

        calls = [call(i % 20, "many") for i in range(40)] + [call(20, None) for _ in range(10)]
        await asyncio.gather(*calls)
        return given

    assert asyncio.run(run())[:21].count(20) == 10


def test_a_team_has_the_weight_of_its_keys_however_many_owners_it_has() -> None:
    """While both wait, a lone owner of weight 4 has four of five turns beside a team of twenty."""

    async def run() -> list[str]:
        turns = OwnerTurns(0)
        given: list[str] = []

        async def call(owner: str, team: str | None, weight: float) -> None:
            await turns.acquire(owner, weight, team)
            given.append(owner)
            turns.release(owner, 1.0, team)

        calls = [call(str(i), "many", 1.0) for i in range(20)]
        await asyncio.gather(*calls, *(call("heavy", None, 4.0) for _ in range(40)))
        return given

    assert asyncio.run(run())[:50].count("heavy") == 40


def test_a_turn_that_is_given_as_its_call_leaves_goes_to_the_next() -> None:
    async def run() -> list[int]:
        calls = Calls(1)
        for _ in range(3):
            await calls.ask("a")
        calls.at_work.remove(0)
        calls.turns.release("a", 1.0)  # to the second, which does not know it yet
        await calls.give_up(1)
        return calls.at_work

    assert asyncio.run(run()) == [2]


def test_no_turn_takes_no_server_out_of_a_proxy() -> None:
    """Nginx counts a 503 that it may try elsewhere as a failure of the server, a 429 not."""
    assert NoTurn.code is TemporaryCode.NO_TURN
    assert NoTurn.code.status == HTTPStatus.TOO_MANY_REQUESTS
    assert NoTurn("").retry_after_s == pytest.approx(5)


def test_large_answers_take_turns_by_owner() -> None:
    async def run() -> None:
        large, may_go_on, at_work = LargeAnswers(), threading.Event(), []

        async def ask(owner: str, size: int) -> bytes:
            def write() -> bytes:
                at_work.append(owner)
                assert size <= LARGE_ANSWER_BYTES or may_go_on.wait(60)
                return owner.encode()

            return await large.written(lambda: size, write, working_for(owner, None))

        async def written_by(owners: list[str]) -> None:
            await asyncio.to_thread(until, lambda: at_work == owners)

        tasks = [asyncio.create_task(ask("a", LARGE_ANSWER_BYTES + 1)) for _ in range(3)]
        await written_by(["a"])
        tasks.append(asyncio.create_task(ask("b", LARGE_ANSWER_BYTES + 1)))
        await written_by(["a", "b"])
        assert await ask("c", LARGE_ANSWER_BYTES) == b"c", "what is small waits for nobody"
        assert at_work == ["a", "b", "c"]
        may_go_on.set()
        assert await asyncio.gather(*tasks) == [b"a", b"a", b"a", b"b"]

    asyncio.run(asyncio.wait_for(run(), 60))
