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
from collections.abc import Collection, Mapping
from itertools import count
from typing import NamedTuple, TypeVar

from anyio import Event

#: A call at work counts at least so much [s].
_AT_WORK_S = 0.125


_Who = TypeVar("_Who", "_Team", "_Member")


class _Team(NamedTuple):
    """A team, or an owner without one: a team and an owner of one name are two."""

    is_named: bool
    name: str


class _Member(NamedTuple):
    team: _Team
    owner: str


def _member(owner: str, team: str | None) -> _Member:
    return _Member(_Team(team is not None, owner if team is None else team), owner)


class OwnerTurns:
    """So many turns at once, and one more for an owner that has none; for one event loop.

    An owner is any text, the empty one of calls without a key.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._numbers = count()
        self._at_work: dict[_Member, int] = {}
        self._waiting: dict[_Member, deque[tuple[int, Event]]] = {}
        self._team_used_s: dict[_Team, float] = {}
        self._used_s: dict[_Team, dict[_Member, float]] = {}
        self._weights: dict[_Member, float] = {}

    async def acquire(self, owner: str, weight: float = 1.0, team: str | None = None) -> None:
        """Wait for a turn of an owner; cancelled, it has none."""
        member = _member(owner, team)
        self._join(member)
        self._weights[member] = weight
        ticket = next(self._numbers), Event()
        self._waiting.setdefault(member, deque()).append(ticket)
        self._give()
        try:
            await ticket[1].wait()
        except BaseException:  # cancelled: perhaps after the turn was given
            if ticket[1].is_set():
                self.release(owner, 0.0, team)
            else:
                self._drop(member, ticket)
            raise

    def release(self, owner: str, spent_s: float, team: str | None = None) -> None:
        """End a turn that took so much processor time [s]."""
        member = _member(owner, team)
        counted_s = spent_s / self._weights[member]
        self._team_used_s[member.team] += counted_s
        self._used_s[member.team][member] += counted_s
        self._at_work[member] -= 1
        if not self._at_work[member]:
            del self._at_work[member]
        self._give()

    def _join(self, member: _Member) -> None:
        there = self._at_work.keys() | self._waiting.keys()
        if member in there:
            return
        team = member.team
        self._team_used_s = _joined(self._team_used_s, team, {who.team for who in there})
        self._used_s = {who: s for who, s in self._used_s.items() if who in self._team_used_s}
        mates = {who for who in there if who.team == team}
        self._used_s[team] = _joined(self._used_s.get(team, {}), member, mates)
        kept = {who for members in self._used_s.values() for who in members}
        self._weights = {who: w for who, w in self._weights.items() if who in kept}

    def _give(self) -> None:
        """Give turns while there are some."""
        while (member := self._next()) is not None:
            ticket = self._waiting[member][0]
            self._drop(member, ticket)
            self._at_work[member] = self._at_work.get(member, 0) + 1
            ticket[1].set()

    def _next(self) -> _Member | None:
        """Return whose turn it is; None when nobody's."""
        taken = sum(self._at_work.values())
        if taken > self._at_once:
            return None
        lines: dict[_Team, list[_Member]] = {}
        for member in self._waiting:
            if taken < self._at_once or member not in self._at_work:
                lines.setdefault(member.team, []).append(member)
        if not lines:
            return None
        at_work_s: dict[_Team, float] = {}
        for member in self._at_work:
            at_work_s[member.team] = at_work_s.get(member.team, 0.0) + self._at_work_s(member)

        def turn(team: _Team) -> tuple[float, int]:
            oldest = min(self._waiting[member][0][0] for member in lines[team])
            return self._team_used_s[team] + at_work_s.get(team, 0.0), oldest

        return min(lines[min(lines, key=turn)], key=self._place)

    def _place(self, member: _Member) -> tuple[float, int]:
        used_s = self._used_s[member.team][member]
        return used_s + self._at_work_s(member), self._waiting[member][0][0]

    def _at_work_s(self, member: _Member) -> float:
        count_at_work = self._at_work.get(member, 0)
        return _AT_WORK_S * count_at_work / self._weights[member] if count_at_work else 0.0

    def _drop(self, member: _Member, ticket: tuple[int, Event]) -> None:
        line = self._waiting[member]
        line.remove(ticket)
        if not line:
            del self._waiting[member]


def _joined(used_s: Mapping[_Who, float], who: _Who, there: Collection[_Who]) -> dict[_Who, float]:
    """Return what is used once somebody has come, level with the least of those there [s]."""
    if who in there:
        return dict(used_s)
    least = min((used_s[other] for other in there), default=None)
    if least is None:
        return {who: 0.0}
    ahead = {other: s for other, s in used_s.items() if other in there or s > least}
    return {**ahead, who: ahead.get(who, least)}
