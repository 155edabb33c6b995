"""The graph in which some ops run twice: early readers read the first run, late ones the second."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph, InvalidPlan
from solver.graph import COMPUTE, Buffer, Graph, Op, build, first_of

#: What the name of a second run, and of what it writes, ends with.
AGAIN = "/recomputed"

#: A pattern that begins with it is of ops that are not recomputed.
_NOT = "!"


@dataclass(frozen=True, slots=True)
class RecomputedOp:
    """An op that runs twice.

    Attributes
    ----------
    op
        Its id.
    id
        The id of its second run.
    read_by
        Ids of the ops that read what the second run writes, in the place of what the first wrote;
        second runs may be among them.
    duration_us
        Time of the second run [us].
    """

    op: str
    id: str
    read_by: tuple[str, ...]
    duration_us: float


def recomputable(graph: Graph, patterns: Sequence[str]) -> frozenset[str]:
    """Return the ids of the ops that may run twice.

    These are ops of compute that write a buffer, and none that is kept: kept memory is held to the
    end anyway. Their ids match one of the patterns, and none of those that begin with ``!``.

    O(ops x patterns).
    """
    found: set[str] = set()
    barred: set[str] = set()
    for pattern in patterns:
        (barred if pattern.startswith(_NOT) else found).update(matched(graph, pattern))
    writers = {buffer.written_by for buffer in graph.buffers}
    keepers = {buffer.written_by for buffer in graph.buffers if buffer.kept}
    taken = {op.id.removesuffix(AGAIN) for op in graph.ops if op.id.endswith(AGAIN)}
    return frozenset((found - barred) & writers - keepers - taken)


def matched(graph: Graph, pattern: str) -> list[str]:
    """Return the ids of the ops of compute that a pattern is of."""
    own = pattern.removeprefix(_NOT)
    return [op.id for op in graph.ops if op.kind == COMPUTE and fnmatchcase(op.id, own)]


def with_recomputed(graph: Graph, again: Sequence[RecomputedOp]) -> Graph:
    """Return the graph in which these ops run twice.

    A second run takes as long as the first, reads the same inputs, those that are recomputed for it
    among them, and writes the same buffers anew. It comes after all that the first run comes after,
    and after the first run; what is in ``read_by`` comes after it. So whatever comes after another
    op still does, and a program of this graph without its second runs is one of the graph given.

    In the order of the graph a second run is right before the first that reads it.

    Raises
    ------
    InvalidPlan
        With every fault, at ``/recomputed/ops``.

    Notes
    -----
    That of :func:`solver.graph.build`.
    """
    if not again:
        return graph
    if faults := first_of(_faults(graph, again)):
        raise InvalidPlan(faults)
    from_copy = {each.op: frozenset(each.read_by) for each in again}
    try:
        return build(
            graph.name,
            _ops(graph, again),
            _buffers(graph, again, from_copy),
            graph.free,
            graph.recorded,
        )
    except InvalidGraph as error:
        detail = f"The graph in which these ops run twice is none: {error.faults[0].detail}"
        raise InvalidPlan([Fault("/recomputed/ops", FaultCode.INFEASIBLE, detail)]) from error


def _ops(graph: Graph, again: Sequence[RecomputedOp]) -> list[Op]:
    by_id = {op.id: op for op in graph.ops}
    name_of = {each.op: each.id for each in again}
    moved: dict[str, list[str]] = {}
    for each in again:
        for reader in each.read_by:
            moved.setdefault(reader, []).append(each.op)

    def linked(op: Op, *more: str) -> Op:
        """Put second runs in the place of first ones, where an op reads these."""
        own = moved.get(op.id, ())
        after = [name_of[name] if name in own else name for name in op.after]
        after += [name_of[name] for name in own]
        return op._replace(after=tuple(dict.fromkeys((*after, *more))))

    copies: dict[str, Op] = {}
    for each in again:
        first = by_id[each.op]
        copies[each.id] = linked(first._replace(id=each.id), first.id)
    ops: list[Op] = []
    placed: set[str] = set()

    def place(reader: str) -> None:
        for name in moved.get(reader, ()):
            copy = name_of[name]
            if copy not in placed:
                placed.add(copy)
                place(copy)
                ops.append(copies[copy])

    for op in graph.ops:
        place(op.id)
        ops.append(linked(op))
    return ops


def _buffers(
    graph: Graph, again: Sequence[RecomputedOp], from_copy: Mapping[str, Collection[str]]
) -> list[Buffer]:
    copies = {each.op: each.id for each in again}
    found: list[Buffer] = []
    for buffer in graph.buffers:
        writer = buffer.written_by
        # an op and its second run read the same
        readers = dict.fromkeys(
            name
            for reader in buffer.read_by
            for name in (reader, copies.get(reader))
            if name is not None and reader != writer
        )
        late = from_copy.get(writer or "", ())
        itself = (writer,) if writer in buffer.read_by else ()
        first = (*itself, *(name for name in readers if name not in late))
        found.append(buffer._replace(read_by=tuple(name for name in first if name is not None)))
        if writer in copies:
            own = (copies[writer],) if itself else ()
            second = (*own, *(name for name in readers if name in late))
            found.append(
                Buffer(f"{buffer.id}{AGAIN}", buffer.bytes, copies[writer], second, buffer.kept)
            )
    return found


def _faults(graph: Graph, again: Sequence[RecomputedOp]) -> Iterator[Fault]:
    """List what is wrong with second runs."""
    by_id = {op.id: op for op in graph.ops}
    copies = {each.id: each.op for each in again}
    keepers = {buffer.written_by for buffer in graph.buffers if buffer.kept}
    readers: dict[str | None, set[str]] = {}
    for buffer in graph.buffers:
        readers.setdefault(buffer.written_by, set()).update(buffer.read_by)
    seen: set[str] = set()
    for k, each in enumerate(again):
        at = f"/recomputed/ops/{k}"
        op = by_id.get(each.op)
        if op is None or op.kind != COMPUTE or each.op in seen or each.op not in readers:
            detail = f"{each.op!r} is no op of compute that writes a buffer, or is there twice."
            yield Fault(f"{at}/op", FaultCode.UNKNOWN_OP, detail)
            continue
        seen.add(each.op)
        if each.op in keepers:
            detail = f"What {each.op!r} writes is kept to the end; it is not computed again."
            yield Fault(f"{at}/op", FaultCode.NOT_SUPPORTED, detail)
        if each.duration_us != op.duration_us:
            detail = f"{each.op!r} takes {op.duration_us} us each time, got {each.duration_us}."
            yield Fault(f"{at}/duration_us", FaultCode.OUT_OF_RANGE, detail)
        if each.id != f"{each.op}{AGAIN}" or each.id in by_id:
            detail = f"The second run of {each.op!r} must be {each.op + AGAIN!r}, a free name."
            yield Fault(f"{at}/id", FaultCode.DUPLICATE_ID, detail)
        if not each.read_by:
            yield Fault(f"{at}/read_by", FaultCode.MISSING_FIELD, f"Nothing reads {each.id!r}.")
        for place, name in enumerate(each.read_by):
            first = copies.get(name, name)
            if first == each.op or first not in readers[each.op]:
                detail = f"{name!r} reads nothing that {each.op!r} writes."
                yield Fault(f"{at}/read_by/{place}", FaultCode.UNKNOWN_OP, detail)
