"""The training iteration as a graph of compute ops and collectives."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Any, NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph
from solver.graph.buffers import Buffer, buffer_faults
from solver.graph.links import (
    LinkedNode,
    Positions,
    link,
    short_cycle,
    stream_edges,
    topological_order,
)
from solver.graph.op import COMPUTE, Op
from solver.graph.op_faults import value_faults, well_typed, whole_faults
from solver.graph.recorded import RecordedStep
from solver.graph.slowdowns import slowdown_faults
from solver.limits import MAX_FAULTS_SOUGHT

#: How many ops of a cycle an error names.
_NAMED = 8


@dataclass(frozen=True, slots=True, repr=False)
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
        Positions of the direct predecessors and successors of each op, without repeats; the op
        before it in its stream is one, unless the order of the stream is free.
    order
        Positions in topological order, the same for the same input.
    collectives
        Positions of the collectives, ascending.
    buffers
        The memory that ops write and read; empty where nothing is said.
    free
        Streams whose ops run one at a time in an order to be chosen, ascending.
    recorded
        How long the step took that the graph was read from; None where it was not recorded.
    memo
        What has been computed of it and is asked for again; no part of its value.
    """

    name: str
    ops: tuple[Op, ...]
    durations: tuple[float, ...]
    preds: tuple[tuple[int, ...], ...]
    succs: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    collectives: tuple[int, ...]
    buffers: tuple[Buffer, ...] = ()
    free: tuple[str, ...] = ()
    recorded: RecordedStep | None = None
    memo: dict[str, Any] = field(init=False, default_factory=dict, compare=False)

    def __repr__(self) -> str:
        """Say in a line what it is."""
        sent = sum(self.ops[i].bytes or 0 for i in self.collectives)
        many = len(self.collectives)
        return (
            f"<Graph {self.name!r}: {len(self.ops) - many:,} compute ops, {many:,} collectives of "
            f"{sent / 1e6:,.1f} MB>"
        )

    def __reduce__(self) -> tuple[type["Graph"], tuple[Any, ...]]:
        """Pickle its value, without what was computed of it."""
        return Graph, tuple(getattr(self, each.name) for each in fields(self) if each.init)


def build(
    name: str,
    ops: Iterable[Op],
    buffers: Iterable[Buffer] = (),
    free: Iterable[str] = (),
    recorded: RecordedStep | None = None,
) -> Graph:
    """Check ops and link them to a graph; the order of the streams ``free`` is to be chosen.

    ``recorded`` is the step that they were read from, None where there was none.

    Raises
    ------
    InvalidGraph
        With every fault found: values out of range, repeated or unknown ids, self loops, a
        cycle, no compute op, no collective, slowdowns by channels that carry nothing, buffers that
        name no op or are read before they are written, free streams that no op is on. Of values,
        of ids, of slowdowns and of buffers the first :data:`MAX_FAULTS_SOUGHT` each, then
        ``too_many_faults``.

    Notes
    -----
    O(ops + edges); with buffers O(buffers + edges * ops / 64).
    """
    given, buffers, free = tuple(ops), tuple(buffers), tuple(sorted(set(free)))
    ops, odd = well_typed(given)
    preds, succs, order, edge_faults = linked(ops, free)
    faults = [*first_of(iter(odd), "/ops"), *first_of(value_faults(ops), "/ops"), *edge_faults]
    channels = dict.fromkeys(op.channel for op in ops if op.kind != COMPUTE)
    faults += first_of(slowdown_faults(ops, channels), "/ops")
    faults += whole_faults(ops)
    faults += _free_faults(ops, free)
    if buffers:
        index = {op.id: i for i, op in enumerate(ops)}
        faults += first_of(buffer_faults(buffers, index, preds, order), "/buffers")
    if faults:
        raise InvalidGraph(faults)
    return Graph(
        name=name,
        ops=ops,
        durations=tuple(op.duration_us or 0.0 for op in ops),
        preds=preds,
        succs=succs,
        order=order,
        collectives=tuple(i for i, op in enumerate(ops) if op.kind != COMPUTE),
        buffers=buffers,
        free=free,
        recorded=recorded,
    )


class Linked(NamedTuple):
    """Ops and their edges as positions.

    Attributes
    ----------
    preds, succs
        Positions of each op's predecessors and successors, without repeats.
    order
        Positions in topological order; ops on or behind a cycle are missing.
    faults
        Repeated or unknown ids, self loops, a cycle.
    """

    preds: Positions
    succs: Positions
    order: tuple[int, ...]
    faults: tuple[Fault, ...]


