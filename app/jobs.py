"""The life of a result on the server."""

import secrets
from datetime import UTC, datetime
from typing import Any


def job_of(created_at: str) -> dict[str, Any]:
    """Return the job of work that began at a time and has ended now."""
    return {
        "id": secrets.token_hex(8),
        "state": "succeeded",
        "created_at": created_at,
        "finished_at": now(),
    }


def now() -> str:
    """Return the time of day in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
