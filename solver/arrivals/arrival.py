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
    rows = sorted(arrivals, key=lambda one: (one.rank, one.start, one.end, one.op))
    rank = np.array([one.rank for one in rows], dtype=np.int64)
    start = np.array([one.start for one in rows], dtype=np.float64)
    end = np.array([one.end for one in rows], dtype=np.float64)
    waited = _last_ends(rank, start, end).tolist()
    stated = [w if one.since is None else one.since for one, w in zip(rows, waited, strict=True)]
    since = np.array(stated, dtype=np.float64)
    members: dict[tuple[str, int], set[int]] = {}
    for one in rows:
        members.setdefault((one.group, one.number), set()).add(one.rank)
    kept = [i for i, one in enumerate(rows) if len(members[one.group, one.number]) > 1]
    slots: dict[tuple[int, str], int] = {}
    collectives: dict[tuple[str, int], int] = {}
    launched: list[Launched] = []
    columns = []
    for one in map(rows.__getitem__, kept):
        if (one.group, one.number) not in collectives:
            launched.append(Launched(one.step, one.op, one.channel, one.group, one.kind, one.bytes))
        which = collectives.setdefault((one.group, one.number), len(collectives))
        columns.append((slots.setdefault((one.step, one.op), len(slots)), which))
    ranks, positions = np.unique(rank[kept], return_inverse=True)
    slot, collective = np.array(columns, dtype=np.int64).reshape(-1, 2).T
    return ArrivalTable(
        tuple(ranks.tolist()),
        tuple(slots),
        tuple(launched),
        positions.astype(np.int64),
        slot,
        collective,
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