def linked(ops: Sequence[LinkedNode], free: Container[str] = ()) -> Linked:
    """Link ops by their names, and say what is wrong with these; O(ops + edges).

    Ops of the streams ``free`` are not linked to the next of their stream.
    """
    preds, succs, is_whole = link(ops, free)
    order = topological_order(preds, succs)
    faults = [] if is_whole else first_of(_name_faults(ops), "/ops")
    if len(order) < len(ops):
        faults.append(_cycle_fault(ops, short_cycle(preds, succs, order)))
    return Linked(preds, succs, tuple(order), tuple(faults))


def first_of(faults: Iterator[Fault], place: str = "") -> list[Fault]:
    """Collect faults until there are too many; ``place`` is where that is said."""
    first = list(islice(faults, MAX_FAULTS_SOUGHT))
    if next(faults, None):
        detail = f"The first {MAX_FAULTS_SOUGHT:,} faults of a sort are listed, not the others."
        first.append(Fault(place, FaultCode.TOO_MANY_FAULTS, detail))
    return first


def _name_faults(ops: Sequence[LinkedNode]) -> Iterator[Fault]:
    """List repeated ids, unknown ops and self loops."""
    first: dict[str, int] = {}
    for position, op in enumerate(ops):
        if op.id in first:
            yield Fault(
                f"/ops/{position}/id",
                FaultCode.DUPLICATE_ID,
                f"Op id {op.id!r} is taken by /ops/{first[op.id]}; ids must be unique.",
            )
        else:
            first[op.id] = position
    for position, op in enumerate(ops):
        for place, other in enumerate(op.after):
            pointer = f"/ops/{position}/after/{place}"
            if other == op.id:
                yield Fault(pointer, FaultCode.SELF_LOOP, f"Op {op.id!r} comes after itself.")
            elif other not in first:
                yield Fault(
                    pointer,
                    FaultCode.UNKNOWN_OP,
                    f"Op {op.id!r} comes after {other!r}: no such op.",
                )


def _cycle_fault(ops: Sequence[LinkedNode], cycle: Sequence[int]) -> Fault:
    """Name a cycle, and which of its edges are the order of a stream."""
    by_stream = set(stream_edges(ops))
    steps = []
    for i, j in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        only = (i, j) in by_stream and ops[i].id not in ops[j].after
        steps.append(f"{ops[i].id} -> " + (f"(next in stream {ops[j].stream!r}) " if only else ""))
    shown = steps if len(steps) <= _NAMED else [*steps[: _NAMED - 1], "... -> "]
    return Fault(
        f"/ops/{cycle[0]}",
        FaultCode.CYCLE,
        f"Ops wait for one another in a cycle of {len(cycle)}: {''.join(shown)}{ops[cycle[0]].id}.",
    )


def _free_faults(ops: Sequence[Op], free: Sequence[str]) -> Iterator[Fault]:
    on = {op.stream for op in ops}
    for stream in free:
        if stream not in on:
            detail = f"No op is on stream {stream!r}."
            yield Fault("/streams", FaultCode.UNKNOWN_OP, detail)
    if not free:
        return
    for i, op in enumerate(ops):
        if op.slowdown is not None:
            detail = f"Op {op.id!r}: slowdowns are not defined beside a stream of free order."
            yield Fault(f"/ops/{i}/slowdown", FaultCode.EXTRA_FIELD, detail)


def with_barrier(graph: Graph) -> Graph:
    """Make every consumer of a last collective wait for all last collectives.

    A last collective is one that precedes no other. This is an optimizer step between the
    backward and the next forward pass, as in PyTorch. Where no collective precedes another, all
    are last, and all tails become equal (MODEL.md section 7).
    """
    names = {op.id for op in graph.ops}
    barrier = "barrier"
    while barrier in names:
        barrier += "'"
    last = _last_collectives(graph)
    consumers = {j for i in last for j in graph.succs[i]}
    ops = [
        op._replace(after=(*op.after, barrier)) if i in consumers else op
        for i, op in enumerate(graph.ops)
    ]
    gate = Op(barrier, COMPUTE, 0.0, None, tuple(graph.ops[i].id for i in last))
    return build(graph.name, [*ops, gate], recorded=graph.recorded)


def has_barrier(graph: Graph) -> bool:
    """Tell whether every consumer of a last collective waits for all of them by itself.

    It does so directly, or behind an op that does. It is so of at most one last collective, too.
    """
    last = _last_collectives(graph)
    waits = [False] * len(graph.ops)
    for i in graph.order:
        preds = graph.preds[i]
        waits[i] = any(waits[j] for j in preds) or (
            len(preds) >= len(last) > 0 and set(preds).issuperset(last)
        )
    return all(waits[j] for i in last for j in graph.succs[i])


def _last_collectives(graph: Graph) -> list[int]:
    """Positions of the collectives that precede no other, ascending."""
    before_another = [False] * len(graph.ops)
    for i in reversed(graph.order):
        before_another[i] = any(
            before_another[j] or graph.ops[j].kind != COMPUTE for j in graph.succs[i]
        )
    return [i for i in graph.collectives if not before_another[i]]
