"""Whose call is worked on next: that of the owner whose calls have used the least processor time.

As jobs have it (:mod:`app.jobs.turns`), within one server: the next turn is the oldest call's of
the owner that has used least, ties go to the older call, and whoever comes starts level with the
least of those who are there. An owner that has no call at work has one turn more than there are, so
that it does not wait for long calls of others. Of an owner with a weight so many seconds count as
one; its weight is that of the call that came last.
"""

from collections import deque
from itertools import count

from anyio import Event

#: A call at work counts at least so much [s].
_AT_WORK_S = 0.125


class OwnerTurns:
    """So many turns at once, and one more for an owner that has none; for one event loop.

    An owner is any text, the empty one of calls without a key.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._numbers = count()
        self._at_work: dict[str, int] = {}
        self._waiting: dict[str, deque[tuple[int, Event]]] = {}
        self._used_s: dict[str, float] = {}
        self._weights: dict[str, float] = {}

    async def acquire(self, owner: str, weight: float = 1.0) -> None:
        """Wait for a turn of an owner; cancelled, it has none."""
        self._join(owner)
        self._weights[owner] = weight
        ticket = next(self._numbers), Event()
        self._waiting.setdefault(owner, deque()).append(ticket)
        self._give()
        try:
            await ticket[1].wait()
        except BaseException:  # cancelled: perhaps after the turn was given
            if ticket[1].is_set():
                self.release(owner, 0.0)
            else:
                self._drop(owner, ticket)
            raise

    def release(self, owner: str, spent_s: float) -> None:
        """End a turn that took so much processor time [s]."""
        self._used_s[owner] += spent_s / self._weights[owner]
        self._at_work[owner] -= 1
        if not self._at_work[owner]:
            del self._at_work[owner]
        self._give()

    def _join(self, owner: str) -> None:
        there = self._at_work.keys() | self._waiting.keys()
        if owner in there:
            return
        least = min((self._used_s[other] for other in there), default=None)
        if least is None:
            self._used_s.clear()
        else:
            ahead = {who: s for who, s in self._used_s.items() if who in there or s > least}
            self._used_s = ahead
        self._used_s.setdefault(owner, least or 0.0)
        self._weights = {who: w for who, w in self._weights.items() if who in self._used_s}

    def _give(self) -> None:
        """Give turns while there are some."""
        while (owner := self._next()) is not None:
            ticket = self._waiting[owner][0]
            self._drop(owner, ticket)
            self._at_work[owner] = self._at_work.get(owner, 0) + 1
            ticket[1].set()

    def _next(self) -> str | None:
        """Return whose turn it is; None when nobody's."""
        taken = sum(self._at_work.values())
        if taken > self._at_once:
            return None
        owners = [who for who in self._waiting if taken < self._at_once or who not in self._at_work]
        return min(owners, key=self._place, default=None)

    def _place(self, owner: str) -> tuple[float, int]:
        at_work_s = _AT_WORK_S * self._at_work.get(owner, 0) / self._weights[owner]
        return self._used_s[owner] + at_work_s, self._waiting[owner][0][0]

    def _drop(self, owner: str, ticket: tuple[int, Event]) -> None:
        line = self._waiting[owner]
        line.remove(ticket)
        if not line:
            del self._waiting[owner]
