"""What a collective costs: time of one launch as a function of its bytes.

Every cost is called alike: ``cost.time(n)`` for one launch of n bytes, ``cost.times(sizes)`` for
many, ``cost.fits(budget, most)`` for the bytes that fit in a time, ``cost.minorants(total)`` for
the affine functions below it that the lower bound uses. Every launch pays the start-up, so each
part of a partitioned bucket pays it too.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from solver.errors import Fault, InvalidCluster
from solver.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    NETWORK,
    REDUCE_SCATTER,
)
from solver.units import FloatArray, IntArray, bytes_per_us

RING = "ring"
TABLE = "table"


class Cost(Protocol):
    """Time of one launch on a channel [us]; 0 bytes cost 0."""

    def time(self, size: int) -> float:
        """Time [us] of one launch of ``size`` bytes."""

    def times(self, sizes: IntArray) -> FloatArray:
        """Time [us] of one launch of each size [bytes]."""

    def fits(self, budget: float, most: int) -> int:
        """Largest n <= ``most`` [bytes] with time(n) <= ``budget`` [us]; 0 when none fits."""

    def minorants(self, total: int) -> list[tuple[float, float]]:
        """Pairs (a, c), a and c >= 0, with a + c s <= time(s) for 1 <= s <= ``total`` bytes."""

    def least(self, total: int) -> Callable[[IntArray], FloatArray]:
        """Return a bound on the total time [us] of launches of so many bytes.

        ``total`` is the most bytes that one launch can carry. For sizes S the function gives at
        most the least sum of time(n_k) over launches with n_1 + n_2 + ... >= S.
        """


@dataclass(frozen=True, slots=True)
class Affine:
    """T(n) = startup + per_byte n for n > 0.

    Attributes
    ----------
    startup
        Fixed cost of a launch [us].
    per_byte
        Time per byte [us].
    """

    startup: float
    per_byte: float

    def time(self, size: int) -> float:
        """Time [us] of one launch of ``size`` bytes."""
        return self.startup + self.per_byte * size if size > 0 else 0.0

    def times(self, sizes: IntArray) -> FloatArray:
        """Time [us] of one launch of each size [bytes]."""
        return np.where(sizes > 0, self.startup + self.per_byte * sizes, 0.0)

    def fits(self, budget: float, most: int) -> int:
        """Largest n <= ``most`` [bytes] with time(n) <= ``budget`` [us]; 0 when none fits."""
        if self.time(most) <= budget:
            return most
        room = budget - self.startup
        if room < self.per_byte:
            return 0
        guess = min(most, int(room / self.per_byte) + 1)
        while self.time(guess) > budget:  # at most a few steps of rounding
            guess -= 1
        return guess

    def minorants(self, total: int) -> list[tuple[float, float]]:
        """Return the cost itself."""
        return [(self.startup, self.per_byte)]

    def least(self, total: int) -> Callable[[IntArray], FloatArray]:
        """T itself: it is non-decreasing and subadditive."""
        return self.times


@dataclass(frozen=True, slots=True)
class Measured:
    """A table of measured times, linear between its points.

    Constant below the first point; beyond the last, the slope between it and the point nearest
    half its size (model.md section 3). Every launch pays ``startup`` on top.

    Attributes
    ----------
    sizes
        Bytes, strictly ascending.
    measured
        Times [us], positive.
    slope
        Time per byte [us] beyond the last point.
    startup
        Fixed cost of a launch [us] that the measurement did not contain.
    """

    sizes: tuple[int, ...]
    measured: tuple[float, ...]
    slope: float
    startup: float

    def time(self, size: int) -> float:
        """Time [us] of one launch of ``size`` bytes."""
        if size <= 0:
            return 0.0
        last = len(self.sizes) - 1
        at = bisect_right(self.sizes, size) - 1
        if at < 0:
            return self.startup + self.measured[0]
        if at == last:
            return self.startup + self.measured[last] + (size - self.sizes[last]) * self.slope
        slope = (self.measured[at + 1] - self.measured[at]) / (self.sizes[at + 1] - self.sizes[at])
        return self.startup + self.measured[at] + (size - self.sizes[at]) * slope

    def times(self, sizes: IntArray) -> FloatArray:
        """Time [us] of one launch of each size [bytes]."""
        inside = np.interp(sizes, self.sizes, self.measured)
        beyond = np.maximum(sizes - self.sizes[-1], 0) * self.slope
        return np.where(sizes > 0, self.startup + inside + beyond, 0.0)

    def fits(self, budget: float, most: int) -> int:
        """Largest n <= ``most`` [bytes] with time(n) <= ``budget`` [us]; 0 when none fits."""
        knots = [n for n in self._knots(most) if n >= 1]
        if self.time(knots[-1]) <= budget:
            return most
        for low, high in reversed(list(pairwise(knots))):
            if self.time(low) <= budget:  # and time(high) is not; it is linear in between
                sizes = range(low, high)
                return sizes[bisect_right(sizes, budget, key=self.time) - 1]
        return 0

    def minorants(self, total: int) -> list[tuple[float, float]]:
        """Edges of the lower hull over 1..total bytes, and the ray of least time per byte."""
        knots = np.array(self._knots(total), dtype=np.int64)
        times = self.times(knots)
        hull: list[tuple[float, float]] = []
        for x, y in zip(knots.tolist(), times.tolist(), strict=True):
            while len(hull) > 1 and _turns_down(hull[-2], hull[-1], (x, y)):
                hull.pop()
            hull.append((x, y))
        found = [(float(times.min()), 0.0), (0.0, float((times / knots).min()))]
        for (x0, y0), (x1, y1) in pairwise(hull):
            c = (y1 - y0) / (x1 - x0)
            a = y0 - c * x0
            if a > 0 and c > 0:
                found.append((a, c))
        return [(float(np.min(times - c * knots)), c) if a > 0 else (a, c) for a, c in found]

    def least(self, total: int) -> Callable[[IntArray], FloatArray]:
        """T itself where it is non-decreasing and subadditive, else the minorants' maximum."""
        if self.is_plain(total):
            return self.times
        lines = self.minorants(total)
        return lambda sizes: np.where(
            sizes > 0, np.max([a + c * sizes for a, c in lines], axis=0), 0.0
        )

    def _knots(self, most: int) -> list[int]:
        """Sizes in 1..most between which time is linear, ends included."""
        return sorted({1, most, *(size for size in self.sizes if 1 <= size <= most)})

    def is_plain(self, total: int) -> bool:
        """Tell whether T is non-decreasing and subadditive on 1..total.

        T(x) + T(y) - T(x+y) is linear on each cell that the knots cut out, so its least value
        lies where two of x, y, x+y are knots.
        """
        knots = np.array(self._knots(total), dtype=np.int64)
        if np.any(np.diff(self.times(knots)) < 0):
            return False
        x = knots[:, None]
        pairs = [np.broadcast_to(knots[None, :], (knots.size, knots.size)), knots[None, :] - x]
        for y in pairs:
            inside = (y >= 1) & (x + y <= total)
            excess = self.times(np.where(inside, x + y, 0)) - self.times(np.where(inside, y, 0))
            if np.any(inside & (excess > self.times(knots)[:, None])):
                return False
        return True


