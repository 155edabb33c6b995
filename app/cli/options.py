"""Options that several commands share, and the bytes and the service that they name."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.extras import check_extra
from app.cli.field_options import option, paths
from app.names import COMPRESSIONS, DEVICES

if TYPE_CHECKING:
    from app.cli.remote import Server

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="JSON graph, JSON request as for the API, or a trace (see import), of which there may "
        "be a file a rank; - reads standard input.",
    ),
]

Step = Annotated[
    int | None,
    typer.Option(min=0, help="Which step of a trace, from 0.  [default: the median one]"),
]

Rank = Annotated[
    str | None,
    typer.Option(
        metavar="N|slowest",
        help="Which of several files of a trace, from 0, or the rank that the others wait for.  "
        "[default: slowest]",
    ),
]

Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:KEY=VALUE,...]",
        help="What runs a program that is HLO text, where no times of its instructions are given: "
        f"{', '.join(DEVICES)}, or tflops=...,memory_gbs=..., or both.",
    ),
]

Parameters = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="JSON of [name, bytes] of each gradient, the last to be ready first, as a capture "
        "writes it: to split the buckets of a trace.",
    ),
]

Workers = Annotated[
    int | None, option("ClusterBody.workers", default="the file's, of a trace as recorded; 8")
]

BandwidthGbps = Annotated[
    float | None,
    option("ClusterBody.bandwidth_gbps", default="the file's, of a trace as recorded; 10"),
]

StartupUs = Annotated[
    float | None, option("ClusterBody.startup_us", default="the file's, of a trace as recorded; 50")
]

ComputeSlowdown = Annotated[
    float | None, option("ClusterBody.compute_slowdown", default="the file's; 1")
]

CostModel = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="Instead of the cluster's network: the JSON that calibrate --json prints, or a log of "
        "launches that it reads.",
    ),
]

Extrapolate = Annotated[bool, option("ClusterBody.extrapolate", "--extrapolate")]

Barrier = Annotated[bool, option("SimulationRequest.barrier", "--barrier")]

CopyGbps = Annotated[float | None, option("OptionsBody.copy_gbps", default="of a program 26800")]

MaxBucketMib = Annotated[float | None, option("OptionsBody.max_bucket_bytes", unit=2**20)]

MaxUnderWayMib = Annotated[float | None, option("OptionsBody.max_bytes_under_way", unit=2**20)]

InputsHeld = Annotated[str | None, option("OptionsBody.inputs_held", default="of a program wait")]

MarginMs = Annotated[
    float | None, option("OptionsBody.margin_us", default="of a program 50", unit=1e3)
]

Believed = Annotated[
    str | None,
    typer.Option(
        metavar="KEY=VALUE,...",
        help="Decide with other costs than those that it runs with: startup_factor, "
        "bandwidth_factor, compute_factor, a spread of each, or a cluster (cluster.workers=8).",
    ),
]

WhatIf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN=CHANGE",
        help="Answer also with ops changed: PATTERN=remove, bytes*FACTOR, duration*FACTOR, "
        f"chunks*COUNT, {'|'.join(COMPRESSIONS)}; of one kind all_reduce*fp16. May be repeated.",
    ),
]

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Set any field of the request, as in cluster.hop_us=2; a value is JSON or a word; "
        "may be repeated.",
        autocompletion=paths,
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

Progress = Annotated[
    bool,
    typer.Option(
        "--progress",
        help="Say on standard error how far it is, a line a phase; a terminal shows a bar anyhow.",
    ),
]

Html = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Write there the answer's page as one file, which opens anywhere without a service.",
    ),
]

Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag", metavar="WORD", help="Word to find the server's job by; may be repeated."
    ),
]

Fresh = Annotated[
    bool, typer.Option("--fresh", help="Solve anew what the server has answered before.")
]


def only(texts: list[str] | None, flag: str) -> str | None:
    """Return the value of a flag that must not be repeated."""
    if texts and len(texts) > 1:
        raise typer.BadParameter("is given more than once", param_hint=flag)
    return texts[0] if texts else None


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields of a request that flags set."""
    return {name: value for name, value in fields.items() if value not in (None, [])}


def contents(files: list[str]) -> tuple[str, str, list[bytes]]:
    """Return what all of some files are called, what the first is, and the bytes of each."""
    names, read = zip(*(content(file) for file in files), strict=True)
    return ", ".join(names), names[0], list(read)


def content(file: str) -> tuple[str, bytes]:
    """Return what a file is called, and its bytes."""
    if file == "-":
        return "standard input", sys.stdin.buffer.read()
    return file, Path(file).read_bytes()


def check_place(flag: str, out: Path, files: list[str]) -> None:
    """Check before the work is done that a file can be written, and is none of those read.

    Raises
    ------
    typer.BadParameter
        When it cannot.
    """
    if out.is_dir():
        raise typer.BadParameter(f"{out} is a folder", param_hint=flag)
    if not out.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {out.parent}", param_hint=flag)
    if out.exists() and any(Path(file).exists() and out.samefile(file) for file in files):
        raise typer.BadParameter(f"{out} is read: it would be lost", param_hint=flag)


def write(out: Path, text: str) -> None:
    """Write a whole file, or leave what was there; a pipe or a device gets the text at once.

    Raises
    ------
    OSError
        With the file's name.
    """
    is_file = out.is_file() or not out.exists()
    draft = out.with_name(f".{out.name}.part") if is_file else out
    try:
        draft.write_text(text, encoding="utf-8")
        if is_file:
            draft.replace(out)
    except OSError as error:
        if is_file:
            draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(out)) from None


def server_at(
    url: str | None, tags: list[str] | None = None, *, fresh: bool = False
) -> "Server | None":
    """Return the service that is to do the work; None when it is done here."""
    if url is None:
        for flag, is_set in (("--tag", tags), ("--fresh", fresh)):
            if is_set:
                raise typer.BadParameter("needs --server", param_hint=flag)
        return None
    check_extra("--server", "remote")
    from app.cli.remote import Server

    return Server(url, tuple(tags or ()), fresh)


def check_html(out: Path | None, files: list[str]) -> None:
    """Check before the work is done that a page can be written as one file.

    Raises
    ------
    CommandFailure
        When what writes pages is not installed.
    typer.BadParameter
        When the file cannot be written.
    """
    check_extra("--html", "service", is_taken=out is not None)
    if out is not None:
        check_place("--html", out, files)
