"""The life of a result on the server."""

import secrets
from datetime import UTC, datetime
from typing import Any

from app.storage import Row, Store, Stored


def job_of(created_at: str) -> dict[str, Any]:
    """Return the job of work that began at a time and has ended now."""
    return {
        "id": secrets.token_hex(8),
        "state": "succeeded",
        "created_at": created_at,
        "finished_at": now(),
    }


def keep(
    store: Store, kind: type[Row], began: str, light: dict[str, Any], request: str, result: str
) -> Stored:
    """Keep a result of work that began at a time."""
    found = Stored(job_of(began), light, request, result)
    store.add(kind, found)
    return found


def now() -> str:
    """Return the time of day in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
