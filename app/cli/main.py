"""The command ``interlace``: errors are one line on standard error, each with an exit code.

Exit codes: 0 done; 1 the input is wrong or the work failed; 2 the command was used wrongly;
130 interrupted.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from app import VERSION
from app.cli import operator as cli_operator
from app.cli import scaling as cli_scaling
from app.cli import traces as cli_traces
from app.cli.demo import DemoFailed, demo
from app.cli.files import read_file, read_simulated
from app.cli.flags import change, given, network, policy, read_plan, spreading
from app.cli.report import render, render_simulation
from app.cli.serve import CannotServe, NotLoopback, serve
from app.cli.terminal import (
    FAILED,
    INTERRUPTED,
    MISUSED,
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
    at_server,
    complain,
    content,
    explaining,
)
from app.errors import NotFound, Refusal
from app.schemas.plans import TraceAnswer
from app.services import examples, simulations
from app.services.plans import solve

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(value: bool) -> None:
    if value:
        print(f"interlace {VERSION}")
        raise typer.Exit


@app.callback()
def interlace(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Plan and simulate the communication of distributed training: buckets, order, time, bound.

    \b
    Examples:
      interlace demo
      interlace serve --port 8000
      interlace plan graph.json --workers 16
      interlace simulate graph.json --policy ddp
    """  # noqa: D301 - \b keeps the lines apart


@app.command("serve")
def _serve(
    host: Annotated[str, typer.Option(help="Address to bind; loopback only by default.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines reach the service.")
    ] = False,
) -> None:
    """Serve the API and its documentation page.

    \b
    Examples:
      interlace serve
      INTERLACE_DATA_DIR=/var/lib/interlace interlace serve --port 9000
      interlace serve --host 0.0.0.0 --allow-remote
    """  # noqa: D301 - \b keeps the lines apart
    serve(host, port, allow_remote=allow_remote)


