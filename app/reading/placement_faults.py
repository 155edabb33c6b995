"""Everything that is wrong with a request for placements, whatever else is wrong with it."""

from collections.abc import Iterator, Sequence

from app.limits import MAX_PLACED_CHUNKS, MAX_PLACEMENT_TRANSFERS
from app.schemas.placements import PlacementsRequest
from solver.chain import chain_of
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import ALL_REDUCE, COMPUTE, NETWORK, Graph, first_of
from solver.limits import MIN_TIME_US
from solver.placements.chunks import Key, chunk_count
from solver.placements.job_steps import SharedServer
from solver.placements.options import PlacementOptions, placement_faults

#: Fields that the solver calls otherwise.
_FIELDS = {
    "interfaces": "interfaces_per_server",
    "cores": "cores_per_interface",
    "most_transfers": "simulated_transfers",
    "simulated": "simulate",
}

#: What stands for a model, a time, workers and a bandwidth that a request lacks: it has no faults.
_ANY_KEYS, _ANY_TIME_US, _ANY_WORKERS, _ANY_GBPS = (Key("model", 1),), 1.0, 1, 1.0


def faults_of(request: PlacementsRequest, graph: Graph | None) -> list[Fault]:
    """List all faults of a request: its own, those of its graph, and the solver's.

    Where something is missing the rest is checked with anything that fits in its place.

    Parameters
    ----------
    request
        As it fits the schema.
    graph
        Its graph, checked; None where there is none, or it has faults.
    """
    faults = request.own_faults()
    keys, batch_us = request.own_keys(), request.batch_time_us
    if graph is not None:
        compute_us = chain_of(graph).compute_time
        faults += _graph_faults(graph, compute_us)
        if not keys:
            keys = tuple(Key(op.id, op.bytes or 0) for op in graph.ops if op.kind == ALL_REDUCE)
        if batch_us is None and compute_us >= MIN_TIME_US:
            batch_us = compute_us
    found = placement_faults(
        keys or _ANY_KEYS,
        _ANY_TIME_US if batch_us is None else batch_us,
        request.worker_count() or _ANY_WORKERS,
        options_of(request),
    )
    # what is wrong with the server that jobs share is wrong with the fields that it is made of
    own = [_renamed(fault) for fault in found if not fault.pointer.startswith("/server/")]
    return [*faults, *_work_faults(request, keys), *own]


def options_of(request: PlacementsRequest) -> PlacementOptions:
    """Return the options as the solver knows them; jobs without a bandwidth get any."""
    gbps, jobs, machine = request.gbps() or _ANY_GBPS, request.jobs or (), request.to_machine()
    racks, prices = request.racks, request.prices
    server = SharedServer(
        gbps,
        machine.server_gbps or gbps,
        request.interfaces_per_server,
        request.cores_per_interface,
        request.aggregate_gbytes_per_s,
        request.chunk_bytes,
        machine,
    )
    return PlacementOptions(
        servers=request.servers,
        chunk_bytes=request.chunk_bytes,
        interfaces=request.interfaces_per_server,
        cores=request.cores_per_interface,
        aggregate_gbytes_per_s=request.aggregate_gbytes_per_s,
        simulated=tuple(request.simulate),
        racks=None if racks is None else racks.to_racks(request.chunk_bytes),
        jobs=tuple(job.to_job(i) for i, job in enumerate(jobs, 1)),
        server=server if jobs else None,
        prices=prices.to_prices() if prices and prices.sharing() else None,
        most_transfers=request.simulated_transfers,
        machine=machine,
        gbps=gbps,
        chunk_sizes=tuple(request.chunk_sizes or ()),
        systems=tuple(request.systems or ()),
    )


def _graph_faults(graph: Graph, compute_us: float) -> list[Fault]:
    """Find what servers cannot sum, and whether there is compute to hide it behind."""
    faults = first_of(_kind_faults(graph), "/graph/ops")
    if compute_us < MIN_TIME_US:
        detail = "The graph's compute takes no time: there is nothing to hide communication behind."
        faults.append(Fault("/graph/ops", FaultCode.OUT_OF_RANGE, detail))
    return faults


def _kind_faults(graph: Graph) -> Iterator[Fault]:
    for i, op in enumerate(graph.ops):
        if op.kind not in {ALL_REDUCE, COMPUTE}:
            detail = f"Tensor {op.id!r}: servers sum what all_reduce does, not {op.kind}."
            yield Fault(f"/graph/ops/{i}/kind", FaultCode.NOT_ALL_REDUCE, detail)
        elif op.kind == ALL_REDUCE and op.channel != NETWORK:
            detail = f"Tensor {op.id!r}: servers are reached over {NETWORK}, not {op.channel!r}."
            yield Fault(f"/graph/ops/{i}/channel", FaultCode.UNKNOWN_CHANNEL, detail)
        elif op.slowdown:
            detail = f"Op {op.id!r}: placements know no slowdown of compute; leave it out."
            yield Fault(f"/graph/ops/{i}/slowdown", FaultCode.EXTRA_FIELD, detail)


def _work_faults(request: PlacementsRequest, keys: Sequence[Key]) -> Iterator[Fault]:
    """Refuse what would take longer than an answer may."""
    if (count := request.transfers()) > MAX_PLACEMENT_TRANSFERS:
        simulations = count // request.simulated_transfers
        detail = (
            f"{simulations} simulations of {request.simulated_transfers:,} pushes and pulls are "
            f"more than {MAX_PLACEMENT_TRANSFERS:,} in all: lower simulated_transfers to "
            f"{MAX_PLACEMENT_TRANSFERS // simulations:,}, or simulate fewer placements."
        )
        yield Fault("/simulated_transfers", FaultCode.OUT_OF_RANGE, detail)
    if (chunks := chunk_count(keys, request.chunk_bytes)) > MAX_PLACED_CHUNKS:
        least = -(-sum(key.bytes for key in keys) // MAX_PLACED_CHUNKS)
        detail = (
            f"The keys make {chunks:,} chunks, more than {MAX_PLACED_CHUNKS:,}: raise chunk_bytes "
            f"to {least:,}."
        )
        yield Fault("/chunk_bytes", FaultCode.OUT_OF_RANGE, detail)


def _renamed(fault: Fault) -> Fault:
    """Point at the field of the request."""
    field, slash, rest = fault.pointer.removeprefix("/").partition("/")
    return Fault(f"/{_FIELDS.get(field, field)}{slash}{rest}", fault.code, fault.detail)
