"""Who calls: the owner of an API key, and what the key lets it do."""

from dataclasses import dataclass, field, replace
from typing import Literal, Self

Scope = Literal["read", "submit", "admin"]


#: What a key may be good for; who may do one thing may do those before it, too.
SCOPES: tuple[Scope, ...] = ("read", "submit", "admin")


@dataclass(frozen=True, slots=True)
class Quotas:
    """How much a key may use; None is without end.

    Attributes
    ----------
    requests_per_s
        Requests a second, of this key at one server; a second's worth may come at once.
    queued
        Jobs of the owner that wait.
    stored_bytes
        Size of what is kept for the owner [bytes].
    solving_s
        How long jobs of the owner may be worked on in a day, by UTC [s].
    weight
        So many times the processor time of who has 1 is the owner's, while both wait.
    """

    requests_per_s: float | None = None
    queued: int | None = None
    stored_bytes: int | None = None
    solving_s: float | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who calls with a key; where keys are off the caller is None, and sees all.

    Attributes
    ----------
    owner, team
        Whose everything is that is made; None is no team.
    scopes
        What the key is good for.
    key_id
        The key's name in lists and logs; None of a job at work for its owner.
    quotas
        What the key may use.
    address
        Where the call came from, as the server sees it.
    request_id
        The call's name in the log.
    """

    owner: str
    team: str | None
    scopes: frozenset[str]
    key_id: str | None = None
    quotas: Quotas = field(default_factory=Quotas)
    address: str | None = None
    request_id: str = ""

    def may(self, scope: Scope) -> bool:
        """Tell whether the key is good for something."""
        return any(each in self.scopes for each in SCOPES[SCOPES.index(scope) :])

    @property
    def sees_all(self) -> bool:
        """Whether what others own is seen too."""
        return "admin" in self.scopes

    def as_owner(self) -> Self:
        """Return who sees what the owner does: an admin's own job is no admin."""
        return replace(self, scopes=self.scopes - {"admin"})


#: A call without a key to what is open to all: nothing is its own, and it sees nothing.
NOBODY = Caller("", None, frozenset())


def working_for(owner: str | None, team: str | None) -> Caller | None:
    """Return who a job works for: it sees what its owner does."""
    return None if owner is None else Caller(owner, team, frozenset())
