"""Which collectives take longer from their last arrival to their end than others of their kind."""

from dataclasses import dataclass

import numpy as np

from solver.arrivals.arrival import ArrivalTable, Bools, Floats, Ints, Launched
from solver.arrivals.lateness import Lateness
from solver.arrivals.lines import least_absolute
from solver.arrivals.medians import highest_by, median_of_others
from solver.arrivals.noise import excesses

#: What is slow takes longer by this share at least: than the same op of other groups,
_SLOW = 0.15
#: and than other ops lead to expect, whose algorithms differ by size.
_SLOW_OF_LINE = 0.5
#: So many other ops make a line.
_LINE = 4
#: Of more ops the line of all is that of all but one.
_OF_EACH = 64
#: Nearer to the line than this share no op weighs more.
_NEAR = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Transfers:
    """Of each collective of a table.

    Attributes
    ----------
    time
        From the last arrival to the end [us].
    typical
        The median of the same op of other groups of its channel in its step; where there is no
        other group, what the other ops of its channel and kind lead to expect by their bytes [us].
        nan where neither is known.
    is_of_line
        Whether it is the latter.
    launch
        Which launch it is: a group's op, the same in every step.
    """

    time: Floats
    typical: Floats
    is_of_line: Bools
    launch: Ints


@dataclass(frozen=True, slots=True)
class SlowLaunch:
    """A launch that takes longer than others like it, of a group that does.

    Attributes
    ----------
    launch
        Its number in :class:`Transfers`.
    first
        One of its collectives.
    late_us, error_us
        By how much it is longer in a step, and the standard error of that [us].
    limit_us
        Below which it would be noise, with the others of its group [us].
    """

    launch: int
    first: Launched
    late_us: float
    error_us: float
    limit_us: float


def transfers_of(table: ArrivalTable, late: Lateness) -> Transfers:
    """Measure collectives from their last arrival on, and those like each. O(n log n)."""
    size = len(table.collectives)
    one = np.zeros(size, dtype=np.int64)
    one[table.collective] = np.arange(len(table.collective))
    time = np.maximum(late.end - highest_by(table.collective, late.start), 0.0)[one]
    ranks = np.bincount(table.collective, minlength=size)
    alike: dict[tuple[object, ...], int] = {}
    launches: dict[tuple[str, str], int] = {}
    key, launch = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for i, made in enumerate(table.collectives):
        like = (made.step, made.op, made.channel, made.kind, made.bytes, int(ranks[i]))
        key[i] = alike.setdefault(like, len(alike))
        launch[i] = launches.setdefault((made.group, made.op), len(launches))
    typical = median_of_others(key, time)
    alone = np.isnan(typical)
    typical[alone] = _of_line(table, time, launch, np.flatnonzero(alone))
    return Transfers(time, typical, alone, launch)


def _of_line(table: ArrivalTable, time: Floats, launch: Ints, alone: Ints) -> Floats:
    """Return what each of these collectives takes by its bytes, as the other launches go.

    Through the median times of the others a line of least relative deviations: each is weighed by
    its time.
    """
    of: dict[tuple[str, str], dict[int, list[int]]] = {}
    for i in alone.tolist():
        made = table.collectives[i]
        if made.bytes is not None:
            of.setdefault((made.channel, made.kind), {}).setdefault(int(launch[i]), []).append(i)
    result = np.full(len(table.collectives), np.nan)
    for launches in of.values():
        places = list(launches.values())
        sizes = np.array([table.collectives[own[0]].bytes for own in places], dtype=np.float64)
        medians = np.array([np.median(time[own]) for own in places])
        if len(places) <= _LINE:
            continue
        lines = [_line(sizes, medians)] if len(places) > _OF_EACH else []
        for k, own in enumerate(places):
            others = np.arange(len(places)) != k
            at, slope = lines[0] if lines else _line(sizes[others], medians[others])
            result[own] = max(at + slope * sizes[k], 0.0)
    return result[alone]


