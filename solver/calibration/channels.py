r"""What launches cost on a channel, fitted to those that were recorded on it in a training step.

A recording has few sizes, of several kinds of collective, and some launches waited for slow ranks.
So each kind k gets a line :math:`T_k(n) = a_k + c_k n` of least relative error, which a launch that
took far too long hardly moves; single ones that are far too short, as the last of a recording that
was stopped, are left out first (:mod:`solver.calibration.short_launches`). No start-up is longer
than short launches explain: with :math:`s_k` steps of a ring, it is at most the 0.05-quantile of
:math:`t_i \max(1, s_k / s_{k(i)})` over the launches i of the channel, the least where there are
20 or fewer. Where the sizes of a kind do not tell start-up from bandwidth, it has the bandwidth of
all kinds together, and where these do not either, its start-up is assumed. No line is faster than
the fastest link that is known: where sizes tell no bandwidth below it, as those of short launches
alone, a kind has that bandwidth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import numpy as np

from solver.calibration.fits.fit import StraightLine
from solver.calibration.fits.samples import Samples
from solver.calibration.fits.straight import moments, straight
from solver.calibration.measurements.readings import broken_rule
from solver.calibration.short_launches import without_short
from solver.calibration.spread import spread_of
from solver.costs.algorithms.stepwise import ring_effort
from solver.costs.cluster import ASSUMED_STARTUP_US
from solver.costs.fastest_links import least_us_per_byte
from solver.units import FloatArray, slack

#: Sizes tell start-up from bandwidth when the largest is so many times the least.
SPREAD = 2.0

#: The share of a channel's launches that may be shorter than a start-up.
_SHORTEST = 0.05

#: Where a line is from: the sizes of its kind; the bandwidth of all kinds of the channel; the
#: assumed start-up; the bandwidth of the fastest link.
Basis = Literal["own_sizes", "shared_bandwidth", "assumed_startup", "fastest_link"]


@dataclass(frozen=True, slots=True)
class KindFit:
    """The line of one kind of collective on a channel.

    Attributes
    ----------
    kind
        Of collective.
    line
        Its cost; both figures are 0 or more, and the time per byte is above 0.
    basis
        Where the line is from.
    launches
        Samples of this kind that were fitted to.
    left_out
        Samples that were not, since they are far too short beside the others.
    sizes
        Different sizes among them.
    measured
        Least and most bytes of them.
    median, p90, worst
        Relative errors abs(T / t - 1) of them.
    spread
        How far launches of one size were apart (:func:`spread_of`); None where no size has several.
    """

    kind: str
    line: StraightLine
    basis: Basis
    launches: int
    left_out: int
    sizes: int
    measured: tuple[int, int]
    median: float
    p90: float
    worst: float
    spread: float | None


class _Launches(NamedTuple):
    """The launches of a kind: bytes [bytes] and times [us], each of shape (n,)."""

    kind: str
    sizes: FloatArray
    times: FloatArray
    left_out: int
    longest_startup: float = inf

    @property
    def half_startup(self) -> float:
        """Half of the longest start-up that no launch of the kind is shorter than [us]."""
        return 0.5 * min(self.longest_startup, float(self.times.min()))


def usable(samples: Samples) -> list[tuple[int, float]]:
    """Leave out the samples that cannot be fitted to, as those of no time."""
    return [(size, time) for size, time in samples if broken_rule(size, time) is None]


def fit_channel(samples: Mapping[str, Samples], workers: int) -> tuple[KindFit, ...]:
    """Fit a line to each kind of collective of a channel, for the least relative error.

    Parameters
    ----------
    samples
        Bytes and time [us] of each launch, by kind; :func:`usable` ones.
    workers
        That share the channel, 2 or more.

    Returns
    -------
    tuple of KindFit
        One for each kind that has samples, in their order.

    Notes
    -----
    O(n log n) for n launches. The two-variable problem is convex, so where the best line of all has
    too long a start-up the optimum has the longest that is allowed. Launches that are far too short
    move no line while they are few beside the others of their kind: a tenth, or one of a few.
    """
    kinds = [_launches(kind, some) for kind, some in samples.items() if len(some) > 0]
    kinds = [kind._replace(longest_startup=_longest(kind, kinds, workers)) for kind in kinds]
    shared = _shared_bandwidth(kinds, workers)
    return tuple(_fit(kind, shared, workers) for kind in kinds)


def _launches(kind: str, some: Samples) -> _Launches:
    sizes, times = np.array(some, dtype=np.float64).T
    return _Launches(kind, *without_short(sizes, times))


def _longest(kind: _Launches, kinds: Sequence[_Launches], workers: int) -> float:
    """Return the longest start-up [us] that the launches of the channel explain."""
    steps = {each.kind: ring_effort(workers, each.kind).steps for each in kinds}
    explained = [each.times * max(1.0, steps[kind.kind] / steps[each.kind]) for each in kinds]
    return float(np.quantile(np.concatenate(explained), _SHORTEST, method="lower"))


def _fit(kind: _Launches, shared: float | None, workers: int) -> KindFit:
    basis: Basis = "own_sizes"
    line = _line(kind) if _is_wide(kind.sizes) else None
    if line is None and shared is not None:
        basis, line = "shared_bandwidth", _with_slope(kind, shared * _passes(kind.kind, workers))
    if line is None:
        startup = min(ASSUMED_STARTUP_US, kind.half_startup)
        basis, line = "assumed_startup", StraightLine(startup, _slope(kind, startup))
    least = least_us_per_byte(workers, kind.kind)
    if line.us_per_byte < least:
        startup = min(max(_constant(kind, least), 0.0), kind.longest_startup)
        basis, line = "fastest_link", StraightLine(startup, least)
    misses = np.abs((line.startup_us + line.us_per_byte * kind.sizes) / kind.times - 1)
    return KindFit(
        kind.kind,
        line,
        basis,
        kind.sizes.size,
        kind.left_out,
        int(np.unique(kind.sizes).size),
        (int(kind.sizes.min()), int(kind.sizes.max())),
        float(np.median(misses)),
        float(np.quantile(misses, 0.9)),
        float(misses.max()),
        spread_of(kind.sizes, kind.times),
    )


def _shared_bandwidth(kinds: Sequence[_Launches], workers: int) -> float | None:
    """Return the time of a byte over a worker's link [us] that fits all kinds; None if unknown."""
    if len(kinds) <= 1:
        return None
    passed = np.concatenate([kind.sizes * _passes(kind.kind, workers) for kind in kinds])
    longest = min(kind.longest_startup for kind in kinds)
    times = np.concatenate([kind.times for kind in kinds])
    every = _Launches("", *without_short(passed, times), longest)
    if not _is_wide(every.sizes):
        return None
    line = _line(every)
    return line.us_per_byte if line else None


