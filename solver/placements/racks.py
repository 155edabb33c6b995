"""Servers in several racks: all exchange with all, or a reduction in each rack comes first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions
from solver.graph import COMPUTE, Op
from solver.limits import MAX_BYTES, MAX_SIMULATED_TRANSFERS, MAX_WORKERS
from solver.placements.chunks import CHUNK_BYTES, Chunk, Key, chunk_count, key_faults, lay_out
from solver.placements.exchange import simulated_chunk
from solver.placements.rack_transfers import ACROSS, RING, SHARDED, flat, hierarchical
from solver.placements.ranges import real, whole
from solver.placements.transfers import graph_of
from solver.policies.wfbp import wfbp
from solver.simulation.engine import iteration_time
from solver.units import bytes_per_us

#: So many chunk times go by while pipelines fill.
_FILL = 4


@dataclass(frozen=True, slots=True)
class Racks:
    """Racks of workers, each with a server, and the network between them.

    Attributes
    ----------
    racks
        How many.
    workers
        Of each rack.
    worker_gbps, server_gbps
        Bandwidth of the network interfaces of a worker and of a server, each direction [Gbit/s].
    core_gbps
        Bandwidth between a rack's switch and the core of the network, each direction [Gbit/s].
    across
        How the servers of the racks sum: ``sharded``, each being the server of a share of the
        chunks, or in a ``ring``.
    chunk_bytes
        Size that keys are cut to.
    """

    racks: int
    workers: int
    worker_gbps: float
    server_gbps: float
    core_gbps: float
    across: str = SHARDED
    chunk_bytes: int = CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class Ways:
    """Both ways to exchange across racks, simulated, pushes and pulls.

    Attributes
    ----------
    flat_us
        Every worker exchanges with the servers of all racks [us].
    hierarchical_us
        In each rack, then between the servers, then back [us].
    is_hierarchical_faster
        Whether the second takes less time.
    """

    flat_us: float
    hierarchical_us: float
    is_hierarchical_faster: bool


@dataclass(frozen=True, slots=True)
class RackReduction:
    """Whether a reduction in each rack comes first, by the inequality and by simulation.

    Attributes
    ----------
    cross_rack_us
        Left side of the inequality: all pushes that leave a rack, over its link to the core [us].
    in_rack_us
        Pushes of a rack's workers to their own server [us].
    between_servers_us
        C: what a server then pushes to the others [us].
    is_hierarchical_faster
        ``cross_rack_us`` > ``in_rack_us`` + ``between_servers_us``.
    margin_us
        Where the right side and the larger of ``cross_rack_us`` and ``in_rack_us`` differ by
        more, ``in_steps`` decides as the inequality does [us]; None where ``in_steps`` is.
    in_steps
        Simulated as the inequality counts: a step begins when the one before it has ended on all
        hosts. None where the keys alone make too many transfers.
    streamed
        Simulated as chunks go, each as soon as it can; None where ``in_steps`` is.
    chunk_bytes
        Size of a chunk in the simulations; None where ``in_steps`` is.
    """

    cross_rack_us: float
    in_rack_us: float
    between_servers_us: float
    is_hierarchical_faster: bool
    margin_us: float | None
    in_steps: Ways | None
    streamed: Ways | None
    chunk_bytes: int | None


def reduction(
    keys: Sequence[Key], racks: Racks, most_transfers: int = MAX_SIMULATED_TRANSFERS
) -> RackReduction:
    r"""Decide whether each rack reduces by itself before the racks exchange.

    With R racks of N workers the inequality is, for each byte of the model and one direction,

    .. math:: \frac{N(R-1)}{R B_{core}} > \max(\frac{N}{B_{server}}, \frac{1}{B_{worker}}) + C,
              \quad C = \frac{R-1}{R \min(B_{server}, B_{core})}

    On the left a rack's link to the core carries the pushes of its N workers to the other racks'
    shares of the model. On the right a server takes its own workers' pushes, then sends its sums to
    the others; a ring takes as long as shards.

    The left side leaves out that the flat way, too, fills the interfaces of workers and servers;
    that changes no verdict while C is positive. It counts steps that wait for each other, and that
    is what ``in_steps`` simulates; its times are twice the sides, for pulls follow pushes. In
    truth chunks stream: a rack's link then carries pushes and pulls of the flat way at once, while
    the hierarchical way hides its time between servers behind its time in the rack. So the
    inequality is careful: where it holds ``streamed`` agrees, and where the core takes longer than
    about half of the rest it may be faster to reduce by racks though the inequality fails.

    Parameters
    ----------
    keys
        What is pushed and pulled.
    racks
        Racks, bandwidths and how servers sum.
    most_transfers
        Of each simulation; chunks are made larger until there are no more.

    Raises
    ------
    InvalidOptions
        With no keys, keys of the same name, and every value that is out of range.

    References
    ----------
    .. [1] PHub, Section 3.4; per byte of the model, r = R.
    """
    if faults := [*key_faults(keys), *rack_faults(racks)]:
        raise InvalidOptions(faults)
    size, others = sum(key.bytes for key in keys), (racks.racks - 1) / racks.racks
    worker, server, core = _rates(racks)
    left = size * racks.workers * others / core
    in_rack = size * max(racks.workers / server, 1 / worker)
    between = size * others / min(server, core)
    chunk_bytes = simulated_chunk(
        racks.chunk_bytes,
        most_transfers,
        max(key.bytes for key in keys),
        lambda size: _transfer_count(keys, racks, size),
    )
    in_steps = streamed = margin = None
    if chunk_bytes is not None:
        chunks = lay_out(keys, chunk_bytes, racks.racks).chunks
        margin = _margin(max(chunk.bytes for chunk in chunks), racks)
        in_steps, streamed = (_ways(racks, chunks, steps=steps) for steps in (True, False))
    return RackReduction(
        cross_rack_us=left,
        in_rack_us=in_rack,
        between_servers_us=between,
        is_hierarchical_faster=left > in_rack + between,
        margin_us=margin,
        in_steps=in_steps,
        streamed=streamed,
        chunk_bytes=chunk_bytes,
    )


def _ways(racks: Racks, chunks: Sequence[Chunk], *, steps: bool) -> Ways:
    """Simulate both ways, in steps or streamed."""
    by_racks = hierarchical(chunks, racks.racks, racks.workers, racks.across, steps=steps)
    flat_us = _time(racks, flat(chunks, racks.racks, racks.workers, steps=steps))
    hierarchical_us = _time(racks, by_racks)
    return Ways(flat_us, hierarchical_us, hierarchical_us < flat_us)


def _rates(racks: Racks) -> tuple[float, float, float]:
    """Bandwidths of a worker, a server and a link to the core [bytes/us]."""
    return (
        bytes_per_us(racks.worker_gbps),
        bytes_per_us(racks.server_gbps),
        bytes_per_us(racks.core_gbps),
    )


def _margin(chunk: int, racks: Racks) -> float:
    """Bound the time in which pipelines fill and shards differ by a chunk, in one direction [us].

    Stated for a chunk that all workers send through the slowest of the interfaces on its way.
    """
    worker, server, core = _rates(racks)
    hosts = racks.racks * racks.workers
    return _FILL * chunk * (hosts / min(server, core) + 1 / worker)


def _time(racks: Racks, ops: Sequence[Op]) -> float:
    worker, server, core = _rates(racks)
    per_byte = {"worker": 1 / worker, "server": 1 / server, "core": 1 / core}
    channels = {op.channel: per_byte[op.channel.split(".")[1]] for op in ops if op.kind != COMPUTE}
    return iteration_time(*graph_of("racks", ops, channels), wfbp)


def _transfer_count(keys: Sequence[Key], racks: Racks, chunk_bytes: int) -> int:
    """Count the transfers of the way that has more, those across racks twice.

    Of each chunk and direction RN pushes, of which N (R - 1) cross; or RN pushes in the racks, and
    R - 1 more that cross.
    """
    crossing = (racks.racks - 1) * max(racks.workers, 2)
    in_racks = racks.racks * racks.workers
    return 2 * chunk_count(keys, chunk_bytes) * (in_racks + crossing)


def rack_faults(racks: Racks) -> Iterator[Fault]:
    """Find every value that is out of range."""
    yield from whole("/racks", "racks", racks.racks, MAX_WORKERS)
    yield from whole("/workers", "workers", racks.workers, MAX_WORKERS)
    yield from whole("/chunk_bytes", "chunk_bytes", racks.chunk_bytes, MAX_BYTES)
    for name in ("worker_gbps", "server_gbps", "core_gbps"):
        yield from real(f"/{name}", name, getattr(racks, name))
    if racks.across not in ACROSS:
        detail = f"across must be {SHARDED} or {RING}, got {racks.across!r}."
        yield Fault("/across", FaultCode.OUT_OF_RANGE, detail)
