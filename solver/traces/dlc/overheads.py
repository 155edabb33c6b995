"""The overheads of training, as far as the files of workers and of servers tell them.

References
----------
.. [1] Xu et al., SketchDLC, ACM TACO 2018: section 4.2, Figs. 6 and 7.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from solver.traces.dlc.distributions import by_value, spread_of
from solver.traces.dlc.grammar import CONFIRMATION, PARAMETER, PUSH, REQUEST
from solver.traces.dlc.groups import groups_of
from solver.traces.dlc.phases import UNKNOWN, IterationPhases
from solver.traces.dlc.records import Column, Records
from solver.traces.dlc_report import Overhead, Overheads

NO_WORKER = "No worker's file was given."
NO_SERVER = "No server's file was given."
NOT_WHOLE = "No iteration was recorded as a whole."
NOT_ANSWERED = "No message of that kind was recorded with its answer."
_LATE = np.iinfo(np.int64).max

ASYNCHRONOUS = "The servers update asynchronously: no push waits for another worker's."


class Values(NamedTuple):
    """Values of an overhead at one node.

    Attributes
    ----------
    node
        The node.
    overall
        Each value [us].
    time, key
        The values that count for a key [us], and that key.
    left_out
        Values that are none, as their times run back.
    """

    node: str
    overall: Column
    time: Column
    key: Column
    left_out: int = 0


class Updates(NamedTuple):
    """How a server took the pushes of a key in an iteration, each of shape (updates,).

    Attributes
    ----------
    key, iteration
        Of the update.
    synchronization
        From the first to the last worker's push [us].
    update
        From the last push to the first confirmation [us]; negative where updates do not wait for
        all workers.
    """

    key: Column
    iteration: Column
    synchronization: Column
    update: Column


def overheads_of(
    workers: Sequence[tuple[Records, IterationPhases]], servers: Sequence[Records]
) -> tuple[Overheads, bool | None]:
    """Measure the overheads, and tell whether updates are synchronous (None if no file says).

    A lone worker's updates are the same either way, and so is one that is confirmed when the last
    push comes.
    """
    updates = [updates_of(server) for server in servers]
    of_several_workers = [u for s, u in zip(servers, updates, strict=True) if _workers_of(s) > 1]
    negative = sum(int((u.update < 0).sum()) for u in of_several_workers)
    count = sum(int((u.update != 0).sum()) for u in of_several_workers)
    is_synchronous = 2 * negative <= count if count else None
    computed = [computation(*worker) for worker in workers]
    waited = [waiting(*worker) for worker in workers]
    searched = [answer_times(server, REQUEST, PARAMETER) for server in servers]
    synchronized = [Values(s.name, *_thrice(u)) for s, u in zip(servers, updates, strict=True)]
    updated = [_updated(s, u) for s, u in zip(servers, updates, strict=True)]
    if is_synchronous is False:
        updated = [answer_times(server, PUSH, CONFIRMATION) for server in servers]
    no_worker = None if workers else NO_WORKER
    no_server = None if servers else NO_SERVER
    measured = Overheads(
        computation=_overhead(computed, no_worker or NOT_WHOLE),
        search=_overhead(searched, no_server or NOT_ANSWERED),
        synchronization=(
            Overhead(None, ASYNCHRONOUS)
            if is_synchronous is False
            else _overhead(synchronized, no_server or NOT_ANSWERED)
        ),
        update=_overhead(updated, no_server or NOT_ANSWERED),
        wait=_overhead(waited, no_worker or NOT_WHOLE),
    )
    return measured, is_synchronous


def computation(records: Records, phases: IterationPhases) -> Values:
    """From the last parameter got to the last push, and to each key's push (T0 in Fig. 6)."""
    is_known = phases.is_computed
    total = (phases.last_push - phases.start)[is_known]
    begins = phases.start[is_known]
    return Values(records.name, total, *_since(records, PUSH, phases.number[is_known], begins))


