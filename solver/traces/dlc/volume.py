"""What messages carry: lengths by key, and the bytes of an iteration by direction.

References
----------
.. [1] Xu et al., SketchDLC, ACM TACO 2018: Tables 5, 6 and 7. The two short columns of Table 5 are
       exchanged: 0.00015 MB is 8 confirmations of 19 bytes, 0.00022 MB is 8 requests of 28.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from solver.traces.dlc.grammar import PARAMETER, PUSH, SET_UP
from solver.traces.dlc.groups import groups_of
from solver.traces.dlc.phases import IterationPhases
from solver.traces.dlc.records import Column, Records
from solver.traces.dlc_report import MessageLengths, Volume


def volume_of(records: Records, phases: IterationPhases | None) -> Volume | None:
    """Sum the bytes of an iteration, the mean over whole ones; None where there is none.

    Parameters
    ----------
    records
        Of a worker or a server.
    phases
        Of a worker; None of a server, whose iterations are whole where it got and sent as much as
        in the most of them.
    """
    iteration = records.iteration
    if phases is None:
        whole = _fullest(records, iteration)
    else:
        whole = phases.number[(phases.first_push >= 0) & (phases.last_pull >= 0)]
    rows = np.isin(iteration, whole) & (records.stage < SET_UP)
    if not whole.size:
        return None
    # ints of Python: lengths that are each in range may not be in their sum
    bytes_ = [sum(records.length[rows & (records.stage == stage)].tolist()) for stage in range(4)]
    return Volume(records.name, whole.size, *(size / whole.size for size in bytes_))


def _fullest(records: Records, iteration: Column) -> Column:
    """Return the iterations of a server with the most pushes and parameters."""
    is_large = (records.stage == PUSH) | (records.stage == PARAMETER)
    number, counts = np.unique(iteration[is_large & (iteration >= 0)], return_counts=True)
    return number[counts == counts.max()] if number.size else number


def lengths_of(nodes: Iterable[Records]) -> list[MessageLengths]:
    """List the message lengths in training of each key on each server, by size, then key."""
    sizes: list[Column] = []
    for records in nodes:
        rows = (records.stage < SET_UP) & (records.iteration >= 0)
        server = records.peer
        if records.is_server:
            server = np.full_like(records.peer, records.rank - (records.workers or 0))
        parts = (records.key, server, records.stage, records.length)
        sizes.append(np.stack([part[rows] for part in parts]))
    key, server, stage, length = np.concatenate(sizes, axis=1)
    order, starts = groups_of((key, server, stage, length))
    counts = np.diff(starts, append=order.size).tolist()
    lengths: dict[tuple[int, int], list[dict[int, int]]] = {}
    for row, count in zip(order[starts].tolist(), counts, strict=True):
        stages = lengths.setdefault((int(key[row]), int(server[row])), [{}, {}, {}, {}])
        stages[stage[row]][int(length[row])] = count
    return sorted((_lengths(*tensor, stages) for tensor, stages in lengths.items()), key=_size)


def _lengths(key: int, server: int, stages: Sequence[dict[int, int]]) -> MessageLengths:
    """Describe a tensor by how often each stage has each length."""
    push, confirmation, request, parameter = map(_usual, stages)
    is_constant = all(len(stage) <= 1 for stage in stages)
    return MessageLengths(key, f"s{server}", push, confirmation, request, parameter, is_constant)


def _usual(lengths: dict[int, int]) -> int | None:
    return min(lengths, key=lambda length: (-lengths[length], length), default=None)


def _size(row: MessageLengths) -> tuple[int, int, str]:
    return row.push_send_bytes or row.pull_recv_bytes or 0, row.key, row.server