def _turns_down(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - b[0]) >= (c[1] - b[1]) * (b[0] - a[0])


class Lane(NamedTuple):
    """One kind of collective on one channel: what may be fused, at one cost."""

    channel: str
    kind: str


#: What a launch costs in each lane.
Network = Callable[[Lane], Cost]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Who takes part in a collective, and over what.

    Attributes
    ----------
    workers
        Ranks, at least 1.
    bandwidth_gbps
        Bandwidth between two workers [Gbit/s]; None with a table.
    startup_us
        Fixed cost of each launch [us]: negotiation and kernel launch.
    hop_us
        Fixed cost of each step of the algorithm [us].
    reduction_gbps
        Speed at which a worker adds two buffers [Gbit/s]; None when it costs nothing.
    algorithm
        Key of :data:`ALGORITHMS`.
    table
        Measured points (bytes, us) of the all-reduce for ``table``.
    tables
        Measured points of the other kinds for ``table``, by kind.
    channels
        The channels besides :data:`solver.graph.NETWORK`, by name, each with its own ranks.
    """

    workers: int
    bandwidth_gbps: float | None = None
    startup_us: float = 0.0
    hop_us: float = 0.0
    reduction_gbps: float | None = None
    algorithm: str = RING
    table: tuple[tuple[int, float], ...] = ()
    tables: tuple[tuple[str, tuple[tuple[int, float], ...]], ...] = ()
    channels: tuple[tuple[str, "Cluster"], ...] = ()


class _Ring(NamedTuple):
    """How often a collective on a ring of n takes n-1 steps, (n-1)/n S/B and (n-1)/n S/G.

    ``whole`` instead of (n-1)/n S/B: every byte passes every worker, S/B.
    """

    steps: int
    shares: int
    reductions: int
    whole: bool = False


#: All-reduce is a reduce-scatter and an all-gather; a broadcast goes round in a pipeline.
_RINGS = {
    ALL_REDUCE: _Ring(2, 2, 1),
    ALL_GATHER: _Ring(1, 1, 0),
    REDUCE_SCATTER: _Ring(1, 1, 1),
    BROADCAST: _Ring(1, 0, 0, whole=True),
    ALL_TO_ALL: _Ring(1, 1, 0),
}


def ring(cluster: Cluster, kind: str) -> Cost:
    """Ring of n workers: T = startup + steps hop + bandwidth term + reduction term.

    With S bytes of the whole tensor, B bandwidth and G speed of adding: all-reduce 2(n-1) steps,
    2(n-1)/n S/B + (n-1)/n S/G (PACE 1, OSF 7); reduce-scatter half of the steps and of S/B, and
    the adding; all-gather the other half; all-to-all n-1 steps, (n-1)/n S/B; broadcast n-1 steps
    in a pipeline, S/B.

    Raises
    ------
    InvalidCluster
        When no bandwidth is given.
    """
    if cluster.bandwidth_gbps is None:
        raise InvalidCluster(
            [Fault("/bandwidth_gbps", "missing_field", "A ring needs bandwidth_gbps.")]
        )
    n, way = cluster.workers, _RINGS[kind]
    passes = 1.0 if way.whole else way.shares * (n - 1) / n
    per_byte = passes / bytes_per_us(cluster.bandwidth_gbps)
    if cluster.reduction_gbps is not None:
        per_byte += way.reductions * (n - 1) / n / bytes_per_us(cluster.reduction_gbps)
    return Affine(cluster.startup_us + way.steps * (n - 1) * cluster.hop_us, per_byte)


def table(cluster: Cluster, kind: str) -> Cost:
    """Measured times, linear between points; points of the same size are averaged.

    Raises
    ------
    InvalidCluster
        With fewer than two different sizes.
    """
    pointer, points = "/table", cluster.table
    if kind != ALL_REDUCE:
        pointer, points = f"/tables/{kind}", dict(cluster.tables).get(kind, ())
    groups: dict[int, list[float]] = {}
    for size, time in sorted(points):
        groups.setdefault(size, []).append(time)
    if len(groups) < 2:  # noqa: PLR2004 - a line takes two points
        detail = f"A table of {kind} needs points of two different sizes."
        code = "out_of_range" if kind == ALL_REDUCE or points else "missing_field"
        raise InvalidCluster([Fault(pointer, code, detail)])
    sizes = tuple(groups)
    times = tuple(sum(found) / len(found) for found in groups.values())
    half = min(range(len(sizes) - 1), key=lambda i: (abs(2 * sizes[i] - sizes[-1]), i))
    slope = max(0.0, (times[-1] - times[half]) / (sizes[-1] - sizes[half]))
    return Measured(sizes, times, slope, cluster.startup_us)


#: How a cluster's algorithm becomes the cost of a kind of collective; add one here.
ALGORITHMS: dict[str, Callable[[Cluster, str], Cost]] = {RING: ring, TABLE: table}


def cost_of(cluster: Cluster, kind: str = ALL_REDUCE) -> Cost:
    """Cost of a kind of collective on a cluster's own channel; 0 for one worker."""
    if cluster.workers == 1:
        return Affine(0.0, 0.0)
    return ALGORITHMS[cluster.algorithm](cluster, kind)


