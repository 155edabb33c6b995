"""Predict the scaling factor of training."""

from typing import Annotated

import typer

from app.cli.failures import explaining
from app.cli.field_options import option
from app.cli.options import (
    AsJson,
    BandwidthGbps,
    ComputeSlowdown,
    CostModel,
    Extrapolate,
    Parameters,
    Rank,
    ServerUrl,
    Set,
    StartupUs,
    Step,
    contents,
    present,
    server_at,
)


def predict(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="JSON graph or request, JSON with layers, or a trace, of which there may be a "
            "file a rank; - reads standard input.",
        ),
    ],
    step: Step = None,
    parameters: Parameters = None,
    rank: Rank = None,
    workers: Annotated[
        str | None, option("PredictionRequest.workers", default="the file's; 8", metavar="N,N,...")
    ] = None,
    bandwidth_gbps: BandwidthGbps = None,
    startup_us: StartupUs = None,
    cost_model: CostModel = None,
    extrapolate: Extrapolate = False,
    compute_slowdown: ComputeSlowdown = None,
    buffers_bytes: Annotated[
        str | None, option("PredictionRequest.buffers_bytes", metavar="N,N,...")
    ] = None,
    timeout_us: Annotated[float | None, option("PredictionRequest.timeout_us")] = None,
    time_limit: Annotated[float | None, option("PredictionRequest.time_limit_s")] = None,
    set_: Set = None,
    server: ServerUrl = None,
    json_: AsJson = False,
) -> None:
    """Predict the scaling factor of training by OSF.

    Beside it stand today's policies and the plan, simulated, of any graph.

    \b
    Examples:
      interlace predict graph.json --workers 8,32,128
      interlace predict layers.json --workers 32 --bandwidth-gbps 25 --buffers-bytes 0,67108864
      interlace example resnet50 | interlace predict - --workers 2,4,8,16,32,64
      interlace predict rank*.json.gz --workers 2,8,32
      interlace predict graph.json --workers 8,32 --server http://planner:8000
    """
    from app.cli import flags
    from app.cli.assignments import assignments
    from app.cli.files import GraphSource, read_prediction
    from app.cli.rendering.predictions import render
    from app.services.predictions import answer_of

    assigned = assignments(set_)
    at = server_at(server)
    cluster = flags.network(
        None,
        bandwidth_gbps,
        startup_us,
        cost_model,
        extrapolate=extrapolate,
        compute_slowdown=compute_slowdown,
    )
    fields = present(
        workers=flags.numbers(workers, "--workers"),
        buffers_bytes=flags.numbers(buffers_bytes, "--buffers-bytes"),
        timeout_us=timeout_us,
        time_limit_s=time_limit,
    )
    names, name, raw = contents(files)
    given = present(cluster=cluster, step=step, parameters=parameters, rank=rank, **fields)
    with explaining(names, given, assigned=assigned):
        text, at_rank = flags.parameters(parameters), flags.rank(rank)
        source = GraphSource(
            name, raw, cluster, step=step, parameters=text, rank=at_rank, assigned=assigned
        )
        graph, request = read_prediction(source, fields)
        answer = at.predict(graph, request) if at else answer_of(graph, request)
    title = graph.name if graph else "These layers"
    print(answer.model_dump_json(indent=1) if json_ else render(answer, title))
