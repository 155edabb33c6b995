"""Profiled steps out of DLC traces: what a worker got, computed and pushed in each iteration.

References
----------
.. [1] Xu et al., SketchDLC, ACM TACO 2018: section 3.2.4, Fig. 5.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.parameter_server.steps import (
    DOWNLINK,
    SERVER,
    UPLINK,
    WORKER,
    ServerStep,
    StepOp,
    build_step,
)
from solver.traces.dlc.grammar import CONFIRMATION, PARAMETER, PUSH, REQUEST
from solver.traces.dlc.overheads import updates_of
from solver.traces.dlc.phases import phases_of
from solver.traces.dlc.records import Records

#: Iteration, key and server, or iteration, key and worker.
_Message = tuple[int, int, int]


class _Row(NamedTuple):
    time: int
    key: int
    peer: int
    bytes: int


class _Whole(NamedTuple):
    """An iteration that a worker recorded as a whole: its number, and its begin [us]."""

    worker: Records
    number: int
    start: int


def steps_of(
    nodes: Sequence[Records],
    step: int | None = None,
    rank: int | None = None,
    most: int | None = None,
) -> tuple[ServerStep, ...]:
    """Make a step of each iteration that a worker recorded as a whole, by worker and number.

    A step gets the parameters that the iteration before got, in the order of their requests; then
    it computes up to each push, one after the other, and pushes. Where the files of servers are
    there, a push is followed by the server's update: from the last worker's push to the first
    confirmation, or from the worker's own push where the server does not wait for all.

    Parameters
    ----------
    nodes
        Of one training, as :func:`solver.traces.dlc.nodes_of` reads them.
    step
        Which iteration, counted from 0 over those of all workers; None for all.
    rank
        The worker's position among the nodes; None for all workers.
    most
        So many steps are made at most, evenly spaced over all; None for no limit.

    Raises
    ------
    InvalidTrace
        When no iteration was recorded as a whole.
    InvalidSteps
        When there are too many servers, or a message has no bytes.

    Notes
    -----
    O(rows log rows).
    """
    whole = whole_iterations(nodes, step, rank)
    if most is not None and len(whole) > most:
        whole = [whole[i * len(whole) // most] for i in range(most)]
    steps = [
        made
        for i, node in enumerate(nodes)
        if not node.is_server and rank in {None, i}
        for made in _steps(node, nodes, [one for one in whole if one.worker is node])
    ]
    if not steps:
        detail = "No worker's iteration was recorded as a whole."
        raise InvalidTrace([Fault("", FaultCode.TRUNCATED, detail)])
    return tuple(steps)


def whole_iterations(
    nodes: Sequence[Records], step: int | None = None, rank: int | None = None
) -> list[_Whole]:
    """Return the iterations that workers recorded as a whole, as :func:`steps_of` takes them."""
    phases = {i: phases_of(node) for i, node in enumerate(nodes) if not node.is_server}
    numbers = sorted({number for each in phases.values() for number in each.number.tolist()})
    return [
        _Whole(nodes[i], number, start)
        for i, each in phases.items()
        if rank in {None, i}
        for number, start, is_whole in zip(
            each.number.tolist(), each.start.tolist(), each.is_whole.tolist(), strict=True
        )
        if is_whole and (step is None or number == numbers[step])
    ]


def _steps(
    worker: Records, nodes: Sequence[Records], iterations: Sequence[_Whole]
) -> Iterator[ServerStep]:
    """Make a step of each of a worker's iterations."""
    if not iterations:
        return
    numbers = np.asarray([one.number for one in iterations])
    pushes = _by_iteration(worker, PUSH, numbers)
    pulls, requests = (_by_iteration(worker, stage, numbers - 1) for stage in (PARAMETER, REQUEST))
    updates = _updates(worker, nodes, numbers)
    # of all workers: a server's name stands in all steps or in none
    servers = {
        peer
        for node in nodes
        if not node.is_server
        for peer in node.peer[node.stage == PUSH].tolist()
    }
    pushed = worker.stage == PUSH
    tensors = {*zip(worker.key[pushed].tolist(), worker.peer[pushed].tolist(), strict=True)}
    keys = [key for key, _ in sorted(tensors)]
    several = {key for key in keys if keys.count(key) > 1} if len(keys) > len(set(keys)) else set()

    def name(row: _Row) -> str:
        return f"{row.key}@s{row.peer}" if row.key in several else f"{row.key}"

    def at(kind: str, row: _Row) -> str:
        return f"{kind}:s{row.peer}" if len(servers) > 1 else kind

    for _, number, start in iterations:
        order = {(r.key, r.peer): i for i, r in enumerate(requests.get(number - 1, ()))}
        got = sorted(pulls[number - 1], key=lambda r: order.get((r.key, r.peer), len(order)))
        ops = [StepOp(f"pull:{name(r)}", at(DOWNLINK, r), None, r.bytes) for r in got]
        before, now = tuple(op.id for op in ops), start
        for row in pushes[number]:
            compute, push = f"compute:{name(row)}", f"push:{name(row)}"
            ops.append(StepOp(compute, WORKER, float(row.time - now), None, before))
            ops.append(StepOp(push, at(UPLINK, row), None, row.bytes, (compute,)))
            update = updates.get((number, row.key, row.peer))
            if update is not None:
                ops.append(
                    StepOp(f"update:{name(row)}", at(SERVER, row), float(update), None, (push,))
                )
            before, now = (compute,), row.time
        yield build_step(ops)


def _by_iteration(
    records: Records, stage: int, numbers: NDArray[np.int64]
) -> dict[int, list[_Row]]:
    """Return the messages of a stage by iteration, of these, in the order of their times."""
    rows = np.flatnonzero((records.stage == stage) & np.isin(records.iteration, numbers))
    rows = rows[np.lexsort((records.peer[rows], records.key[rows], records.time[rows]))]
    columns = (records.iteration, records.time, records.key, records.peer, records.length)
    messages: dict[int, list[_Row]] = {}
    for number, *row in zip(*(column[rows].tolist() for column in columns), strict=True):
        messages.setdefault(number, []).append(_Row(*row))
    return messages


def _updates(
    worker: Records, nodes: Sequence[Records], numbers: NDArray[np.int64]
) -> dict[_Message, int]:
    """Return how long the update of each key and server took in these iterations [us], if known."""
    took: dict[_Message, int] = {}
    for server in nodes:
        if not server.is_server:
            continue
        place = server.rank - (server.workers or 0)
        pushed, confirmed = (
            _times(server, stage, worker.rank, numbers) for stage in (PUSH, CONFIRMATION)
        )
        together = updates_of(server)
        ours = np.isin(together.iteration, numbers)
        columns = (together.iteration, together.key, together.update)
        rows = zip(*(column[ours].tolist() for column in columns), strict=True)
        waits = {(number, key): update for number, key, update in rows if update >= 0}
        for (number, key), end in confirmed.items():
            own = end - pushed[number, key] if (number, key) in pushed else -1
            update = waits.get((number, key), own)
            if update >= 0:
                took[number, key, place] = update
    return took


def _times(
    records: Records, stage: int, peer: int, iterations: NDArray[np.int64]
) -> dict[tuple[int, int], int]:
    ours = np.isin(records.iteration, iterations)
    rows = (records.stage == stage) & (records.peer == peer) & ours
    columns = (records.iteration, records.key, records.time)
    numbers, keys, times = (column[rows].tolist() for column in columns)
    return dict(zip(zip(numbers, keys, strict=True), times, strict=True))
