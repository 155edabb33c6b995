"""Write a plan as files that another tool reads."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.failures import explaining
from app.cli.field_options import completing
from app.cli.options import (
    BandwidthGbps,
    Barrier,
    ComputeSlowdown,
    Files,
    Parameters,
    Rank,
    ServerUrl,
    StartupUs,
    Step,
    Workers,
    contents,
    present,
    server_at,
)
from app.names import EXPORTS, POLICIES, PROGRAM_EXPORTS, PROGRAM_POLICIES
from solver.wording import meant, one_of

if TYPE_CHECKING:
    from solver.exports import Export

#: The formats that are written, of plans and of programs.
FORMATS = tuple(dict.fromkeys((*EXPORTS, *PROGRAM_EXPORTS)))

#: Those whose optimizer steps after all gradients: what is planned for them is planned with that.
_WITH_BARRIER = ("ddp", "deepspeed", "horovod")


def export(
    files: Files,
    form: Annotated[
        str,
        typer.Option("--format", help=f"{', '.join(FORMATS)}.", autocompletion=completing(FORMATS)),
    ],
    step: Step = None,
    parameters: Parameters = None,
    rank: Rank = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="PLAN", help="The JSON that plan --json prints.  [default: planned now]"
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]",
            help="Instead of a plan: what this policy launches.",
            autocompletion=completing((*POLICIES, *PROGRAM_POLICIES)),
        ),
    ] = None,
    workers: Workers = None,
    bandwidth_gbps: BandwidthGbps = None,
    startup_us: StartupUs = None,
    compute_slowdown: ComputeSlowdown = None,
    barrier: Barrier = False,
    server: ServerUrl = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the files there; one file of text may be printed instead."
        ),
    ] = None,
) -> None:
    """Write a plan or a policy's launches for another tool.

    Say what that tool cannot express.

    \b
    Examples:
      interlace export graph.json --format ddp --out ddp
      interlace export graph.json --plan plan.json --format horovod --out horovod
      interlace export graph.json --policy ddp:bucket_cap_mb=50 --format chakra --out ddp50
      interlace export graph.json --format ddp --out ddp --server http://planner:8000
    """
    if form not in FORMATS:
        raise typer.BadParameter(f"{one_of(FORMATS)}.{meant(form, FORMATS)}", param_hint="--format")
    if plan and policy:
        raise typer.BadParameter("a plan or a policy, not both", param_hint="--policy")
    from app.cli import flags
    from app.cli.files import GraphSource, read_plan, read_simulation
    from app.services.exports import check_format, exported, with_usual_barrier
    from app.services.plans import solve
    from app.services.simulations import run

    at = server_at(server)
    cluster = flags.network(
        workers,
        bandwidth_gbps,
        startup_us,
        None,
        extrapolate=False,
        compute_slowdown=compute_slowdown,
    )
    options = present(barrier=barrier or None)
    names, name, raw = contents(files)
    flagged = present(cluster=cluster, step=step, parameters=parameters, rank=rank)
    if policy:
        fields = present(policy=flags.policy(policy, "--policy"), **options)
        with explaining(names, flagged | fields):
            about = step, flags.parameters(parameters), flags.rank(rank)
            source = GraphSource(name, raw, cluster, None, *about)
            simulated = read_simulation(source, fields)
            answer = at.simulate(simulated) if at else run(simulated)
            written = exported(simulated, answer.model_dump(mode="json"), form)
    else:
        with explaining(names, flagged | present(options=options)):
            given = flags.plan(plan) if plan else None
            request = _object((given or {}).get("request"))
            made_for = _object(request.get("cluster")) or None
            options = {**_object(request.get("options")), **options}
            about = step, flags.parameters(parameters), flags.rank(rank)
            source = GraphSource(name, raw, cluster, made_for, *about)
            problem, _ = read_plan(source, options, [])
            if given is None and form in _WITH_BARRIER:
                problem = with_usual_barrier(problem)
            if given is None:
                check_format(problem, form)
                planned = at.plan(problem) if at else solve(problem)
                given = planned.model_dump(mode="json")
            written = exported(problem, given, form)
    texts = [each for each in written.files.values() if isinstance(each, str)]
    if out is None and (len(written.files), len(texts)) != (1, 1):
        detail = f"give a folder for {', '.join(written.files)}"
        raise typer.BadParameter(detail, param_hint="--out")
    if out is None:
        print(texts[0])
    else:
        out.mkdir(parents=True, exist_ok=True)
        for path, each in written.files.items():
            (out / path).write_bytes(each.encode() if isinstance(each, str) else each)
    said = _said(written, "the policy's launches" if policy else "the plan")
    print(said, file=sys.stdout if out else sys.stderr)


def _said(written: "Export", planned: str) -> str:
    ours, theirs = written.plan_time_us / 1e3, written.iteration_time_us / 1e3
    return "\n".join([*written.notes, f"Simulated: {theirs:.3f} ms, {planned} {ours:.3f} ms."])


def _object(value: Any) -> dict[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}
