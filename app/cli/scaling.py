"""The commands that look beyond one cluster: predict, sweep and calibrate."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.files import read_benchmark, read_prediction, read_sweep
from app.cli.flags import given, network, numbers, policy
from app.cli.scaling_report import render_cost_model, render_prediction, render_sweep
from app.cli.terminal import (
    AsJson,
    BandwidthGbps,
    Barrier,
    CostModel,
    Extrapolate,
    File,
    Fresh,
    ServerUrl,
    StartupUs,
    Tags,
    at_server,
    content,
    explaining,
    progressing,
)
from app.services import cost_models, predictions
from app.services.sweeps import run as sweeps
from app.services.sweeps import views as sweep_views


def predict(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="JSON graph or request, JSON with layers, or PipeDream graph.txt; - reads "
            "standard input.",
        ),
    ],
    workers: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="Worker counts.  [default: the file's, 8]")
    ] = None,
    bandwidth_gbps: BandwidthGbps = None,
    startup_us: StartupUs = None,
    cost_model: CostModel = None,
    extrapolate: Extrapolate = False,
    buffers_bytes: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="Fusion buffers.  [default: 0, 104857600]"),
    ] = None,
    timeout_us: Annotated[
        float | None,
        typer.Option(help="Longest wait of a fusion buffer for the next layer.  [default: 5000]"),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for all plans together.  [default: 10]")
    ] = None,
    server: ServerUrl = None,
    json_: AsJson = False,
) -> None:
    """Predict the scaling factor of training by OSF, beside today's policies and the plan.

    \b
    Examples:
      interlace predict graph.json --workers 8,32,128
      interlace predict layers.json --workers 32 --bandwidth-gbps 25 --buffers-bytes 0,67108864
      interlace example resnet50 | interlace predict - --workers 2,4,8,16,32,64
      interlace predict graph.json --workers 8,32 --server http://planner:8000
    """  # noqa: D301 - \b keeps the lines apart
    at = at_server(server)
    cluster = network(None, bandwidth_gbps, startup_us, cost_model, extrapolate=extrapolate)
    asked = given(
        workers=numbers(workers, "--workers"),
        buffers_bytes=numbers(buffers_bytes, "--buffers-bytes"),
        timeout_us=timeout_us,
        time_limit_s=time_limit,
    )
    name, found = content(file)
    with explaining(name, given(cluster=cluster, **asked)):
        graph, request = read_prediction(found, name, cluster, asked)
        answer = at.predict(graph, request) if at else predictions.answer_of(graph, request)
    if json_:
        print(answer.model_dump_json(indent=1))
    else:
        print(render_prediction(answer, graph.name if graph else "These layers"))


def sweep(
    file: File,
    workers: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="Worker counts.  [default: the cluster's]")
    ] = None,
    bandwidths_gbps: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="Bandwidths.  [default: the cluster's]")
    ] = None,
    startups_us: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="Start-ups.  [default: the cluster's]")
    ] = None,
    named: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="NAME[:KEY=VALUE,...]",
            help="Policy, or plan; may be repeated.  "
            "[default: wfbp, ddp, horovod, mg_wfbp, pace, plan]",
        ),
    ] = None,
    cost_model: CostModel = None,
    extrapolate: Extrapolate = False,
    barrier: Barrier = False,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds after which a plan is the best so far.  [default: 2]"),
    ] = None,
    sweep_limit: Annotated[
        float | None,
        typer.Option(help="Seconds after which the sweep is given up.  [default: 600]"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the plans.  [default: 0]")] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write the cells as CSV.")
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Draw speed by workers and by bandwidth into DIR."),
    ] = None,
    server: ServerUrl = None,
    tag: Tags = None,
    fresh: Fresh = False,
    json_: AsJson = False,
) -> None:
    """Try policies and the plan on many clusters: which is best where, and what hardware gains.

    \b
    Examples:
      interlace sweep graph.json --workers 8,32,128 --bandwidths-gbps 10,25,100
      interlace sweep graph.json --workers 2,4,8,16,32 --policy ddp --policy plan --svg plots
      interlace sweep graph.json --bandwidths-gbps 10,25,50,100 --startups-us 20,200 --csv cells.csv
      interlace sweep graph.json --workers 8,32 --server http://planner:8000 --csv cells.csv
    """  # noqa: D301 - \b keeps the lines apart
    at = at_server(server, tag, fresh=fresh)
    cluster = network(None, None, None, cost_model, extrapolate=extrapolate)
    asked = given(
        workers=numbers(workers, "--workers"),
        bandwidths_gbps=numbers(bandwidths_gbps, "--bandwidths-gbps"),
        startups_us=numbers(startups_us, "--startups-us"),
        policies=[policy(text, "--policy") for text in named or []],
        barrier=barrier or None,
        time_limit_s=time_limit,
        sweep_limit_s=sweep_limit,
        seed=seed,
    )
    name, found = content(file)
    with explaining(name, given(cluster=cluster, tag=tag, **asked)):
        problem = read_sweep(found, name, cluster, asked)
        if csv is not None and not csv.absolute().parent.is_dir():
            raise typer.BadParameter(f"no folder {csv.parent}", param_hint="--csv")
        if svg is not None:
            svg.mkdir(parents=True, exist_ok=True)
        if at:
            answer = at.sweep(problem)
        else:
            with progressing("cells") as progress:
                answer = sweeps.run(problem, progress)
    if csv is not None:
        csv.write_text(sweep_views.table(answer), encoding="utf-8", newline="")
    if svg is not None:
        for drawn, plot in sweep_views.plots(answer).items():
            (svg / drawn).write_bytes(plot)
    print(answer.model_dump_json(indent=1) if json_ else render_sweep(answer))


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
    """Fit the cost of an all-reduce to measurements, and say how far each fit is from them.

    \b
    Examples:
      interlace calibrate nccl.log
      interlace calibrate nccl.log --json > model.json
      interlace plan graph.json --cost-model model.json
      interlace calibrate nccl.log --server http://planner:8000
    """  # noqa: D301 - \b keeps the lines apart
    at = at_server(server)
    called, found = content(file)
    asked = given(
        fit=fit,
        workers=workers,
        bandwidth_gbps=bandwidth_gbps,
        threshold_bytes=threshold_bytes,
        format=format_,
        name=name,
    )
    with explaining(called, asked):
        request = read_benchmark(found, called, asked)
        answer = at.calibrate(request) if at else cost_models.run(request)
    print(answer.model_dump_json(indent=1) if json_ else render_cost_model(answer))