@app.command("plan")
def _plan(
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
    """  # noqa: D301 - \b keeps the lines apart
    at = at_server(server, tag, fresh=fresh)
    cluster = network(workers, bandwidth_gbps, startup_us, cost_model, extrapolate=extrapolate)
    options = given(
        fusion=fusion,
        schedule=schedule,
        slot_us=slot_us,
        time_limit_s=time_limit,
        seed=seed,
        baselines=[policy(text) for text in baseline or []],
        barrier=barrier or None,
    )
    changes = [change(text) for text in what_if or []]
    name, found = content(file)
    with explaining(name, given(cluster=cluster, options=options, what_if=changes, tag=tag)):
        problem, report = read_file(found, name, cluster, options, changes)
        answer = at.plan(problem) if at else solve(problem)
    if not json_:
        print(render(answer, problem.graph.name, report))
    elif report is None:
        print(answer.model_dump_json(indent=1))
    else:
        print(TraceAnswer(**dict(answer), report=report).model_dump_json(indent=1))


@app.command("simulate")
def _simulate(
    file: File,
    workers: Workers = None,
    bandwidth_gbps: BandwidthGbps = None,
    startup_us: StartupUs = None,
    cost_model: CostModel = None,
    extrapolate: Extrapolate = False,
    named: Annotated[
        str | None,
        typer.Option("--policy", metavar="NAME[:KEY=VALUE,...]", help="Policy.  [default: wfbp]"),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(metavar="PLAN", help="Instead of a policy: the JSON that plan --json prints."),
    ] = None,
    jitter: Annotated[
        float | None,
        typer.Option(metavar="SPREAD", help="Also run it with op times that vary; 0.1 is 10 %."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="How many of them.  [default: 100]")] = None,
    seed: Annotated[int | None, typer.Option(help="Of their factors.  [default: 0]")] = None,
    rival: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]",
            help="Policy that runs through the same; may be repeated.  [default: wfbp]",
        ),
    ] = None,
    barrier: Barrier = False,
    what_if: WhatIf = None,
    server: ServerUrl = None,
    tag: Tags = None,
    fresh: Fresh = False,
    json_: AsJson = False,
) -> None:
    """Simulate one training iteration under a policy or a plan; needs no server, but may ask one.

    The cluster is that of the request, of a plan the one that it was made for, unless a flag is
    given.

    \b
    Examples:
      interlace simulate graph.json --policy ddp
      interlace simulate graph.json --policy horovod:cycle_time_us=5000 --barrier
      interlace simulate graph.json --plan plan.json --jitter 0.1 --rival ddp
      interlace simulate graph.json --policy ddp --what-if 'grad:fc6*=bytes*0.1'
      interlace simulate graph.json --policy ddp --server http://planner:8000
    """  # noqa: D301 - \b keeps the lines apart
    at = at_server(server, tag, fresh=fresh)
    cluster = network(workers, bandwidth_gbps, startup_us, cost_model, extrapolate=extrapolate)
    name, found = content(file)
    asked = given(
        policy=policy(named, "--policy") if named else None,
        barrier=barrier or None,
        what_if=[change(text) for text in what_if or []],
        jitter=spreading(jitter, runs, seed, rival or []),
    )
    if plan is not None:
        asked["plan"] = read_plan(plan)
    elif named is None:
        asked["policy"] = "wfbp"
    with explaining(name, given(cluster=cluster, tag=tag, **asked)):
        problem, _ = read_simulated(found, name, cluster, asked)
        answer = at.simulate(problem) if at else simulations.run(problem)
    if json_:
        print(answer.model_dump_json(indent=1))
    else:
        print(render_simulation(answer, problem.graph.name))


app.command("predict")(cli_scaling.predict)


app.command("sweep")(cli_scaling.sweep)


app.command("import")(cli_traces.import_)


app.command("export")(cli_traces.export)


app.command("calibrate")(cli_scaling.calibrate)


app.command("backup")(cli_operator.backup)


app.add_typer(cli_operator.config, name="config")


@app.command("example")
def _example(
    name: Annotated[str | None, typer.Argument(help="Its name; none lists all.")] = None,
) -> None:
    """Print a request ready to plan, or the names of all.

    \b
    Examples:
      interlace example
      interlace example fsdp_llama_7b | interlace plan -
    """  # noqa: D301 - \b keeps the lines apart
    if name is None:
        found = examples.names().examples
        width = max(len(each.name) for each in found)
        print("\n".join(f"{each.name:{width}}  {each.description}" for each in found))
        return
    try:
        print(examples.example(name).model_dump_json(exclude_unset=True))
    except NotFound:
        known = ", ".join(each.name for each in examples.names().examples)
        raise typer.BadParameter(f"no example is called {name!r}; there are {known}") from None


@app.command("demo")
def _demo() -> None:
    """Start a server, plan VGG-16 over HTTP, print the answer, stop the server.

    \b
    Example:
      interlace demo
    """  # noqa: D301 - \b keeps the lines apart
    demo()


def _run() -> int:
    """Run the command; return its exit code."""
    try:
        return app(prog_name="interlace", standalone_mode=False) or 0
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return INTERRUPTED
    except Exception as error:
        code, messages = _explained(error)
        if not messages:
            raise
        for message in messages:
            complain(message)
        return code


def _explained(error: Exception) -> tuple[int, list[str]]:
    """Return the exit code and the lines for an error; no lines when it is a bug."""
    match error:
        case NotLoopback():
            return MISUSED, [str(error)]
        case CannotServe() | DemoFailed() | Refusal():
            return FAILED, [str(error)]
        case OSError():
            return FAILED, [": ".join(filter(None, [error.filename, error.strerror]))]
        case ValidationError():
            return MISUSED, [
                f"INTERLACE_{str(item['loc'][0]).upper()}: {item['msg']}"
                for item in error.errors(include_url=False)
            ]
        case ArgumentError() | NoSuchModuleError() | ModuleNotFoundError():
            return MISUSED, [f"INTERLACE_DATABASE_URL: {str(error).splitlines()[0]}"]
    wrong_use = getattr(error, "format_message", None)  # whichever click typer brings
    return MISUSED, [" ".join(wrong_use().split())] if wrong_use else []


def main() -> None:
    """Run the command and exit."""
    sys.exit(_run())