def waiting(records: Records, phases: IterationPhases) -> Values:
    """From the first parameter got to the last, and to each key's."""
    is_known = phases.last_pull != UNKNOWN
    begins = phases.first_pull[is_known]
    total = phases.last_pull[is_known] - begins
    return Values(records.name, total, *_since(records, PARAMETER, phases.number[is_known], begins))


def _since(records: Records, stage: int, number: Column, begins: Column) -> tuple[Column, Column]:
    """Return how long after the begin of its iteration each message of a stage is, and its key."""
    iteration = records.iteration
    rows = (records.stage == stage) & np.isin(iteration, number)
    place = np.searchsorted(number, iteration[rows])
    return records.time[rows] - begins[place], records.key[rows]


def answer_times(records: Records, question: int, answer: int) -> Values:
    """Return the time from each message of one stage to its answer in training (T1 in Fig. 6).

    An answer that is stamped before its message is left out.
    """
    iteration = records.iteration
    rows = ((records.stage == question) | (records.stage == answer)) & (iteration >= 0)
    stage, time = records.stage[rows], records.time[rows]
    of_pair = (records.key[rows], iteration[rows], records.peer[rows])
    order, _ = groups_of((*of_pair, stage))
    is_pair = np.ones(max(order.size - 1, 0), dtype=bool)  # no operation is there twice
    for column in of_pair:
        is_pair &= column[order][1:] == column[order][:-1]
    took = np.diff(time[order])[is_pair]
    key = records.key[rows][order][1:][is_pair]
    is_one = took >= 0
    return Values(records.name, took[is_one], took[is_one], key[is_one], int((~is_one).sum()))


def updates_of(records: Records) -> Updates:
    """Find the updates of a server that all workers pushed for and that it confirmed (Fig. 7)."""
    iteration = records.iteration
    rows = (records.stage <= CONFIRMATION) & (iteration >= 0)
    stage, key, number = records.stage[rows], records.key[rows], iteration[rows]
    order, starts = groups_of((key, number))
    if not starts.size:
        return Updates(*4 * (starts,))
    is_push, time = stage[order] == PUSH, records.time[rows][order]
    first = np.minimum.reduceat(np.where(is_push, time, _LATE), starts)
    last = np.maximum.reduceat(np.where(is_push, time, -1), starts)
    sent = np.minimum.reduceat(np.where(is_push, _LATE, time), starts)
    workers = _workers_of(records)
    is_whole = (np.add.reduceat(is_push.astype(np.int64), starts) == workers) & (sent < _LATE)
    columns = (key[order][starts], number[order][starts], last - first, sent - last)
    return Updates(*(column[is_whole] for column in columns))


def _workers_of(server: Records) -> int:
    """Return how many workers push to a server, by its header or else its rows."""
    return server.workers or np.unique(server.peer[server.stage == PUSH]).size


def _thrice(updates: Updates) -> tuple[Column, Column, Column]:
    return updates.synchronization, updates.synchronization, updates.key


def _updated(server: Records, updates: Updates) -> Values:
    is_one = updates.update >= 0
    took = updates.update[is_one]
    return Values(server.name, took, took, updates.key[is_one], int((~is_one).sum()))


def _overhead(nodes: Iterable[Values], reason: str) -> Overhead:
    """Put the values of all nodes together."""
    nodes = list(nodes)
    left_out = sum(values.left_out for values in nodes)
    nodes = [values for values in nodes if values.overall.size]
    if not nodes:
        return Overhead(None, reason, left_out=left_out)
    whole: npt.NDArray[np.int64] = np.concatenate([values.overall for values in nodes])
    time = np.concatenate([values.time for values in nodes])
    key = np.concatenate([values.key for values in nodes])
    return Overhead(
        spread_of(whole),
        None,
        tuple(spread_of(part, key=number) for number, part in by_value(time, key)),
        tuple(spread_of(values.overall, node=values.node) for values in nodes),
        left_out,
    )
