"""Rank node sets for a job."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.failures import explaining, flag_of
from app.cli.field_options import option
from app.cli.options import AsJson, Html, ServerUrl, Set, check_html, present, server_at, write

#: What flags tell where no file does: of the topology, and of the job.
_FIGURES = ("node_gbps", "level_gbps")
_JOB = ("nodes", "compute_us", "gradient_bytes")


def allocate(
    topology: Annotated[
        Path,
        typer.Argument(
            metavar="TOPOLOGY",
            help="Slurm's topology.conf or topology.yaml, kubectl get nodes -o json, or JSON.",
        ),
    ],
    job: Annotated[
        str | None,
        typer.Argument(metavar="[JOB]", help="JSON of a job or a graph, or an example's name."),
    ] = None,
    nodes: Annotated[int | None, option("AllocatedJobBody.nodes", metavar="N")] = None,
    compute_us: Annotated[float | None, option("AllocatedJobBody.compute_us")] = None,
    gradient_bytes: Annotated[
        int | None, option("AllocatedJobBody.gradient_bytes", metavar="N")
    ] = None,
    free: Annotated[
        str | None,
        typer.Option(metavar="HOSTS", help="Nodes that may be taken, such as gpu[01-16]."),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(help="Node sets to rank: a host list a line, or a JSON list of lists."),
    ] = None,
    running: Annotated[
        Path | None, typer.Option(help="JSON list of jobs that run, each with name and on.")
    ] = None,
    gpus: Annotated[int | None, option("TopologyBody.gpus", metavar="N")] = None,
    node_gbps: Annotated[float | None, option("TopologyBody.node_gbps")] = None,
    level_gbps: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL=GBPS,...",
            help="Capacity of each link up from a level, one way [Gbit/s]: node=400,leaf=3200.",
        ),
    ] = None,
    oversubscription: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL=RATIO,...",
            help="What comes into a switch from below over what goes up, instead: leaf=2.",
        ),
    ] = None,
    hop_us: Annotated[float | None, option("TopologyBody.hop_us")] = None,
    objective: Annotated[str | None, option("AllocationRequest.objective")] = None,
    moves: Annotated[int | None, option("AllocationRequest.moves", metavar="N")] = None,
    simulated: Annotated[int | None, option("AllocationRequest.simulated", metavar="N")] = None,
    count: Annotated[int | None, option("AllocationRequest.count", metavar="N")] = None,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Show switches and the use of links, too.")
    ] = False,
    set_: Set = None,
    server: ServerUrl = None,
    html: Html = None,
    json_: AsJson = False,
) -> None:
    """Rank node sets for a job: which nodes, which rank where.

    What the topology does not say, such as bandwidths, is asked for by name.

    \b
    Examples:
      interlace allocate topology.conf --nodes 16 --compute-us 80000 --gradient-bytes 2000000000 --node-gbps 3600 --level-gbps node=400 --oversubscription leaf=4
      interlace allocate topology.conf job.json --free 'gpu[01-32]' --running running.json
      interlace allocate nodes.json vgg16 --nodes 8 --candidates sets.txt --json
    """  # noqa: E501 - a line of the help
    from app.cli import allocation_requests as parts
    from app.cli.assignments import assignments
    from app.cli.rendering.allocations import render
    from app.reading.requests import checked_plain
    from app.schemas.allocations import AllocationRequest
    from app.services.allocations import answer_of

    assigned, at = assignments(set_), server_at(server)
    check_html(html, [str(topology)])
    wiring, of_topology = parts.topology_of_file(topology)
    figures = present(
        level_gbps=parts.by_level(level_gbps, "--level-gbps"),
        oversubscription=parts.by_level(oversubscription, "--oversubscription"),
        gpus=gpus,
        node_gbps=node_gbps,
        hop_us=hop_us,
    )
    own, of_job = parts.job_of(job)
    about = present(nodes=nodes, compute_us=compute_us, gradient_bytes=gradient_bytes)
    lacking = {f"/topology/{name}": flag_of(name) for name in _FIGURES if name not in wiring}
    lacking |= {f"/job/{name}": flag_of(name) for name in _JOB if name not in own}
    places = {"/job": "JOB", **lacking, of_topology: str(topology)}
    if job is not None:
        places[of_job] = job
    fields = present(
        free=None if free is None else parts.named_hosts(free, "--free"),
        candidates=parts.list_of(candidates, "--candidates"),
        running=parts.list_of(running, "--running"),
        objective=objective,
        moves=moves,
        simulated=simulated,
        count=count,
        has_cluster=cluster or html is not None or None,
    )
    told = {**fields, "topology": figures, "job": about}
    with explaining(str(topology), told, places, assigned):
        wiring = parts.with_flags(wiring, figures)
        body = assigned.on({"topology": wiring, "job": {**own, **about}, **fields})
        request = checked_plain(body, AllocationRequest)
        answer = at.allocate(request) if at else answer_of(request)
    if html:
        from app.pages.answer_files import asked_file

        write(html, asked_file("allocations", request, answer, answer.best[0].why))
    if html and not cluster:  # the page draws it, nobody asked to read it
        answer = answer.model_copy(update={"cluster": None})
    print(answer.model_dump_json(indent=1) if json_ else render(answer))
