"""What every command has in common: what it reads, and how it says what is wrong."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from app.cli.flags import Json
from app.errors import Refusal
from solver.errors import InterlaceError

if TYPE_CHECKING:
    from app.cli.remote import Server
    from interlace_client import Progress as Told

FAILED, MISUSED, INTERRUPTED = 1, 2, 130


#: Flags that are not called as their field.
_FLAGS = {
    "baselines": "--baseline",
    "policies": "--policy",
    "rivals": "--rival",
    "spread": "--jitter",
    "time_limit_s": "--time-limit",
    "sweep_limit_s": "--sweep-limit",
}


#: How many faults of a file are printed.
_LINES = 10


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="JSON graph, JSON request as for the API, or a trace (see import); - reads standard "
        "input.",
    ),
]


Workers = Annotated[int | None, typer.Option(help="Workers.  [default: 8]")]


BandwidthGbps = Annotated[
    float | None, typer.Option(help="Bandwidth between two workers.  [default: 10]")
]


StartupUs = Annotated[float | None, typer.Option(help="Fixed cost of one launch.  [default: 50]")]


CostModel = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="Instead of the cluster's network: the JSON that calibrate --json prints.",
    ),
]


Extrapolate = Annotated[
    bool,
    typer.Option(
        "--extrapolate", help="Scale a measured cost model to other workers or bandwidth."
    ),
]


Barrier = Annotated[
    bool, typer.Option("--barrier", help="The next forward pass waits for all last collectives.")
]


WhatIf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN=CHANGE",
        help="Answer also with ops changed: PATTERN=remove, PATTERN=bytes*FACTOR or "
        "PATTERN=duration*FACTOR; may be repeated.",
    ),
]


AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as the service's JSON.")]


ServerUrl = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        envvar="INTERLACE_SERVER",
        help="Have the service there do the work.",
    ),
]


Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", help="Word to find the server's job by; may be repeated."),
]


Fresh = Annotated[
    bool, typer.Option("--fresh", help="Solve anew what the server has answered before.")
]


def content(file: str) -> tuple[str, bytes]:
    """Return what a file is called, and its bytes."""
    if file == "-":
        return "standard input", sys.stdin.buffer.read()
    return file, Path(file).read_bytes()


@contextmanager
def explaining(source: str, flags: Json) -> Iterator[None]:
    """Print what is wrong with a file or a flag, a line a fault, and exit."""
    try:
        yield
    except InterlaceError as error:
        raise typer.Exit(_report(error, source, flags)) from None
    except Refusal as error:
        complain(f"{source}: {error}")
        raise typer.Exit(FAILED) from None


@contextmanager
def progressing(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how much of the work is done, on a terminal; elsewhere show nothing."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    columns = [BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def following() -> Iterator[Callable[["Told"], None]]:
    """Show how far a job of a service is, on a terminal; elsewhere show nothing."""
    if not sys.stderr.isatty():
        yield lambda _told: None
        return
    texts = TextColumn("{task.description}"), TextColumn("{task.fields[known]}")
    columns = [texts[0], BarColumn(bar_width=20), texts[1], TimeElapsedColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("asking", total=None, known="")

        def show(told: "Told") -> None:
            phase = told.state if told.state == "queued" else told.phase or told.state
            bar.tasks[0].total = told.total  # update() cannot make it unknown again
            done = told.completed or 0
            bar.update(
                task, description=phase.replace("_", " "), completed=done, known=_known(told)
            )

        yield show


def at_server(
    url: str | None, tags: list[str] | None = None, *, fresh: bool = False
) -> "Server | None":
    """Return the service that is to do the work; None when it is done here."""
    if url is not None:
        from app.cli.remote import Server  # noqa: PLC0415 - what is done here needs no client

        return Server(url, tuple(tags or ()), fresh)
    for flag, is_given in (("--tag", tags), ("--fresh", fresh)):
        if is_given:
            raise typer.BadParameter("needs --server", param_hint=flag)
    return None


def _known(told: "Told") -> str:
    """Say how many steps are done, and how good the plan in hand is."""
    known = []
    if told.completed is not None:
        known.append(f"{told.completed:,}" + (f" of {told.total:,}" if told.total else ""))
    if told.incumbent_us is not None:
        known.append(f"best {told.incumbent_us / 1e3:.3f} ms")
    if told.gap is not None:
        known.append(f"gap {100 * told.gap:.2f} %")
    return ", ".join(known)


def _report(error: InterlaceError, source: str, flags: Json) -> int:
    """Print one line a fault; a fault of a flag is a misuse of the command."""
    misused = False
    for fault in error.faults[:_LINES]:
        flag = _flag(fault.pointer, flags)
        misused |= flag is not None
        where = flag or " ".join(filter(None, [source, fault.pointer]))
        complain(f"{where}: {fault.detail}")
    if len(error.faults) > _LINES:
        complain(f"{source}: {len(error.faults) - _LINES} more faults.")
    return MISUSED if misused else FAILED


def _flag(pointer: str, flags: Json) -> str | None:
    """Name the flag that gave what a pointer points at."""
    steps = pointer.removeprefix("/query").split("/")[1:]
    if not steps or steps[0] not in flags:
        return None
    field = steps[0]
    if field in {"cluster", "options", "jitter"} and len(steps) > 1:
        if steps[1] not in flags[field]:
            return None
        field = steps[1]
    return _FLAGS.get(field, f"--{field.replace('_', '-')}")


def complain(message: str) -> None:
    """Print a line on standard error."""
    print(f"interlace: {message}", file=sys.stderr)
