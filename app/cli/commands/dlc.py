"""Say what DLC traces tell of training through parameter servers."""

from typing import Annotated

import typer

from app.cli.failures import explaining
from app.cli.options import AsJson, Progress, ServerUrl, contents, server_at


def dlc(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="DLC traces of one training, a file a node, gzipped or not; - reads standard "
            "input.",
        ),
    ],
    server: ServerUrl = None,
    progress: Progress = False,
    json_: AsJson = False,
) -> None:
    """Measure parameter-server training by its DLC traces.

    Print the phases of its iterations, its overheads, its volume and its message lengths. Some of
    it needs the files of workers, some those of servers.

    \b
    Examples:
      interlace dlc w0.txt
      interlace dlc w0.txt w1.txt s0.txt
      interlace dlc w0.txt --json > report.json
    """
    from app.cli.progress import Stage, following
    from app.cli.rendering.dlc import render
    from app.reading.traces import read_files
    from app.services.graphs import graph_out
    from solver.traces import TraceOptions
    from solver.traces.dlc import FORMAT

    at = server_at(server)
    names, _, raw = contents(files)
    with explaining(names, {}):
        if at:
            answer = at.read(raw, FORMAT, TraceOptions(), None, in_lines=progress)
        else:
            with following(in_lines=progress) as show:
                show(Stage(f"reading {len(raw)} file{'s' if len(raw) > 1 else ''}"))
                options = TraceOptions()
                answer = graph_out(read_files(raw, FORMAT, options), options)
    print(answer.model_dump_json() if json_ else render(answer.report))
