"""The iterations of a worker, and the three phases of each.

References
----------
.. [1] Xu et al., SketchDLC, ACM TACO 2018: sections 3.2.4 and 4.2, Figs. 5 and 6.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from solver.traces.dlc.grammar import PARAMETER, PUSH, SET_UP
from solver.traces.dlc.groups import groups_of
from solver.traces.dlc.records import Column, Records
from solver.traces.dlc_report import WorkerIteration

#: A time that is not known.
UNKNOWN = -1


class _Span(NamedTuple):
    """First and last time of the messages of a stage by iteration, and whether all are there."""

    first: Column
    last: Column
    is_whole: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class IterationPhases:
    """The phases of a worker's iterations, each of shape (iterations,), in microseconds.

    Attributes
    ----------
    number
        Of each iteration that pushes, ascending.
    start
        When the last parameter of the iteration before was got; :data:`UNKNOWN` where that is not
        recorded as a whole.
    first_push, last_push
        :data:`UNKNOWN` where a key's push is not recorded.
    first_pull, last_pull
        When the first and the last parameter was got; likewise.
    """

    number: Column
    start: Column
    first_push: Column
    last_push: Column
    first_pull: Column
    last_pull: Column

    @property
    def is_computed(self) -> npt.NDArray[np.bool_]:
        """Where start and pushes are known."""
        known: npt.NDArray[np.bool_] = np.minimum(self.start, self.first_push) != UNKNOWN
        return known

    @property
    def is_whole(self) -> npt.NDArray[np.bool_]:
        """Where all is known."""
        known: npt.NDArray[np.bool_] = self.is_computed & (self.last_pull != UNKNOWN)
        return known

    @property
    def length(self) -> Column:
        """From the last parameter of the iteration before to its own last one, where known."""
        return self.last_pull - self.start


def phases_of(records: Records) -> IterationPhases:
    """Find the iterations of a worker; O(rows log rows).

    An iteration is known as a whole when each key that is ever pushed in training is pushed, and
    each that is ever got then is got; the setting up when each of the latter is got. One in which
    time runs back is known in part.
    """
    iteration = records.iteration
    number = np.unique(iteration[(records.stage == PUSH) & (iteration >= 0)])
    pushed = _span(records, PUSH, number)
    pulled, before = (_span(records, PARAMETER, of) for of in (number, number - 1))
    is_before = before.is_whole & ~(pushed.is_whole & (before.last > pushed.first))
    is_after = pulled.is_whole & ~(pushed.is_whole & (pulled.last < pushed.first))
    return IterationPhases(
        number,
        np.where(is_before, before.last, UNKNOWN),
        np.where(pushed.is_whole, pushed.first, UNKNOWN),
        np.where(pushed.is_whole, pushed.last, UNKNOWN),
        np.where(is_after, pulled.first, UNKNOWN),
        np.where(is_after, pulled.last, UNKNOWN),
    )


def _span(records: Records, stage: int, number: Column) -> _Span:
    """Return when the messages of a stage begin and end in each of some iterations.

    They are whole where each key is there that ever is in training.
    """
    rows = records.stage == stage
    iteration, time = records.iteration[rows], records.time[rows]
    order, starts = groups_of((records.key[rows], records.peer[rows]))
    is_trained = np.zeros(order.size, dtype=np.int64)
    tensors = 0
    if order.size:
        trained = np.maximum.reduceat(iteration[order], starts) >= 0
        tensors = int(trained.sum())
        is_trained[order] = np.repeat(trained, np.diff(starts, append=order.size))
    place = np.searchsorted(number, iteration)
    is_one = np.isin(iteration, number)
    place = place[is_one]
    count = np.bincount(place, is_trained[is_one], number.size)
    first = np.full(number.size, np.iinfo(np.int64).max)
    last = np.full(number.size, UNKNOWN)
    np.minimum.at(first, place, time[is_one])
    np.maximum.at(last, place, time[is_one])
    return _Span(first, last, (count == tensors) & (tensors > 0))


def early_answers(records: Records) -> int:
    """Count confirmations before their push, and parameters before the request for them.

    A push and its confirmation are of one key and one peer, with numbers that follow each other; so
    are a request and its parameter. One that was not recorded is compared with nothing.

    Notes
    -----
    O(rows log rows).
    """
    rows = records.stage < SET_UP
    stage, time = records.stage[rows], records.time[rows]
    asked = records.number[rows] - stage % 2
    columns = records.key[rows], records.peer[rows], asked, stage % 2
    order, _ = groups_of(columns)
    key, peer, asked, is_answer = (column[order] for column in columns)
    pair = (is_answer[1:] == 1) & (is_answer[:-1] == 0)
    for column in (key, peer, asked):
        pair &= column[1:] == column[:-1]
    late = time[order]
    return int((pair & (late[1:] < late[:-1])).sum())


def iterations_of(records: Records, phases: IterationPhases) -> list[WorkerIteration]:
    """Write the iterations of a worker; times count from its first message."""
    origin = int(records.time[records.stage < SET_UP].min())
    columns = (
        phases.number,
        phases.start,
        phases.first_push,
        phases.last_push,
        phases.first_pull,
        phases.last_pull,
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [_iteration(records.name, origin, *row) for row in rows]


def _iteration(
    node: str,
    origin: int,
    number: int,
    start: int,
    first_push: int,
    last_push: int,
    first_pull: int,
    last_pull: int,
) -> WorkerIteration:
    def between(begin: int, end: int) -> int | None:
        return None if UNKNOWN in (begin, end) else end - begin

    one, two = between(start, first_push), between(first_push, last_push)
    three = between(first_push, last_pull)
    whole = None if one is None or three is None else one + three
    return WorkerIteration(
        node,
        number,
        between(origin, start),
        one,
        two,
        three,
        between(start, last_push),
        between(first_pull, last_pull),
        two / whole if whole and two is not None else None,
    )
