"""Read what another tool recorded as a graph."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.failures import explaining
from app.cli.options import (
    AsJson,
    Fresh,
    ServerUrl,
    Tags,
    content,
    present,
    server_at,
)

#: The formats that are read, as ``solver.traces.READERS`` has them.
FORMATS = (
    "pipedream",
    "dnn_partitioning",
    "astra_text",
    "pytorch_et",
    "kineto",
    "chakra",
)


def import_(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="A trace, gzipped or not, or several of one recording; - reads standard input.",
        ),
    ],
    form: Annotated[
        str | None,
        typer.Option("--format", help=f"{', '.join(FORMATS)}.  [default: what it looks like]"),
    ] = None,
    step: Annotated[
        int | None, typer.Option(min=0, help="Which step, from 0.  [default: the median one]")
    ] = None,
    parameters: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="JSON of [name, bytes] of each gradient in the order of registration, to split "
            "buckets.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the graph is called.")] = None,
    server: ServerUrl = None,
    tag: Tags = None,
    fresh: Fresh = False,
    json_: AsJson = False,
) -> None:
    """Read what another tool recorded as a graph.

    Say what was dropped and assumed.

    \b
    Examples:
      interlace import trace.json.gz
      interlace import rank0.json.gz rank1.json.gz --json > graph.json
      interlace import trace.json.gz --parameters parameters.json --json | interlace plan -
      interlace import trace.json.gz --server http://planner:8000
    """
    if form is not None and form not in FORMATS:
        raise typer.BadParameter(f"one of {', '.join(FORMATS)}", param_hint="--format")
    from app.cli.files import called
    from app.cli.rendering.reports import render
    from app.reading.traces import parameters_of, read_files
    from app.services.graphs import graph_out
    from solver.traces import TraceOptions

    at = server_at(server, tag, fresh=fresh)
    contents = [content(file) for file in files]
    names, raw = [name for name, _ in contents], [each for _, each in contents]
    flags = present(step=step, format=form, parameters=parameters, name=name, tag=tag)
    with explaining(", ".join(names), flags):
        text = parameters.read_text(encoding="utf-8") if parameters else None
        asked = TraceOptions(name or called(names[0]), step, parameters_of(text))
        if at:
            answer = at.read(raw, form, step, text, asked.name)
        else:
            answer = graph_out(read_files(raw, form, asked))
    print(answer.model_dump_json() if json_ else render(answer.report))
