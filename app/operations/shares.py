"""Shares of the machine: of teams, and of the owners of each; who without a team is one of his own.

What a share used counts for its team, too. Next is the team that has used least, of it the owner
that has, of him the oldest. Whoever comes starts level with the least of his rivals who are there.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple

#: Stands between a team and its owner in a share; names are printable, so in none.
_WITHIN = "\x1f"


class Head(NamedTuple):
    """The oldest job of a share in a lane, or the oldest of its calls, which have none."""

    lane: str
    share: str
    number: int


def share_of(owner: str, team: str | None) -> str:
    """Return the name of an owner's share, at most 64 characters.

    Of a team's owner it is of digests, as both names may be as long.
    """
    return owner if team is None else _WITHIN.join(map(_digest, (team, owner)))


def _digest(name: str) -> str:
    return blake2b(name.encode(), digest_size=12).hexdigest()


def team_of(share: str) -> str | None:
    """Return the share of the team that a share is part of; None of a team and of a lone owner."""
    team, within, owner = share.partition(_WITHIN)
    return f"{team}{within}" if owner else None


def levels_of(share: str) -> Iterator[str]:
    """Yield the share of a team, if there is one, and that of an owner."""
    if (team := team_of(share)) is not None:
        yield team
    yield share


def in_order(
    heads: Iterable[Head], used_s: Mapping[str, float], at_work_s: Mapping[str, float]
) -> list[Head]:
    """Return who is next, and after whom: by team, then by owner; the least used, then the oldest.

    ``used_s`` and ``at_work_s`` are what the jobs of a share used, and those at work count [s],
    of teams as of owners.
    """
    known = list(heads)
    oldest: dict[str, int] = {}
    for head in known:
        whole = team_of(head.share) or head.share
        oldest[whole] = min(head.number, oldest.get(whole, head.number))

    def due_s(share: str) -> float:
        return used_s.get(share, 0.0) + at_work_s.get(share, 0.0)

    def turn(head: Head) -> tuple[float, int, float, int]:
        whole = team_of(head.share) or head.share
        return due_s(whole), oldest[whole], due_s(head.share), head.number

    return sorted(known, key=turn)


def joined(used_s: dict[str, float], share: str, there: Collection[str]) -> dict[str, float]:
    """Return what is used once a share has come, level with the least of its rivals there [s].

    Its rivals are the owners of its team, or all teams and lone owners.
    """
    rivals = {each: s for each, s in used_s.items() if team_of(each) == team_of(share)}
    least = min((s for each, s in rivals.items() if each in there), default=None)
    gone = {
        each for each, s in rivals.items() if each not in there and (least is None or s <= least)
    }
    kept = {each: s for each, s in used_s.items() if {each, team_of(each)}.isdisjoint(gone)}
    return {share: least or 0.0} | kept
