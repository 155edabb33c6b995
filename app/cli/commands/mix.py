"""Plan jobs that share links together."""

from typing import Annotated

import typer

from app.cli.failures import explaining
from app.cli.field_options import option
from app.cli.options import (
    AsJson,
    Html,
    ServerUrl,
    Set,
    check_html,
    contents,
    present,
    server_at,
    write,
)


def mix(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="JSON request; - reads standard input.")
    ],
    objective: Annotated[str | None, option("MixRequest.objective", metavar="NAME")] = None,
    iterations: Annotated[int | None, option("MixRequest.iterations", metavar="N")] = None,
    effort: Annotated[int | None, option("MixRequest.effort", metavar="N")] = None,
    set_: Set = None,
    server: ServerUrl = None,
    html: Html = None,
    json_: AsJson = False,
) -> None:
    """Plan jobs that share links together.

    Says how long each job takes alone, beside the others, under CASSINI's shifts and Crux's
    priorities, and planned; who slows whom on which link; and what no plan can be better than.

    \b
    Examples:
      interlace mix jobs.json
      interlace mix jobs.json --objective worst --json
      interlace mix jobs.json --server http://planner:8000
    """
    from app.cli.assignments import assignments
    from app.cli.rendering.mixes import render
    from app.reading.parsing import read_json
    from app.reading.requests import checked_plain
    from app.schemas.mixes import MixRequest
    from app.services.mixes import answer_of

    assigned, at = assignments(set_), server_at(server)
    check_html(html, [file])
    fields = present(objective=objective, iterations=iterations, effort=effort)
    names, _, raw = contents([file])
    with explaining(names, fields, assigned=assigned):
        body = read_json(raw[0])
        body = assigned.on({**body, **fields}) if isinstance(body, dict) else body
        request = checked_plain(body, MixRequest)
        answer = at.mix(request) if at else answer_of(request)
    if html:
        from app.pages.answer_files import asked_file

        write(html, asked_file("mixes", request, answer, " ".join(answer.notes)))
    print(answer.model_dump_json(indent=1) if json_ else render(answer))
