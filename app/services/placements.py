"""Placements: where to put parameter servers, and the bandwidth and money that takes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from app import VERSION
from app.reading.placement_faults import options_of
from app.schemas.placement_answer import (
    ChunksOut,
    PlacementRow,
    PlacementsAnswer,
    PlacementsRequestOut,
    PricesOut,
    RackChoice,
    RacksOut,
)
from app.schemas.placements import PlacementsRequest
from app.schemas.problem import graph_sha256
from app.schemas.rack_prices import PricesBody
from app.services.graphs import lightened
from app.services.machine_texts import machine_notes, machine_text, money_text, systems_text
from app.services.placement_texts import (
    decision_text,
    late_text,
    notes,
    prices_text,
    racks_text,
    row_text,
)
from solver.chain import chain_of
from solver.evidence.evidence import stated_evidence
from solver.graph import Graph
from solver.placements.bandwidth import is_sharded, summing_us
from solver.placements.chunk_sizes import layout_us
from solver.placements.chunks import Key, lay_out
from solver.placements.exchange_graph import Hosts
from solver.placements.headroom import most_workers
from solver.placements.plan import (
    Placement,
    Placements,
    keys_of,
    plan_placements,
)
from solver.placements.prices import Comparison, compare_prices
from solver.placements.racks import RackReduction
from solver.placements.resources import busy_us, limiting
from solver.schedule import Jobs, jackson


def answer_of(graph: Graph | None, request: PlacementsRequest) -> PlacementsAnswer:
    """Compare the placements, and what else was asked.

    Parameters
    ----------
    graph
        The graph of the request; None when it has keys.
    request
        Both are free of :func:`app.reading.placement_faults.faults_of`.
    """
    light = None if graph is None else lightened(graph)
    batch_us = request.batch_time_us
    if batch_us is None:
        assert light is not None, "a request without a graph says its batch time"
        batch_us = chain_of(light).compute_time
    keys = request.own_keys() if light is None else keys_of(light)
    workers = request.worker_count()
    assert workers is not None, "a request says its workers"
    planned = plan_placements(keys, batch_us, workers, options_of(request))
    # the times between which tensors can be sent count with the compute that they are of
    timed = light if request.batch_time_us is None else None
    rows = [_row(request, keys, planned, each, timed) for each in planned.placements]
    sizes = [row.simulated_chunk_bytes for row in rows if row.simulated_chunk_bytes is not None]
    central, sharded = (
        next(each for each in planned.placements if is_sharded(each.need.placement) == flag)
        for flag in (False, True)
    )
    sharing = planned.sharing
    return PlacementsAnswer(
        placements=rows,
        decision=decision_text(
            rows,
            [_summing(request, planned, each) for each in planned.placements],
            request.gbps(),
            batch_us,
        ),
        chunks=ChunksOut(
            chunk_bytes=planned.chunk_bytes,
            count=planned.chunks,
            central=list(central.levels),
            sharded=list(sharded.levels),
        ),
        simulated_chunk_bytes=max(sizes, default=None),
        racks=None if planned.reduction is None else _racks(planned.reduction),
        prices=None
        if planned.comparison is None or request.prices is None
        else _prices(request.prices, planned.comparison),
        jobs=None if sharing is None else list(sharing.jobs),
        jobs_chunk_bytes=None if sharing is None else sharing.chunk_bytes,
        chunk_curves=list(planned.curves) or None,
        systems=list(planned.systems) or None,
        systems_text=systems_text(planned.systems) if planned.systems else None,
        notes=[*notes(request, planned), *machine_notes(request, planned)],
        evidence=stated_evidence(graph, "the bandwidths of hosts"),
        request=_repeated(request, planned, graph),
        version=VERSION,
    )


def _summing(request: PlacementsRequest, planned: Placements, placement: Placement) -> float:
    return summing_us(
        planned.bytes,
        planned.workers,
        placement.need.servers,
        request.interfaces_per_server * request.cores_per_interface,
        request.aggregate_gbytes_per_s,
    )


def _row(
    request: PlacementsRequest,
    keys: Sequence[Key],
    planned: Placements,
    placement: Placement,
    timed: Graph | None,
) -> PlacementRow:
    need, simulated, gbps = placement.need, placement.simulated, request.gbps()
    summed = _summing(request, planned, placement)
    figures: dict[str, Any] = {
        "placement": need.placement,
        "servers": need.servers,
        "bandwidth_gbps": need.gbps,
        "simulated_gbps": simulated and simulated.gbps,
        "bytes_per_step": need.host_bytes,
        "busiest": need.busiest,
        "server_host_bytes": need.server_host_bytes,
        "worker_host_bytes": need.worker_host_bytes,
        "simulated_chunk_bytes": simulated and simulated.chunk_bytes,
        "simulated_transfers": simulated and simulated.transfers,
        "is_hidden": None,
        "headroom": None,
        "most_workers": None,
        "exchange_us": None,
        "simulated_exchange_us": None,
        "iteration_bound_us": None,
        "limited_by": None,
    }
    machine, busy = request.to_machine(), None
    if gbps is not None:
        both, batch_us = 2 * gbps, planned.batch_time_us
        exchange = max(batch_us * need.gbps / both, summed)
        is_hidden = need.gbps <= both and summed <= batch_us
        if request.machine is not None:
            busy = busy_us(need, planned.bytes, _hosts(request, planned, placement), gbps)
            exchange = max(busy.values())
            is_hidden = exchange <= batch_us
            figures["limited_by"] = limiting(busy)
        figures |= {
            "is_hidden": is_hidden,
            "headroom": batch_us / exchange if exchange else None,
            "most_workers": most_workers(
                need.placement,
                planned.bytes,
                planned.batch_time_us,
                both,
                request.servers,
                request.interfaces_per_server,
                request.cores_per_interface,
                request.aggregate_gbytes_per_s,
                machine,
            ),
            "exchange_us": exchange,
            "simulated_exchange_us": _simulated_us(request, keys, planned, placement, gbps),
            "iteration_bound_us": _bound(planned, exchange, timed),
        }
    if busy is not None:
        limits = machine_text(figures, busy, planned.batch_time_us)
    else:
        limits = row_text(
            figures, gbps, request.interfaces_per_server, summed, planned.batch_time_us
        )
    return PlacementRow(**figures, text=limits + late_text(figures, planned))


def _hosts(request: PlacementsRequest, planned: Placements, placement: Placement) -> Hosts:
    return Hosts(
        placement.need.placement,
        planned.workers,
        placement.need.servers,
        request.interfaces_per_server,
        request.cores_per_interface,
        request.aggregate_gbytes_per_s,
        request.to_machine(),
    )


def _simulated_us(
    request: PlacementsRequest,
    keys: Sequence[Key],
    planned: Placements,
    placement: Placement,
    gbps: float,
) -> float | None:
    """Return the time of the simulated exchange at a bandwidth [us]."""
    simulated, hosts = placement.simulated, _hosts(request, planned, placement)
    if simulated is None:
        return None
    is_plain = hosts.are_times_per_byte and hosts.machine.server_gbps is None
    if is_plain and simulated.gbps is not None:
        return planned.batch_time_us * simulated.gbps / (2 * gbps)  # transfers alone take time
    if simulated.chunk_bytes > planned.chunk_bytes:
        hosts = replace(hosts, paid_bytes=planned.chunk_bytes)
    layout = lay_out(keys, simulated.chunk_bytes, hosts.server_count, hosts.interfaces, hosts.cores)
    return layout_us(layout, hosts, gbps)


def _bound(planned: Placements, exchange: float, timed: Graph | None) -> float:
    """Bound an iteration from below [us].

    The busiest interfaces, or all cores, take as long for each byte of the model: a machine
    that serves each tensor between its release and its tail, preempting at no cost.
    """
    longest = max(planned.batch_time_us, exchange)
    if timed is None or not exchange:
        return longest
    chain = chain_of(timed)
    sending = chain.bytes.astype(np.float64) * (exchange / planned.bytes)
    return max(longest, jackson(Jobs(chain.release, sending, chain.tail)).value)


def _racks(reduction: RackReduction) -> RacksOut:
    decided = reduction.is_hierarchical_faster
    ways = (reduction.in_steps, reduction.streamed)
    agrees, streamed = (None if w is None else w.is_hierarchical_faster == decided for w in ways)
    return RacksOut.of(
        reduction,
        right_us=reduction.in_rack_us + reduction.between_servers_us,
        agrees=agrees,
        streamed_agrees=streamed,
        simulated_chunk_bytes=reduction.chunk_bytes,
        text=racks_text(reduction),
    )


def _prices(body: PricesBody, comparison: Comparison) -> PricesOut:
    sharing = body.sharing()
    text = prices_text(comparison, sharing)
    racks = None
    if body.oversubscriptions is not None:
        racks = [_rack(body.with_oversubscription(ratio)) for ratio in body.oversubscriptions]
    return PricesOut.of(
        comparison,
        workers_per_hub=sharing,
        text=text,
        racks=racks,
        decision=None if racks is None else money_text(comparison.baseline, racks),
    )


def _rack(body: PricesBody) -> RackChoice:
    comparison = compare_prices(body.to_prices())
    return RackChoice.of(
        comparison,
        oversubscription=body.hub.oversubscription,
        workers_per_hub=body.sharing(),
    )


def _repeated(
    request: PlacementsRequest, planned: Placements, graph: Graph | None
) -> PlacementsRequestOut:
    servers = planned.workers if request.servers is None else request.servers
    prices = request.prices
    return PlacementsRequestOut.of(
        request,
        model_bytes=planned.bytes,
        graph_sha256=None if graph is None else graph_sha256(graph),
        batch_time_us=planned.batch_time_us,
        workers=planned.workers,
        bandwidth_gbps=request.gbps(),
        servers=servers,
        prices=prices and prices.model_copy(update={"workers_per_hub": prices.sharing()}),
        machine=request.machine and request.machine.resolved(),
    )
