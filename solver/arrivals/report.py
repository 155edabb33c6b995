"""Who comes late, of how much of it each rank is the cause, and what steps would be without."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from solver.arrivals.arrival import Arrival, ArrivalTable, Floats, table_of
from solver.arrivals.causes import Cause, causes_of
from solver.arrivals.clocks import Clocks, align
from solver.arrivals.lateness import Lateness, lateness_of
from solver.arrivals.links import transfers_of
from solver.arrivals.noise import Excess
from solver.arrivals.replay import mean_step, step_without
from solver.arrivals.sentences import said

#: Where more of the collectives end before their last rank came, the clocks are not aligned.
_CONTRADICTED = 0.1


@dataclass(frozen=True, slots=True)
class RankLateness:
    """How late a rank comes to its collectives; times are of a step, on average [us].

    Attributes
    ----------
    rank
        Its number.
    offset_us, drift_ppm
        Of its clock against that of the first rank: how far it is ahead in the middle of the
        recording, and by how many millionths it is fast.
    late_us
        Later than the median of each collective's ranks, summed up; below 0 where it is earlier.
    own_us
        What of it the rank worked longer than the others.
    passed_on_us
        How much later than theirs its work could begin: it waited in a collective before.
    waited_us
        For how long it waited in collectives for their last rank; what it waits for in several at
        once counts once.
    last
        To how many collectives it came last, in all steps.
    limit_us
        Below which what it worked longer is noise; null where nothing tells it.
    """

    rank: int
    offset_us: float
    drift_ppm: float
    late_us: float
    own_us: float
    passed_on_us: float
    waited_us: float
    last: int
    limit_us: float | None


@dataclass(frozen=True, slots=True)
class ArrivalReport:
    """What the arrivals of ranks at their collectives tell.

    Attributes
    ----------
    steps, collectives
        That were compared: collectives that two ranks or more recorded.
    step_us
        What a step took on average [us]; null of one step.
    clock_us
        How far the ends of one collective are apart when the clocks are aligned: a standard
        deviation [us].
    ranks
        In ascending order.
    causes
        What is late beyond noise, the most first; empty where nobody is.
    sentences
        The same in words.
    """

    steps: int
    collectives: int
    step_us: float | None
    clock_us: float
    ranks: tuple[RankLateness, ...]
    causes: tuple[Cause, ...]
    sentences: tuple[str, ...]

    @property
    def lost_us(self) -> float | None:
        """How much shorter a step would be without what is late the most [us]; None of nothing."""
        without = self.causes[0].step_without_us if self.causes else None
        if without is None or self.step_us is None:
            return None
        return round(max(self.step_us - without, 0.0), 3)


def arrival_report(arrivals: Sequence[Arrival], notes: Sequence[str] = ()) -> ArrivalReport | None:
    """Judge who comes late; None where no two ranks share a collective.

    Parameters
    ----------
    arrivals
        Of all ranks, in any order.
    notes
        What their reader has to say of them.

    Notes
    -----
    O(n log n) for n arrivals. Nobody is named without figures that are more than noise, see
    :mod:`solver.arrivals.noise`, nor where clocks cannot be aligned.
    """
    table = table_of(arrivals)
    del arrivals  # they are many times as large as their table
    if not table.collectives:
        return None
    clocks = align(table)
    late = lateness_of(table, clocks)
    transfers = transfers_of(table, late)
    step = mean_step(table, late.end)
    whole = step if step is not None else float(late.end.max() - late.start.min())
    removals, sure = causes_of(table, clocks, late, transfers, whole)
    causes = [
        replace(each.cause, step_without_us=_rounded(step_without(table, late, transfers, each)))
        for each in removals
    ]
    is_aligned = clocks.contradicted <= _CONTRADICTED
    report = ArrivalReport(
        steps=table.steps,
        collectives=len(table.collectives),
        step_us=_rounded(step),
        clock_us=round(clocks.spread, 3),
        ranks=tuple(_of_ranks(table, clocks, late, sure)),
        causes=tuple(causes) if is_aligned else (),
        sentences=(),
    )
    words = said(report, members_of(table), clocks.contradicted, is_aligned=is_aligned)
    return replace(report, sentences=(*words, *notes))


def members_of(table: ArrivalTable) -> dict[str, tuple[int, ...]]:
    """Return the ranks of each group, as far as they were recorded. O(n)."""
    found: dict[str, set[int]] = {}
    for rank, i in zip(table.rank.tolist(), table.collective.tolist(), strict=True):
        found.setdefault(table.collectives[i].group, set()).add(table.ranks[rank])
    return {group: tuple(sorted(ranks)) for group, ranks in found.items()}


def _of_ranks(
    table: ArrivalTable, clocks: Clocks, late: Lateness, sure: Sequence[Excess]
) -> list[RankLateness]:
    def a_step(values: Floats) -> list[float]:
        whole = np.bincount(table.rank, np.nan_to_num(values), len(table.ranks))
        return [round(each, 3) for each in (whole / table.steps).tolist()]

    last = np.bincount(table.rank, late.is_last, len(table.ranks)).astype(int).tolist()
    columns = zip(
        table.ranks,
        [round(-each, 3) for each in clocks.shift.tolist()],
        [round(-1e6 * each, 3) for each in clocks.drift.tolist()],
        a_step(late.late),
        [round(each.mean, 3) for each in sure],
        a_step(late.passed_on),
        [round(each / table.steps, 3) for each in _waiting(table, late)],
        last,
        [_rounded(each.limit) for each in sure],
        strict=True,
    )
    return [RankLateness(*column) for column in columns]


def _waiting(table: ArrivalTable, late: Lateness) -> Iterator[float]:
    """Yield for how long each rank waited in one collective or more [us]. O(n log n)."""
    order = np.lexsort((late.start, table.rank))
    ends = np.searchsorted(table.rank[order], np.arange(len(table.ranks) + 1))
    for first, after in pairwise(ends.tolist()):
        own = order[first:after]
        start, end = late.start[own], late.start[own] + late.waited[own]
        before = np.maximum.accumulate(np.r_[-np.inf, end])[:-1]
        yield float(np.maximum(end - np.maximum(start, before), 0.0).sum())


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
