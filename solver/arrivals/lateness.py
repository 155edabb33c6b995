"""How late each rank comes to each collective, by its own work and by what it waited for before."""

from dataclasses import dataclass

import numpy as np

from solver.arrivals.arrival import ArrivalTable, Bools, Floats, Ints
from solver.arrivals.clocks import Clocks
from solver.arrivals.medians import highest_by, median_by, median_of_others

#: A launch that starts so soon after the one before on its channel was kept by it [us].
_QUEUED = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Lateness:
    """Of each row of a table.

    Attributes
    ----------
    start
        When it came, on the first clock [us].
    end
        When the collective ended: the median over its ranks, on the first clock [us].
    own
        How long its rank worked until it came [us]; nan where nothing was before.
    typical
        The median of what the other ranks worked until the same op of the same step [us].
    excess
        What the rank worked longer than that since it last waited, all told [us]; 0 where it is
        not known.
    added
        What of it was added since the collective before [us].
    late
        How much later than the median of the collective's ranks it came [us].
    passed_on
        How much later than their median it could begin to work: it waited before [us]; nan where
        nothing was before.
    waited
        How long before the last of them it came [us].
    is_last
        Whether it was the last.
    is_queued
        Whether the launch before kept it: when the rank was ready is not known then.
    """

    start: Floats
    end: Floats
    own: Floats
    typical: Floats
    excess: Floats
    added: Floats
    late: Floats
    passed_on: Floats
    waited: Floats
    is_last: Bools
    is_queued: Bools


def lateness_of(table: ArrivalTable, clocks: Clocks) -> Lateness:
    """Compare what ranks work until their collectives.

    A rank's work is from when it last waited until it comes, a difference on one clock, so an
    offset does not matter. Where several collectives are launched with no wait in between, as those
    of a backward pass, the work until a later one has that until the earlier in it: only what is
    added counts.

    Notes
    -----
    O(n log n).
    """
    start = clocks.aligned(table.rank, table.start)
    end = median_by(table.collective, clocks.aligned(table.rank, table.end))
    own = (table.start - table.since) * (1 + clocks.drift[table.rank])
    known = np.flatnonzero(~np.isnan(own))
    typical = np.full(len(own), np.nan)
    typical[known] = median_of_others(table.slot[known], own[known])
    excess = np.where(np.isnan(own - typical), 0.0, own - typical)
    queued = _queued(table)
    are_queued = median_by(table.slot, queued.astype(np.float64)) == 1
    going = goes_on(table)
    before = np.r_[0.0, excess[:-1]]
    added = np.where(going & queued, 0.0, excess - np.where(going & ~are_queued, before, 0.0))
    last = highest_by(table.collective, start)
    began = clocks.aligned(table.rank, table.since)
    passed_on = np.full(len(own), np.nan)
    passed_on[known] = began[known] - median_by(table.collective[known], began[known])
    return Lateness(
        start,
        end,
        own,
        typical,
        excess,
        added,
        start - median_by(table.collective, start),
        passed_on,
        last - start,
        start == last,
        queued,
    )


def goes_on(table: ArrivalTable) -> Bools:
    """Tell of each row whether its rank has not waited since the row before. O(n)."""
    same = (table.rank[1:] == table.rank[:-1]) & (table.since[1:] == table.since[:-1])
    return np.asarray(np.r_[False, same], dtype=np.bool_)[: len(table.rank)]


def _queued(table: ArrivalTable) -> Bools:
    """Tell which rows start as the one before of their rank and channel ends."""
    names: dict[str, int] = {}
    of = [names.setdefault(one.channel, len(names)) for one in table.collectives]
    channel = np.array(of, dtype=np.int64)[table.collective]
    order = np.lexsort((table.start, channel, table.rank))
    key = table.rank[order] * (len(names) + 1) + channel[order]
    gap = table.start[order][1:] - table.end[order][:-1]
    is_near = (key[1:] == key[:-1]) & (np.abs(gap) < _QUEUED)
    result = np.zeros(len(order), dtype=np.bool_)
    result[order] = np.r_[False, is_near]
    return result


def op_numbers(table: ArrivalTable) -> tuple[tuple[str, ...], Ints]:
    """Return the ops of all steps, and which of them each row is of."""
    names: dict[str, int] = {}
    of_slot = [names.setdefault(op, len(names)) for _, op in table.slots]
    return tuple(names), np.array(of_slot, dtype=np.int64)[table.slot]
