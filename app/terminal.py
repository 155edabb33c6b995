"""What every command has in common: what it reads, and how it says what is wrong."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from app.errors import Refusal
from app.flags import Json
from solver.errors import InterlaceError

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
    steps = pointer.split("/")[1:]
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