def _line(sizes: Floats, times: Floats) -> tuple[float, float]:
    """Return start-up and time of a byte; of times that fall with bytes their median."""
    weight = 1 / np.maximum(times, 1e-9)
    at, slope = least_absolute(sizes, times, weight, _NEAR)
    return (at, slope) if slope >= 0 else (float(np.median(times)), 0.0)


def slow_launches(
    table: ArrivalTable, transfers: Transfers, clock_us: float, least_us: float
) -> list[SlowLaunch]:
    """Return the launches that take longer than others like them, the slowest first.

    What is compared with other groups counts as one with all launches of its group, since a link
    slows them all; what is compared with other ops alone stands for itself. Of a launch that is
    like no other nothing is known.

    Parameters
    ----------
    table, transfers
        The collectives, and what they took.
    clock_us
        How far the clocks are apart [us].
    least_us
        Less in a step is not worth a word [us].

    Notes
    -----
    O(n log n).
    """
    known = np.flatnonzero(~np.isnan(transfers.typical))
    launch, first, place = np.unique(
        transfers.launch[known], return_index=True, return_inverse=True
    )
    over = (transfers.time - transfers.typical)[known]
    count = np.bincount(place).astype(np.float64)
    most = float(count.max(initial=1.0))  # steps may be there in part
    share = count / most
    late = np.bincount(place, over) / most
    error = _error(over, place, count) * share
    typical = np.bincount(place, transfers.typical[known]) / most
    made = [table.collectives[i] for i in known[first].tolist()]
    of_line = transfers.is_of_line[known[first]]
    found = []
    for line, floor in ((False, _SLOW), (True, _SLOW_OF_LINE)):
        own = np.flatnonzero(of_line == line)
        names: dict[str | int, int] = {}
        of = [names.setdefault(i if line else made[i].group, len(names)) for i in own.tolist()]
        unit = np.array(of, dtype=np.int64)
        sure = excesses(
            np.bincount(unit, late[own]).astype(np.float64),
            np.sqrt(np.bincount(unit, error[own] ** 2)),
            np.bincount(unit, count[own]) / np.maximum(np.bincount(unit), 1),
            clock_us,
            np.maximum(floor * np.bincount(unit, typical[own]), least_us),
            is_spread=line,
        )
        for i, whole in zip(own.tolist(), map(sure.__getitem__, of), strict=True):
            if whole.is_sure and late[i] > 0:
                figures = float(late[i]), float(error[i]), whole.limit or 0.0
                found.append(SlowLaunch(int(launch[i]), made[i], *figures))
    return sorted(found, key=lambda one: (-one.late_us, one.launch))


def _error(over: Floats, place: Ints, count: Floats) -> Floats:
    """Return the standard error of the mean of each place's values; 0 of a single one."""
    mean = np.bincount(place, over) / count
    return np.sqrt(np.bincount(place, (over - mean[place]) ** 2)) / np.maximum(count - 1, 1)


def rank_of(table: ArrivalTable, transfers: Transfers, slow: list[SlowLaunch]) -> int | None:
    """Return the rank whose link is slow; None where the groups do not tell one.

    That is the only rank that is in all slow groups, of which there are two at least, and in no
    group with launches like theirs that are not slow.
    """
    slow_groups = {one.first.group for one in slow}
    members: dict[str, set[int]] = {}
    for rank, i in zip(table.rank.tolist(), table.collective.tolist(), strict=True):
        members.setdefault(table.collectives[i].group, set()).add(rank)
    compared = {
        one.group
        for one, typical in zip(table.collectives, transfers.typical.tolist(), strict=True)
        if typical == typical  # noqa: PLR0124 - not nan
    }
    able = set.intersection(*(members[group] for group in sorted(slow_groups)))
    for group in sorted(compared - slow_groups):
        able -= members[group]
    return table.ranks[able.pop()] if len(slow_groups) > 1 and len(able) == 1 else None
