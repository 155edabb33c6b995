"""Copy the database to a file."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.failures import Failure


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

    from sqlalchemy import make_url

    from app.cli.environment import settings
    from app.operations.backup import copy

    configured = settings()
    source = configured.data_dir / "interlace.db"
    if configured.database_url is not None:
        url = make_url(configured.database_url)
        if url.get_backend_name() != "sqlite" or url.database is None:
            raise Failure("only a SQLite database is copied; yours has tools of its own")
        source = Path(url.database)
    try:
        copy(source, file)
    except sqlite3.Error as error:
        raise Failure(f"{file}: {error}") from None
    print(f"{file}: {file.stat().st_size:,} bytes")
