"""A simulated run as DLC traces, a file a node: what a network simulator replays.

This stands here, and not beside the exporters of plans, since it writes a run and no plan; what a
file looks like is said once, beside the reader, in :mod:`solver.traces.dlc.text`.

References
----------
.. [1] Xu et al., SketchDLC, ACM TACO 2018: sections 3.2 and 4.1.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from solver.parameter_server.record import ServicePeriod, StepsRun
from solver.parameter_server.steps import DOWNLINK, SERVER, UPLINK, ServerStep, servers_of
from solver.traces.dlc.grammar import CONFIRMATION, PARAMETER, PUSH, REQUEST
from solver.traces.dlc.records import Records
from solver.traces.dlc.text import text_of

#: Lengths of what is not simulated, as Table 6 has them [bytes].
CONFIRMATION_BYTES, REQUEST_BYTES = 19, 28

#: So much of a transfer's bytes may be lost to rounding.
_WHOLE = 1 - 1e-9

_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")

_Tensor = tuple[str | None, str]


class _EndedOp(NamedTuple):
    """An op of a worker's step that has ended: when it was ready, and when it ended [us]."""

    ready: float
    end: float


class _Message(NamedTuple):
    """A row: worker, then as the columns of a file; times on the worker and on the server."""

    worker: int
    server: int
    iteration: int
    stage: int
    key: int
    length: int
    pair: int
    time: float
    time_on_server: float


def write_dlc(steps: Sequence[ServerStep], run: StepsRun) -> dict[str, str]:
    """Write the recorded steps of a run: ``w0.txt``, ..., ``s0.txt``, ... with their texts.

    An iteration is the pushes of a step and the parameters that the worker's next step gets, so the
    last recorded step has none; the first one's parameters are those got after initialization.
    A push is sent when what it comes after has ended, and confirmed when the server's ops that
    follow it have; in a synchronous run when that is so of the pushes of all workers, for such a
    server updates when it has all. A parameter is asked for when the worker may have it, and sent
    at once, or after the server's ops that it comes after. Requests and confirmations take no time,
    as in the simulation, and have the lengths of Table 6; there are no set-up messages. Times are
    rounded to whole microseconds and count from the begin of the run.

    Parameters
    ----------
    steps
        The profiled ones of the run. The keys are the numbers in their ids, ``push:7`` and
        ``pull:7``, or else count from 0 in the order of the transfers; a push and a pull are of one
        key when their ids are alike without these words, or else by their bytes, in order.
    run
        With services, as ``recorded`` asks for.

    Notes
    -----
    O(services log services).
    """
    servers = servers_of(steps)
    keys = _keys(steps)
    messages = list(_messages(steps, run, servers, keys))
    nodes = [_node(messages, run.workers, len(servers), w) for w in range(run.workers)]
    nodes += [
        _node(messages, run.workers, len(servers), run.workers + s) for s in range(len(servers))
    ]
    return {f"{node.name}.txt": text_of(node) for node in nodes}


def _messages(
    steps: Sequence[ServerStep],
    run: StepsRun,
    servers: Sequence[str | None],
    keys: Mapping[tuple[str, _Tensor], int],
) -> Iterator[_Message]:
    """Yield the messages of all recorded steps."""
    recorded: dict[tuple[int, int], list[ServicePeriod]] = {}
    for service in run.services:
        recorded.setdefault((service.worker, service.step), []).append(service)
    first = min((service.step for service in run.services), default=0)
    updated = _updated(steps, recorded, run, keys)
    count = len(set(keys.values()))
    places = {key: place for place, key in enumerate(sorted(set(keys.values())))}
    for (worker, number), done in sorted(recorded.items()):
        step = steps[done[0].profile]
        ops = _ops(step, done)
        for position, op in enumerate(step.ops):
            if not op.is_transfer or position not in ops:
                continue
            key = keys[op.kind, _tensor(op.id, op.server)]
            iteration = number - first - (op.kind == DOWNLINK)
            pair = count + 1 + 2 * (iteration * count + places[key]) + (op.kind == DOWNLINK)
            if iteration < 0:
                pair = 1 + places[key]
            about = worker, servers.index(op.server), iteration
            ready, end = ops[position]
            if op.kind == UPLINK:
                yield _Message(*about, PUSH, key, op.bytes or 0, pair, ready, end)
                confirmed = updated.get((worker, number, position))
                if confirmed is not None:
                    what = (CONFIRMATION, key, CONFIRMATION_BYTES, pair)
                    yield _Message(*about, *what, confirmed, confirmed)
            else:
                before = [j for j in step.preds[position] if step.ops[j].kind == SERVER]
                requested = min([ready, *(ops[j].ready for j in before)])
                yield _Message(*about, REQUEST, key, REQUEST_BYTES, pair, requested, requested)
                yield _Message(*about, PARAMETER, key, op.bytes or 0, pair, end, ready)


