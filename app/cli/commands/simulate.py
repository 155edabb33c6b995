"""Simulate one training iteration."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.failures import explaining
from app.cli.field_options import option
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
    MaxBucketMib,
    MaxUnderWayMib,
    Parameters,
    Rank,
    ServerUrl,
    Set,
    StartupUs,
    Step,
    Tags,
    WhatIf,
    Workers,
    check_html,
    contents,
    only,
    present,
    server_at,
    write,
)
from app.names import POLICIES, PROGRAM_POLICIES


def simulate(
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
    policies: Annotated[
        list[str] | None,
        option(
            "SimulationRequest.policy",
            "--policy",
            default="wfbp; of a program in_order",
            words=(*POLICIES, *PROGRAM_POLICIES),
            metavar="NAME[:KEY=VALUE,...]",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(metavar="PLAN", help="Instead of a policy: the JSON that plan --json prints."),
    ] = None,
    ddp_log: Annotated[
        Path | None,
        typer.Option(
            metavar="LOG",
            help="Beside what DDP measured of the job: its logging data (_get_ddp_logging_data()).",
        ),
    ] = None,
    jitter: Annotated[
        float | None, option("JitterBody.spread", note="0.1 is 10 %", metavar="SPREAD")
    ] = None,
    runs: Annotated[int | None, option("JitterBody.runs")] = None,
    seed: Annotated[int | None, option("JitterBody.seed")] = None,
    rival: Annotated[
        list[str] | None,
        option(
            "JitterBody.rivals",
            note="may be repeated",
            words=POLICIES,
            metavar="NAME[:KEY=VALUE,...]",
        ),
    ] = None,
    barrier: Barrier = False,
    memory_limit_gib: Annotated[
        float | None,
        option(
            "SimulatedOptions.memory_limit_bytes", note="policies keep it if they can", unit=2**30
        ),
    ] = None,
    copy_gbps: CopyGbps = None,
    max_bucket_mib: MaxBucketMib = None,
    max_under_way_mib: MaxUnderWayMib = None,
    inputs_held: InputsHeld = None,
    what_if: WhatIf = None,
    set_: Set = None,
    server: ServerUrl = None,
    tag: Tags = None,
    fresh: Fresh = False,
    html: Html = None,
    json_: AsJson = False,
) -> None:
    """Simulate one training iteration: a policy, or a plan.

    It needs no server, but may ask one. The cluster, and the options of a program, are those of
    the request, of a plan those that it was made for, unless a flag is given.

    \b
    Examples:
      interlace simulate graph.json --policy ddp
      interlace simulate graph.json --policy ddp --ddp-log ddp.json
      interlace simulate graph.json --policy horovod:cycle_time_us=5000 --barrier
      interlace simulate graph.json --plan plan.json --jitter 0.1 --rival ddp
      interlace simulate compiled.json.gz --policy inductor --memory-limit-gib 30
      interlace simulate graph.json --policy mg_wfbp --believed startup_factor=0.5
      interlace simulate graph.json --policy ddp --what-if 'grad:fc6*=bytes*0.1'
      interlace simulate graph.json --policy ddp --server http://planner:8000
    """
    from app.cli import flags
    from app.cli.assignments import assignments
    from app.cli.files import GraphSource, read_simulation
    from app.cli.rendering.simulations import render
    from app.services.simulations import run

    assigned = assignments(set_)
    at = server_at(server, tag, fresh=fresh)
    check_html(html, files)
    cluster = flags.network(
        workers,
        bandwidth_gbps,
        startup_us,
        cost_model,
        extrapolate=extrapolate,
        compute_slowdown=compute_slowdown,
    )
    measured = flags.ddp_times(ddp_log)
    policy = only(policies, "--policy")
    names, name, raw = contents(files)
    options = flags.program_options(copy_gbps, max_bucket_mib, max_under_way_mib, inputs_held)
    options |= present(memory_limit_bytes=flags.sized(memory_limit_gib, 2**30))
    fields = present(
        policy=flags.policy(policy, "--policy") if policy else None,
        believed=flags.fields(believed, "--believed"),
        barrier=barrier or None,
        what_if=[flags.change(text) for text in what_if or []],
        jitter=flags.jitter(jitter, runs, seed, rival or []),
        options=options or None,
    )
    if plan is not None:
        fields["plan"] = flags.plan(plan)
    flagged = fields if plan else {"policy": "wfbp", **fields}
    with explaining(
        names,
        present(
            cluster=cluster,
            step=step,
            parameters=parameters,
            rank=rank,
            device=device,
            tag=tag,
            **flagged,
        ),
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
        problem = read_simulation(source, fields)
        answer = at.simulate(problem) if at else run(problem)
    if html:
        from app.pages.answer_files import simulation_file

        write(html, simulation_file(problem, answer))
    print(answer.model_dump_json(indent=1) if json_ else render(answer, problem.graph.name))
    if measured:
        from app.cli.rendering.ddp_times import beside

        typer.echo(f"\n{beside(answer, measured)}", err=json_)
