"""Whose call is worked on next: that of the team whose calls have used the least processor time.

Within one server a machine is shared between teams first, then between the owners of each; an owner
without a team is one of his own. The next turn is of the team that has used least, within it of the
owner that has used least, and of that owner the oldest call's; ties go to the older call. Whoever
comes, a team or an owner of one, starts level with the least of those who are there. An owner that
has no call at work has one turn more than there are, so that it does not wait for long calls of
others, nor of its own team.

Of a call whose key has a weight so many seconds count as one, of its owner as of its team, so a
team whose keys have the weight 4 has four times the time of one whose keys have 1, however many
owners either has. An owner's weight is that of the call that came last. Jobs are shared alike
(:mod:`app.jobs.turns`).
"""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from time import monotonic

from anyio import Event

from app.operations.callers import NOBODY, Caller
from app.operations.shares import Head, in_order, joined, levels_of, share_of

#: A call at work counts at least so much [s].
_AT_WORK_S = 0.125


class OwnerTurns:
    """So many turns at once, and one more for an owner that has none; for one event loop.

    An owner is any text, the empty one of calls without a key.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._numbers = count()
        # all by share; what is used is of teams, too
        self._at_work: dict[str, int] = {}
        self._waiting: dict[str, deque[tuple[int, Event]]] = {}
        self._used_s: dict[str, float] = {}
        self._weights: dict[str, float] = {}

    async def acquire(self, owner: str, weight: float = 1.0, team: str | None = None) -> None:
        """Wait for a turn of an owner; cancelled, it has none."""
        share = share_of(owner, team)
        self._join(share)
        self._weights[share] = weight
        ticket = next(self._numbers), Event()
        self._waiting.setdefault(share, deque()).append(ticket)
        self._give()
        try:
            await ticket[1].wait()
        except BaseException:  # cancelled: perhaps after the turn was given
            if ticket[1].is_set():
                self.release(owner, 0.0, team)
            else:
                self._drop(share, ticket)
            raise

    def release(self, owner: str, spent_s: float, team: str | None = None) -> None:
        """End a turn that took so much processor time [s]."""
        share = share_of(owner, team)
        for name in levels_of(share):
            self._used_s[name] += spent_s / self._weights[share]
        self._at_work[share] -= 1
        if not self._at_work[share]:
            del self._at_work[share]
        self._give()

    @asynccontextmanager
    async def turn(self, caller: Caller | None) -> AsyncIterator[None]:
        """Hold a turn of somebody; what it takes of others is the time that it is held."""
        who = caller or NOBODY
        await self.acquire(who.owner, who.quotas.weight, who.team)
        began = monotonic()
        try:
            yield
        finally:
            self.release(who.owner, monotonic() - began, who.team)

    def _join(self, share: str) -> None:
        shares = self._at_work.keys() | self._waiting.keys()
        there = {name for each in shares for name in levels_of(each)}
        for name in levels_of(share):
            if name not in there:
                self._used_s = joined(self._used_s, name, there)
        self._weights = {who: w for who, w in self._weights.items() if who in self._used_s}

    def _give(self) -> None:
        """Give turns while there are some."""
        while (share := self._next()) is not None:
            ticket = self._waiting[share][0]
            self._drop(share, ticket)
            self._at_work[share] = self._at_work.get(share, 0) + 1
            ticket[1].set()

    def _next(self) -> str | None:
        """Return whose turn it is; None when nobody's."""
        taken = sum(self._at_work.values())
        if taken > self._at_once:
            return None
        heads = [
            Head("", share, line[0][0])
            for share, line in self._waiting.items()
            if taken < self._at_once or share not in self._at_work
        ]
        at_work_s: dict[str, float] = {}
        for share, number in self._at_work.items():
            for name in levels_of(share):
                more = _AT_WORK_S * number / self._weights[share]
                at_work_s[name] = at_work_s.get(name, 0.0) + more
        order = in_order(heads, self._used_s, at_work_s)
        return order[0].share if order else None

    def _drop(self, share: str, ticket: tuple[int, Event]) -> None:
        line = self._waiting[share]
        line.remove(ticket)
        if not line:
            del self._waiting[share]
