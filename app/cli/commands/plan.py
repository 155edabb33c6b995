"""Plan one training iteration."""

import json
from pathlib import Path
from typing import Annotated

import typer

from app.cli.extras import check_extra
from app.cli.failures import CommandFailure, explaining
from app.cli.field_options import option
from app.cli.interrupts import INTERRUPTED
from app.cli.options import (
    AsJson,
    BandwidthGbps,
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
    Progress,
    Rank,
    ServerUrl,
    Set,
    StartupUs,
    Step,
    Tags,
    WhatIf,
    Workers,
    check_place,
    contents,
    present,
    server_at,
    write,
)
from app.names import POLICIES, PROGRAM_POLICIES


def plan(
    files: Files,
    step: Step = None,
    parameters: Parameters = None,
    rank: Rank = None,
    device: Device = None,
    workers: Workers = None,
    bandwidth_gbps: BandwidthGbps = None,
    startup_us: StartupUs = None,
    cost_model: CostModel = None,
    extrapolate: Extrapolate = False,
    compute_slowdown: ComputeSlowdown = None,
    believed: Believed = None,
    fusion: Annotated[str | None, option("OptionsBody.fusion")] = None,
    schedule: Annotated[
        str | None, option("OptionsBody.schedule", note="of joint only the slots")
    ] = None,
    slot_us: Annotated[float | None, option("OptionsBody.slot_us", default="chosen")] = None,
    effort: Annotated[int | None, option("OptionsBody.effort")] = None,
    time_limit: Annotated[float | None, option("OptionsBody.time_limit_s")] = None,
    launch_tolerance: Annotated[float | None, option("OptionsBody.launch_tolerance")] = None,
    prove: Annotated[float | None, option("OptionsBody.prove_s")] = None,
    seed: Annotated[int | None, option("OptionsBody.seed")] = None,
    baseline: Annotated[
        list[str] | None,
        option(
            "OptionsBody.baselines",
            note="may be repeated",
            default="wfbp, pace; of a program all its rules",
            words=(*POLICIES, *PROGRAM_POLICIES),
            metavar="NAME[:KEY=VALUE,...]",
        ),
    ] = None,
    barrier: Barrier = False,
    robust: Annotated[str | None, option("OptionsBody.robust")] = None,
    draws: Annotated[int | None, option("OptionsBody.draws")] = None,
    memory_limit_gib: Annotated[
        list[float] | None,
        option(
            "OptionsBody.memory_limit_bytes",
            note="given several times, a plan for each",
            unit=2**30,
        ),
    ] = None,
    more_memory_gib: Annotated[
        list[float] | None,
        option("OptionsBody.more_memory_bytes", note="may be repeated", unit=2**30),
    ] = None,
    copy_gbps: CopyGbps = None,
    max_bucket_mib: MaxBucketMib = None,
    max_under_way_mib: MaxUnderWayMib = None,
    inputs_held: InputsHeld = None,
    margin_ms: MarginMs = None,
    recompute: Annotated[
        list[str] | None,
        option("OptionsBody.recompute", note="may be repeated", metavar="PATTERN"),
    ] = None,
    host_order: Annotated[bool, option("OptionsBody.host_order", "--host-order")] = False,
    what_if: WhatIf = None,
    set_: Set = None,
    server: ServerUrl = None,
    tag: Tags = None,
    fresh: Fresh = False,
    progress: Progress = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Write the answer's JSON there as well."),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Write there what proves the bound; python -m interlace_check reads it, with the "
            "request and the answer.",
        ),
    ] = None,
    request_out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Write there what was planned, as a request: the graph, and the cluster and "
            "options with all flags.",
        ),
    ] = None,
    html: Html = None,
    json_: AsJson = False,
) -> None:
    """Plan one training iteration, here or at a service.

    A request's own cluster and options count unless a flag is given; of a trace the workers and
    the costs are those that it tells. Ctrl-C ends the search with the best plan so far.

    \b
    Examples:
      interlace plan graph.json
      interlace plan rank*.json.gz --parameters parameters.json --out plan.json
      interlace plan graph.json --workers 16 --bandwidth-gbps 25 --baseline wfbp
      interlace plan graph.json --fusion joint --time-limit 60
      interlace plan graph.json --prove 60
      interlace plan graph.json --baseline horovod --baseline ddp:bucket_cap_mb=10,barrier=true
      interlace plan compiled.json.gz --memory-limit-gib 30 --memory-limit-gib 36
      interlace plan compiled.json.gz --memory-limit-gib 30 --more-memory-gib 8
      interlace plan compiled.json.gz --memory-limit-gib 24 --recompute '*' --recompute '!dropout*'
      interlace plan module.hlo.txt --device h100 --bandwidth-gbps 400
      interlace plan graph.json --set cluster.algorithm=double_binary_tree --set cluster.hop_us=2
      interlace plan graph.json --robust p95 --draws 200
      interlace plan graph.json --baseline mg_wfbp --believed startup_factor=0.5
      interlace plan graph.json --what-if 'grad:fc6*=remove'
      interlace plan resnet50/graph.txt --json > plan.json
      interlace example vgg16 | interlace plan -
      interlace plan graph.json --out plan.json --certificate proof.json
      interlace plan graph.json --html plan.html
      interlace plan graph.json --server http://planner:8000 --tag nightly
    """
    from app.cli import flags, local
    from app.cli.assignments import assignments
    from app.cli.files import GraphSource, read_plan
    from app.cli.rendering.plans import render
    from app.schemas.plans import TraceAnswer
    from app.services.certificates import certificate as certificate_of
    from app.services.certificates import certificate_text, request_text

    check_extra("--html", "service", is_taken=html is not None)
    assigned = assignments(set_)
    at = server_at(server, tag, fresh=fresh)
    cluster = flags.network(
        workers,
        bandwidth_gbps,
        startup_us,
        cost_model,
        extrapolate=extrapolate,
        compute_slowdown=compute_slowdown,
    )
    options = present(
        fusion=fusion,
        schedule=schedule,
        slot_us=slot_us,
        effort=effort,
        time_limit_s=time_limit,
        launch_tolerance=launch_tolerance,
        prove_s=prove,
        seed=seed,
        baselines=[flags.policy(text) for text in baseline or []],
        barrier=barrier or None,
        robust=robust,
        draws=draws,
        host_order=host_order or None,
        recompute=recompute or None,
        more_memory_bytes=flags.several_sized(more_memory_gib, 2**30),
        **flags.program_options(
            copy_gbps, max_bucket_mib, max_under_way_mib, inputs_held, margin_ms
        ),
        **flags.memory_limits(memory_limit_gib),
    )
    changes = [flags.change(text) for text in what_if or []]
    names, name, raw = contents(files)
    written_to = {
        "--out": out,
        "--certificate": certificate,
        "--request-out": request_out,
        "--html": html,
    }
    for flag, place in written_to.items():
        if place:
            check_place(flag, place, files)
    belief = flags.fields(believed, "--believed")
    given = present(cluster=cluster, believed=belief, options=options, what_if=changes, tag=tag)
    with explaining(
        names,
        given | present(step=step, parameters=parameters, rank=rank, device=device),
        assigned=assigned,
    ):
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
        problem, report = read_plan(source, options, changes, belief)
        answer, cut_short = (
            (at.plan(problem, in_lines=progress), False)
            if at
            else local.plan(problem, in_lines=progress)
        )
    told = answer if report is None else TraceAnswer.on(answer, report)
    written = told.model_dump_json(indent=1)
    if out:  # first, since whoever reads the page may leave early
        write(out, f"{written}\n")
    if request_out:
        write(request_out, request_text(problem))
    if certificate:
        write(certificate, certificate_text(certificate_of(problem, json.loads(written))))
    if html:
        from app.pages.answer_files import plan_file

        job = {"id": "plan", "state": "cancelled" if cut_short else "succeeded", "error": None}
        write(html, plan_file(problem, answer.model_dump(mode="json"), job))
    print(written if json_ else render(told, problem.graph.name, cut_short=cut_short))
    if cut_short:
        raise CommandFailure("interrupted: this is the best plan so far", code=INTERRUPTED)
