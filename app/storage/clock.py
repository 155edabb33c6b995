"""The time of day as the database has it: text that sorts as it passes."""

from datetime import UTC, datetime, timedelta


def now() -> str:
    """Return the time of day in UTC, to the microsecond."""
    return _text(datetime.now(UTC))


def ago(seconds: float) -> str:
    """Return the time of day so long ago [s]."""
    return _text(datetime.now(UTC) - timedelta(seconds=seconds))


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
