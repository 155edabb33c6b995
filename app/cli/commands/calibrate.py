"""Fit the cost of an all-reduce to measurements."""

from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli.failures import explaining
from app.cli.field_options import option
from app.cli.options import (
    AsJson,
    ServerUrl,
    content,
    present,
    server_at,
)


def calibrate(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Logs of launches (nccl-tests, OSU, NCCL Inspector, ...), a CSV "
            "with a header such as size(B),time(us), or one of iteration times: "
            "model,workers,policy,time_us; - reads standard input.",
        ),
    ],
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="[FILE=]KIND",
            help="Collective of files that do not say theirs, such as all_gather, or of one of "
            "them; may be repeated.",
        ),
    ] = None,
    mixed: Annotated[bool, option("CostModelRequest.mixed", "--mixed")] = False,
    fit: Annotated[str | None, option("CostModelRequest.fit")] = None,
    workers: Annotated[int | None, option("CostModelRequest.workers", default="the file's")] = None,
    bandwidth_gbps: Annotated[
        float | None,
        typer.Option(
            help="Bandwidth at the measurement; only to scale the cost to another. With iteration "
            "times: what is likely before they are seen.  [default: 10]"
        ),
    ] = None,
    startup_us: Annotated[
        float | None, typer.Option(help="The same of the start-up.  [default: 100]")
    ] = None,
    hop_us: Annotated[
        float | None,
        typer.Option(help="The same of a hop.  [default: 300 / bandwidth, from 5 to 40]"),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="POLICY.NAME",
            help="With iteration times: estimate it too; may be repeated.",
        ),
    ] = None,
    threshold_bytes: Annotated[
        int | None, option("CostModelRequest.threshold_bytes", default="searched")
    ] = None,
    format_: Annotated[
        str | None, option("CostModelRequest.format", "--format", default="what it looks like")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the model is called.")] = None,
    server: ServerUrl = None,
    json_: AsJson = False,
) -> None:
    """Fit costs to logs of launches, or to iteration times.

    Say how far each fit is from them, and what they do not determine. Logs are what nccl-tests,
    OSU, Intel MPI Benchmarks, oneCCL and mscclpp-test print, and what NCCL Inspector, PyTorch's
    flight recorder and DeepSpeed's log_summary write; gzipped, in a .tar, .tar.gz or .zip, or
    neither.

    \b
    Examples:
      interlace calibrate nccl.log
      interlace calibrate nccl.log --json > model.json
      interlace calibrate osu_allgather.txt --workers 16
      interlace calibrate inspector/*.log
      interlace calibrate logs.tar.gz
      interlace plan graph.json --cost-model model.json
      interlace calibrate nccl.log --server http://planner:8000
      interlace calibrate all_reduce.log all_gather.log reduce_scatter.log --json > model.json
      interlace calibrate ag.log a2a.log --kind all_gather --kind a2a.log=all_to_all
      interlace calibrate times.csv --bandwidth-gbps 25
    """
    from app.cli.benchmarks import kinds_of, places_of, read_benchmarks, read_contents
    from app.cli.rendering import cost_models, estimates
    from app.cli.times import is_estimate, read_estimate
    from app.services.cost_models import run

    at = server_at(server)
    names, packed = zip(*map(content, files), strict=True)
    source = names[0]
    with explaining(source, {}, places_of(names)):
        logs = read_contents(packed, names)
    plain, places = logs.contents, places_of(logs.names)
    named = kinds_of(kinds or [], files)
    if "kinds" in named:
        named["kinds"] = [named["kinds"][place] for place in logs.places]
    of_benchmarks = present(
        fit=fit,
        workers=workers,
        threshold_bytes=threshold_bytes,
        format=format_,
        name=name,
        **named,
        mixed=mixed or None,
    )
    of_times = present(startup_us=startup_us, hop_us=hop_us, parameters=parameters or None)
    if any(map(is_estimate, plain)):
        from app.services.estimates import run as run_estimate

        refuse(of_benchmarks, "iteration times")
        if len(plain) > 1:
            raise typer.BadParameter("iteration times stand in one file", param_hint="FILE")
        cluster = present(bandwidth_gbps=bandwidth_gbps, startup_us=startup_us, hop_us=hop_us)
        fields = present(parameters=parameters or None)
        with explaining(source, present(cluster=cluster, **fields)):
            asked = read_estimate(plain[0], Path(files[0]).parent, cluster, fields)
            found = at.estimate(asked) if at else run_estimate(asked, {})
        for said in logs.said:
            typer.echo(said, err=True)
        print(found.model_dump_json(indent=1) if json_ else estimates.render(found))
        return
    refuse(of_times, "a benchmark")
    fields = present(**of_benchmarks, bandwidth_gbps=bandwidth_gbps)
    with explaining(source, fields, places):
        request = read_benchmarks(plain, source, fields)
        answer = at.calibrate(request) if at else run(request)
    answer = answer.model_copy(update={"notes": [*logs.said, *answer.notes]})
    print(answer.model_dump_json(indent=1) if json_ else cost_models.render(answer))


def refuse(flags: dict[str, Any], beside: str) -> None:
    """Refuse flags that do not count.

    Raises
    ------
    typer.BadParameter
        With the first of them.
    """
    for flag in flags:
        name = {"parameters": "parameter", "kinds": "kind"}.get(flag, flag).replace("_", "-")
        raise typer.BadParameter(f"does not count with {beside}", param_hint=f"--{name}")