def network_of(cluster: Cluster) -> Network:
    """Cost of each lane of a cluster, computed once.

    Raises
    ------
    InvalidCluster
        From the network, for a lane that the cluster does not describe.
    """
    channels = {NETWORK: cluster, **dict(cluster.channels)}

    @cache
    def network(lane: Lane) -> Cost:
        if lane.channel not in channels:
            detail = f"The cluster has no channel {lane.channel!r}."
            raise InvalidCluster([Fault("/channels", "unknown_channel", detail)])
        try:
            return cost_of(channels[lane.channel], lane.kind)
        except InvalidCluster as error:
            under = "" if lane.channel == NETWORK else f"/channels/{lane.channel}"
            raise InvalidCluster(
                [Fault(under + f.pointer, f.code, f.detail) for f in error.faults]
            ) from None

    return network


def alike(cost: Cost) -> Network:
    """Return a network that costs the same in every lane."""
    return lambda _: cost


def scaled(cost: Cost, bandwidth: float = 1.0, startup: float = 1.0) -> Cost:
    """Return a cost with so many times the bandwidth and the start-up.

    The start-up is the least time of a launch: that of the smallest size.
    """
    if isinstance(cost, Affine):
        return Affine(cost.startup * startup, cost.per_byte / bandwidth)
    assert isinstance(cost, Measured), "the two kinds of cost"
    fixed = min(cost.measured)
    return Measured(
        cost.sizes,
        tuple(fixed * startup + (time - fixed) / bandwidth for time in cost.measured),
        cost.slope / bandwidth,
        cost.startup * startup,
    )
