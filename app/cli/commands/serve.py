"""Serve the API and its documentation page."""

from typing import Annotated

import typer


def serve(
    host: Annotated[str, typer.Option(help="Address to bind; loopback only by default.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Let other machines in; all need API keys."),
    ] = False,
) -> None:
    """Serve the API and its documentation page.

    \b
    Examples:
      interlace serve
      INTERLACE_DATA_DIR=/var/lib/interlace interlace serve --port 9000
      interlace keys make "my laptop" --owner me
      interlace serve --host 0.0.0.0 --allow-remote
    """
    import gc

    from app.cli.lifetime import go_on
    from app.operations.memory import GARBAGE

    go_on()
    gc.set_threshold(*GARBAGE)  # what is imported from here on stays
    from app.cli import server

    server.serve(host, port, allow_remote=allow_remote)
