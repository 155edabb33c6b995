"""A block of ops that is run n times, written once, and the ops that it stands for.

Layers of a model and micro-batches of a pipeline repeat: copy k + 1 does what copy k did, after it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph
from solver.graph.op import Op
from solver.limits import MAX_OPS_UNFOLDED


@dataclass(frozen=True, slots=True)
class Repeat:
    """A block of ops, and how often it is run.

    Attributes
    ----------
    ops
        One copy. What an op comes after is of the same copy or outside; what is outside counts for
        the first copy alone.
    count
        How many copies, at least 1. Copy k, from 0, of the op "x" is called "x#k". An op outside
        that comes after "x" comes after the last copy.
    carried
        Pairs (op, earlier): the op comes after ``earlier`` of the copy before, but in the first.
        Streams link copies by themselves.
    """

    ops: tuple[Op, ...]
    count: int
    carried: tuple[tuple[str, str], ...] = ()


def unfold(items: Sequence[Op | Repeat]) -> list[Op]:
    """Return the ops that ops and repeats stand for, in their order; O(ops + edges).

    Raises
    ------
    InvalidGraph
        When a count is no positive number, a carried edge names no op of its block, or all ops
        together are more than :data:`MAX_OPS_UNFOLDED`.
    """
    if faults := list(_faults(items)):
        raise InvalidGraph(faults)
    last = {
        op.id: f"{op.id}#{item.count - 1}"
        for item in items
        if isinstance(item, Repeat)
        for op in item.ops
    }
    ops: list[Op] = []
    for item in items:
        if isinstance(item, Op):
            ops.append(item._replace(after=tuple(last.get(name, name) for name in item.after)))
        else:
            ops += _copies(item, last)
    return ops


def _copies(repeat: Repeat, last: dict[str, str]) -> Iterator[Op]:
    own = {op.id for op in repeat.ops}
    inside = [tuple(name for name in op.after if name in own) for op in repeat.ops]
    outside = [
        tuple(last.get(name, name) for name in op.after if name not in own) for op in repeat.ops
    ]
    before: dict[str, list[str]] = {}
    for name, earlier in repeat.carried:
        before.setdefault(name, []).append(earlier)
    for k in range(repeat.count):
        for op, near, far in zip(repeat.ops, inside, outside, strict=True):
            carried = [f"{name}#{k - 1}" for name in before.get(op.id, ())] if k else far
            after = (*(f"{name}#{k}" for name in near), *carried)
            yield op._replace(id=f"{op.id}#{k}", after=after)


def _faults(items: Sequence[Op | Repeat]) -> Iterator[Fault]:
    total = 0
    for i, item in enumerate(items):
        if isinstance(item, Op):
            total += 1
            continue
        if not isinstance(item.count, int) or isinstance(item.count, bool) or item.count < 1:
            detail = f"Repeat {i}: count must be a whole number of at least 1, got {item.count!r}."
            yield Fault(f"/items/{i}/count", FaultCode.OUT_OF_RANGE, detail)
            continue
        total += item.count * len(item.ops)
        own = {op.id for op in item.ops}
        for place, pair in enumerate(item.carried):
            for name in pair:
                if name not in own:
                    detail = f"Repeat {i}: {name!r} of carried is no op of its block."
                    yield Fault(f"/items/{i}/carried/{place}", FaultCode.UNKNOWN_OP, detail)
    if total > MAX_OPS_UNFOLDED:
        detail = f"At most {MAX_OPS_UNFOLDED:,} ops are unfolded, got {total:,}."
        yield Fault("/items", FaultCode.OUT_OF_RANGE, detail)
