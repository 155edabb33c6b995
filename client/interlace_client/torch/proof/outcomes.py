"""What came of a check, of a part, and of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class NotHere(Exception):
    """A check that cannot be made on this machine; the sentence says why."""


@dataclass(frozen=True)
class CheckOutcome:
    """What came of one check.

    Attributes
    ----------
    name
        Of the check.
    status
        ``passed``, ``failed`` or ``skipped``.
    why
        Why it was skipped or failed, by rank.
    figures
        What was measured, by what it is called, with its unit.
    """

    name: str
    status: str
    why: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PartOutcome:
    """What came of the checks of a part.

    Attributes
    ----------
    name, title
        Of the part.
    where
        Ranks, backend and device in words.
    seconds
        How long it took [s].
    checks
        In the order in which they ran.
    """

    name: str
    title: str
    where: str
    seconds: float
    checks: tuple[CheckOutcome, ...]

    @property
    def status(self) -> str:
        """``failed`` where a check failed, ``skipped`` where none was made, else ``passed``."""
        return _status([check.status for check in self.checks])

    def count(self, status: str) -> int:
        """Count the checks of a status."""
        return sum(check.status == status for check in self.checks)


def status_of(parts: Sequence[PartOutcome]) -> str:
    """Return what came of all parts."""
    return _status([part.status for part in parts])


def merged(name: str, ranks: Sequence[CheckOutcome]) -> CheckOutcome:
    """Make one outcome of those of all ranks: figures are the first rank's."""
    status = _status([each.status for each in ranks])
    status = SKIPPED if SKIPPED in {each.status for each in ranks} and status != FAILED else status
    said: dict[str, list[int]] = {}
    for rank, each in enumerate(ranks):
        if each.why:
            said.setdefault(each.why, []).append(rank)
    whys = [
        why
        if len(ranks) == 1 or len(of) == len(ranks)
        else f"rank {', '.join(map(str, of))}: {why}"
        for why, of in said.items()
    ]
    return CheckOutcome(name, status, "\n".join(whys), ranks[0].figures if ranks else {})


def _status(each: Sequence[str]) -> str:
    if FAILED in each:
        return FAILED
    return PASSED if PASSED in each else SKIPPED
