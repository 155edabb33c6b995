"""When ranks came to their collectives, and when these ended, each on its own rank's clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Clocks of the CPU and of a GPU, as ends and starts have them, agree so far [us].
_SLACK = 1.0


class Arrival(NamedTuple):
    """One rank's part in one collective; times are on its own clock [us].

    Attributes
    ----------
    rank
        Who.
    step, op
        Where in its run: no rank has one op twice in a step, and ranks that do the same work have
        the same ops.
    channel
        What the collective takes: groups of one channel do the same, as those of ``tp``.
    group, number
        Which collective: the process group, and a number of its own among those of the group.
    kind, bytes
        As in a graph; bytes are None where nobody knows.
    start, end
        When the rank came, and when the collective was over.
    since
        Since when the rank has worked without waiting for a collective; nan where that is not
        known, None for the last end of its collectives before the start.
    """

    rank: int
    step: int
    op: str
    channel: str
    group: str
    number: int
    kind: str
    bytes: int | None
    start: float
    end: float
    since: float | None = None


class Launched(NamedTuple):
    """A collective of several ranks.

    Attributes
    ----------
    step, op
        As the first of its ranks has it.
    channel, group, kind, bytes
        As in an :class:`Arrival`.
    """

    step: int
    op: str
    channel: str
    group: str
    kind: str
    bytes: int | None


@dataclass(frozen=True, slots=True, eq=False)
class ArrivalTable:
    """Arrivals by column; of each row the positions in ``ranks``, ``slots`` and ``collectives``.

    Attributes
    ----------
    ranks
        In ascending order.
    slots
        Step and op.
    collectives
        Those of two ranks or more.
    rank, slot, collective
        Of each row, by rank and start.
    start, end, since
        Of each row, on its rank's clock [us]; ``since`` is nan where nothing was before.
    """

    ranks: tuple[int, ...]
    slots: tuple[tuple[int, str], ...]
    collectives: tuple[Launched, ...]
    rank: Ints
    slot: Ints
    collective: Ints
    start: Floats
    end: Floats
    since: Floats

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return len({step for step, _ in self.slots})

    def rows(self, position: int) -> slice:
        """Return where the rows of a rank are, by its position. O(log n)."""
        low, high = np.searchsorted(self.rank, [position, position + 1]).tolist()
        return slice(low, high)


def table_of(arrivals: Sequence[Arrival]) -> ArrivalTable:
    """Put arrivals in columns; collectives that one rank alone recorded are left out.

    What a rank waited for before counts all the same: it may have been such a one.

    Notes
    -----
    O(n log n) for n arrivals.
    """
    alphabetic = {op: i for i, op in enumerate(sorted({one.op for one in arrivals}))}
    ops = np.fromiter((alphabetic[one.op] for one in arrivals), np.int64, len(arrivals))
    rank = np.fromiter((one.rank for one in arrivals), np.int64, len(arrivals))
    start = np.fromiter((one.start for one in arrivals), np.float64, len(arrivals))
    end = np.fromiter((one.end for one in arrivals), np.float64, len(arrivals))
    order = np.lexsort((ops, end, start, rank))
    rank, start, end = rank[order], start[order], end[order]
    rows = [arrivals[i] for i in map(int, order)]
    stated = (np.inf if one.since is None else one.since for one in rows)
    since = np.fromiter(stated, np.float64, len(rows))
    since = np.where(np.isposinf(since), _last_ends(rank, start, end), since)
    names: dict[tuple[str, int], int] = {}
    numbers = (names.setdefault((one.group, one.number), len(names)) for one in rows)
    which = np.fromiter(numbers, np.int64, len(rows))
    ranks, position = np.unique(rank, return_inverse=True)
    parts = np.unique(which * max(len(ranks), 1) + position)
    shared = np.bincount(parts // max(len(ranks), 1), minlength=len(names)) > 1
    kept = np.flatnonzero(shared[which])
    slots: dict[tuple[int, str], int] = {}
    places = (slots.setdefault((rows[i].step, rows[i].op), len(slots)) for i in map(int, kept))
    slot = np.fromiter(places, np.int64, len(kept))
    _, firsts, collective = np.unique(which[kept], return_index=True, return_inverse=True)
    ranks, position = np.unique(rank[kept], return_inverse=True)
    return ArrivalTable(
        tuple(ranks.tolist()),
        tuple(slots),
        tuple(
            Launched(one.step, one.op, one.channel, one.group, one.kind, one.bytes)
            for one in map(rows.__getitem__, kept[firsts].tolist())
        ),
        position.astype(np.int64),
        slot,
        collective.astype(np.int64),
        start[kept],
        end[kept],
        since[kept],
    )


def _last_ends(rank: Ints, start: Floats, end: Floats) -> Floats:
    """Return of each row the last end on its rank before its start [us]; nan where there is none.

    Rows are by rank.
    """
    found = np.full(len(rank), np.nan)
    for one in np.unique(rank):
        low, high = np.searchsorted(rank, [one, one + 1])
        ends = np.sort(end[low:high])
        place = np.searchsorted(ends, start[low:high] + _SLACK, side="right") - 1
        found[low:high] = np.where(place >= 0, ends[place], np.nan)
    return found