def _line(kind: _Launches) -> StraightLine | None:
    """Return the line of least relative error; None when it does not rise."""
    best = straight(moments(kind.sizes, kind.times))
    line = StraightLine(float(best.constant), float(best.slope))
    if line.startup_us > kind.longest_startup:
        line = StraightLine(kind.longest_startup, _slope(kind, kind.longest_startup))
    rise = line.us_per_byte * float(kind.sizes.max())
    return line if rise > slack(float(kind.times.max())) else None


def _with_slope(kind: _Launches, slope: float) -> StraightLine:
    """Return the best line of this slope; where none has an allowed start-up, another slope."""
    constant = _constant(kind, slope)
    if 0 <= constant <= kind.longest_startup:
        return StraightLine(constant, slope)
    startup = min(max(constant, 0.0), kind.half_startup)
    return StraightLine(startup, _slope(kind, startup))


def _constant(kind: _Launches, slope: float) -> float:
    """Return the best start-up [us] of a line of this slope; it may be below 0."""
    weights = kind.times**-2.0
    return float((weights * (kind.times - slope * kind.sizes)).sum() / weights.sum())


def _slope(kind: _Launches, startup: float) -> float:
    """Return the best time per byte [us] with a start-up that no launch is shorter than."""
    shares = kind.sizes / kind.times
    return float((shares * (1 - startup / kind.times)).sum() / (shares**2).sum())


def _passes(kind: str, workers: int) -> float:
    return ring_effort(workers, kind).passes


def _is_wide(sizes: FloatArray) -> bool:
    return bool(sizes.max() >= SPREAD * sizes.min())
