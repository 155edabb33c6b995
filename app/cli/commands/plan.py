"""Plan one training iteration."""

from typing import Annotated

import typer

from app.cli.failures import explaining
from app.cli.options import (
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
    WhatIf,
    Workers,
    content,
    present,
    server_at,
)


def plan(
    file: File,
    workers: Workers = None,
    bandwidth_gbps: BandwidthGbps = None,
    startup_us: StartupUs = None,
    cost_model: CostModel = None,
    extrapolate: Extrapolate = False,
    fusion: Annotated[str | None, typer.Option(help="joint, maxmin or none.  [default: joint]")] = (
        None
    ),
    schedule: Annotated[
        str | None,
        typer.Option(help="jackson or lp; of joint only the slots.  [default: jackson]"),
    ] = None,
    slot_us: Annotated[
        float | None, typer.Option(help="Length of a slot.  [default: chosen]")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds after which joint takes the best plan so far.  [default: 10]"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of joint's random moves.  [default: 0]")] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]",
            help="Policy to compare with, and its parameters; may be repeated.  "
            "[default: wfbp, pace]",
        ),
    ] = None,
    barrier: Barrier = False,
    what_if: WhatIf = None,
    server: ServerUrl = None,
    tag: Tags = None,
    fresh: Fresh = False,
    json_: AsJson = False,
) -> None:
    """Plan one training iteration; needs no server, but may ask one.

    A request's own cluster and options count unless a flag is given.

    \b
    Examples:
      interlace plan graph.json
      interlace plan graph.json --workers 16 --bandwidth-gbps 25 --baseline wfbp
      interlace plan graph.json --fusion joint --time-limit 60
      interlace plan graph.json --baseline horovod --baseline ddp:bucket_cap_mb=10,barrier=true
      interlace plan graph.json --what-if 'grad:fc6*=remove'
      interlace plan resnet50/graph.txt --json > plan.json
      interlace example vgg16 | interlace plan -
      interlace plan graph.json --server http://planner:8000 --tag nightly
    """
    from app.cli import flags
    from app.cli.files import read_plan
    from app.cli.rendering.plans import render
    from app.schemas.plans import TraceAnswer
    from app.services.plans import solve

    at = server_at(server, tag, fresh=fresh)
    cluster = flags.network(
        workers, bandwidth_gbps, startup_us, cost_model, extrapolate=extrapolate
    )
    options = present(
        fusion=fusion,
        schedule=schedule,
        slot_us=slot_us,
        time_limit_s=time_limit,
        seed=seed,
        baselines=[flags.policy(text) for text in baseline or []],
        barrier=barrier or None,
    )
    changes = [flags.change(text) for text in what_if or []]
    name, raw = content(file)
    with explaining(name, present(cluster=cluster, options=options, what_if=changes, tag=tag)):
        problem, report = read_plan(raw, name, cluster, options, changes)
        answer = at.plan(problem) if at else solve(problem)
    if not json_:
        print(render(answer, problem.graph.name, report))
    elif report is None:
        print(answer.model_dump_json(indent=1))
    else:
        print(TraceAnswer(**dict(answer), report=report).model_dump_json(indent=1))
