"""The commands of whoever runs the service: ``config show`` and ``backup``."""

import json
import sqlite3
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import make_url

from app.cli.terminal import FAILED, AsJson, complain
from app.operations.backup import copy
from app.operations.settings import Settings, described

config = typer.Typer(help="See how the service is set up.", no_args_is_help=True)


@config.command("show")
def _show(json_: AsJson = False) -> None:
    """Print every setting, its value, where that comes from and what it means.

    \b
    Example:
      interlace config show
    """  # noqa: D301 - \b keeps the lines apart
    found = described(Settings())
    if json_:
        print(json.dumps(found, indent=1))
        return
    for setting in found:
        value = "-" if setting["value"] is None else setting["value"]
        print(f"{setting['variable']} = {value}  ({setting['source']})\n    {setting['meaning']}")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; must not exist.")],
) -> None:
    """Copy the database to a file, safely also while the service runs.

    \b
    Examples:
      interlace backup /backups/interlace.db
      INTERLACE_DATA_DIR=/var/lib/interlace interlace backup today.db
    """  # noqa: D301 - \b keeps the lines apart
    settings = Settings()
    source = settings.data_dir / "interlace.db"
    if settings.database_url is not None:
        url = make_url(settings.database_url)
        if url.get_backend_name() != "sqlite" or url.database is None:
            complain("only a SQLite database is copied; yours has tools of its own")
            raise typer.Exit(FAILED)
        source = Path(url.database)
    try:
        copy(source, file)
    except sqlite3.Error as error:
        complain(f"{file}: {error}")
        raise typer.Exit(FAILED) from None
    print(f"{file}: {file.stat().st_size:,} bytes")
