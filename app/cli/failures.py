"""What goes wrong, in lines for standard error, with the exit code."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from app.cli.interrupts import INTERRUPTED
from app.errors import Refusal
from solver.errors import Fault, InterlaceError

if TYPE_CHECKING:
    from app.cli.assignments import Assignments

FAILED, MISUSED = 1, 2

#: Flags that are not called as their field.
_FLAGS = {
    "baselines": "--baseline",
    "jobs": "--job",
    "kinds": "--kind",
    "levels": "--node-gbps, --network-gbps",
    "policies": "--policy",
    "rivals": "--rival",
    "flow_control": "--no-flow-control",
    "explain": "--no-explain",
    "prove_s": "--prove",
    "time_limit_s": "--time-limit",
    "memory_limit_bytes": "--memory-limit-gib",
    "memory_limits_bytes": "--memory-limit-gib",
    "more_memory_bytes": "--more-memory-gib",
    "max_bucket_bytes": "--max-bucket-mib",
    "max_bytes_under_way": "--max-under-way-mib",
    "margin_us": "--margin-ms",
    "sweep_limit_s": "--sweep-limit",
}

#: Fields that a sentence tells the user of the service to give; the command has flags for them.
_FIELD = re.compile(
    r"`(extrapolate|kinds?|mixed|node_gbps|level_gbps|oversubscription|compute_us|gradient_bytes)`"
)

#: Objects of a request whose fields have flags; no flag stands for all of one.
_OBJECTS = frozenset(("cluster", "options", "topology", "job"))

#: How many faults of a file are printed.
_LINES = 10


class CommandFailure(Exception):
    """The end of the command: what to say, and its exit code."""

    def __init__(self, *lines: str, code: int = FAILED) -> None:
        self.lines = lines
        self.code = code
        super().__init__("\n".join(lines))


def complain(line: str) -> None:
    """Print a line on standard error."""
    print(f"interlace: {line}", file=sys.stderr)


def failure_of(error: Exception) -> CommandFailure | None:
    """Return what to say of an error; None when it is a bug."""
    if isinstance(error, CommandFailure):
        return error
    wrong_use = getattr(error, "format_message", None)  # whichever click typer brings
    if wrong_use:
        return CommandFailure(" ".join(wrong_use().split()), code=MISUSED)
    if isinstance(error, typer.Abort):
        return CommandFailure("interrupted", code=INTERRUPTED)
    if isinstance(error, OSError):
        said = ": ".join(filter(None, [error.filename, error.strerror]))
        return CommandFailure(
            (said or f"{type(error).__name__} {error}".strip()) + _example(error)
        )  # a time-out has neither
    return CommandFailure(str(error)) if isinstance(error, Refusal) else None


def _example(error: OSError) -> str:
    """Say how to get an example whose name was given as a file that is not there; else ""."""
    from app.services import examples

    if isinstance(error, FileNotFoundError):
        names = {each.name for each in examples.names().examples}
        if error.filename in names:
            return f"; for the example write: interlace example {error.filename} > graph.json"
    return ""


@contextmanager
def explaining(
    source: str,
    flags: dict[str, Any],
    places: Mapping[str, str] | None = None,
    assigned: "Assignments | None" = None,
) -> Iterator[None]:
    """Say what is wrong with a file or a flag, a line a fault.

    Parameters
    ----------
    source
        What the file is called.
    flags
        The fields of the request that flags set; a fault of one is a misuse of the command.
    places
        What the file, or the flag that lacks, is called that a pointer and what is below it stand
        for, where there are several.
    assigned
        The fields that ``--set`` sets, likewise.
    """
    try:
        yield
    except InterlaceError as error:
        blamed = [_blamed(fault.pointer, flags, assigned) for fault in error.faults[:_LINES]]
        raise _faults(error.faults, source, blamed, places or {}) from None
    except Refusal as error:
        raise CommandFailure(f"{source}: {error}") from None


def _faults(
    faults: Sequence[Fault], source: str, blamed: list[str | None], places: Mapping[str, str]
) -> CommandFailure:
    lines = [
        f"{flag or _place(fault.pointer, source, places)}: {_said(fault.detail)}"
        for fault, flag in zip(faults, blamed, strict=False)
    ]
    if len(faults) > _LINES:
        lines.append(f"{source}: {len(faults) - _LINES} more faults.")
    return CommandFailure(*lines, code=MISUSED if any(blamed) else FAILED)


def _place(pointer: str, source: str, places: Mapping[str, str]) -> str:
    """Name the file, and the place in it."""
    from app.cli.assignments import upwards

    above = next((up for up in upwards(pointer) if up in places), "")
    within = pointer.removeprefix(above)
    return " ".join(filter(None, [places.get(above, source), within]))


def _said(detail: str) -> str:
    """Put flags in the place of the fields that a sentence tells to give."""
    return _FIELD.sub(lambda found: flag_of(found[1]), detail)


def _blamed(pointer: str, flags: dict[str, Any], assigned: "Assignments | None") -> str | None:
    """Name the flag that is at fault; None where the file is."""
    if assigned is None:
        return _flag(pointer, flags)
    return assigned.flag(pointer) or _flag(pointer, flags) or assigned.maker(pointer)


def _flag(pointer: str, flags: dict[str, Any]) -> str | None:
    """Name the flag that set what a pointer points at."""
    steps = pointer.removeprefix("/query").split("/")[1:]
    if not steps or steps[0] not in flags:
        return None
    field = steps[0]
    if len(steps) == 1 and field in _OBJECTS:
        return None
    if field in {*_OBJECTS, "jitter"} and len(steps) > 1:
        if steps[1] not in flags[field]:
            return None
        if field == "topology" and steps[2:] and steps[2] not in flags[field][steps[1]]:
            return None  # of another level than those that the flag tells
        if steps[:2] == ["jitter", "spread"]:
            return "--jitter"
        field = steps[1]
    within = "/".join(["", *steps[1:]]) if field in {"running", "candidates"} else ""  # of a file
    return f"{flag_of(field)} {within}".rstrip()


def flag_of(field: str) -> str:
    """Return the flag of a field."""
    return _FLAGS.get(field, f"--{field.replace('_', '-')}")
