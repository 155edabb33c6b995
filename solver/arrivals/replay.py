"""The recorded steps run again, with what a cause took left out."""

import numpy as np

from solver.arrivals.arrival import ArrivalTable, Floats
from solver.arrivals.causes import Removal
from solver.arrivals.lateness import Lateness, goes_on, op_numbers
from solver.arrivals.links import Transfers


def mean_step(table: ArrivalTable, end: Floats) -> float | None:
    """Return how long a step takes: the mean time from an op to the same of the next step [us].

    None where no op has a next step. A first or last step of which a part is missing, and steps
    that are missing in between, do no harm.

    Parameters
    ----------
    table
        The arrivals.
    end
        When the collective of each row ends [us].

    Notes
    -----
    O(n log n).
    """
    step = np.array([step for step, _ in table.slots], dtype=np.int64)[table.slot]
    _, op = op_numbers(table)
    order = np.lexsort((end, step, op, table.rank))
    one, other = order[:-1], order[1:]
    same = (op[one] == op[other]) & (table.rank[one] == table.rank[other])
    pairs = same & (step[other] - step[one] == 1)
    times = (end[other] - end[one])[pairs]
    return float(times.mean()) if len(times) else None


def step_without(
    table: ArrivalTable, late: Lateness, transfers: Transfers, removal: Removal
) -> float | None:
    """Return what a step takes without a cause, on average [us]; None of less than two steps.

    A rank comes to a collective when its work since its last wait is done, and its channel free; a
    collective ends as long after the last of its ranks came as it did. A launch that the one before
    it kept is taken to be ready by then.

    Notes
    -----
    O(n log n) for n arrivals.
    """
    size = len(table.collectives)
    moved = np.zeros(size)  # how much earlier each collective ends
    end = np.zeros(size)
    end[table.collective] = late.end
    taken = _taken(table, np.where(removal.rows, late.added, 0.0)).tolist()
    slow = np.isin(transfers.launch, np.array(sorted(removal.launches), dtype=np.int64))
    less = np.where(slow & ~np.isnan(transfers.typical), transfers.time - transfers.typical, 0.0)
    waited_for, kept_by = _before(table)
    rows: list[list[int]] = [[] for _ in range(size)]
    for row, i in enumerate(table.collective.tolist()):
        rows[i].append(row)
    start, queued = late.start.tolist(), late.is_queued.tolist()
    for i in np.argsort(end, kind="stable").tolist():
        came = []
        for row in rows[i]:
            wait, kept = waited_for[row], kept_by[row]
            by = (moved[wait] if wait >= 0 else 0.0) + taken[row]
            if kept >= 0 and queued[row]:
                by = moved[kept]
            elif kept >= 0:
                by = min(by, start[row] - end[kept] + moved[kept])
            came.append(start[row] - by)
        last = max(start[row] for row in rows[i])
        moved[i] = last - max(came) + less[i]
    return mean_step(table, (end - moved)[table.collective])


def _taken(table: ArrivalTable, added: Floats) -> Floats:
    """Sum up what is taken from each row and those before it since its rank last waited [us]."""
    whole = np.cumsum(added)
    begins = np.maximum.accumulate(np.where(goes_on(table), 0, np.arange(len(added))))
    return np.maximum(whole - whole[begins] + added[begins], 0.0)


def _before(table: ArrivalTable) -> tuple[list[int], list[int]]:
    """Return of each row the collective that it waited for, and the one before on its channel."""
    waited = np.full(len(table.rank), -1, dtype=np.int64)
    for r in range(len(table.ranks)):
        own = table.rows(r)
        order = own.start + np.argsort(table.end[own], kind="stable")
        since = np.where(np.isnan(table.since[own]), -np.inf, table.since[own])
        place = np.searchsorted(table.end[order], since + 1e-6, side="right") - 1
        waited[own] = np.where(place >= 0, table.collective[order[np.maximum(place, 0)]], -1)
    names: dict[str, int] = {}
    of = [names.setdefault(one.channel, len(names)) for one in table.collectives]
    last: dict[tuple[int, int], int] = {}
    kept = []
    for rank, i in zip(table.rank.tolist(), table.collective.tolist(), strict=True):
        kept.append(last.get((rank, of[i]), -1))
        last[rank, of[i]] = i
    return waited.tolist(), kept
