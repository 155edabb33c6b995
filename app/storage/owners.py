"""Whose things are: one sees one's own and one's team's; who may administer, and who is local, all.

What was made while keys were off has no owner: only those who see all see it.
"""

from typing import Any

from sqlalchemy import ColumnElement, or_, true

from app.operations.callers import Caller
from app.storage.tables import Owned


def may_see(owner: str | None, team: str | None, caller: Caller | None) -> bool:
    """Tell whether somebody sees, and may change and delete, what is of an owner and a team."""
    if caller is None or caller.sees_all:
        return True
    return owner == caller.owner or (caller.team is not None and team == caller.team)


def visible(table: type[Owned], caller: Caller | None) -> ColumnElement[bool]:
    """Return the condition of :func:`may_see` on the rows of a table."""
    if caller is None or caller.sees_all:
        return true()
    own = table.owner == caller.owner
    return own if caller.team is None else or_(own, table.team == caller.team)


def own(table: type[Owned], caller: Caller | None) -> ColumnElement[bool]:
    """Return the condition that a row is the caller's own; where keys are off, that it is nobody's.

    Nobody is given another's answer for the same question, not even a team mate's.
    """
    return table.owner.is_(None) if caller is None else table.owner == caller.owner


def values_of(caller: Caller | None) -> dict[str, Any]:
    """Return the columns that say whose a new row is."""
    if caller is None:
        return {"owner": None, "team": None}
    return {"owner": caller.owner, "team": caller.team}
