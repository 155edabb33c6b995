"""Open the page of what a service keeps."""

import sys
from typing import Annotated

import typer

from app.cli.options import server_at


def open_(
    name: Annotated[str, typer.Argument(metavar="ID", help="Of a plan, a simulation, a sweep...")],
    *,
    server: Annotated[
        str,
        typer.Option(
            "--server", metavar="URL", envvar="INTERLACE_SERVER", help="The service that keeps it."
        ),
    ],
    print_: Annotated[
        bool, typer.Option("--print", help="Print the address alone; no browser is opened.")
    ] = False,
) -> None:
    """Open the page of an answer, or print its address.

    \b
    Examples:
      interlace open 0123456789abcdef --server http://planner:8000
    """
    at = server_at(server)
    assert at is not None, "a service is named"
    address = at.page_of(name)
    print(address)
    if sys.stdout.isatty() and not print_:
        import webbrowser

        webbrowser.open(address)
