"""What if some ops were smaller, faster, gone or compressed: OSF's layer replacement and more."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction

from solver.buckets import Launch, whole_elements
from solver.chain import chain_of
from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph, InvalidOptions
from solver.graph import COMPUTE, KINDS, Graph, Op, RecordedStep
from solver.limits import MAX_BLOCK_CHUNKS, MAX_BYTES, MAX_DURATION_US
from solver.simulation.chunking import Chunking, chunked
from solver.simulation.compression import COMPRESSIONS, Compression, compressed
from solver.simulation.contention import without_idle_slowdowns
from solver.simulation.engine import Policy
from solver.simulation.replay import replay
from solver.wording import must_be, one_of

#: Makes the policy for a graph: the same one for each, or a plan carried over to it.
Rerun = Callable[[Graph], Policy]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of some ops.

    Attributes
    ----------
    match
        Shell pattern of op ids, upper and lower case told apart: ``*``, ``?``, ``[abc]``.
    remove
        The ops take no time and send nothing; what comes after them still does.
    bytes_factor
        Collectives have so many times the bytes, rounded to whole elements, at least one.
    duration_factor
        Compute ops take so many times as long.
    kind
        Only ops of this kind; None for all.
    compression
        Collectives are compressed: by a name of
        :data:`solver.simulation.compression.COMPRESSIONS`, or by figures; None: they are not.
    chunks
        Collectives are the ends of blocks that are cut in chunks
        (:func:`solver.simulation.chunking.chunked`); None: nothing is cut.
    """

    match: str
    remove: bool = False
    bytes_factor: float = 1.0
    duration_factor: float = 1.0
    kind: str | None = None
    compression: str | Compression | None = None
    chunks: Chunking | None = None


def apply_changes(graph: Graph, changes: Sequence[Change]) -> Graph:
    """Apply changes to a graph, one after another.

    A removed op stays as a compute op of 0 us, so that the order of the others is kept. A graph may
    be left without collectives; it takes the time of its longest path. A channel that is left
    without any slows nothing down. What was recorded is another step's, and is dropped;
    what made it unsound makes this one unsound as well.

    Parameters
    ----------
    graph
        The graph; only compression and chunks change edges
        (:func:`solver.simulation.compression.compressed`,
        :func:`solver.simulation.chunking.chunked`).
    changes
        What to do; later ones see what earlier ones have done, the ops that code among them.

    Raises
    ------
    InvalidOptions
        With every fault found: a pattern that no op id matches (``unknown_op``), a factor or a rate
        that is negative or not finite, an unknown kind or compression, or what makes an op longer
        or larger than a graph may have (``out_of_range``). Pointers begin with ``/changes``.

    Notes
    -----
    O(ops x changes).

    References
    ----------
    .. [1] OSF, Section 4.1, Layer Replacement.
    """
    faults: list[Fault] = []
    for k, change in enumerate(changes):
        found_faults = list(_factor_faults(change))
        matched = [i for i, op in enumerate(graph.ops) if _matches(op, change)]
        if not matched:
            among = "" if change.kind is None else f" of kind {change.kind!r}"
            detail = f"No op id{among} matches {change.match!r}."
            found_faults.append(Fault("/match", FaultCode.UNKNOWN_OP, detail))
        elif (change.compression is not None or change.chunks is not None) and all(
            graph.ops[i].kind == COMPUTE for i in matched
        ):
            what = "are compressed" if change.chunks is None else "begin and end what is cut"
            detail = f"No collective matches {change.match!r}, and only they {what}."
            found_faults.append(Fault("/match", FaultCode.UNKNOWN_OP, detail))
        if not found_faults:
            made = _changed(graph, matched, change)
            found_faults += _size_faults(made.ops, change)
            graph = graph if found_faults else made
        if not found_faults and change.compression is not None:
            try:
                graph = _compressed(graph, matched, change.compression)
            except InvalidGraph as error:
                detail = error.faults[0].detail
                found_faults.append(Fault("/compression", FaultCode.OUT_OF_RANGE, detail))
        if not found_faults and change.chunks is not None:
            graph, found_faults = _chunked(graph, matched, change.chunks)
        faults += [Fault(f"/changes/{k}{f.pointer}", f.code, f.detail) for f in found_faults]
    if faults:
        raise InvalidOptions(faults)
    made = _with_ops(graph, without_idle_slowdowns(graph.ops))
    unsound = graph.recorded.unsound if graph.recorded else ()
    recorded = RecordedStep(unsound=unsound) if unsound else None
    return replace(made, recorded=recorded) if changes else made


