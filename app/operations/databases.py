"""The databases that can be used, by the URL that an operator gives."""

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

SQLITE, POSTGRESQL = "sqlite", "postgresql"

#: The driver of each kind; a URL need not name it.
_DRIVERS = {SQLITE: "pysqlite", POSTGRESQL: "psycopg"}

#: What other programs call PostgreSQL in a URL.
_ALIASES = {"postgres": POSTGRESQL}


def url_of(text: str) -> URL:
    """Read a database URL; a PostgreSQL one is given its driver.

    Raises
    ------
    ArgumentError
        When it is none, names what is no SQLite or PostgreSQL database, or the driver is not
        installed. The sentence does not show the URL: it may hold a password.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # of a port that is no number
        raise ArgumentError("This is no database URL.") from None
    kind, _, driver = url.drivername.partition("+")
    kind = _ALIASES.get(kind, kind)
    if kind not in _DRIVERS:
        raise ArgumentError(f"A database is sqlite:// or postgresql://, got {kind}://.")
    if driver and driver != _DRIVERS[kind]:
        raise ArgumentError(f"The driver of {kind} is {_DRIVERS[kind]}, got {driver}.")
    url = url.set(drivername=f"{kind}+{_DRIVERS[kind]}")
    try:
        url.get_dialect().import_dbapi()
    except ImportError:
        missing = "PostgreSQL needs psycopg, which is not installed: pip install"
        raise ArgumentError(f"{missing} 'interlace[postgresql]'.") from None
    return url


def without_secrets(url: URL) -> str:
    """Write a URL without its password, and without query values that are called so."""
    hidden = {key: "hidden" for key in url.query if "pass" in key.lower()}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)
