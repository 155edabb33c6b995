"""Copy the database to a file, and put such a copy in the place of no database."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.failures import CommandFailure

if TYPE_CHECKING:
    from sqlalchemy import URL


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; must not exist.")],
) -> None:
    """Copy the database to a file, while the service runs too.

    \b
    Examples:
      interlace backup /backups/interlace.db
      INTERLACE_DATA_DIR=/var/lib/interlace interlace backup today.db
    """
    import sqlite3

    from app.cli.environment import settings
    from app.operations.databases import POSTGRESQL, url_of

    configured = settings()
    url = None if configured.database_url is None else url_of(configured.database_url)
    if url is not None and url.get_backend_name() == POSTGRESQL:
        from app.operations.dumps import DumpFailed, dump

        try:
            dump(url, file)
        except DumpFailed as error:
            raise CommandFailure(f"{file}: {error}") from None
    else:
        from app.operations.backup import copy

        try:
            copy(_file_of(url, configured.data_dir), file)
        except sqlite3.Error as error:
            raise CommandFailure(f"{file}: {error}") from None
    print(f"{file}: {file.stat().st_size:,} bytes")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What interlace backup made.")],
) -> None:
    """Put a copy of the database back where there is none.

    \b
    Examples:
      INTERLACE_DATA_DIR=/var/lib/interlace interlace restore today.db
      INTERLACE_DATABASE_URL=postgresql://interlace@db/anew interlace restore today.dump
    """
    import sqlite3

    from app.cli.environment import settings
    from app.operations.databases import POSTGRESQL, url_of

    configured = settings()
    url = None if configured.database_url is None else url_of(configured.database_url)
    if url is not None and url.get_backend_name() == POSTGRESQL:
        from app.operations import dumps

        try:
            dumps.restore(url, file)
        except dumps.DumpFailed as error:
            raise CommandFailure(f"{file}: {error}") from None
        print(f"{url.database}: restored from {file}")
        return
    from app.operations import backup

    target = _file_of(url, configured.data_dir)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        backup.restore(file, target)
    except sqlite3.Error as error:
        raise CommandFailure(f"{file}: {error}") from None
    print(f"{target}: restored from {file}")


def _file_of(url: "URL | None", data_dir: Path) -> Path:
    """Return the file of a SQLite database."""
    return data_dir / "interlace.db" if url is None else Path(url.database or "")
