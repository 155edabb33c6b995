"""The command ``interlace``: errors are one line on standard error, each with an exit code.

Exit codes: 0 done; 1 the input is wrong or the work failed; 2 the command was used wrongly;
130 interrupted.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from app import VERSION
from app.answers import TraceAnswer
from app.demo import DemoFailed, demo
from app.door import read_json
from app.errors import Refusal
from app.files import read_file
from app.plans import solve
from app.report import render
from app.serve import CannotServe, NotLoopback, serve
from solver.errors import InterlaceError

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
#: Flags that are not called as their field.
_FLAGS = {"baselines": "--baseline", "time_limit_s": "--time-limit"}
#: How many faults of a file are printed.
_LINES = 10

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
    """Plan the communication of data-parallel training: buckets, order, time, proven bound.

    \b
    Examples:
      interlace demo
      interlace serve --port 8000
      interlace plan graph.json --workers 16
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
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="JSON graph, JSON request as for POST /v1/plans, or PipeDream graph.txt; - reads "
            "standard input.",
        ),
    ],
    workers: Annotated[int | None, typer.Option(help="Workers.  [default: 8]")] = None,
    bandwidth_gbps: Annotated[
        float | None, typer.Option(help="Bandwidth between two workers.  [default: 10]")
    ] = None,
    startup_us: Annotated[
        float | None, typer.Option(help="Fixed cost of one launch.  [default: 50]")
    ] = None,
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
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]",
            help="Policy to compare with, and its parameters; may be repeated.  "
            "[default: wfbp, pace]",
        ),
    ] = None,
    barrier: Annotated[
        bool,
        typer.Option("--barrier", help="The next forward pass waits for all collectives."),
    ] = False,
    json_: Annotated[
        bool, typer.Option("--json", help="Print the answer as the service's JSON.")
    ] = False,
) -> None:
    """Plan one training iteration; needs no server.

    A request's own cluster and options count unless a flag is given.

    \b
    Examples:
      interlace plan graph.json
      interlace plan graph.json --workers 16 --bandwidth-gbps 25 --baseline wfbp
      interlace plan graph.json --fusion joint --time-limit 60
      interlace plan graph.json --baseline horovod --baseline ddp:bucket_cap_mb=10,barrier=true
      interlace plan resnet50/graph.txt --json > plan.json
      curl -s localhost:8000/v1/examples/vgg16 | interlace plan -
    """  # noqa: D301 - \b keeps the lines apart
    given = {"workers": workers, "bandwidth_gbps": bandwidth_gbps, "startup_us": startup_us}
    cluster = {field: value for field, value in given.items() if value is not None}
    chosen = {
        "fusion": fusion,
        "schedule": schedule,
        "slot_us": slot_us,
        "time_limit_s": time_limit,
        "baselines": [_baseline(text) for text in baseline or []],
        "barrier": barrier or None,
    }
    options = {field: value for field, value in chosen.items() if value not in (None, [])}
    flags = {
        f"/{section}/{field}": _FLAGS.get(field, f"--{field.replace('_', '-')}")
        for section, fields in (("cluster", cluster), ("options", options))
        for field in fields
    }
    name, content = _content(file)
    try:
        problem, report = read_file(content, name, cluster, options)
        answer = solve(problem)
    except InterlaceError as error:
        raise typer.Exit(_report(error, name, flags)) from None
    except Refusal as error:
        _complain(f"{name}: {error}")
        raise typer.Exit(FAILED) from None
    if not json_:
        print(render(answer, problem.graph.name, report))
    elif report is None:
        print(answer.model_dump_json(indent=1))
    else:
        print(TraceAnswer(**dict(answer), report=report).model_dump_json(indent=1))


@app.command("demo")
def _demo() -> None:
    """Start a server, plan VGG-16 over HTTP, print the answer, stop the server.

    \b
    Example:
      interlace demo
    """  # noqa: D301 - \b keeps the lines apart
    demo()


def _baseline(text: str) -> str | dict[str, Any]:
    """Read NAME or NAME:KEY=VALUE,... as a baseline of a request."""
    name, colon, rest = text.partition(":")
    if not colon:
        return name
    pairs = [pair.partition("=") for pair in rest.split(",")]
    if not all(key and equals and key != "policy" for key, equals, _ in pairs):
        raise typer.BadParameter("use NAME:KEY=VALUE,KEY=VALUE", param_hint="--baseline")
    return {"policy": name} | {key: _value(value) for key, _, value in pairs}


def _value(text: str) -> Any:
    """Read a number, true or false; anything else is a word."""
    try:
        return read_json(text.encode())
    except Refusal:
        return text


def _content(file: str) -> tuple[str, bytes]:
    """Return what a file is called, and its bytes."""
    if file == "-":
        return "standard input", sys.stdin.buffer.read()
    return file, Path(file).read_bytes()


def _report(error: InterlaceError, source: str, flags: dict[str, str]) -> int:
    """Print one line a fault; a fault of a flag is a misuse of the command."""
    misused = False
    for fault in error.faults[:_LINES]:
        flag = next((flags[p] for p in flags if f"{fault.pointer}/".startswith(f"{p}/")), None)
        misused |= flag is not None
        where = flag or " ".join(filter(None, [source, fault.pointer]))
        _complain(f"{where}: {fault.detail}")
    if len(error.faults) > _LINES:
        _complain(f"{source}: {len(error.faults) - _LINES} more faults.")
    return MISUSED if misused else FAILED


def _complain(message: str) -> None:
    print(f"interlace: {message}", file=sys.stderr)


def _run() -> int:
    """Run the command; return its exit code."""
    try:
        return app(prog_name="interlace", standalone_mode=False) or 0
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted")
        return INTERRUPTED
    except Exception as error:
        code, messages = _explained(error)
        if not messages:
            raise
        for message in messages:
            _complain(message)
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


if __name__ == "__main__":
    main()
