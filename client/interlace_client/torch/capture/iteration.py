"""The graph of an iteration, from what all ranks saw.

One stream, in the order of the program: the backward pass, a gradient after each of its ops; what
lies between the passes; the forward pass, before each of its ops the updates of the parameters that
it is the first to use. The optimizer's step is divided among its updates by bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from interlace_client.torch.capture.ranks import union
from interlace_client.torch.capture.spans import (
    CycleMark,
    OpSpan,
    When,
    mark,
    origin,
    slowest,
    spread_us,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace_client.torch.capture.ranks import RankRecord

STREAM = "worker"
#: What the model itself is called in the ids of ops.
MODEL = "(model)"
UPDATE, BETWEEN = "update", "between"
BACKWARD_END = "backward:end"
#: What follows the first forward pass of a step: the loss, or that and the passes up to the last.
LOSS, ACCUMULATION = "loss", "accumulation"

_AT = attrgetter("at")


@dataclass(frozen=True)
class CapturedStep:
    """A graph and what it was made of; parameters and modules by position.

    Parameters
    ----------
    ops
        Of the graph, as they are posted.
    ready
        The parameters in order of readiness.
    uses
        Of each parameter whose use was seen the modules that may be the first to use it.
    unknown
        Parameters that have gradients and no use that was seen; needed from the start.
    unused
        Parameters without a gradient in some cycle.
    spread_us
        Of each op median and 95th percentile on each rank.
    """

    ops: tuple[dict[str, Any], ...]
    ready: tuple[int, ...]
    uses: dict[int, tuple[int, ...]]
    unknown: tuple[int, ...]
    unused: tuple[int, ...]
    spread_us: dict[str, tuple[tuple[float, float], ...]]


def iteration_of(records: Sequence[RankRecord]) -> CapturedStep:
    """Make the graph of ranks that have the same tensors and modules, and a cycle each at least."""
    tensors, uses = records[0].tensors, union(records)
    cycles = [cycle for record in records for cycle in record.cycles]
    every = range(len(tensors))
    unused = tuple(i for i in every if any(i not in cycle.ready_us for cycle in cycles))
    trained = [i for i in every if any(i in cycle.ready_us for cycle in cycles)]
    unknown = tuple(i for i in trained if i not in uses)

    backward, ready = _backward(records, [i for i in every if i not in unused])
    forward, homes = _forward(records, uses)
    homes |= dict.fromkeys(unknown, _forward_op(records, 0))

    update = slowest(records, lambda cycle: cycle.update_us) or 0.0
    updated = sum(tensors[i].bytes for i in trained)
    updates = {i: update * tensors[i].bytes / updated if i in trained else 0.0 for i in every}

    ops: list[dict[str, Any]] = []
    for span, i in zip(backward, [*ready, None]):
        ops.append(_compute(span.op, span.duration_us))
        if i is not None:
            ops.append(_collective(records, i, span.op))
    ops += [_collective(records, i, BACKWARD_END) for i in reversed(unused)]
    ops.append(_compute(BETWEEN, slowest(records, lambda cycle: cycle.between_us) or 0.0))
    needed: dict[str, list[int]] = {}
    for i, op in sorted(homes.items()):
        needed.setdefault(op, []).append(i)
    for span in forward:
        ops += [_update(records, i, updates[i]) for i in needed.get(span.op, ())]
        ops.append(_compute(span.op, span.duration_us))
    ops += [_update(records, i, updates[i]) for i in every if i not in homes]

    spread = {span.op: span.spread_us(records) for span in (*backward, *forward)}
    spread[BETWEEN] = spread_us(records, lambda cycle: cycle.between_us)
    spread[UPDATE] = spread_us(records, lambda cycle: cycle.update_us)
    return CapturedStep(tuple(ops), (*ready, *reversed(unused)), uses, unknown, unused, spread)


def _backward(
    records: Sequence[RankRecord], parameters: Sequence[int]
) -> tuple[list[OpSpan], list[int]]:
    """Return the spans of the backward pass, and the parameters in order of readiness.

    Gradients that come at the same time are in reverse order of registration, as passes go.
    """
    found = [
        (i, at)
        for i in reversed(parameters)
        if (at := mark(records, _backward_op(records, i), _ready(i))) is not None
    ]
    found.sort(key=lambda each: each[1].at)
    end = slowest(records, lambda cycle: cycle.backward_us) or 0.0
    marks = [at for _, at in found]
    marks.append(CycleMark(BACKWARD_END, end, lambda cycle: cycle.backward_us))
    spans = [OpSpan(end.op, begin, end) for begin, end in zip([origin(""), *marks], marks)]
    return spans, [i for i, _ in found]


def _ready(parameter: int) -> When:
    return lambda cycle: cycle.ready_us.get(parameter)


def _entered(module: int) -> When:
    return lambda cycle: cycle.entered_us.get(module)


def _forward(
    records: Sequence[RankRecord], uses: dict[int, tuple[int, ...]]
) -> tuple[list[OpSpan], dict[int, str]]:
    """Return the spans of the forward pass, and of each parameter that in which it is needed.

    A span begins where a module that is the first to use some parameter is entered.
    """
    entered = {
        m: mark(records, _forward_op(records, m), _entered(m))
        for m in sorted({m for modules in uses.values() for m in modules})
    }
    entered[0] = origin(_forward_op(records, 0))
    known = {m: found for m, found in entered.items() if found is not None}
    homes = {
        i: min((known[m] for m in modules if m in known), key=_AT, default=known[0])
        for i, modules in uses.items()
    }
    passes = records[0].cycles[0].passes
    rest = mark(records, ACCUMULATION if passes > 1 else LOSS, lambda cycle: cycle.forward_us)
    end = CycleMark(
        "", slowest(records, lambda cycle: cycle.turn_us) or 0.0, lambda cycle: cycle.turn_us
    )
    begins = {each.op: each for each in (known[0], *homes.values(), rest) if each is not None}
    # a module that runs in some steps only has a median of its own
    clipped = [CycleMark(each.op, min(each.at, end.at), each.when) for each in begins.values()]
    clipped.sort(key=_AT)
    return (
        [OpSpan(begin.op, begin, end) for begin, end in zip(clipped, [*clipped[1:], end])],
        {i: home.op for i, home in homes.items()},
    )


def _backward_op(records: Sequence[RankRecord], parameter: int) -> str:
    return f"backward:{records[0].tensors[parameter].name}"


def _forward_op(records: Sequence[RankRecord], module: int) -> str:
    return f"forward:{records[0].modules[module] or MODEL}"


def _gradient(records: Sequence[RankRecord], parameter: int) -> str:
    return f"grad:{records[0].tensors[parameter].name}"


def _compute(op: str, duration_us: float, *after: str) -> dict[str, Any]:
    return {
        "id": op,
        "kind": "compute",
        "duration_us": duration_us,
        "after": list(after),
        "stream": STREAM,
    }


def _collective(records: Sequence[RankRecord], parameter: int, after: str) -> dict[str, Any]:
    return {
        "id": _gradient(records, parameter),
        "kind": "all_reduce",
        "bytes": records[0].tensors[parameter].bytes,
        "element_bytes": records[0].tensors[parameter].element_bytes,
        "after": [after],
    }


def _update(records: Sequence[RankRecord], parameter: int, duration_us: float) -> dict[str, Any]:
    op = f"{UPDATE}:{records[0].tensors[parameter].name}"
    return _compute(op, duration_us, _gradient(records, parameter))
