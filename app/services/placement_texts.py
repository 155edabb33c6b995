"""What an answer about placements says in sentences."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.schemas.placement_answer import PlacementRow
from app.schemas.placements import PlacementsRequest
from solver.limits import MAX_WORKERS
from solver.placements.bandwidth import is_colocated
from solver.placements.plan import Placements
from solver.placements.prices import Comparison
from solver.placements.racks import RackReduction
from solver.wording import ms

#: From here on figures are whole.
_WHOLE = 10_000


def row_text(
    row: Mapping[str, Any], gbps: float | None, interfaces: int, summing: float, batch_us: float
) -> str:
    """Say which interface limits a placement, or the cores, and what would move that."""
    needed = row["bandwidth_gbps"]
    if summing > batch_us:
        return (
            f"Summing alone takes {ms(summing)}, longer than the {ms(batch_us)} of "
            f"compute: no bandwidth hides it, cores {figure(summing / batch_us)} times as many or "
            "as fast may."
        )
    if not needed:
        return "Nothing is sent: the one worker's host has the model."
    limits = (
        f"An interface of {_host(row, interfaces)} needs {figure(needed)} Gbit/s, both directions "
        "summed"
    )
    if gbps is None:
        return f"{limits}."
    headroom = 2 * gbps / needed
    if headroom >= 1:
        spare = f"{limits}, and has {figure(headroom)} times as much"
        return f"{spare}: hidden {_with_workers(row['most_workers'])}."
    ways = [f"{figure(needed / 2)} Gbit/s each way", f"batches of {ms(batch_us / headroom)}"]
    if more := _interfaces(row, gbps, interfaces):
        ways.append(f"{more:,} interfaces a server")
    most = row["most_workers"]
    return " ".join(
        [
            f"{limits}, and is short by a factor of {figure(1 / headroom)}:",
            f"{', '.join(ways[:-1])} or {ways[-1]} would hide it.",
            f"It is hidden {_with_workers(most)}." if most else "Fewer workers do not hide it.",
        ]
    )


def decision_text(
    rows: Sequence[PlacementRow], summing: Sequence[float], gbps: float | None, batch_us: float
) -> str:
    """Pick a placement, and say why.

    With a bandwidth: of those that are hidden, also where they were simulated, the one with the
    fewest hosts of its own, then the fewest servers; else the shortest exchange. Without one: the
    least that an interface needs, of those whose cores sum in time. Ties go in the same order.

    Parameters
    ----------
    rows, summing
        The placements, and how long each sums [us].
    gbps
        Of an interface, each direction [Gbit/s]; None where it is not given.
    batch_us
        Compute time of a step [us].
    """

    def own_hosts(row: PlacementRow) -> int:
        return 0 if is_colocated(row.placement) else row.servers

    def is_late(row: PlacementRow) -> bool:
        return row.simulated_exchange_us is not None and row.simulated_exchange_us > batch_us

    def cost(at: int) -> tuple[float, ...]:
        row = rows[at]
        size = (own_hosts(row), row.servers, at)
        if gbps is None or row.exchange_us is None:
            return (summing[at] > batch_us, row.bandwidth_gbps, *size)
        if row.is_hidden:
            return (0, is_late(row), *size)
        return (1, row.exchange_us, *size)

    row = rows[min(range(len(rows)), key=cost)]
    hosts = own_hosts(row)
    where = f"{hosts:,} more host{'' if hosts == 1 else 's'}" if hosts else "no more hosts"
    if gbps is None or row.exchange_us is None:
        need = f"{figure(row.bandwidth_gbps)} Gbit/s, both directions summed"
        return f"Take {row.placement}: its interfaces need the least, {need}, on {where}."
    if row.is_hidden:
        return f"Take {row.placement}: hidden at {gbps:g} Gbit/s each way, on {where}."
    time = f"{ms(row.exchange_us)}"
    return (
        f"Take {row.placement}: none is hidden at {gbps:g} Gbit/s each way, and its exchange is "
        f"the shortest, {time}, on {where}."
    )


def late_text(row: Mapping[str, Any], found: Placements) -> str:
    """Say where the formula hides an exchange whose simulation takes longer, and why."""
    simulated = row["simulated_exchange_us"]
    if not row["is_hidden"] or simulated is None or simulated <= found.batch_time_us:
        return ""
    size = row["simulated_chunk_bytes"]
    reason = (
        f"chunks of {size:,} bytes, coarser than those of {found.chunk_bytes:,}, keep it waiting"
        if size > found.chunk_bytes
        else "pipelines fill, cores sum, and shards differ by a chunk"
    )
    return f" Simulated it takes {ms(simulated)}, longer than the compute: {reason}."


def _host(row: Mapping[str, Any], interfaces: int) -> str:
    """Name the hosts whose interfaces carry the most."""
    server, worker = row["server_host_bytes"] / interfaces, row["worker_host_bytes"]
    if worker is None or server == worker:
        return "every host"
    return "a host with a server" if server > worker else "a worker's host"


def _interfaces(row: Mapping[str, Any], gbps: float, interfaces: int) -> int | None:
    """Count the interfaces of a server's host that hide it; None where others are short, too."""
    needed, worker = row["bandwidth_gbps"], row["worker_host_bytes"]
    server = row["server_host_bytes"] / interfaces
    of_worker = 0.0 if worker is None else needed * worker / max(server, worker)
    of_server = needed * server / max(server, worker or 0.0)
    return math.ceil(of_server * interfaces / (2 * gbps)) if of_worker <= 2 * gbps else None


