"""The commands that go between other tools and a plan: import and export."""

from pathlib import Path
from typing import Annotated

import typer

from app import graphs
from app.files import called
from app.flags import given
from app.report import source
from app.terminal import AsJson, content, explaining
from solver.traces import READERS, Asked


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
        typer.Option("--format", help=f"{', '.join(READERS)}.  [default: what it looks like]"),
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
    json_: AsJson = False,
) -> None:
    """Read what another tool recorded as a graph, and say what was dropped and assumed.

    \b
    Examples:
      interlace import trace.json.gz
      interlace import rank0.json.gz rank1.json.gz --json > graph.json
      interlace import trace.json.gz --parameters parameters.json --json | interlace plan -
    """  # noqa: D301 - \b keeps the lines apart
    if form is not None and form not in READERS:
        raise typer.BadParameter(f"one of {', '.join(READERS)}", param_hint="--format")
    found = [content(file) for file in files]
    first = found[0][0]
    flags = given(step=step, format=form, parameters=str(parameters) if parameters else None)
    with explaining(", ".join(each for each, _ in found), flags):
        text = parameters.read_text(encoding="utf-8") if parameters else None
        asked = Asked(name or called(first), step, graphs.parameters_of(text))
        trace = graphs.read([each for _, each in found], form, asked)
    if json_:
        print(graphs.answer_of(trace).model_dump_json())
    else:
        print("\n".join(source(trace.report)))
