"""API keys: made, found, listed, revoked, rotated. A key is ``ilk_<id>_<256 random bits>``.

Only its SHA-256 is kept: a key of random bits cannot be guessed, so a slow hash, which keeps people
from guessing short passwords, would cost every call and protect nothing.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, insert, or_, select, update

from app.errors import NotFound
from app.operations.callers import Caller, Quotas
from app.storage import audit
from app.storage.clock import Moment, now
from app.storage.database import Store
from app.storage.tables import ApiKeyRow

#: How a key reads: its id, then what is secret.
_KEY = re.compile(r"ilk_([0-9a-f]{12})_[0-9a-f]{64}")


#: What the log and lists of changes call one.
_KIND = "key"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key; ``limits`` are those quotas that it has instead of the settings'."""

    id: str
    name: str
    owner: str
    team: str | None
    scopes: tuple[str, ...]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    used_at: str | None
    limits: dict[str, float]

    def state(self, at: str) -> str:
        """Return ``active``, ``expired`` or ``revoked``: how it is at a time of day."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= at else "active"

    def quotas(self, usual: Quotas) -> Quotas:
        """Return what it may use, when most keys may use this much."""
        return Quotas(**{**asdict(usual), **self.limits})


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key as it is asked for; ``expires_at`` is a time of day, or None for never."""

    name: str
    owner: str
    team: str | None
    scopes: Sequence[str]
    expires_at: str | None
    limits: dict[str, float]


def make(store: Store, new: NewKey) -> tuple[str, ApiKey]:
    """Keep a new key; return it, which is nowhere to be read again, and what is known of it."""
    with store.writing() as connection:
        return _make(connection, new, "make")


def rotate(store: Store, key_id: str, until: str, expires_at: str | None) -> tuple[str, ApiKey]:
    """Make a key in the place of one, which is good until a time of day beside it.

    Raises
    ------
    NotFound
        When there is no such key, or it is not active any more.
    """
    with store.writing() as connection:
        old = _of_id(connection, key_id)
        if (state := old.state(now())) != "active":
            raise NotFound(f"Key {key_id} is {state}; make another one.")
        _change(connection, key_id, {"expires_at": min(until, old.expires_at or until)}, "expire")
        new = NewKey(old.name, old.owner, old.team, old.scopes, expires_at, old.limits)
        return _make(connection, new, "rotate")


def revoke(store: Store, key_id: str) -> ApiKey:
    """End a key at once; one that was revoked stays as it is. Raises NotFound."""
    with store.writing() as connection:
        if _of_id(connection, key_id).revoked_at is None:
            _change(connection, key_id, {"revoked_at": now()}, "revoke")
        return _of_id(connection, key_id)


def get(store: Store, key_id: str) -> ApiKey:
    """Return what is known of a key, or raise NotFound."""
    with store.reading() as connection:
        return _of_id(connection, key_id)


def listed(store: Store) -> list[ApiKey]:
    """Return all keys in the order in which they were made."""
    query = select(ApiKeyRow.__table__).order_by(ApiKeyRow.number)
    with store.reading() as connection:
        return [_key(row) for row in connection.execute(query).mappings()]


def is_any_usable(store: Store) -> bool:
    """Tell whether some key lets somebody in."""
    usable = (
        ApiKeyRow.revoked_at.is_(None),
        or_(ApiKeyRow.expires_at.is_(None), ApiKeyRow.expires_at > now()),
    )
    with store.reading() as connection:
        return connection.scalar(select(ApiKeyRow.number).where(*usable).limit(1)) is not None


def is_formed(text: str) -> bool:
    """Tell whether a text may be a key."""
    return _KEY.fullmatch(text) is not None


def of_text(store: Store, text: str) -> ApiKey | None:
    """Return the active key that a text is; None when it is none.

    How long that takes tells nothing of the key: it is found by its id, which is no secret, and
    compared in constant time.
    """
    found = _KEY.fullmatch(text)
    if found is None:
        return None
    at = Moment().label("at")
    query = select(ApiKeyRow.__table__, at).where(ApiKeyRow.id == found[1])
    with store.reading() as connection:
        row = connection.execute(query).mappings().first()
    if row is None or not hmac.compare_digest(row["hash"], _hash(text)):
        return None
    key = _key(row)
    return key if key.state(row["at"]) == "active" else None


def note_use(store: Store, key_id: str) -> None:
    """Keep that a key was used now."""
    with store.changing() as connection:
        which = ApiKeyRow.id == key_id
        connection.execute(update(ApiKeyRow).where(which).values(used_at=Moment()))


def caller_of(key: ApiKey, usual: Quotas) -> Caller:
    """Return who calls with a key."""
    return Caller(key.owner, key.team, frozenset(key.scopes), key.id, key.quotas(usual))


def _make(connection: Connection, new: NewKey, action: str) -> tuple[str, ApiKey]:
    key_id = secrets.token_hex(6)
    text = f"ilk_{key_id}_{secrets.token_hex(32)}"
    values = {
        "id": key_id,
        "name": new.name,
        "owner": new.owner,
        "team": new.team,
        "scopes": " ".join(new.scopes),
        "hash": _hash(text),
        "created_at": now(),
        "expires_at": new.expires_at,
        "limits": json.dumps(new.limits),
    }
    connection.execute(insert(ApiKeyRow).values(values))
    audit.put(connection, None, action, _KIND, key_id)
    return text, _of_id(connection, key_id)


def _change(connection: Connection, key_id: str, values: dict[str, Any], action: str) -> None:
    connection.execute(update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(values))
    audit.put(connection, None, action, _KIND, key_id)


def _of_id(connection: Connection, key_id: str) -> ApiKey:
    query = select(ApiKeyRow.__table__).where(ApiKeyRow.id == key_id)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFound(f"No key has the id {key_id!r}.")
    return _key(row)


def _key(row: Any) -> ApiKey:
    values = {field: row[field] for field in ApiKey.__dataclass_fields__}
    return ApiKey(
        **{**values, "scopes": tuple(row["scopes"].split()), "limits": json.loads(row["limits"])}
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
