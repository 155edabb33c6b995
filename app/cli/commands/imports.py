"""Read what another tool recorded as a request: its graph and its cluster."""

from typing import Annotated

import typer

from app.cli.failures import explaining
from app.cli.field_options import completing
from app.cli.options import (
    AsJson,
    Device,
    Fresh,
    Parameters,
    Progress,
    Rank,
    ServerUrl,
    Step,
    Tags,
    contents,
    present,
    server_at,
)
from app.names import READERS as FORMATS


def import_(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="A trace, or several of one recording; gzipped, in a .tar, .tar.gz or .zip, or "
            "neither; - reads standard input.",
        ),
    ],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"{', '.join(FORMATS)}.  [default: what it looks like]",
            autocompletion=completing(FORMATS),
        ),
    ] = None,
    step: Step = None,
    parameters: Parameters = None,
    rank: Rank = None,
    device: Device = None,
    name: Annotated[str | None, typer.Option(help="What the graph is called.")] = None,
    server: ServerUrl = None,
    tag: Tags = None,
    fresh: Fresh = False,
    progress: Progress = False,
    json_: AsJson = False,
) -> None:
    """Read what another tool recorded as a graph.

    Say what was dropped and assumed. With --json a request is printed, ready to plan: the graph,
    and the cluster that it was recorded on.

    \b
    Examples:
      interlace import trace.json.gz
      interlace import rank0.json.gz rank1.json.gz --json > request.json
      interlace import trace.json.gz --parameters parameters.json --json | interlace plan -
      interlace import module.hlo.txt --device h100 --json | interlace plan -
      interlace import trace.json.gz --server http://planner:8000
    """
    if form is not None and form not in FORMATS:
        raise typer.BadParameter(f"one of {', '.join(FORMATS)}", param_hint="--format")
    from app.cli import flags
    from app.cli.progress import Stage, following
    from app.cli.rendering.reports import render
    from app.reading.traces import FORMAT, own_cluster, parameters_of, read_files
    from app.services.graphs import graph_out
    from app.services.opened_files import called
    from solver.traces import TraceOptions

    at = server_at(server, tag, fresh=fresh)
    names, source, raw = contents(files)
    given = present(
        step=step, format=form, parameters=parameters, rank=rank, device=device, name=name, tag=tag
    )
    with explaining(names, given):
        text, at_rank = flags.parameters(parameters), flags.rank(rank)
        options = TraceOptions(name or called(source), step, parameters_of(text), at_rank, device)
        if at:
            answer = at.read(raw, form, options, text, in_lines=progress)
        else:
            with following(in_lines=progress) as show:
                show(Stage(f"reading {len(raw)} file{'s' if len(raw) > 1 else ''}"))
                trace = read_files(raw, form, options)
                own = own_cluster(raw[0]) if trace.report.format == FORMAT else None
                answer = graph_out(trace, options, own)
    print(answer.model_dump_json() if json_ else render(answer.report))
