"""Write a plan as files that another tool reads."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.commands.calibrate import refuse
from app.cli.failures import explaining
from app.cli.field_options import completing
from app.cli.options import (
    BandwidthGbps,
    Barrier,
    ComputeSlowdown,
    Device,
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
from app.names import EXPORTS, POLICIES, PROGRAM_EXPORTS, PROGRAM_POLICIES, TUNERS
from solver.wording import meant, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.cli.remote import Server
    from solver.exports import Export

#: The formats that are written, of plans, of programs and of measured algorithms.
FORMATS = tuple(dict.fromkeys((*EXPORTS, *PROGRAM_EXPORTS, *TUNERS)))

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
    device: Device = None,
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
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="[FILE=]KIND",
            help="With nccl-tuner: collective of files that do not say theirs; may be repeated.",
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(min=1, help="With nccl-tuner: nodes that the rows are for.  [default: any]"),
    ] = None,
    server: ServerUrl = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the files there; one file of text may be printed instead."
        ),
    ] = None,
) -> None:
    """Write a plan or a policy's launches for another tool.

    Say what that tool cannot express. With nccl-tuner each file is what a benchmark printed, as
    ALGORITHM/PROTOCOL[/CHANNELS]=FILE, and the fastest of each size is written.

    \b
    Examples:
      interlace export graph.json --format ddp --out ddp
      interlace export graph.json --plan plan.json --format horovod --out horovod
      interlace export graph.json --policy ddp:bucket_cap_mb=50 --format chakra --out ddp50
      interlace export graph.json --format ddp --out ddp --server http://planner:8000
      interlace export ring/simple/16=ring.log tree/ll/16=tree.log --format nccl-tuner --out tuner
    """
    if form not in FORMATS:
        raise typer.BadParameter(f"{one_of(FORMATS)}.{meant(form, FORMATS)}", param_hint="--format")
    if plan and policy:
        raise typer.BadParameter("a plan or a policy, not both", param_hint="--policy")
    at = server_at(server)
    if form in TUNERS:
        beside = present(
            step=step,
            parameters=parameters,
            rank=rank,
            device=device,
            plan=plan,
            policy=policy,
            bandwidth_gbps=bandwidth_gbps,
            startup_us=startup_us,
            compute_slowdown=compute_slowdown,
            barrier=barrier or None,
        )
        refuse(beside, form)
        _tune(files, kinds or [], present(workers=workers, nodes=nodes), at, out)
        return
    refuse(present(kinds=kinds, nodes=nodes), form)
    from app.cli import flags
    from app.cli.files import GraphSource, read_plan, read_simulation
    from app.services.exports import check_format, exported, with_usual_barrier
    from app.services.plans import solve
    from app.services.simulations import run

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
    flagged = present(cluster=cluster, step=step, parameters=parameters, rank=rank, device=device)
    if policy:
        fields = present(policy=flags.policy(policy, "--policy"), **options)
        with explaining(names, flagged | fields):
            about = step, flags.parameters(parameters), flags.rank(rank), device
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
            about = step, flags.parameters(parameters), flags.rank(rank), device
            source = GraphSource(name, raw, cluster, made_for, *about)
            problem, _ = read_plan(source, options, [])
            if given is None and form in _WITH_BARRIER:
                problem = with_usual_barrier(problem)
            if given is None:
                check_format(problem, form)
                planned = at.plan(problem) if at else solve(problem)
                given = planned.model_dump(mode="json")
            written = exported(problem, given, form)
    said = _said(written, "the policy's launches" if policy else "the plan")
    _write(written.files, said, out)


def _tune(
    files: list[str],
    kinds: list[str],
    fields: dict[str, Any],
    at: "Server | None",
    out: Path | None,
) -> None:
    """Compare what algorithms of NCCL took, and write the fastest of each size."""
    from app.cli.tuner_files import places_of, read_tuner
    from app.services.tuners import run

    with explaining(", ".join(files), fields, places_of(files)):
        asked, logs = read_tuner(files, kinds, fields)
    each = [files[place] for place in logs.places]
    with explaining(", ".join(files), fields, places_of(each)):
        answer = at.tuner(asked) if at else run(asked)
    written = {file.name: file.text or "" for file in answer.files}
    _write(written, "\n".join([*logs.said, *answer.notes]), out)


def _write(files: "Mapping[str, str | bytes]", said: str, out: Path | None) -> None:
    """Write files into a folder, or print the only one; say what there is to say of them."""
    texts = [each for each in files.values() if isinstance(each, str)]
    if out is None and (len(files), len(texts)) != (1, 1):
        detail = f"give a folder for {', '.join(files)}"
        raise typer.BadParameter(detail, param_hint="--out")
    if out is None:
        print(texts[0])
    else:
        out.mkdir(parents=True, exist_ok=True)
        for path, each in files.items():
            (out / path).write_bytes(each.encode() if isinstance(each, str) else each)
    print(said, file=sys.stdout if out else sys.stderr)


def _said(written: "Export", planned: str) -> str:
    ours, theirs = written.plan_time_us / 1e3, written.iteration_time_us / 1e3
    return "\n".join([*written.notes, f"Simulated: {theirs:.3f} ms, {planned} {ours:.3f} ms."])


def _object(value: Any) -> dict[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}
