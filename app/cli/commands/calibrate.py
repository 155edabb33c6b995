"""Fit the cost of an all-reduce to measurements."""

from typing import Annotated

import typer

from app.cli.failures import explaining
from app.cli.options import (
    AsJson,
    ServerUrl,
    content,
    present,
    server_at,
)


def calibrate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="What all_reduce_perf of nccl-tests or osu_allreduce printed, or a CSV with a "
            "header such as size(B),time(us); - reads standard input.",
        ),
    ],
    fit: Annotated[
        str | None,
        typer.Option(help="best, linear, piecewise or table.  [default: best]"),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Workers of the measurement.  [default: the file's]")
    ] = None,
    bandwidth_gbps: Annotated[
        float | None,
        typer.Option(help="Bandwidth at the measurement; only to scale the cost to another."),
    ] = None,
    threshold_bytes: Annotated[
        int | None,
        typer.Option(help="Where the second piece of piecewise begins.  [default: searched]"),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="nccl_tests, osu or csv.  [default: what it looks like]"),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the model is called.")] = None,
    server: ServerUrl = None,
    json_: AsJson = False,
) -> None:
    """Fit the cost of an all-reduce to measurements.

    Say how far each fit is from them.

    \b
    Examples:
      interlace calibrate nccl.log
      interlace calibrate nccl.log --json > model.json
      interlace plan graph.json --cost-model model.json
      interlace calibrate nccl.log --server http://planner:8000
    """
    from app.cli.files import read_benchmark
    from app.cli.rendering.cost_models import render
    from app.services.cost_models import run

    at = server_at(server)
    source, raw = content(file)
    fields = present(
        fit=fit,
        workers=workers,
        bandwidth_gbps=bandwidth_gbps,
        threshold_bytes=threshold_bytes,
        format=format_,
        name=name,
    )
    with explaining(source, fields):
        request = read_benchmark(raw, source, fields)
        answer = at.calibrate(request) if at else run(request)
    print(answer.model_dump_json(indent=1) if json_ else render(answer))
