"""The cluster that a trace was recorded on, as far as it tells: workers, channels, costs.

A channel on which launches were recorded costs what they took. Whatever a trace does not tell is
what the command takes where nothing is said, and is named.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from app.limits import MAX_CHANNELS
from app.reading.traces import FORMAT
from app.schemas.imports import LaneCost
from app.services.assumed_cluster import RING_NETWORK, WORKERS
from solver.calibration.channels import KindFit, fit_channel, usable
from solver.costs import LINEAR, TABLE, CostError
from solver.costs.algorithms.stepwise import ring_effort
from solver.costs.cost_error import weighted
from solver.graph import ALL_REDUCE, COMPUTE, NETWORK
from solver.limits import MAX_BANDWIDTH_GBPS, MAX_WORKERS, MIN_BANDWIDTH_GBPS
from solver.traces import Trace, TraceChannel
from solver.units import bytes_per_us

Json = dict[str, Any]

#: What a cost model that was fitted to a trace is called.
RECORDED = "recorded"

#: Groups that hold copies of a model, its shards, or what one copy is made of.
_COPIES = re.compile(r"replicate|^(ddp|dp|data)\b|^data[ _]parallel")
_SHARDS = re.compile(r"shard|fsdp")
_INSIDE = re.compile(
    r"^(tp|pp|cp|ep|sp|nvlink)\b|tensor|pipeline|context|expert|sequence|model_parallel"
)

_WHY = {
    "own_sizes": "",
    "shared_bandwidth": " Its sizes do not tell start-up from bandwidth: it has the bandwidth of "
    "all kinds on the channel.",
    "assumed_startup": " Its sizes do not tell start-up from bandwidth: the start-up is assumed "
    "(--startup-us).",
    "fastest_link": " Its sizes tell no bandwidth that a link has: it has that of the fastest.",
}


class TraceCluster(NamedTuple):
    """What a trace tells of its cluster.

    Attributes
    ----------
    cluster
        JSON of the ``cluster`` of a request; None when there is no graph, when it is a file of
        Interlace's own, or when no cluster can have as many channels.
    costs
        What the launches of each kind on each channel were fitted to.
    """

    cluster: Json | None
    costs: tuple[LaneCost, ...]


class _Suggestion(NamedTuple):
    """A channel: how many share it, its JSON, what it was fitted to, what was taken for given.

    Workers that were recorded are said by the trace's own report.
    """

    workers: int
    body: Json
    costs: tuple[LaneCost, ...]
    assumed: tuple[str, ...]


def with_cluster(trace: Trace) -> tuple[Trace, TraceCluster]:
    """Return the cluster of a trace, and the trace with a report that says what was assumed.

    The workers of the cluster are those of the channels that grow with a job, see
    :func:`_growing`; the others keep what was recorded.
    """
    if trace.graph is None or trace.report.format == FORMAT:
        return trace, TraceCluster(None, ())
    carried: dict[str, Counter[str]] = {}
    for op in trace.graph.ops:
        if op.kind != COMPUTE:
            carried.setdefault(op.channel, Counter())[op.kind] += op.bytes or 0
    if len(carried.keys() - {NETWORK}) > MAX_CHANNELS:
        detail = (
            f"No cluster is suggested: the graph has {len(carried)} channels, and a cluster has "
            f"{MAX_CHANNELS} besides the network at most."
        )
        return _assuming(trace, (detail,)), TraceCluster(None, ())
    by_name = {channel.name: channel for channel in trace.channels}
    sizes = [by_name[name].workers or 0 for name in carried if name in by_name]
    world = min(max(sizes, default=0), MAX_WORKERS) or WORKERS
    suggestions = {
        name: _suggestion(
            name, list(kinds), by_name.get(name), world, _launches(trace, name), kinds
        )
        for name, kinds in carried.items()
    }
    growing = _growing({name: each.workers for name, each in suggestions.items()})
    workers = suggestions[growing[0]].workers
    cluster: Json = {"workers": workers}
    for name, each in suggestions.items():
        if name == NETWORK:
            cluster |= each.body
        else:
            own = {} if name in growing else {"workers": each.workers}
            cluster.setdefault("channels", {})[name] = own | each.body
    lines = [line for each in suggestions.values() for line in each.assumed]
    if len(growing) < len(suggestions):
        stay = [name for name in suggestions if name not in growing]
        lines.append(
            f"Workers are those of {' and '.join(growing)}; {' and '.join(stay)} "
            f"{'stays' if len(stay) == 1 else 'stay'} as recorded when they change (--workers)."
        )
    costs = tuple(cost for each in suggestions.values() for cost in each.costs)
    reported = _assuming(trace, tuple(lines))
    return reported, TraceCluster(cluster, costs)


def _growing(workers: Mapping[str, int]) -> list[str]:
    """Return the channels that have more ranks when a job has: the network and as large ones.

    Where it carries nothing, the copies of a model by the names that PyTorch and Megatron give
    their groups, then its shards, then others. Of several the largest, and groups inside a model
    last: their size belongs to the model.
    """
    named = {name: count for name, count in workers.items() if name != NETWORK}
    inside = {name for name in named if _INSIDE.search(name)}
    if NETWORK in workers:
        same = [n for n, count in named.items() if count == workers[NETWORK] and n not in inside]
        return [NETWORK, *same]
    classes = (
        [name for name in named if _COPIES.search(name)],
        [name for name in named if _SHARDS.search(name)],
        [name for name in named if name not in inside],
        list(named),
    )
    names = next(filter(None, classes))
    most = max(named[name] for name in names)
    return [name for name in names if named[name] == most]


def _assuming(trace: Trace, lines: tuple[str, ...]) -> Trace:
    report = replace(trace.report, assumed=(*trace.report.assumed, *lines))
    return replace(trace, report=report)


def _launches(trace: Trace, channel: str) -> dict[str, list[tuple[int, float]]]:
    """Return bytes and time of each launch that was recorded on a channel, by kind."""
    by_kind: dict[str, list[tuple[int, float]]] = {}
    for sample in trace.samples:
        if sample.channel == channel:
            by_kind.setdefault(sample.kind, []).append((sample.bytes, sample.time_us))
    return {kind: some for kind, every in by_kind.items() if (some := usable(every))}


def _suggestion(
    name: str,
    kinds: Sequence[str],
    channel: TraceChannel | None,
    world: int,
    launches: Mapping[str, Sequence[tuple[int, float]]],
    sent: Mapping[str, int],
) -> _Suggestion:
    measured = channel.workers if channel else None
    workers = min(measured or world, MAX_WORKERS)
    count = "1 worker" if workers == 1 else f"{workers} workers"
    place = f"Channel {name}" if measured else f"Channel {name}: {count} (assumed: --workers)"
    fits = fit_channel(launches, workers) if workers > 1 else ()
    if not fits:
        why = (
            "its collectives cost nothing."
            if workers == 1
            else f"no launches to fit a cost to, so a ring at {RING_NETWORK['bandwidth_gbps']:g} "
            f"Gbit/s, {RING_NETWORK['startup_us']:g} us a launch (--bandwidth-gbps, --startup-us, "
            "--cost-model)."
        )
        said = f"{place}{':' if measured else ';'} {why}"
        return _Suggestion(workers, RING_NETWORK, (), (said,))
    costs = tuple(_cost(name, workers, fit) for fit in fits)
    untimed = [kind for kind in kinds if kind not in launches]
    lines = [*([] if measured else [f"{place}."]), *map(_sentence, costs)]
    lines += [f"{kind} on {name}: no times; as a ring beside the others." for kind in untimed]
    body = _body(measured and workers, fits, costs, untimed, _error(costs, sent))
    return _Suggestion(workers, body, costs, tuple(lines))


def _error(costs: Sequence[LaneCost], sent: Mapping[str, int]) -> CostError | None:
    """Return how far the costs of a channel are off, by the bytes that it sends of each kind."""
    return weighted(
        (CostError(cost.error_median, cost.error_p90, cost.spread), sent.get(cost.kind, 0))
        for cost in costs
    )


def _body(
    measured: int | None,
    fits: Sequence[KindFit],
    costs: Sequence[LaneCost],
    untimed: Sequence[str],
    error: CostError | None,
) -> Json:
    """Write the lines of a channel as a cost model; what every launch pays is its start-up."""
    startup = min(fit.line.startup_us for fit in fits)
    widest = max(costs, key=lambda cost: cost.most_bytes)
    model: Json = {
        "name": RECORDED,
        "workers": measured,
        "bandwidth_gbps": widest.bandwidth_gbps,
        "measured_bytes": [min(cost.least_bytes for cost in costs), widest.most_bytes],
    }
    if [fit.kind for fit in fits] == [ALL_REDUCE] and not untimed:
        model |= {"algorithm": LINEAR, "us_per_byte": costs[0].us_per_byte}
    else:
        tables = {fit.kind: _points(fit, startup) for fit in fits}
        per_byte = widest.us_per_byte / _passes(widest.kind, widest.workers)
        for kind in untimed:
            slope = per_byte * _passes(kind, widest.workers)
            most = widest.most_bytes
            tables[kind] = [[1, _rounded(slope)], [max(2, most), _rounded(slope * max(2, most))]]
        model |= {"algorithm": TABLE, "table": tables.pop(ALL_REDUCE, None), "tables": tables}
        if len(costs) > 1:
            ranges = {cost.kind: [cost.least_bytes, cost.most_bytes] for cost in costs}
            model["measured_of_kinds"] = ranges
    figures = {field: value for field, value in model.items() if value}
    if error is not None:
        errors = (
            ("error_median", error.median),
            ("error_p90", error.p90),
            ("spread", error.spread),
        )
        figures |= {field: _rounded(value) for field, value in errors if value is not None}
    return {"startup_us": _rounded(startup), "cost_model": figures, "extrapolate": True}


def _points(fit: KindFit, startup: float) -> list[list[float]]:
    """Return two points of a line, without the start-up that is on top of them."""
    above = fit.line.startup_us - startup
    sizes = (1, max(2, fit.measured[1]))
    return [[size, _rounded(above + fit.line.us_per_byte * size)] for size in sizes]


def _cost(channel: str, workers: int, fit: KindFit) -> LaneCost:
    rate = _passes(fit.kind, workers) / fit.line.us_per_byte / bytes_per_us(1.0)
    is_one = MIN_BANDWIDTH_GBPS <= rate <= MAX_BANDWIDTH_GBPS
    return LaneCost.of(
        fit,
        channel=channel,
        workers=workers,
        least_bytes=fit.measured[0],
        most_bytes=fit.measured[1],
        startup_us=_rounded(fit.line.startup_us),
        us_per_byte=_rounded(fit.line.us_per_byte),
        bandwidth_gbps=float(f"{rate:.4g}") if is_one else None,
        error_median=_rounded(fit.median),
        error_p90=_rounded(fit.p90),
        error_worst=_rounded(fit.worst),
        spread=None if fit.spread is None else _rounded(fit.spread),
    )


def _sentence(cost: LaneCost) -> str:
    """Say what a kind of collective costs on a channel, and how far that is from its launches."""
    rate = f" (a ring at {cost.bandwidth_gbps:g} Gbit/s)" if cost.bandwidth_gbps else ""
    launches = "1 launch" if cost.launches == 1 else f"{cost.launches:,} launches"
    span = f"{cost.least_bytes:,} bytes"
    if cost.sizes > 1:
        span = f"{cost.least_bytes:,} to {cost.most_bytes:,} bytes"
    return (
        f"{cost.kind} on {cost.channel}: {cost.startup_us:.4g} us a launch and "
        f"{1e6 * cost.us_per_byte:.4g} us a MB{rate}, fitted to {launches} of {span}; error "
        f"{100 * cost.error_median:.1f} % in the median, {100 * cost.error_worst:.1f} % at worst."
        f"{_left_out(cost.left_out)}{_WHY[cost.basis]}"
    )


def _left_out(count: int) -> str:
    if not count:
        return ""
    what = "1 launch is" if count == 1 else f"{count:,} launches are"
    return f" {what} left out: far too short beside the others, as one that was cut off."


def _passes(kind: str, workers: int) -> float:
    return ring_effort(workers, kind).passes


def _rounded(value: float) -> float:
    """Keep nine digits: more are no measurement."""
    return float(f"{value:.9g}")
