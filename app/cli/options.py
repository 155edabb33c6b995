"""Options that several commands share, and the bytes and the service that they name."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from app.cli.remote import Server

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="JSON graph, JSON request as for the API, or a trace (see import); - reads standard "
        "input.",
    ),
]

Workers = Annotated[int | None, typer.Option(help="Workers.  [default: 8]")]

BandwidthGbps = Annotated[
    float | None, typer.Option(help="Bandwidth between two workers.  [default: 10]")
]

StartupUs = Annotated[float | None, typer.Option(help="Fixed cost of one launch.  [default: 50]")]

CostModel = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="Instead of the cluster's network: the JSON that calibrate --json prints.",
    ),
]

Extrapolate = Annotated[
    bool,
    typer.Option(
        "--extrapolate", help="Scale a measured cost model to other workers or bandwidth."
    ),
]

Barrier = Annotated[
    bool, typer.Option("--barrier", help="The next forward pass waits for all last collectives.")
]

WhatIf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN=CHANGE",
        help="Answer also with ops changed: PATTERN=remove, PATTERN=bytes*FACTOR or "
        "PATTERN=duration*FACTOR; may be repeated.",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as the service's JSON.")]

ServerUrl = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        envvar="INTERLACE_SERVER",
        help="Have the service there do the work.",
    ),
]

Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag", metavar="WORD", help="Word to find the server's job by; may be repeated."
    ),
]

Fresh = Annotated[
    bool, typer.Option("--fresh", help="Solve anew what the server has answered before.")
]


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields of a request that flags set."""
    return {name: value for name, value in fields.items() if value not in (None, [])}


def content(file: str) -> tuple[str, bytes]:
    """Return what a file is called, and its bytes."""
    if file == "-":
        return "standard input", sys.stdin.buffer.read()
    return file, Path(file).read_bytes()


def server_at(
    url: str | None, tags: list[str] | None = None, *, fresh: bool = False
) -> "Server | None":
    """Return the service that is to do the work; None when it is done here."""
    if url is None:
        for flag, is_set in (("--tag", tags), ("--fresh", fresh)):
            if is_set:
                raise typer.BadParameter("needs --server", param_hint=flag)
        return None
    try:
        from app.cli.remote import Server  # noqa: PLC0415 - what is done here needs no client
    except ModuleNotFoundError as error:
        if error.name not in {"interlace_client", "httpx"}:
            raise
        detail = "needs the client: pip install 'interlace[remote]'"
        raise typer.BadParameter(detail, param_hint="--server") from None
    return Server(url, tuple(tags or ()), fresh)
