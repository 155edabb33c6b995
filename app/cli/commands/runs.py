"""Show a run."""

from typing import Annotated

import typer

from app.cli.options import AsJson, server_at


def run_(
    run: Annotated[str, typer.Argument(metavar="ID", help="Its id, as the service gave it.")],
    steps: Annotated[
        int, typer.Option(min=0, max=1_000, help="How many of its last steps are listed.")
    ] = 10,
    *,
    server: Annotated[
        str,
        typer.Option(
            "--server", metavar="URL", envvar="INTERLACE_SERVER", help="The service that keeps it."
        ),
    ],
    json_: AsJson = False,
) -> None:
    """Show what a job's steps took, beside what was predicted.

    It asks the service that the job reports to.

    \b
    Examples:
      interlace run 0123456789abcdef --server http://planner:8000
      interlace run 0123456789abcdef --steps 50 --server http://planner:8000
    """
    from app.cli.rendering.runs import render

    at = server_at(server)
    assert at is not None, "a server is named"
    answer = at.read_run(run)
    print(answer.model_dump_json(indent=1) if json_ else render(answer, steps))
