"""Try policies and the plan on many clusters."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.extras import check_extra
from app.cli.failures import explaining
from app.cli.field_options import option
from app.cli.options import (
    AsJson,
    Barrier,
    Believed,
    ComputeSlowdown,
    CopyGbps,
    CostModel,
    Device,
    Extrapolate,
    Files,
    Fresh,
    Html,
    InputsHeld,
    MarginMs,
    MaxBucketMib,
    MaxUnderWayMib,
    Parameters,
    Rank,
    ServerUrl,
    Set,
    Step,
    Tags,
    check_html,
    contents,
    present,
    server_at,
    write,
)
from app.names import POLICIES, PROGRAM_POLICIES


def sweep(
    files: Files,
    step: Step = None,
    parameters: Parameters = None,
    rank: Rank = None,
    device: Device = None,
    workers: Annotated[
        str | None, option("SweepRequest.workers", default="the cluster's", metavar="N,N,...")
    ] = None,
    bandwidths_gbps: Annotated[
        str | None,
        option("SweepRequest.bandwidths_gbps", default="the cluster's", metavar="N,N,..."),
    ] = None,
    startups_us: Annotated[
        str | None, option("SweepRequest.startups_us", default="the cluster's", metavar="N,N,...")
    ] = None,
    memory_limit_gib: Annotated[
        list[float] | None,
        option("SweepRequest.memory_limits_bytes", note="may be repeated", unit=2**30),
    ] = None,
    policies: Annotated[
        list[str] | None,
        option(
            "SweepRequest.policies",
            "--policy",
            note="may be repeated",
            default="wfbp, ddp, horovod, mg_wfbp, pace, plan; of a program its rules and plan",
            words=(*POLICIES, *PROGRAM_POLICIES, "plan"),
            metavar="NAME[:KEY=VALUE,...]",
        ),
    ] = None,
    cost_model: CostModel = None,
    extrapolate: Extrapolate = False,
    compute_slowdown: ComputeSlowdown = None,
    believed: Believed = None,
    barrier: Barrier = False,
    copy_gbps: CopyGbps = None,
    max_bucket_mib: MaxBucketMib = None,
    max_under_way_mib: MaxUnderWayMib = None,
    inputs_held: InputsHeld = None,
    margin_ms: MarginMs = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN=CHANGE",
            help="Sweep the graph with ops changed, as --what-if of plan says it; may be repeated.",
        ),
    ] = None,
    time_limit: Annotated[float | None, option("SweepRequest.time_limit_s")] = None,
    sweep_limit: Annotated[float | None, option("SweepRequest.sweep_limit_s")] = None,
    launch_tolerance: Annotated[float | None, option("SweepRequest.launch_tolerance")] = None,
    seed: Annotated[int | None, option("SweepRequest.seed")] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write the cells as CSV.")
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Draw speed by workers, bandwidth, memory into DIR."),
    ] = None,
    set_: Set = None,
    server: ServerUrl = None,
    tag: Tags = None,
    fresh: Fresh = False,
    html: Html = None,
    json_: AsJson = False,
) -> None:
    """Try policies and the plan on many clusters.

    Say which is best where, and what hardware gains.

    \b
    Examples:
      interlace sweep graph.json --workers 8,32,128 --bandwidths-gbps 10,25,100
      interlace sweep graph.json --workers 2,4,8,16,32 --policy ddp --policy plan --svg plots
      interlace sweep graph.json --bandwidths-gbps 10,25,50,100 --startups-us 20,200 --csv cells.csv
      interlace sweep rank*.json.gz --workers 2,8,32
      interlace sweep compiled.json.gz --memory-limit-gib 30 --memory-limit-gib 36
      interlace sweep graph.json --workers 8,32 --server http://planner:8000 --csv cells.csv
    """
    from app.cli import flags
    from app.cli.assignments import assignments
    from app.cli.files import GraphSource, read_sweep
    from app.cli.interrupts import interruptible
    from app.cli.progress import counting
    from app.cli.rendering.sweeps import render
    from app.services.sweeps import views
    from app.services.sweeps.run import run

    assigned = assignments(set_)
    at = server_at(server, tag, fresh=fresh)
    check_html(html, files)
    check_extra("--svg", "plots", is_taken=svg is not None)
    cluster = flags.network(
        None, None, None, cost_model, extrapolate=extrapolate, compute_slowdown=compute_slowdown
    )
    fields = present(
        workers=flags.numbers(workers, "--workers"),
        bandwidths_gbps=flags.numbers(bandwidths_gbps, "--bandwidths-gbps"),
        startups_us=flags.numbers(startups_us, "--startups-us"),
        memory_limits_bytes=flags.several_sized(memory_limit_gib, 2**30),
        policies=[flags.policy(text, "--policy") for text in policies or []],
        options=flags.program_options(
            copy_gbps, max_bucket_mib, max_under_way_mib, inputs_held, margin_ms
        )
        or None,
        changes=[flags.change(text, "--change") for text in change or []],
        believed=flags.fields(believed, "--believed"),
        barrier=barrier or None,
        time_limit_s=time_limit,
        sweep_limit_s=sweep_limit,
        launch_tolerance=launch_tolerance,
        seed=seed,
    )
    names, name, raw = contents(files)
    given = present(
        cluster=cluster, step=step, parameters=parameters, rank=rank, device=device, **fields
    )
    with explaining(names, given | present(tag=tag), assigned=assigned):
        text, at_rank = flags.parameters(parameters), flags.rank(rank)
        source = GraphSource(
            name,
            raw,
            cluster,
            step=step,
            parameters=text,
            rank=at_rank,
            device=device,
            assigned=assigned,
        )
        problem = read_sweep(source, fields)
        if csv is not None and not csv.absolute().parent.is_dir():
            raise typer.BadParameter(f"no folder {csv.parent}", param_hint="--csv")
        if svg is not None:
            svg.mkdir(parents=True, exist_ok=True)
        if at:
            answer = at.sweep(problem)
        else:
            with interruptible(), counting("cells") as progress:  # it has processes of its own
                answer = run(problem, progress)
    if csv is not None:
        csv.write_text(views.table(answer), encoding="utf-8", newline="")
    if svg is not None:
        for drawn, plot in views.plots(answer).items():
            (svg / drawn).write_bytes(plot)
    if html:
        from app.pages.answer_files import sweep_file

        write(html, sweep_file(answer))
    print(answer.model_dump_json(indent=1) if json_ else render(answer))