def _with_ops(graph: Graph, ops: Iterable[Op]) -> Graph:
    """Return a graph with other ops in the places of its own."""
    ops = tuple(ops)
    return replace(
        graph,
        ops=ops,
        durations=tuple(op.duration_us or 0.0 for op in ops),
        collectives=tuple(i for i, op in enumerate(ops) if op.kind != COMPUTE),
    )


def _matches(op: Op, change: Change) -> bool:
    return fnmatchcase(op.id, change.match) and change.kind in {None, op.kind}


def _changed(graph: Graph, matched: Iterable[int], change: Change) -> Graph:
    ops = list(graph.ops)
    for i in matched:
        ops[i] = _change(ops[i], change)
    return _with_ops(graph, ops)


def _compressed(graph: Graph, matched: Iterable[int], by: str | Compression) -> Graph:
    sent = set(graph.collectives)
    return compressed(graph, [i for i in matched if i in sent], by)


def _chunked(graph: Graph, matched: Iterable[int], by: Chunking) -> tuple[Graph, list[Fault]]:
    """Return the graph in chunks, or as it was with what is wrong."""
    sent = set(graph.collectives)
    try:
        return chunked(graph, [i for i in matched if i in sent], by), []
    except InvalidOptions as error:
        return graph, list(error.faults)
    except InvalidGraph as error:
        return graph, [Fault("/chunks", FaultCode.OUT_OF_RANGE, error.faults[0].detail)]


def _change(op: Op, change: Change) -> Op:
    if change.remove:
        return Op(op.id, COMPUTE, 0.0, None, op.after, stream=op.stream)
    if op.kind == COMPUTE:
        return op._replace(duration_us=(op.duration_us or 0.0) * change.duration_factor)
    elements = Fraction(op.bytes or 0, op.element_bytes) * Fraction(change.bytes_factor)
    return op._replace(bytes=max(1, round(elements)) * op.element_bytes)


def _factor_faults(change: Change) -> Iterator[Fault]:
    for name in ("bytes_factor", "duration_factor"):
        factor = getattr(change, name)
        if not math.isfinite(factor) or factor < 0:
            detail = f"{name} must be finite and 0 or more, got {factor!r}."
            yield Fault(f"/{name}", FaultCode.OUT_OF_RANGE, detail)
    if change.kind not in {None, *KINDS}:
        detail = must_be("kind", one_of(KINDS), change.kind, KINDS)
        yield Fault("/kind", FaultCode.OUT_OF_RANGE, detail)
    if change.chunks is not None:
        yield from _chunk_faults(change.chunks)
    by = change.compression
    if isinstance(by, Compression):
        yield from _rate_faults(by)
    elif by not in {None, *COMPRESSIONS}:
        detail = must_be("compression", one_of(COMPRESSIONS), by, COMPRESSIONS)
        yield Fault("/compression", FaultCode.OUT_OF_RANGE, detail)


def _chunk_faults(by: Chunking) -> Iterator[Fault]:
    if not 1 <= by.count <= MAX_BLOCK_CHUNKS:
        detail = f"count must be 1 to {MAX_BLOCK_CHUNKS}, got {by.count!r}."
        yield Fault("/chunks/count", FaultCode.OUT_OF_RANGE, detail)
    if not 0 <= by.overhead_us <= MAX_DURATION_US:
        detail = f"overhead_us must be 0 to {MAX_DURATION_US:g}, got {by.overhead_us!r}."
        yield Fault("/chunks/overhead_us", FaultCode.OUT_OF_RANGE, detail)
    if by.least_bytes < 1:
        detail = f"least_bytes must be 1 or more, got {by.least_bytes!r}."
        yield Fault("/chunks/least_bytes", FaultCode.OUT_OF_RANGE, detail)


