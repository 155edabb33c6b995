"""Compare placements of parameter servers."""

from typing import Annotated, Any

import typer

from app.cli.failures import explaining
from app.cli.field_options import option
from app.cli.options import (
    AsJson,
    BandwidthGbps,
    Parameters,
    Rank,
    ServerUrl,
    Step,
    Workers,
    contents,
    present,
    server_at,
)

#: What says a field where no file does.
_FLAGS = {
    "/model_bytes": "--model-bytes",
    "/batch_time_us": "--batch-time-us",
    "/workers": "--workers",
    "/bandwidth_gbps": "--bandwidth-gbps",
}


def placements(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="JSON graph or request, or a trace, of which there may be a file a rank; - reads "
            "standard input. None with --model-bytes.",
        ),
    ] = None,
    step: Step = None,
    parameters: Parameters = None,
    rank: Rank = None,
    model_bytes: Annotated[
        int | None, option("PlacementsRequest.model_bytes", note="instead of a file", metavar="N")
    ] = None,
    batch_time_us: Annotated[
        float | None, option("PlacementsRequest.batch_time_us", default="the graph's")
    ] = None,
    workers: Workers = None,
    bandwidth_gbps: BandwidthGbps = None,
    servers: Annotated[
        int | None, option("PlacementsRequest.servers", default="as many as workers", metavar="N")
    ] = None,
    chunk_bytes: Annotated[int | None, option("PlacementsRequest.chunk_bytes", metavar="N")] = None,
    interfaces_per_server: Annotated[
        int | None, option("PlacementsRequest.interfaces_per_server", metavar="N")
    ] = None,
    cores_per_interface: Annotated[
        int | None, option("PlacementsRequest.cores_per_interface", metavar="N")
    ] = None,
    aggregate_gbytes_per_s: Annotated[
        float | None, option("PlacementsRequest.aggregate_gbytes_per_s", default="at once")
    ] = None,
    simulate: Annotated[
        str | None, option("PlacementsRequest.simulate", metavar="NAME,...")
    ] = None,
    simulated_transfers: Annotated[
        int | None, option("PlacementsRequest.simulated_transfers", metavar="N")
    ] = None,
    racks: Annotated[
        str | None,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="Whether racks reduce by themselves first: racks, workers_per_rack, worker_gbps, "
            "pbox_gbps, core_gbps, cross_rack.",
        ),
    ] = None,
    prices: Annotated[
        str | None,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="What racks are worth: baseline_samples_per_s, hub_samples_per_s, and prices, as "
            "hub.switch_dollars=20000.",
        ),
    ] = None,
    job: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME:]KEY=VALUE,...",
            help="Job that shares a server with others: model_bytes, batch_time_us, workers; may "
            "be repeated.",
        ),
    ] = None,
    oversubscriptions: Annotated[
        str | None,
        typer.Option(
            metavar="N,...",
            help="Racks with a PHub to compare by --prices, each with so much oversubscription.",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="What transfers pay besides their bytes, and cross: preset=phub, startup_us, "
            "pcie_gbytes_per_s and others of the request's `machine`.",
        ),
    ] = None,
    chunk_sizes: Annotated[
        list[str] | None,
        option("PlacementsRequest.chunk_sizes", note="may be repeated", metavar="N,..."),
    ] = None,
    systems: Annotated[str | None, option("PlacementsRequest.systems", metavar="NAME,...")] = None,
    server: ServerUrl = None,
    json_: AsJson = False,
) -> None:
    """Compare placements of parameter servers.

    Say which bandwidth hides the exchange with them, by where they are.

    \b
    Examples:
      interlace placements --model-bytes 194000000 --batch-time-us 16000 --workers 8
      interlace placements graph.json --workers 16 --bandwidth-gbps 25 --servers 4
      interlace placements rank*.json.gz --workers 8 --simulate ncs,cs --chunk-bytes 131072
      interlace placements graph.json --machine preset=phub --systems mxnet,pshard,pbox
      interlace placements graph.json --prices baseline_samples_per_s=560,hub_samples_per_s=500
      interlace placements graph.json --workers 8 --server http://planner:8000
    """
    from app.cli import flags
    from app.cli.files import GraphSource, read_placements
    from app.cli.rendering.placements import render
    from app.reading.requests import parsed_placements
    from app.services.placements import answer_of

    at = server_at(server)
    cluster = present(workers=workers, bandwidth_gbps=bandwidth_gbps)
    fields = present(
        model_bytes=model_bytes,
        batch_time_us=batch_time_us,
        servers=servers,
        chunk_bytes=chunk_bytes,
        interfaces_per_server=interfaces_per_server,
        cores_per_interface=cores_per_interface,
        aggregate_gbytes_per_s=aggregate_gbytes_per_s,
        simulate=None if simulate is None else simulate.split(","),
        simulated_transfers=simulated_transfers,
        racks=flags.fields(racks, "--racks"),
        prices=_prices(flags.fields(prices, "--prices"), oversubscriptions),
        machine=flags.fields(machine, "--machine", "preset=phub"),
        chunk_sizes=flags.numbers(",".join(chunk_sizes) if chunk_sizes else None, "--chunk-sizes"),
        systems=None if systems is None else systems.split(","),
        jobs=[flags.named(text, "--job") for text in job or []],
    )
    about = present(step=step, parameters=parameters, rank=rank)
    if not files and about:
        raise typer.BadParameter("needs a trace", param_hint=f"--{next(iter(about))}")
    names, name, raw = contents(files) if files else ("flags", "", [])
    places = {} if files else _FLAGS
    with explaining(names, {**fields, **about, **cluster, "cluster": cluster}, places):
        if files:
            text, at_rank = flags.parameters(parameters), flags.rank(rank)
            source = GraphSource(name, raw, cluster, step=step, parameters=text, rank=at_rank)
            graph, request = read_placements(source, fields)
        else:
            graph, request = parsed_placements({**cluster, **fields})
        answer = at.place(graph, request) if at else answer_of(graph, request)
    title = graph.name if graph else "This model"
    print(answer.model_dump_json(indent=1) if json_ else render(answer, title))


def _prices(prices: dict[str, Any] | None, ratios: str | None) -> dict[str, Any] | None:
    """Add what racks are compared to their prices."""
    from app.cli import flags

    if ratios is None:
        return prices
    if prices is None:
        raise typer.BadParameter("needs --prices", param_hint="--oversubscriptions")
    return {**prices, "oversubscriptions": flags.numbers(ratios, "--oversubscriptions")}
