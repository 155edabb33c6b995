"""Predict training through parameter servers."""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from app.cli.extras import check_extra
from app.cli.failures import explaining
from app.cli.field_options import option
from app.cli.options import (
    AsJson,
    Fresh,
    Parameters,
    Rank,
    ServerUrl,
    Step,
    Tags,
    contents,
    present,
    server_at,
)
from app.limits import MAX_TIMELINE_STEPS

#: What the parameters of a view are called here.
_VIEWS = {
    "/query/workers": "--at-workers",
    "/query/bandwidth_gbps": "--at-bandwidth-gbps",
    "/query/from_step": "--from-step",
    "/query/steps": "--timeline-steps",
}


def parameter_server(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="JSON with profiled steps, a JSON graph or request, JSON with layers, or a trace, "
            "of which there may be a file a rank or a node; - reads standard input.",
        ),
    ],
    step: Step = None,
    parameters: Parameters = None,
    rank: Rank = None,
    batch_size: Annotated[
        int | None, option("ParameterServerRequest.batch_size", default="the file's")
    ] = None,
    workers: Annotated[
        str | None,
        option(
            "ParameterServerRequest.workers", default="the file's; 1,2,4,8,16", metavar="N,N,..."
        ),
    ] = None,
    bandwidths_gbps: Annotated[
        str | None,
        option(
            "ParameterServerRequest.bandwidths_gbps", default="the file's; 10", metavar="N,N,..."
        ),
    ] = None,
    servers: Annotated[int | None, option("ParameterServerRequest.servers")] = None,
    update_us_per_byte: Annotated[
        float | None, option("ParameterServerRequest.update_us_per_byte")
    ] = None,
    win_bytes: Annotated[int | None, option("ParameterServerRequest.win_bytes")] = None,
    no_flow_control: Annotated[
        bool, typer.Option("--no-flow-control", help="Each transfer runs whole.")
    ] = False,
    parse_us_per_byte: Annotated[
        float | None, option("ParameterServerRequest.parse_us_per_byte")
    ] = None,
    parse_us: Annotated[float | None, option("ParameterServerRequest.parse_us")] = None,
    order: Annotated[str | None, option("ParameterServerRequest.order", metavar="NAME")] = None,
    synchronous: Annotated[
        bool, option("ParameterServerRequest.synchronous", "--synchronous")
    ] = False,
    spread: Annotated[
        float | None,
        option("ParameterServerRequest.spread", default="0.05; 0 of several steps that differ"),
    ] = None,
    simulated_steps: Annotated[int | None, option("ParameterServerRequest.simulated_steps")] = None,
    dropped_steps: Annotated[int | None, option("ParameterServerRequest.dropped_steps")] = None,
    seed: Annotated[int | None, option("ParameterServerRequest.seed")] = None,
    fit: Annotated[bool, option("ParameterServerRequest.fit", "--fit")] = False,
    no_explain: Annotated[
        bool, typer.Option("--no-explain", help="Do not say what limits each row: much quicker.")
    ] = False,
    csv: Annotated[Path | None, typer.Option(metavar="PATH", help="Write the rows as CSV.")] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Draw throughput by workers as SVG.")
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Write steps of a row as JSON for ui.perfetto.dev."),
    ] = None,
    dlc: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write these steps as DLC traces, a file a node."),
    ] = None,
    at_workers: Annotated[
        int | None, typer.Option(help="Row of the timeline.  [default: the middle one]")
    ] = None,
    at_bandwidth_gbps: Annotated[
        float | None,
        typer.Option(help="Row of the timeline and of the plot.  [default: the middle one]"),
    ] = None,
    from_step: Annotated[
        int | None, typer.Option(min=0, help="First step of the timeline.  [default: 0]")
    ] = None,
    timeline_steps: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_TIMELINE_STEPS, help="Steps of each worker in it.  [default: 3]"
        ),
    ] = None,
    server: ServerUrl = None,
    tag: Tags = None,
    fresh: Fresh = False,
    json_: AsJson = False,
) -> None:
    """Predict the throughput of parameter servers.

    Say how many examples a second so many workers train, what limits them, and from how many on
    more of them gain nothing.

    \b
    Examples:
      interlace parameter-server steps.json --workers 1,2,4,8 --bandwidths-gbps 1,10
      interlace parameter-server graph.json --batch-size 32 --servers 2 --order tic
      interlace parameter-server steps.json --plot speed.svg --timeline steps.trace.json
      interlace example resnet50 | interlace parameter-server - --batch-size 32 --workers 4
      interlace parameter-server w0.txt w1.txt s0.txt --batch-size 32 --dlc simulated
      interlace parameter-server recorded.json --fit --workers 2,4,8
      interlace parameter-server steps.json --server http://planner:8000
    """
    from app.cli import flags
    from app.cli.files import GraphSource, read_steps
    from app.cli.interrupts import interruptible
    from app.cli.progress import counting
    from app.cli.rendering.parameter_servers import render
    from app.services.parameter_servers import views
    from app.services.parameter_servers.fits import with_fit
    from app.services.parameter_servers.run import run

    at = server_at(server, tag, fresh=fresh)
    check_extra("--plot", "plots", is_taken=plot is not None)
    fields = present(
        batch_size=batch_size,
        workers=flags.numbers(workers, "--workers"),
        bandwidths_gbps=flags.numbers(bandwidths_gbps, "--bandwidths-gbps"),
        servers=servers,
        update_us_per_byte=update_us_per_byte,
        flow_control=False if no_flow_control else None,
        win_bytes=win_bytes,
        parse_us_per_byte=parse_us_per_byte,
        parse_us=parse_us,
        order=order,
        synchronous=synchronous or None,
        fit=fit or None,
        spread=spread,
        simulated_steps=simulated_steps,
        dropped_steps=dropped_steps,
        seed=seed,
        explain=False if no_explain else None,
    )
    is_shown = timeline is not None or dlc is not None
    for flag, value in (("--from-step", from_step), ("--timeline-steps", timeline_steps)):
        if value is not None and not is_shown:
            raise typer.BadParameter("needs --timeline or --dlc", param_hint=flag)
    names, name, raw = contents(files)
    given = present(step=step, parameters=parameters, rank=rank, **fields)
    with explaining(names, given | present(tag=tag)):
        text, at_rank = flags.parameters(parameters), flags.rank(rank)
        source = GraphSource(name, raw, {}, step=step, parameters=text, rank=at_rank)
        graph, request, notes = read_steps(source, fields)
        with _blaming_views():  # before the work is done
            views.place_of(with_fit(request)[0], at_workers, at_bandwidth_gbps)
            shown = is_shown and views.simulated_again(
                graph,
                request,
                workers=at_workers,
                bandwidth_gbps=at_bandwidth_gbps,
                from_step=from_step or 0,
                steps=timeline_steps or 3,
            )
        texts: dict[Path, str] = {}
        if timeline is not None and shown:
            texts[timeline] = json.dumps(views.timeline(shown))
        if dlc is not None and shown:
            texts |= {dlc / name: text for name, text in views.traces(shown).items()}
        _check_paths({"--csv": csv, "--plot": plot, "--timeline": timeline, "--dlc": dlc})
        _check_nodes(dlc, texts)
        if at:
            answer = at.parameter_server(graph, request)
        else:
            with interruptible(), counting("rows") as progress:
                answer = run(graph, request, progress)
    answer = answer.model_copy(update={"notes": [*notes, *answer.notes]})
    if csv is not None:
        csv.write_text(views.table(answer), encoding="utf-8", newline="")
    if plot is not None:
        plot.write_bytes(views.by_workers(answer, at_bandwidth_gbps))
    if dlc is not None:
        dlc.mkdir(exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    print(answer.model_dump_json(indent=1) if json_ else render(answer))


def _check_paths(paths: Mapping[str, Path | None]) -> None:
    """See that there are the folders that files will be in, by flag."""
    for flag, path in paths.items():
        if path is not None and not path.absolute().parent.is_dir():
            raise typer.BadParameter(f"no folder {path.parent}", param_hint=flag)


def _check_nodes(folder: Path | None, written: Collection[Path]) -> None:
    """See that a folder will hold nothing else: all in it are read as the nodes of one run."""
    if folder is None or not folder.exists():
        return
    if not folder.is_dir():
        raise typer.BadParameter(f"{folder} is no folder", param_hint="--dlc")
    if others := sorted({*folder.iterdir()} - {*written}):
        raise typer.BadParameter(f"{others[0]} is of another run", param_hint="--dlc")


@contextmanager
def _blaming_views() -> Iterator[None]:
    """Say of a fault of a view which flag it is."""
    from app.errors import InvalidRequest

    try:
        yield
    except InvalidRequest as error:
        flag = _VIEWS.get(error.faults[0].pointer)
        if flag is None:
            raise
        raise typer.BadParameter(error.faults[0].detail, param_hint=flag) from None
