"""List who changed what."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from app.cli.options import AsJson


def audit(
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many are listed.")] = 50,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="From a time of day on, UTC, such as 2026-01-31T12:00."),
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Changes by one owner alone.")] = None,
    key: Annotated[str | None, typer.Option(metavar="ID", help="With one key alone.")] = None,
    json_: AsJson = False,
) -> None:
    """List who changed what, the newest first.

    Nothing is kept of calls without keys. Changes of keys themselves have no owner: they are made
    on the server's machine.

    \b
    Examples:
      interlace audit
      interlace audit --owner alice --since 2026-01-31 --json
    """
    from app.cli import keys as work
    from app.cli.rendering.keys import changes

    found = work.changes(limit, since, owner, key)
    print(json.dumps([asdict(each) for each in found], indent=1) if json_ else changes(found))
