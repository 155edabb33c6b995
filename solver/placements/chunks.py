"""Keys cut into chunks, and the chunks spread over servers, their interfaces and their cores."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Literal, NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import first_of
from solver.limits import MAX_BYTES, MAX_SERVER_CORES
from solver.placements.ranges import whole

#: A chunk of PHub [bytes].
CHUNK_BYTES = 32 * 1024

#: What chunks are spread over, one after the other.
LevelName = Literal["server", "interface", "core"]


class Key(NamedTuple):
    """A layer's parameters: what a worker pushes and pulls under one name."""

    name: str
    bytes: int


class Chunk(NamedTuple):
    """A piece of a key, and who sums it.

    Attributes
    ----------
    key
        Index of its key.
    bytes
        Its size.
    server, interface, core
        Numbers of the server, of the server's interface and of the interface's core.
    """

    key: int
    bytes: int
    server: int
    interface: int
    core: int


@dataclass(frozen=True, slots=True)
class Level:
    """How even servers, interfaces or cores are loaded.

    Attributes
    ----------
    level
        Which of them.
    load_bytes
        Bytes of the model on each, all of the first server first.
    imbalance
        The largest load over the mean.
    guarantee
        No largest load is beyond so many times the least possible: 4/3 - 1/(3m) for a set that is
        split over m.
    proven_ratio
        The largest load over a lower bound of the least possible, for the set where it is worst; 1
        proves that no split is more even.
    """

    level: LevelName
    load_bytes: tuple[int, ...]
    imbalance: float
    guarantee: float
    proven_ratio: float


@dataclass(frozen=True, slots=True)
class Layout:
    """All chunks of a model with their places.

    Attributes
    ----------
    chunk_bytes
        Size of a chunk; the last one of a key may be short.
    chunks
        In the order of the keys.
    levels
        Servers, interfaces, cores.
    """

    chunk_bytes: int
    chunks: tuple[Chunk, ...]
    levels: tuple[Level, ...]


def lay_out(
    keys: Sequence[Key], chunk_bytes: int, servers: int, interfaces: int = 1, cores: int = 1
) -> Layout:
    """Cut keys into chunks and place each on a server, an interface of it and a core of that.

    Parameters
    ----------
    keys
        Names and sizes [bytes], at least one.
    chunk_bytes
        Largest chunk.
    servers, interfaces, cores
        How many servers, interfaces of each server and cores of each interface.

    Notes
    -----
    O(chunks log chunks + cores).

    References
    ----------
    .. [1] PHub, Sections 3.2.3 and 3.2.4. .. [2] R. L. Graham, Bounds on multiprocessing timing
           anomalies, 1969.
    """
    pieces = [(k, piece) for k, key in enumerate(keys) for piece in _pieces(key.bytes, chunk_bytes)]
    sizes = [size for _, size in pieces]
    on: list[tuple[int, ...]] = [()] * len(sizes)  # the place of each chunk, a level at a time
    groups: dict[tuple[int, ...], list[int]] = {(): list(range(len(sizes)))}
    levels = []
    wanted: dict[LevelName, int] = {"server": servers, "interface": interfaces, "core": cores}
    for name, bins in wanted.items():
        parts: dict[tuple[int, ...], list[int]] = {}
        worst = 1.0
        for place, members in groups.items():
            inside = [sizes[i] for i in members]
            below: list[list[int]] = [[] for _ in range(bins)]
            for i, b in zip(members, spread(inside, bins), strict=True):
                below[b].append(i)
                on[i] = (*place, b)
            parts.update({(*place, b): part for b, part in enumerate(below)})
            if members:
                largest = max(sum(sizes[i] for i in part) for part in below)
                worst = max(worst, largest / least_load(inside, bins))
        groups = parts
        levels.append(_level(name, [sum(sizes[i] for i in p) for p in parts.values()], bins, worst))
    chunks = [Chunk(k, size, *on[i]) for i, (k, size) in enumerate(pieces)]
    return Layout(chunk_bytes, tuple(chunks), tuple(levels))


def chunk_count(keys: Iterable[Key], chunk_bytes: int) -> int:
    """Count the chunks of keys."""
    return sum(-(-key.bytes // chunk_bytes) for key in keys)


def spread(sizes: Sequence[int], bins: int) -> list[int]:
    """Put each size in a bin so that the fullest is not too full: the largest first.

    Each goes to the bin with the least load; of equal sizes the first goes first, of equal loads
    the first bin takes it. The fullest bin of m holds at most 4/3 - 1/(3m) times the least possible
    (Graham 1969, longest processing time first).

    Notes
    -----
    O(n log n + n log m).
    """
    loads = [(0, b) for b in range(bins)]
    heapify(loads)
    chosen = [0] * len(sizes)
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        load, b = loads[0]
        heapreplace(loads, (load + sizes[i], b))
        chosen[i] = b
    return chosen


def least_load(sizes: Sequence[int], bins: int) -> int:
    """Bound from below the fullest of so many bins, however sizes are put in them [bytes].

    The largest of: the largest size, the mean rounded up, and the sum of the m-th and the (m+1)-th
    largest, two of the m+1 largest being in one of m bins. At least one size is needed.
    """
    ordered = sorted(sizes, reverse=True)
    pair = sum(ordered[bins - 1 : bins + 1]) if len(ordered) > bins else 0
    return max(ordered[0], -(-sum(ordered) // bins), pair)


def key_faults(keys: Sequence[Key]) -> list[Fault]:
    """Find what is wrong with keys: none, names that repeat, sizes out of range."""
    if not keys:
        return [Fault("/keys", FaultCode.MISSING_FIELD, "There are no keys to exchange.")]
    faults = first_of(_each_key_faults(keys), "/keys")
    total = sum(key.bytes for key in keys)
    if not faults and total > MAX_BYTES:
        detail = f"All keys: 2^60 bytes at most, got {total}."
        faults.append(Fault("/keys", FaultCode.OUT_OF_RANGE, detail))
    return faults


def _each_key_faults(keys: Sequence[Key]) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for i, key in enumerate(keys):
        at = first.setdefault(key.name, i)
        if at != i:
            detail = f"Key {key.name!r} is named at /keys/{at}; names must be unique."
            yield Fault(f"/keys/{i}/name", FaultCode.DUPLICATE_ID, detail)
        yield from whole(f"/keys/{i}/bytes", f"Key {key.name!r}: bytes", key.bytes, MAX_BYTES)


def core_faults(cores: int, place: str) -> Iterator[Fault]:
    """Find whether servers have too many cores in all; ``place`` is where that is said."""
    if cores > MAX_SERVER_CORES:
        detail = f"All servers have {cores:,} cores; {MAX_SERVER_CORES:,} is the most."
        yield Fault(place, FaultCode.OUT_OF_RANGE, detail)


def _pieces(size: int, chunk_bytes: int) -> list[int]:
    whole, rest = divmod(size, chunk_bytes)
    return [chunk_bytes] * whole + ([rest] if rest else [])


def _level(name: LevelName, loads: list[int], bins: int, worst: float) -> Level:
    mean = sum(loads) / len(loads)
    return Level(name, tuple(loads), max(loads) / mean, 4 / 3 - 1 / (3 * bins), worst)
