"""The training iteration as a graph of compute ops and collectives."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from solver.errors import Fault, InvalidGraph

COMPUTE = "compute"
ALL_REDUCE = "all_reduce"
KINDS = (COMPUTE, ALL_REDUCE)

#: Longest duration of one op [us]: a hundred days.
MAX_DURATION_US = 8.64e12
#: Largest collective [bytes]: an exbibyte.
MAX_BYTES = 2**60
#: How many ops of a cycle an error names.
_NAMED = 8


@dataclass(frozen=True, slots=True)
class Op:
    """One node of the graph.

    Attributes
    ----------
    id
        Name, unique in the graph.
    kind
        ``compute`` or ``all_reduce``.
    duration_us
        Time of a compute op [us]; None for a collective.
    bytes
        Size of a collective [bytes]; None for a compute op.
    after
        Ids of the ops that must end before this one starts.
    """

    id: str
    kind: str
    duration_us: float | None = None
    bytes: int | None = None
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """A checked graph; build it with :func:`build`.

    Attributes
    ----------
    name
        Free text.
    ops
        The ops, in the order given; an op's index here is its position.
    durations
        Duration of each op [us], 0 for a collective.
    preds, succs
        Positions of the direct predecessors and successors of each op, without repeats.
    order
        Positions in topological order, the same for the same input.
    collectives
        Positions of the collectives, ascending.
    """

    name: str
    ops: tuple[Op, ...]
    durations: tuple[float, ...]
    preds: tuple[tuple[int, ...], ...]
    succs: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    collectives: tuple[int, ...]


def build(name: str, ops: Iterable[Op]) -> Graph:
    """Check ops and link them to a graph.

    Raises
    ------
    InvalidGraph
        With every fault found: values out of range, repeated or unknown ids, self loops, a
        cycle, no compute op, no collective, a collective that depends on another.

    Notes
    -----
    O(ops + edges).
    """
    ops = tuple(ops)
    faults = [*_value_faults(ops), *structure_faults([(op.id, op.after) for op in ops])]
    preds, succs = _link([(op.id, op.after) for op in ops])
    order = _topological(preds, succs)
    faults += [*_class_faults(ops), *_order_faults(ops, preds, order)]
    if faults:
        raise InvalidGraph(faults)
    return Graph(
        name=name,
        ops=ops,
        durations=tuple(op.duration_us or 0.0 for op in ops),
        preds=preds,
        succs=succs,
        order=tuple(order),
        collectives=tuple(i for i, op in enumerate(ops) if op.kind != COMPUTE),
    )


def structure_faults(nodes: Sequence[tuple[str | None, Sequence[str]]]) -> list[Fault]:
    """List what is wrong with ids and edges alone.

    Parameters
    ----------
    nodes
        Id and ``after`` list of each op; an id of None is an op whose id could not be read.

    Returns
    -------
    list of Fault
        Repeated ids, unknown ops, self loops, and one short cycle.

    Notes
    -----
    O(ops + edges).
    """
    faults = []
    first: dict[str, int] = {}
    for position, (name, _) in enumerate(nodes):
        if name is None:
            continue
        if name in first:
            faults.append(
                Fault(
                    f"/ops/{position}/id",
                    "duplicate_id",
                    f"Op id {name!r} is taken by /ops/{first[name]}; ids must be unique.",
                )
            )
        else:
            first[name] = position
    all_read = all(name is not None for name, _ in nodes)
    for position, (name, after) in enumerate(nodes):
        for place, other in enumerate(after):
            pointer = f"/ops/{position}/after/{place}"
            if other == name:
                faults.append(Fault(pointer, "self_loop", f"Op {name!r} comes after itself."))
            elif other not in first and all_read:
                faults.append(
                    Fault(pointer, "unknown_op", f"Op {name!r} comes after {other!r}: no such op.")
                )
    preds, succs = _link(nodes)
    if len(_topological(preds, succs)) < len(nodes):
        cycle = _short_cycle(preds, succs)
        names = [str(nodes[i][0]) for i in cycle]
        shown = names if len(names) <= _NAMED else [*names[: _NAMED - 1], "..."]
        path = " -> ".join([*shown, names[0]])
        faults.append(
            Fault(
                f"/ops/{cycle[0]}",
                "cycle",
                f"Ops wait for one another in a cycle of {len(cycle)}: {path}.",
            )
        )
    return faults


def _value_faults(ops: Sequence[Op]) -> Iterator[Fault]:
    for i, op in enumerate(ops):
        if op.kind not in KINDS:
            known = ", ".join(KINDS)
            yield Fault(
                f"/ops/{i}/kind", "out_of_range", f"Op {op.id!r}: kind must be one of {known}."
            )
        elif op.kind == COMPUTE:
            value = op.duration_us
            if value is None:
                yield Fault(
                    f"/ops/{i}/duration_us", "missing_field", f"Op {op.id!r} needs duration_us."
                )
            elif not math.isfinite(value) or not 0 <= value <= MAX_DURATION_US:
                yield Fault(
                    f"/ops/{i}/duration_us",
                    "out_of_range",
                    f"Op {op.id!r}: duration_us must be 0 to {MAX_DURATION_US:g}, got {value!r}.",
                )
        elif op.bytes is None:
            yield Fault(f"/ops/{i}/bytes", "missing_field", f"Tensor {op.id!r} needs bytes.")
        elif not 0 < op.bytes <= MAX_BYTES:
            yield Fault(
                f"/ops/{i}/bytes",
                "out_of_range",
                f"Tensor {op.id!r}: bytes must be 1 to 2^60, got {op.bytes!r}.",
            )


def _class_faults(ops: Sequence[Op]) -> Iterator[Fault]:
    if all(op.kind != COMPUTE for op in ops):
        yield Fault("/ops", "no_compute", "The graph has no compute op.")
    sizes = [op.bytes or 0 for op in ops]
    if max(sizes, default=0) <= MAX_BYTES < sum(sizes):
        detail = f"All tensors: 2^60 bytes at most, got {sum(sizes)}."
        yield Fault("/ops", "out_of_range", detail)
    if all(op.kind == COMPUTE for op in ops):
        yield Fault("/ops", "no_collective", "The graph has no collective op.")


def _link(
    nodes: Sequence[tuple[str | None, Sequence[str]]],
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Turn ids into positions; edges that lead nowhere or to their own op are left out."""
    index: dict[str, int] = {}
    for i, (name, _) in enumerate(nodes):
        if name is not None:
            index.setdefault(name, i)
    succs: list[list[int]] = [[] for _ in nodes]
    preds = []
    for i, (_, after) in enumerate(nodes):
        found = tuple(dict.fromkeys(index[name] for name in after if index.get(name, i) != i))
        preds.append(found)
        for pred in found:
            succs[pred].append(i)
    return tuple(preds), tuple(map(tuple, succs))


