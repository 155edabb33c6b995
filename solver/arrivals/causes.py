"""Why steps are late: a rank computes slower, its input is late, a link is slow, or nothing is."""

from dataclasses import dataclass

import numpy as np

from solver.arrivals.arrival import ArrivalTable, Bools, Floats
from solver.arrivals.clocks import Clocks
from solver.arrivals.lateness import Lateness, op_numbers
from solver.arrivals.links import SlowLaunch, Transfers, rank_of, slow_launches
from solver.arrivals.noise import Excess, excesses

SLOWER_COMPUTE, LATE_INPUT, LATE, SLOW_LINK = "slower_compute", "late_input", "late", "slow_link"

#: Of a step, less is not worth a word.
_SHARE = 0.005


@dataclass(frozen=True, slots=True)
class OpLateness:
    """What of a cause is before, or in, one op.

    Attributes
    ----------
    op
        The collective.
    group
        Its group.
    late_us
        A step [us].
    """

    op: str
    group: str
    late_us: float


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that makes steps late.

    Attributes
    ----------
    kind
        ``slower_compute``; ``late_input``: before one op; ``late``: the ops do not tell which of
        both; ``slow_link``.
    rank
        Whose it is; null where nothing tells: of a slow link that is in one group alone.
    group
        Of a slow link, that of its slowest op; else null.
    op
        The op before which the input is late, or the slowest of the link; null of compute, which is
        slower before all.
    late_us
        By how much the rank, or the link, is late in a step [us].
    low_us, high_us
        Two standard errors below and above that [us].
    limit_us
        Below which it would be noise [us].
    step_without_us
        What a step would take without it [us]; null where that cannot be run.
    ops
        Where it is late, the most first.
    """

    kind: str
    rank: int | None
    group: str | None
    op: str | None
    late_us: float
    low_us: float
    high_us: float
    limit_us: float
    step_without_us: float | None
    ops: tuple[OpLateness, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Removal:
    """A cause, and what to take from the times to be without it.

    Attributes
    ----------
    cause
        Without the step.
    rows
        The rows of the rank whose own work becomes typical.
    launches
        The launches that become typical.
    """

    cause: Cause
    rows: Bools
    launches: frozenset[int]


def causes_of(
    table: ArrivalTable, clocks: Clocks, late: Lateness, transfers: Transfers, step_us: float
) -> tuple[list[Removal], list[Excess]]:
    """Return what is late beyond noise, the most first, and of each rank how late it is.

    Notes
    -----
    O(n log n) for n arrivals.
    """
    per_op = _RankOps(table, late)
    ranks = len(table.ranks)
    sure = excesses(
        per_op.mean.sum(axis=1),
        np.sqrt((per_op.error**2).sum(axis=1)),
        np.full(ranks, float(table.steps)),
        clocks.spread,
        np.full(ranks, _SHARE * step_us),
    )
    found = [_of_rank(table, late, per_op, r, each) for r, each in enumerate(sure) if each.is_sure]
    slow = slow_launches(table, transfers, clocks.spread, _SHARE * step_us)
    if slow:
        found.append(_of_link(table, transfers, slow))
    return sorted(found, key=lambda one: -one.cause.late_us), sure


class _RankOps:
    """Of each rank and op, what it adds a step: the mean, its error, and what is typical [us]."""

    def __init__(self, table: ArrivalTable, late: Lateness) -> None:
        self.ops, op = op_numbers(table)
        shape = len(table.ranks), len(self.ops)
        known = ~np.isnan(late.typical)
        key = table.rank[known] * shape[1] + op[known]

        def total(values: Floats) -> Floats:
            whole: Floats = np.bincount(key, values, shape[0] * shape[1]).astype(np.float64)
            return whole.reshape(shape)

        added = late.added[known]
        count = np.maximum(total(np.ones(len(added))), 1)
        mean = total(added) / count
        off = added - mean.reshape(-1)[key]
        most = count.max(axis=1, keepdims=True)
        whole = np.where(count >= most - 1, 1.0, count / most)  # of a first step less is known
        self.mean = mean * whole
        self.error = np.sqrt(total(off**2)) / np.maximum(count - 1, 1) * whole
        self.typical = total(late.typical[known]) / count
        self.op = op


def _of_rank(
    table: ArrivalTable, late: Lateness, per_op: _RankOps, r: int, sure: Excess
) -> Removal:
    """Tell slower compute, which is longer by one share before every op, from a late input."""
    mean, typical = per_op.mean[r], per_op.typical[r]
    most = int(np.argmax(mean))
    share = float(mean @ typical) / max(float(typical @ typical), 1e-12)
    off_all = float(((mean - share * typical) ** 2).sum())
    off_one = float((mean**2).sum() - mean[most] ** 2)
    if np.count_nonzero(typical) < 2:  # noqa: PLR2004 - one op tells no kind
        kind, op = LATE, per_op.ops[most]
    elif off_one < off_all:
        kind, op = LATE_INPUT, per_op.ops[most]
    else:
        kind, op = SLOWER_COMPUTE, None
    groups = dict(
        zip(
            per_op.op[table.rank == r].tolist(),
            (table.collectives[i].group for i in table.collective[table.rank == r].tolist()),
            strict=True,
        )
    )
    ops = tuple(
        OpLateness(per_op.ops[i], groups[i], round(float(mean[i]), 3))
        for i in np.argsort(-mean, kind="stable").tolist()
        if i in groups and mean[i] > 0
    )
    rows = table.rank == r
    if kind == LATE_INPUT:
        rows = rows & (per_op.op == most)
    return Removal(
        _cause(kind, table.ranks[r], None, op, sure, ops), rows & ~late.is_queued, frozenset()
    )


def _of_link(table: ArrivalTable, transfers: Transfers, slow: list[SlowLaunch]) -> Removal:
    """Name the group of the slowest op; the rank and its other groups where these tell it."""
    rank = rank_of(table, transfers, slow)
    group = slow[0].first.group
    own = slow if rank is not None else [one for one in slow if one.first.group == group]
    whole = Excess(
        sum(one.late_us for one in own),
        float(np.sqrt(sum(one.error_us**2 for one in own))),
        min(one.limit_us for one in own),
    )
    ops = tuple(OpLateness(one.first.op, one.first.group, round(one.late_us, 3)) for one in own)
    none = np.zeros(len(table.rank), dtype=np.bool_)
    launches = frozenset(one.launch for one in own)
    return Removal(_cause(SLOW_LINK, rank, group, slow[0].first.op, whole, ops), none, launches)


def _cause(
    kind: str,
    rank: int | None,
    group: str | None,
    op: str | None,
    sure: Excess,
    ops: tuple[OpLateness, ...],
) -> Cause:
    low, high = sure.interval
    figures = [round(each, 3) for each in (sure.mean, low, high, sure.limit or 0.0)]
    late, least, most, limit = figures
    return Cause(kind, rank, group, op, late, least, most, limit, None, ops)