def _rate_faults(by: Compression) -> Iterator[Fault]:
    if not 0 < by.bytes_factor <= 1:
        detail = f"bytes_factor must be above 0 and at most 1, got {by.bytes_factor!r}."
        yield Fault("/compression/bytes_factor", FaultCode.OUT_OF_RANGE, detail)
    for name in ("encode_us_per_byte", "decode_us_per_byte"):
        rate = getattr(by, name)
        if not math.isfinite(rate) or rate < 0:
            detail = f"{name} must be finite and 0 or more, got {rate!r}."
            yield Fault(f"/compression/{name}", FaultCode.OUT_OF_RANGE, detail)


def _size_faults(ops: Sequence[Op], change: Change) -> Iterator[Fault]:
    if sum(op.bytes or 0 for op in ops) > MAX_BYTES:
        detail = f"bytes_factor {change.bytes_factor:g} makes all tensors more than 2^60 bytes."
        yield Fault("/bytes_factor", FaultCode.OUT_OF_RANGE, detail)
    if max(op.duration_us or 0.0 for op in ops) > MAX_DURATION_US:
        detail = (
            f"duration_factor {change.duration_factor:g} makes an op longer than "
            f"{MAX_DURATION_US:g} us."
        )
        yield Fault("/duration_factor", FaultCode.OUT_OF_RANGE, detail)


def adapt_plan(launches: Sequence[Launch], before: Graph, after: Graph) -> list[Launch]:
    """Carry an explicit plan over to a changed graph.

    Tensors that are gone leave their buckets. Each part carries the share of its bucket that it
    had, in whole elements, the last one the rest; parts of 0 bytes vanish.

    Parameters
    ----------
    launches
        The plan's in order, by chain index of ``before``.
    before, after
        The graph that the plan was made for, and what :func:`apply_changes` made of it.

    Raises
    ------
    InvalidOptions
        When ``after`` sends what ``before`` does not, such as chunks: no launch of the plan does.

    Returns
    -------
    list of Send
        By chain index of ``after``. They all run: no collective waits for more than before.
    """
    old, new = chain_of(before), chain_of(after)
    index = {after.ops[position].id: i for i, position in enumerate(new.positions.tolist())}
    names = [before.ops[position].id for position in old.positions.tolist()]
    known = set(names)
    if made := [name for name in index if name not in known]:
        detail = (
            f"No launch of the plan sends {made[0]!r}, which the changes make; simulate a policy, "
            "or plan the changed graph."
        )
        raise InvalidOptions([Fault("/changes", FaultCode.NOT_SUPPORTED, detail)])
    buckets = {
        launch.bucket: tuple(sorted(index[names[i]] for i in launch.bucket if names[i] in index))
        for launch in launches
    }
    total = {bucket: sum(old.bytes[list(bucket)].tolist()) for bucket in buckets}
    wanted = {bucket: sum(new.bytes[list(kept)].tolist()) for bucket, kept in buckets.items()}
    passed_bytes = dict.fromkeys(buckets, 0)
    carried_bytes = dict.fromkeys(buckets, 0)
    adapted = []
    for bucket, size in launches:
        passed_bytes[bucket] += size
        part = wanted[bucket] * size // total[bucket]
        part = whole_elements(part, old.element_bytes(bucket[0]))
        if passed_bytes[bucket] == total[bucket]:
            part = wanted[bucket] - carried_bytes[bucket]
        carried_bytes[bucket] += part
        if part:
            adapted.append(Launch(buckets[bucket], part))
    return adapted


def carry_over(launches: Sequence[Launch], graph: Graph) -> Rerun:
    """Return the explicit plan of a graph for each graph that comes of it."""
    return lambda after: replay(adapt_plan(launches, graph, after))