def _updated(
    steps: Sequence[ServerStep],
    recorded: Mapping[tuple[int, int], Sequence[ServicePeriod]],
    run: StepsRun,
    keys: Mapping[tuple[str, _Tensor], int],
) -> dict[tuple[int, int, int], float]:
    """Return when pushes are confirmed, by worker, step and position; not of those that are not.

    In a synchronous run a server confirms a key when it has updated for all workers that push it.
    One of which nothing is recorded may be about to.
    """
    own: dict[tuple[int, int, int], float] = {}
    together: dict[tuple[int, int, str | None], list[tuple[int, int, int]]] = {}
    begun: dict[int, int] = {}
    for (worker, number), done in recorded.items():
        step = steps[done[0].profile]
        ops = _ops(step, done)
        begun[number] = begun.get(number, 0) + 1
        for position, op in enumerate(step.ops):
            if op.kind != UPLINK:
                continue
            place = worker, number, position
            key = keys[op.kind, _tensor(op.id, op.server)]
            together.setdefault((number, key, op.server), []).append(place)
            after = [j for j in step.succs[position] if step.ops[j].kind == SERVER]
            if all(j in ops for j in (position, *after)):
                own[place] = max(ops[j].end for j in (position, *after))
    if not run.is_synchronous:
        return own
    updated: dict[tuple[int, int, int], float] = {}
    for (number, _, _), places in together.items():
        if begun[number] == run.workers and all(place in own for place in places):
            updated |= dict.fromkeys(places, max(own[place] for place in places))
    return updated


def _ops(step: ServerStep, done: Sequence[ServicePeriod]) -> dict[int, _EndedOp]:
    """Return the ops of a step that have ended, by position.

    Some source of a step is served when the step begins, so its first service tells when.
    """
    begin = min(service.start for service in done)
    ends: dict[int, float] = {}
    sent: dict[int, int] = {}
    for service in done:
        ends[service.op] = max(service.end, ends.get(service.op, 0.0))
        sent[service.op] = sent.get(service.op, 0) + (service.bytes or 0)
    ops = {}
    for position, end in ends.items():
        if sent[position] >= _WHOLE * (step.ops[position].bytes or 0):
            ready = max((ends[j] for j in step.preds[position]), default=begin)
            ops[position] = _EndedOp(ready, end)
    return ops


def _node(messages: Sequence[_Message], workers: int, servers: int, rank: int) -> Records:
    """Take what a node has to do with, in the order of time."""
    is_server = rank >= workers
    own = [m for m in messages if (workers + m.server if is_server else m.worker) == rank]
    rows = []
    for m in own:
        base = 4 if not is_server and not m.worker else 2
        rows.append(
            (
                round(m.time_on_server if is_server else m.time),
                m.iteration,
                m.stage,
                m.key,
                m.worker if is_server else m.server,
                4 * m.iteration + base + m.stage,
                m.length,
                m.pair,
            )
        )
    rows.sort()
    table = np.asarray(rows, dtype=np.int64).reshape(-1, 8)
    time, _, stage, key, peer, number, length, pair = table.T
    return Records(is_server, rank, workers, servers, stage, key, number, peer, length, pair, time)


def _tensor(name: str, server: str | None) -> _Tensor:
    """Name what a transfer carries: its op's id without ``push:`` or ``pull:`` and server."""
    head, _, tail = name.partition(":")
    called = tail if head in {"push", "pull"} else name
    return server, called.removesuffix(f"@{server}")


def _keys(steps: Sequence[ServerStep]) -> dict[tuple[str, _Tensor], int]:
    """Give each tensor its key: by kind of link, and server and name."""
    sizes: dict[str, dict[_Tensor, int]] = {DOWNLINK: {}, UPLINK: {}}
    for step in steps:
        for op in step.ops:
            if op.is_transfer:
                sizes[op.kind].setdefault(_tensor(op.id, op.server), op.bytes or 0)
    pulls, pushes = sizes[DOWNLINK], sizes[UPLINK]
    free = {tensor: size for tensor, size in pulls.items() if tensor not in pushes}
    called = {tensor: tensor[1] for tensor in pulls}
    of_pushes = {}
    for tensor, size in pushes.items():
        same = [t for t, free_size in free.items() if (t[0], free_size) == (tensor[0], size)]
        like = tensor if tensor in pulls or not same else same[0]
        of_pushes[tensor] = like[1]
        free.pop(like, None)
    names = _numbers([*called.values(), *of_pushes.values()])
    return {(DOWNLINK, t): names[name] for t, name in called.items()} | {
        (UPLINK, t): names[name] for t, name in of_pushes.items()
    }


def _numbers(names: Iterable[str]) -> dict[str, int]:
    """Take names that are numbers as these; else count them in their order."""
    different = list(dict.fromkeys(names))
    if all(_NUMBER.fullmatch(name) for name in different):
        return {name: int(name) for name in different}
    return {name: i for i, name in enumerate(different)}