def _topological(preds: Sequence[Sequence[int]], succs: Sequence[Sequence[int]]) -> list[int]:
    """Kahn's algorithm; ops on or behind a cycle are missing from the result."""
    waiting = [len(found) for found in preds]
    order = [i for i, count in enumerate(waiting) if count == 0]
    for i in order:  # grows while it is read
        for j in succs[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                order.append(j)
    return order


def _short_cycle(preds: Sequence[Sequence[int]], succs: Sequence[Sequence[int]]) -> list[int]:
    """Find a cycle, then the shortest one through its first op, by breadth-first search."""
    done = set(_topological(preds, succs))
    here = next(i for i in range(len(preds)) if i not in done)
    walked: dict[int, None] = {}
    while here not in walked:  # every op left has a predecessor left
        walked[here] = None
        here = next(j for j in preds[here] if j not in done)
    path = list(walked)
    start = min(path[path.index(here) :])
    came: dict[int, int] = {}
    queue = [start]
    for i in queue:
        for j in succs[i]:
            if j == start:
                cycle = [i]
                while cycle[-1] != start:
                    cycle.append(came[cycle[-1]])
                return cycle[::-1]
            if j not in came and j not in done:
                came[j] = i
                queue.append(j)
    raise AssertionError("an op on a cycle reaches itself")  # pragma: no cover - by construction


def _order_faults(
    ops: Sequence[Op], preds: Sequence[Sequence[int]], order: Sequence[int]
) -> Iterator[Fault]:
    """Name the first pair of collectives of which one precedes the other."""
    behind: list[int | None] = [None] * len(ops)
    for i in order:
        above = next((behind[j] for j in preds[i] if behind[j] is not None), None)
        if ops[i].kind != COMPUTE:
            if above is not None:
                yield Fault(
                    f"/ops/{i}",
                    "not_pace_class",
                    f"Collective {ops[i].id!r} depends on collective {ops[above].id!r}; "
                    "no collective may precede another, directly or not.",
                )
                return
            above = i
        behind[i] = above


def with_barrier(graph: Graph) -> Graph:
    """Make every consumer of a collective wait for all collectives.

    This is an optimizer step between the backward and the next forward pass, as in PyTorch; all
    tails become equal (model.md section 6).
    """
    names = {op.id for op in graph.ops}
    barrier = "barrier"
    while barrier in names:
        barrier += "'"
    consumers = {j for i in graph.collectives for j in graph.succs[i]}
    ops = [
        Op(op.id, op.kind, op.duration_us, op.bytes, (*op.after, barrier)) if i in consumers else op
        for i, op in enumerate(graph.ops)
    ]
    gate = Op(barrier, COMPUTE, 0.0, None, tuple(graph.ops[i].id for i in graph.collectives))
    return build(graph.name, [*ops, gate])
