"""Delete a graph or a cost model that a service keeps."""

from typing import Annotated, Literal

import typer

from app.cli.options import server_at


def delete(
    kind: Annotated[Literal["graph", "cost-model"], typer.Argument(help="What is deleted.")],
    id_: Annotated[str, typer.Argument(metavar="ID", help="Its id, as the service gave it.")],
    *,
    server: Annotated[
        str,
        typer.Option(
            "--server", metavar="URL", envvar="INTERLACE_SERVER", help="The service that keeps it."
        ),
    ],
) -> None:
    """Delete a graph or a cost model that a service keeps.

    What was made with it stays. While a job that has not ended names it, it is not deleted.

    \b
    Examples:
      interlace delete graph 0123456789abcdef --server http://planner:8000
      interlace delete cost-model 0123456789abcdef --server http://planner:8000
    """
    at = server_at(server)
    assert at is not None, "a server is named"
    at.delete(kind, id_)
