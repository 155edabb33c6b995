"""Who took part: the number of ranks behind the two bandwidths of NCCL's benchmarks.

busbw / algbw is 2(n-1)/n for an all-reduce of n ranks and (n-1)/n for an all-gather, a
reduce-scatter and an all-to-all. Both are printed with two digits, so each row gives an interval.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from solver.calibration.measurements.lines import Figure
from solver.calibration.measurements.readings import Reading
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER
from solver.limits import MAX_WORKERS

#: A collective that must be named: what the file tells leaves several open.
OTHER = "other"


#: Factor of busbw over algbw is shares (n-1)/n, by kind; the kinds without one say nothing of n.
SHARES = {ALL_REDUCE: 2.0, ALL_GATHER: 1.0, REDUCE_SCATTER: 1.0, ALL_TO_ALL: 1.0, OTHER: 1.0}


#: Those whose rows count the bytes of one rank's share.
_SHARED = (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)


#: Those whose busbw is below algbw.
_BELOW_ONE = (*_SHARED, "gather", "scatter", "hypercube")


#: The least factor: that of two ranks.
_OF_TWO = 0.5


#: The factor of a hundred ranks: where 1 fits as well it is 1.
_OF_MANY = 0.99


#: The factor's own rounding in floating point.
_NARROW = 1e-9


#: Rounding of a time, as a share: one that was converted shows digits that were not measured.
_CONVERTED = 5e-4


class RankEstimate(NamedTuple):
    """What the bandwidths tell.

    Attributes
    ----------
    workers
        Ranks; None when more than one number fits, or none does.
    kind
        Collective as given or as the factor tells: above 1 it is an all-reduce, below 1 none.
    notes
        What could not be told, and what does not fit together.
    possible
        Collectives that it may be; empty when nothing tells.
    """

    workers: int | None
    kind: str | None
    notes: tuple[str, ...]
    possible: tuple[str, ...] = ()


def ranks_of(
    readings: Iterable[Reading],
    workers: int | None,
    kind: str | None,
    possible: Sequence[str] = (),
    shares: int | None = None,
) -> RankEstimate:
    """Recover the number of ranks from busbw / algbw, rounding taken into account.

    ``workers`` is the number that the file itself gives, which wins, and ``kind`` the collective
    it names; else it is one of ``possible``, where there are any, that fits busbw / algbw.
    ``shares`` is in how many parts a row counts its bytes: as many as ranks, of an all-gather, a
    reduce-scatter and an all-to-all. The intervals of all rows are intersected; O(rows).
    """
    low, high = _factor(readings)
    notes: list[str] = []
    left = tuple(possible)
    if kind is None:
        kind, left, notes = _kind(low, high, left)
    if kind in _SHARED and shares is not None and shares > 1:
        notes += _shared(workers, shares)
        workers = workers or shares
    if low > high:
        notes.append("busbw / algbw differs between rows, so it tells nothing of the ranks.")
    elif high < math.inf and (kind is None or kind in SHARES):
        of_kind = SHARES[kind or ALL_REDUCE]
        first = max(1.0, float(np.ceil(_count(low, of_kind))))
        last = float(np.floor(_count(high, of_kind)))
        if workers is None and first == last <= MAX_WORKERS:
            workers = int(first)
            if kind is None and high >= 1:
                notes.append("busbw is algbw: 2 ranks if this is an all-reduce, unknown if not.")
        elif workers is None or not first <= workers <= last:
            remark = "" if workers is None else f" The file names {workers}."
            notes.append(f"busbw / algbw fits {_range(first, last)} ranks.{remark}")
    if workers == 1:
        notes.append("One rank: nothing went over a network.")
    return RankEstimate(workers, kind, tuple(notes), left)


def _shared(workers: int | None, shares: int) -> list[str]:
    """Note where a file names other ranks than it counts shares."""
    if workers in {None, shares}:
        return []
    return [f"The file names {workers} ranks, but counts bytes in {shares} shares."]


def _kind(
    low: float, high: float, possible: tuple[str, ...]
) -> tuple[str | None, tuple[str, ...], list[str]]:
    """Tell the collective by busbw / algbw, which is from low to high, of those that may be.

    Where the rows differ, ``low > high``, some say that it is above one of these and some that it
    is below the other. Return what it is, what it may be, and notes.
    """
    is_above, is_below = low > 1, high < 1
    if is_above and not is_below and (not possible or ALL_REDUCE in possible):
        return ALL_REDUCE, (ALL_REDUCE,), []
    left = tuple(kind for kind in possible if _fits(kind, low, high)) or possible
    if len(left) == 1:
        told = left[0]
        how = "by the columns redop and root and busbw / algbw"
        return told, left, [f"No program is named: taken as {told}, {how}."]
    if left and (ALL_REDUCE not in left or (is_above and is_below)):
        return OTHER, left, [f"No program is named: this is one of {', '.join(left)}."]
    if low > 0 and is_below and not is_above:
        note = (
            f"busbw / algbw is {low:.3f} to {high:.3f}: this is no all-reduce, but an all-gather, "
            "a reduce-scatter or an all-to-all."
        )
        return OTHER, tuple(kind for kind in _SHARED if kind in (possible or _SHARED)), [note]
    return None, left, []


def _fits(kind: str, low: float, high: float) -> bool:
    """Tell whether busbw / algbw from low to high may be that of a collective."""
    if kind in _BELOW_ONE:
        return low < 1 and high >= _OF_TWO and not (low > _OF_MANY and high >= 1)
    return high >= 1 and (kind == ALL_REDUCE or low <= 1)


def _factor(readings: Iterable[Reading]) -> tuple[float, float]:
    """Intersect the intervals of busbw / algbw over the rows; 0 and inf when no row has both."""
    low, high = 0.0, math.inf
    for reading in readings:
        bus = reading.busbw
        if bus is None or not math.isfinite(bus.value):
            continue
        for speed in (_speed(reading), reading.algbw):
            if speed is not None and speed.half < speed.value < math.inf:
                low = max(low, (bus.value - bus.half) / (speed.value + speed.half))
                high = min(high, (bus.value + bus.half) / (speed.value - speed.half))
    return low * (1 - _NARROW), high * (1 + _NARROW)


def _speed(reading: Reading) -> Figure:
    """Bytes over time [bytes/us], for the rows whose algbw has fewer digits or is not there."""
    time = reading.time
    assert time is not None, "a reading that was kept has a time"
    speed = reading.size / time.value
    return Figure(speed, speed * max(time.half / time.value, _CONVERTED))


def _count(factor: float, shares: float) -> float:
    """Ranks n with shares (n-1)/n = factor; inf from ``shares`` on."""
    return math.inf if factor >= shares else 1 / (1 - factor / shares)


def _range(first: float, last: float) -> str:
    if first > last or first == math.inf:
        return "no number of"
    if last == math.inf:
        return f"{first:.0f} or more"
    return f"{first:.0f}" + f" to {last:.0f}" * (first < last)
