"""The rows of a step: what each task computed, and the tensors between them with their bytes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from solver.traces.profiled import ProfiledOp
from solver.traces.spans import line_times
from solver.traces.step_ops import numbered
from solver.traces.tensorflow.events import Ran, Sent, StepRecording

_READS = {"Identity", "ReadVariableOp"}
_APPLIES = re.compile(r"(?:Resource)?(?:Sparse)?Apply(\w+)")
_UPDATE = re.compile(r"(?:.*/)?update_(.+)/(?:Resource)?(?:Sparse)?Apply\w+")
#: What frameworks call the scope of gradients.
_IS_GRADIENT = re.compile(r"(?:^|/)gradient(?:s|_tape)(?:_\d+)?/")
#: Which input of an optimizer's op is the gradient, where it is not the last tensor.
_GRADIENT = {"Momentum": 3, "KerasMomentum": 3, "Ftrl": 3, "FtrlV2": 3}


class Rows(NamedTuple):
    """The rows of a step.

    Attributes
    ----------
    ops
        What was computed by start, then transfers by the end of what made them.
    sized, unsized
        Transfers with bytes, and the tensors of those without: nothing but an order.
    supplied
        How many of the former have bytes that were given.
    """

    ops: tuple[ProfiledOp, ...]
    sized: int
    unsized: tuple[str, ...]
    supplied: int


def rows_of(recording: StepRecording, known: Mapping[str, int]) -> Rows:
    """Turn a step into rows.

    A transfer has the bytes that the trace has for its tensor; else those that are known by the
    name of the tensor, or of the variable that was read or that a gradient is applied to. An op
    waits for what its inputs name and what was sent to it; one that began while another of its task
    ran counts from its end.

    Notes
    -----
    O(ops + inputs), and a sort.
    """
    ids = op_ids(recording.ops)
    first: dict[tuple[str, str], int] = {}
    for i, op in enumerate(recording.ops):
        first.setdefault((op.task, op.name), i)
    waits: dict[int, list[str]] = {}
    transfers: list[tuple[float, ProfiledOp]] = []
    unsized: list[str] = []
    supplied = 0
    for sent in recording.sent:
        at = None if sent.maker is None else first.get((sent.origin, sent.maker))
        after = () if at is None else (ids[at],)
        size = recording.bytes.get((sent.origin, sent.tensor))
        if size is None:
            names = _names(sent, recording.ops, first)
            size = next((known[name] for name in names if name in known), None)
            supplied += size is not None
        if size is None:
            unsized.append(sent.tensor)
        if size:
            name = f"{sent.origin} to {sent.task} {sent.tensor}"
            end = 0.0 if at is None else recording.ops[at].end
            row = ProfiledOp(name, sent.task, None, size, sent.origin, after)
            transfers.append((end, row))
            after = (name,)
        for reader in sent.readers:
            place = first.get((sent.task, reader))
            if place is not None:
                waits.setdefault(place, []).extend(after)
    by_task: dict[str, list[Ran]] = {}
    for op in recording.ops:
        by_task.setdefault(op.task, []).append(op)
    times = {task: iter(line_times(some)) for task, some in by_task.items()}
    computed = [
        ProfiledOp(
            ids[i],
            op.task,
            round(next(times[op.task]), 3),
            None,
            None,
            tuple(dict.fromkeys([*inputs, *waits.get(i, ())])),
        )
        for i, (op, inputs) in enumerate(
            zip(recording.ops, inputs_of(recording.ops, ids), strict=True)
        )
    ]
    transfers.sort(key=lambda one: one[0])
    moved = [row for _, row in transfers]
    return Rows((*computed, *moved), len(moved), tuple(unsized), supplied)


def op_ids(ops: Sequence[Ran]) -> list[str]:
    """Return an id for each op: task and name, numbered where it ran more than once."""
    seen: dict[str, int] = {}
    return [numbered(f"{op.task} {op.name}", seen) for op in ops]


def inputs_of(ops: Sequence[Ran], ids: Sequence[str]) -> Iterator[list[str]]:
    """Yield the ids of the ops of the same task that each waits for: the last one of a name."""
    last: dict[tuple[str, str], str] = {}
    for op, own in zip(ops, ids, strict=True):
        places = ((op.task, name) for name in op.inputs)
        yield [last[place] for place in dict.fromkeys(places) if place in last]
        last[op.task, op.name] = own


def _names(sent: Sent, ops: Sequence[Ran], first: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """Yield the names under which the bytes of a tensor may be known."""
    yield sent.tensor
    at = first.get((sent.origin, sent.tensor))
    if at is not None and ops[at].type in _READS and ops[at].data:
        yield ops[at].inputs[0]
    for reader in sent.readers:
        place = first.get((sent.task, reader))
        applied = None if place is None else _APPLIES.fullmatch(ops[place].type)
        if place is not None and applied and ops[place].data:
            op = ops[place]
            gradient = _GRADIENT.get(applied[1], op.data - 1)
            if op.data > gradient > 0 and op.inputs[gradient].startswith(sent.tensor):
                yield op.inputs[0]
        elif (update := _UPDATE.fullmatch(reader)) and _IS_GRADIENT.search(sent.tensor):
            yield update[1]
