"""Who changed what, and when: a row in the transaction of each change, and a line in the log."""

import logging
from dataclasses import dataclass
from http import HTTPStatus

from sqlalchemy import Connection, delete, insert, select

from app.operations.callers import Caller
from app.storage.clock import now
from app.storage.tables import AuditRow

_LOG = logging.getLogger("interlace.audit")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A change as it is listed.

    Attributes
    ----------
    at
        Time of day, UTC.
    key, owner
        Id of the key that made it, and whose that is; None of a command on the server's machine.
    action, kind, target
        What was done, with what sort of thing, and its id.
    request_id, address
        The call's name in the log, and where it came from.
    status
        How it was answered: 200, or 403 for what the key is not good for.
    """

    at: str
    key: str | None
    owner: str | None
    action: str
    kind: str
    target: str
    request_id: str
    address: str | None
    status: int


_COLUMNS = tuple(AuditRow.__table__.columns[field] for field in AuditEntry.__dataclass_fields__)


def note(
    connection: Connection,
    caller: Caller | None,
    action: str,
    kind: str,
    target: str,
    status: int = HTTPStatus.OK,
) -> None:
    """Keep what a caller changes with its key; where keys are off nobody is known, and nothing is.

    The log may tell of a change whose transaction fails after all; the rows do not.
    """
    if caller is None or caller.key_id is None:
        return
    put(connection, caller, action, kind, target, status)


def put(
    connection: Connection,
    caller: Caller | None,
    action: str,
    kind: str,
    target: str,
    status: int = HTTPStatus.OK,
) -> None:
    """Keep a change, of a key or of a command on this machine (None)."""
    values = {
        "at": now(),
        "key": caller and caller.key_id,
        "owner": caller and caller.owner,
        "action": action,
        "kind": kind,
        "target": target,
        "request_id": caller.request_id if caller else "",
        "address": caller and caller.address,
        "status": int(status),
    }
    connection.execute(insert(AuditRow).values(values))
    told = ("key", "owner", "address", "status", "action", "target", "request_id")
    about = {field: values[field] for field in told}
    _LOG.info("%s %s %s", action, kind, target, extra=about)


def listed(
    connection: Connection,
    *,
    limit: int,
    since: str | None = None,
    owner: str | None = None,
    key: str | None = None,
) -> list[AuditEntry]:
    """Return changes, the newest first: from a time of day on, by an owner, with a key."""
    query = select(*_COLUMNS).order_by(AuditRow.number.desc()).limit(limit)
    for column, value in ((AuditRow.owner, owner), (AuditRow.key, key)):
        if value is not None:
            query = query.where(column == value)
    if since is not None:
        query = query.where(AuditRow.at >= since)
    return [AuditEntry(**row) for row in connection.execute(query).mappings()]


def expire(connection: Connection, before: str) -> None:
    """Forget changes from before a time of day."""
    connection.execute(delete(AuditRow).where(AuditRow.at < before))
