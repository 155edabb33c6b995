"""The commands that go between other tools and a plan: import and export."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli.files import called, read_file
from app.cli.flags import Json, given, network, read_plan
from app.cli.report import source
from app.cli.terminal import (
    AsJson,
    BandwidthGbps,
    Barrier,
    File,
    Fresh,
    ServerUrl,
    StartupUs,
    Tags,
    Workers,
    at_server,
    content,
    explaining,
)
from app.reading.traces import parameters_of, read_files
from app.services.exports import exported
from app.services.graphs import graph_out
from app.services.plans import solve
from solver.exports import EXPORTS
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
    server: ServerUrl = None,
    tag: Tags = None,
    fresh: Fresh = False,
    json_: AsJson = False,
) -> None:
    """Read what another tool recorded as a graph, and say what was dropped and assumed.

    \b
    Examples:
      interlace import trace.json.gz
      interlace import rank0.json.gz rank1.json.gz --json > graph.json
      interlace import trace.json.gz --parameters parameters.json --json | interlace plan -
      interlace import trace.json.gz --server http://planner:8000
    """  # noqa: D301 - \b keeps the lines apart
    if form is not None and form not in READERS:
        raise typer.BadParameter(f"one of {', '.join(READERS)}", param_hint="--format")
    at = at_server(server, tag, fresh=fresh)
    found = [content(file) for file in files]
    first, contents = found[0][0], [each for _, each in found]
    flags = given(step=step, format=form, parameters=parameters, name=name, tag=tag)
    with explaining(", ".join(each for each, _ in found), flags):
        text = parameters.read_text(encoding="utf-8") if parameters else None
        asked = Asked(name or called(first), step, parameters_of(text))
        if at:
            answer = at.read(contents, form, step, text, asked.name)
        else:
            answer = graph_out(read_files(contents, form, asked))
    print(answer.model_dump_json() if json_ else "\n".join(source(answer.report)))


def _object(value: Any) -> Json:
    """Return a JSON object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def export(
    file: File,
    form: Annotated[str, typer.Option("--format", help=f"{', '.join(EXPORTS)}.")],
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="PLAN", help="The JSON that plan --json prints.  [default: planned now]"
        ),
    ] = None,
    workers: Workers = None,
    bandwidth_gbps: BandwidthGbps = None,
    startup_us: StartupUs = None,
    barrier: Barrier = False,
    server: ServerUrl = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the files there; one file of text may be printed instead."
        ),
    ] = None,
) -> None:
    """Write a plan as files that another tool reads, and say what that tool cannot express.

    \b
    Examples:
      interlace export graph.json --format ddp --out ddp
      interlace export graph.json --plan plan.json --format horovod --out horovod
      interlace export graph.json --format ddp --out ddp --server http://planner:8000
    """  # noqa: D301 - \b keeps the lines apart
    if form not in EXPORTS:
        raise typer.BadParameter(f"one of {', '.join(EXPORTS)}", param_hint="--format")
    at = at_server(server)
    cluster = network(workers, bandwidth_gbps, startup_us, None, extrapolate=False)
    options = given(barrier=barrier or None)
    name, found = content(file)
    with explaining(name, given(cluster=cluster, options=options)):
        answer = read_plan(plan) if plan else None
        if answer is not None:
            asked = answer.get("request")
            kept = asked if isinstance(asked, dict) else {}
            cluster = {**_object(kept.get("cluster")), **cluster}
            options = {**_object(kept.get("options")), **options}
        problem, _ = read_file(found, name, cluster, options, [])
        if answer is None:
            planned = at.plan(problem) if at else solve(problem)
            answer = planned.model_dump(mode="json")
        made = exported(problem, answer, form)
    files = {
        key: held.encode() if isinstance(held, str) else held for key, held in made.files.items()
    }
    texts = [held for held in made.files.values() if isinstance(held, str)]
    if out is None and (len(files), len(texts)) != (1, 1):
        raise typer.BadParameter(f"give a folder for {', '.join(files)}", param_hint="--out")
    if out is None:
        print(texts[0])
    else:
        out.mkdir(parents=True, exist_ok=True)
        for key, held in files.items():
            (out / key).write_bytes(held)
    ours, theirs = made.plan_time_us / 1e3, made.iteration_time_us / 1e3
    lines = [*made.notes, f"Simulated: {theirs:.3f} ms, the plan {ours:.3f} ms."]
    print("\n".join(lines), file=sys.stdout if out else sys.stderr)