def figure(value: float) -> str:
    """Write four digits, and all before the point."""
    return f"{value:,.0f}" if value >= _WHOLE else f"{value:,.4g}"


def _with_workers(most: int | None) -> str:
    if most is None:
        return f"with any number of workers up to {MAX_WORKERS:,}"
    return "with one worker alone" if most == 1 else f"with up to {most:,} workers"


def racks_text(reduction: RackReduction) -> str:
    """Say what the inequality decides, and whether the simulations decide the same."""
    left = reduction.cross_rack_us
    right = reduction.in_rack_us + reduction.between_servers_us
    verdict = "reduce in each rack first" if left > right else "let every worker reach all servers"
    sign = ">" if left > right else "<="
    said = f"{ms(left)} {sign} {ms(right)}: {verdict}"
    if reduction.in_steps is None or reduction.streamed is None:
        return f"{said}; not simulated, the keys alone make too many transfers."
    decided = reduction.is_hierarchical_faster
    parts = [
        f"simulated {how}, {ms(ways.flat_us)} flat and {ms(ways.hierarchical_us)} by racks"
        + ("" if ways.is_hierarchical_faster == decided else ", which decides otherwise")
        for how, ways in (("in steps", reduction.in_steps), ("as chunks go", reduction.streamed))
    ]
    return "; ".join([said, *parts]) + "."


def prices_text(comparison: Comparison, workers: float) -> str:
    """Say which rack trains more for its money."""
    more = f"{abs(comparison.gain) * 100:.1f} % {'more' if comparison.gain >= 0 else 'less'}"
    return f"A PHub for {workers:g} workers trains {more} for the same money."


def notes(request: PlacementsRequest, found: Placements) -> Iterator[str]:
    """Say units, and what the figures assume."""
    yield (
        "Bandwidths that are needed sum both directions of an interface: one of 10 Gbit/s each way "
        "has 20. The formulas take servers to be infinitely fast, and keys to be spread evenly."
    )
    yield (
        "An exchange is simulated with all gradients there at once, in the order of the keys, "
        "chunk by chunk; interfaces are first in, first out. It is never faster than the formula."
    )
    servers = {each.need.placement: each.need.servers for each in found.placements}
    if servers["cs"] < servers["ncs"]:
        few = f"{servers['cs']:,} server{'' if servers['cs'] == 1 else 's'}"
        yield f"cs has {few}, one on each worker's host, where ncs has {servers['ncs']:,}."
    yield from _simulation_notes(request, found)
    if request.batch_time_us is None:
        yield "The batch time is the compute time of the graph, its longest path."
    if request.cluster is not None:
        yield "Workers and bandwidth are those of the cluster; nothing else of it counts."
    if request.racks is not None:
        yield (
            "The inequality of the racks counts steps that wait for each other, for pushes alone; "
            "the simulations are of pushes and pulls."
        )
    if request.prices is not None:
        yield (
            "Prices that were left out are those of PHub, Section 4.9 (2018), which leave power "
            "and operation out, and count a worker's port of its network card twice, as printed."
        )
    if request.jobs is not None:
        yield (
            "Jobs compute and exchange at once, and begin a step when both have ended; what a "
            "server's caches lose to other jobs is not in it."
        )


def _simulation_notes(request: PlacementsRequest, found: Placements) -> Iterator[str]:
    """Say where chunks were made larger, and where nothing was simulated."""
    simulated = {p.need.placement: p.simulated for p in found.placements}
    most = f"{request.simulated_transfers:,} transfers"
    for name in request.simulate:
        if (made := simulated[name]) is None:
            yield f"{name} was not simulated: the keys alone make more than {most}."
        elif made.gbps is None:
            yield f"{name} needs longer to sum than to compute, whatever the bandwidth."
    larger = {
        f"{name} {made.chunk_bytes:,}": None
        for name, made in simulated.items()
        if made is not None and made.chunk_bytes > found.chunk_bytes
    }
    if larger:
        yield (
            f"Chunks of {found.chunk_bytes:,} bytes would make more than {most}, so exchanges were "
            f"simulated with larger ones [bytes]: {', '.join(larger)}."
        )
    if found.reduction and found.reduction.chunk_bytes not in {None, found.chunk_bytes}:
        yield f"Racks were simulated with chunks of {found.reduction.chunk_bytes:,} bytes."
    if found.sharing and found.sharing.chunk_bytes != found.chunk_bytes:
        error = max(job.coarse_us / job.alone_us for job in found.sharing.jobs) - 1
        alone = sorted({job.alone_chunk_bytes for job in found.sharing.jobs})
        yield (
            f"Jobs were simulated together with chunks of {found.sharing.chunk_bytes:,} bytes, "
            f"and alone, as they are compared; with chunks of "
            f"{' and '.join(f'{size:,}' for size in alone)} a step alone takes up to "
            f"{100 * error:.1f} % less, and so large may be the error of a slowdown."
        )
    if request.jobs is not None and found.sharing is None:
        yield f"Jobs were not simulated: their models alone make more than {most}."
