"""Copies of a PostgreSQL database by its own programs, also while the service runs."""

import os
import shutil
import subprocess
from errno import EEXIST
from pathlib import Path

from sqlalchemy import URL, create_engine, inspect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

#: What a program of PostgreSQL's may not wait longer for: a lock that others hold.
_OPTIONS = "-c lock_timeout=60s"


class DumpFailed(Exception):
    """A copy could not be made, or put back; why, in a line that shows no password."""


def dump(url: URL, target: Path) -> None:
    """Copy one state of a database that may be in use to a file, and check the file.

    It is in ``pg_dump``'s own format, has mode 0600, and its name only once it is whole.

    Raises
    ------
    FileExistsError
        When there is such a file already.
    DumpFailed
        When ``pg_dump`` is not installed, or the database cannot be read.
    """
    if target.exists():
        raise FileExistsError(EEXIST, "exists already", str(target))
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)  # of a copy that was cut off
    part.touch(mode=0o600)
    try:
        name = f"--dbname={_plain(url)}"
        _run(
            url,
            "pg_dump",
            "--format=custom",
            "--no-owner",
            "--no-privileges",
            f"--file={part}",
            name,
        )
        _run(url, "pg_restore", "--list", f"--file={os.devnull}", str(part))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def restore(url: URL, source: Path) -> None:
    """Put a copy into a database that has no tables; all of it, or nothing.

    Raises
    ------
    DumpFailed
        When the file is no such copy, the database cannot be used or has tables, or ``pg_restore``
        is not installed.
    """
    source.open("rb").close()  # so that a missing file is said to be missing
    if tables := _tables(url):
        raise DumpFailed(f"the database has tables already ({tables[0]}); name an empty one")
    whole = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges")
    _run(url, "pg_restore", *whole, f"--dbname={_plain(url)}", str(source))


def _tables(url: URL) -> list[str]:
    engine = create_engine(url, poolclass=NullPool)
    try:
        return sorted(inspect(engine).get_table_names())
    except SQLAlchemyError as error:
        raise DumpFailed(str(getattr(error, "orig", None) or error).splitlines()[0]) from None


def _plain(url: URL) -> str:
    """Write a URL as PostgreSQL reads it, without the password: all see what a program is told."""
    plain = url.set(drivername=url.get_backend_name(), password=None)
    text = plain.difference_update_query(["password"]).render_as_string(hide_password=False)
    return text.replace("+", "%20")


def _run(url: URL, program: str, *arguments: str) -> None:
    if shutil.which(program) is None:
        raise DumpFailed(f"{program} is not installed; PostgreSQL's client programs have it")
    password = url.password or url.query.get("password")
    told = {"PGOPTIONS": _OPTIONS, **({"PGPASSWORD": str(password)} if password else {})}
    done = subprocess.run(  # noqa: S603 - a program's name that is ours, no shell
        [program, "--no-password", *arguments],
        env={**os.environ, **told},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        why = next((line for line in done.stderr.splitlines() if line.strip()), f"{program} failed")
        raise DumpFailed(why)
