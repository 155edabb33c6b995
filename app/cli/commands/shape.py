"""Rank the shapes of a job."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from app.cli.failures import CommandFailure, explaining, flag_of
from app.cli.field_options import option
from app.cli.options import (
    AsJson,
    Html,
    Progress,
    ServerUrl,
    Set,
    check_html,
    contents,
    present,
    server_at,
    write,
)

#: What has a flag, and no other source where there is no file.
_NEEDED = ("model", "gpu", "gpus", "levels", "global_batch")


def shape(
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="JSON request; - reads standard input."),
    ] = None,
    model: Annotated[str | None, option("ShapeRequest.model", metavar="NAME")] = None,
    gpu: Annotated[str | None, option("ShapeRequest.gpu", metavar="NAME")] = None,
    gpus: Annotated[int | None, option("ShapeRequest.gpus", metavar="N")] = None,
    node_gpus: Annotated[
        int | None, typer.Option(metavar="N", help="GPUs of a node.  [default: 8]")
    ] = None,
    node_gbps: Annotated[
        float | None, typer.Option(help="Between the GPUs of a node, each way [Gbit/s].")
    ] = None,
    network_gbps: Annotated[
        float | None, typer.Option(help="Of each GPU between nodes, each way [Gbit/s].")
    ] = None,
    global_batch: Annotated[int | None, option("ShapeRequest.global_batch", metavar="N")] = None,
    sequence: Annotated[int | None, option("ShapeRequest.sequence", metavar="N")] = None,
    tp: Annotated[str | None, option("ShapeRequest.tp", metavar="N,N,...")] = None,
    pp: Annotated[str | None, option("ShapeRequest.pp", metavar="N,N,...")] = None,
    cp: Annotated[str | None, option("ShapeRequest.cp", metavar="N,N,...")] = None,
    ep: Annotated[str | None, option("ShapeRequest.ep", metavar="N,N,...")] = None,
    micro_batch: Annotated[
        str | None, option("ShapeRequest.micro_batch", metavar="N,N,...")
    ] = None,
    schedules: Annotated[str | None, option("ShapeRequest.schedules", metavar="NAME,...")] = None,
    rows: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="CSV of measured steps on these GPUs: time_us, and columns such as tp, pp, dp, "
            "micro_batch, micro_batches.",
        ),
    ] = None,
    kernels: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="JSON of kernels measured on the GPU: the request's kernels, or a system file of "
            "SimuMax.",
        ),
    ] = None,
    price_per_gpu_hour: Annotated[float | None, option("ShapeRequest.price_per_gpu_hour")] = None,
    count: Annotated[int | None, option("ShapeRequest.count", metavar="N")] = None,
    planned: Annotated[int | None, option("ShapeRequest.planned", metavar="N")] = None,
    launch: Annotated[str | None, option("ShapeRequest.launch", metavar="NAME")] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Write a step of the best as JSON for ui.perfetto.dev."),
    ] = None,
    set_: Set = None,
    server: ServerUrl = None,
    progress: Progress = False,
    html: Html = None,
    json_: AsJson = False,
) -> None:
    """Rank the shapes of a job: time, memory, proof.

    Every shape that fits is simulated or has a bound, so that the answer says whether none is
    faster. Without measured steps the machine's figures are assumed. Where no shape is given, as
    none fits, the exit code is 1.

    \b
    Examples:
      interlace shape --model llama3-8b --gpu h100 --gpus 64 --node-gbps 3600 --network-gbps 400 --global-batch 256
      interlace shape job.json --tp 1,2,4 --rows measured.csv
      interlace shape job.json --kernels b200_bf16.json
      interlace shape job.json --set efficiencies.matmul=0.62 --json
      interlace shape job.json --timeline best.trace.json
      interlace shape job.json --server http://planner:8000
    """  # noqa: E501 - a line of the help
    from app.cli import flags
    from app.cli.assignments import assignments
    from app.cli.progress import following
    from app.cli.rendering.shapes import best_shape, render
    from app.cli.shape_requests import kernels_of, levels_of, rows_of, shape_stage
    from app.reading.parsing import read_json
    from app.reading.requests import checked_plain
    from app.schemas.shapes import ShapeRequest, ShapeTimelineRequest
    from app.services.shapes import answer_of, timeline_of

    assigned, at = assignments(set_), server_at(server)
    check_html(html, [file] if file else [])
    fields = present(
        model=model,
        gpu=gpu,
        gpus=gpus,
        global_batch=global_batch,
        sequence=sequence,
        tp=flags.numbers(tp, "--tp"),
        pp=flags.numbers(pp, "--pp"),
        cp=flags.numbers(cp, "--cp"),
        ep=flags.numbers(ep, "--ep"),
        micro_batch=flags.numbers(micro_batch, "--micro-batch"),
        schedules=None if schedules is None else schedules.split(","),
        rows=rows_of(rows),
        kernels=kernels_of(kernels),
        price_per_gpu_hour=price_per_gpu_hour,
        count=count,
        planned=planned,
        launch=launch,
        levels=levels_of(node_gpus, node_gbps, network_gbps),
    )
    names, _, raw = contents([file]) if file else ("flags", "", [])
    places = {} if file else {f"/{name}": flag_of(name) for name in _NEEDED}
    with explaining(names, fields, places, assigned):
        body = read_json(raw[0]) if raw else {}
        body = assigned.on({**body, **fields}) if isinstance(body, dict) else body
        request = checked_plain(body, ShapeRequest)
        if at:
            answer = at.shape(request, in_lines=progress)
        else:
            with following(in_lines=progress) as show:
                answer = answer_of(request, lambda *far: show(shape_stage(*far)))
        if timeline is not None:
            best = {"shape": asdict(answer.best[0].shape)} if answer.best else {}
            drawn = checked_plain({**body, **best}, ShapeTimelineRequest)  # ranked once
            trace = at.shape_timeline(drawn) if at else timeline_of(drawn)
            timeline.write_text(json.dumps(trace), encoding="utf-8")
    if html:
        from app.pages.answer_files import asked_file

        write(html, asked_file("shapes", request, answer, " ".join(best_shape(answer))))
    print(answer.model_dump_json(indent=1) if json_ else render(answer))
    if not answer.best:
        raise CommandFailure("no shape is given: the notes say why")
