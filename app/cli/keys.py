"""API keys of the service's database, for whoever runs it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from sqlalchemy.exc import ArgumentError

from app.cli import environment
from app.cli.failures import MISUSED, CommandFailure
from app.operations.callers import SCOPES
from app.storage import audit, keys
from app.storage.audit import AuditEntry
from app.storage.clock import now
from app.storage.database import Store
from app.storage.keys import ApiKey, NewKey

#: Longest name of an owner or a team [characters].
_WORD = 64


def make(new: NewKey) -> tuple[str, ApiKey]:
    """Make a key; return its text and what is known of it.

    Raises
    ------
    Failure
        When a scope is unknown, or an owner or a team is no word.
    """
    for scope in new.scopes:
        if scope not in SCOPES:
            raise CommandFailure(f"--scope: {scope!r} is none of {', '.join(SCOPES)}", code=MISUSED)
    for flag, word in (("--owner", new.owner), ("--team", new.team)):
        if word is not None and not (0 < len(word) <= _WORD and word.isprintable()):
            raise CommandFailure(f"{flag}: wants 1 to {_WORD} printable characters", code=MISUSED)
    with _store() as store:
        return keys.make(store, new)


def rotate(key_id: str, overlap_h: float, expires_days: float | None) -> tuple[str, ApiKey, str]:
    """Make a key in the place of one; return its text, what is known, and when the old one ends.

    Without ``expires_days`` the new one lives as long as the old one was to.
    """
    with _store() as store:
        old = keys.get(store, key_id)
        until = after(overlap_h / 24)
        expires_at = None
        if expires_days is not None:
            expires_at = after(expires_days)
        elif old.expires_at is not None:
            lifetime = _moment(old.expires_at) - _moment(old.created_at)
            expires_at = after(lifetime / timedelta(days=1))
        text, new = keys.rotate(store, key_id, until, expires_at)
        return text, new, keys.get(store, key_id).expires_at or until


def revoke(key_id: str) -> ApiKey:
    """End a key at once."""
    with _store() as store:
        return keys.revoke(store, key_id)


def listed() -> list[tuple[ApiKey, str]]:
    """Return all keys, each with its state now."""
    with _store() as store:
        return [(key, key.state(now())) for key in keys.listed(store)]


def changes(limit: int, since: str | None, owner: str | None, key: str | None) -> list[AuditEntry]:
    """Return who changed what, the newest first."""
    with _store() as store, store.reading() as connection:
        return audit.listed(connection, limit=limit, since=since, owner=owner, key=key)


def after(days: float) -> str:
    """Return the time of day after so many days, as the database has it."""
    moment = datetime.now(UTC) + timedelta(days=days)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


@contextmanager
def _store() -> Iterator[Store]:
    try:
        store = Store(environment.settings())
    except ArgumentError as error:
        lines = str(error).splitlines()
        raise CommandFailure(f"INTERLACE_DATABASE_URL: {lines[0]}", code=MISUSED) from None
    try:
        yield store
    finally:
        store.close()
