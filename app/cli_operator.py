"""The commands of whoever runs the service: ``config show`` and ``backup``."""

import inspect
import json
import re
import sqlite3
from contextlib import closing
from errno import EEXIST, ENOENT
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import URL, make_url

from app.settings import Settings
from app.terminal import FAILED, AsJson, complain

config = typer.Typer(help="See how the service is set up.", no_args_is_help=True)
_PREFIX = str(Settings.model_config["env_prefix"])
#: An attribute in a docstring, and what is said of it.
_TOLD = re.compile(r"^(\w+)\n((?: {4}.*\n?)+)", re.MULTILINE)


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


def described(settings: Settings) -> list[dict[str, Any]]:
    """Return variable, value, source and meaning of each setting; passwords are hidden."""
    told = dict(_TOLD.findall(f"{inspect.getdoc(Settings)}\n"))
    values = settings.model_dump(mode="json")
    if settings.database_url is not None:
        values["database_url"] = _without_secrets(make_url(settings.database_url))
    return [
        {
            "variable": f"{_PREFIX}{name.upper()}",
            "value": value,
            "source": "environment" if name in settings.model_fields_set else "default",
            "meaning": " ".join(told[name].split()).replace("``", "`"),
        }
        for name, value in values.items()
    ]


def _without_secrets(url: URL) -> str:
    """Write a URL without its password, and without query values that are called so."""
    hidden = {key: "hidden" for key in url.query if "pass" in key.lower()}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


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


def copy(source: Path, target: Path) -> None:
    """Copy one state of a database that may be in use, and check the copy.

    The file has its name only once it is whole.

    Raises
    ------
    FileExistsError, FileNotFoundError
        When there is such a file already, or no database.
    sqlite3.Error
        When the database cannot be read, or the copy is not sound.
    """
    if target.exists():
        raise FileExistsError(EEXIST, "exists already", str(target))
    if not source.is_file():
        raise FileNotFoundError(ENOENT, "no such database", str(source))
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)  # of a copy that was cut off
    with (
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True)) as found,
        closing(sqlite3.connect(part)) as copied,
    ):
        found.backup(copied)
        copied.execute("PRAGMA journal_mode = DELETE")  # one file, whoever opens it
        [wrong], *_ = copied.execute("PRAGMA integrity_check")
        if wrong != "ok":
            raise sqlite3.DatabaseError(f"the copy is not sound: {wrong}")
    part.replace(target)
