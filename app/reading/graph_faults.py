"""What is wrong with a graph, also with one of which only a part can be read."""

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, TypeGuard

from pydantic import FailFast, Field, TypeAdapter, ValidationError

from app.errors import within
from app.limits import (
    MAX_BUFFERS,
    MAX_CHANNELS,
    MAX_COLLECTIVES,
    MAX_EDGES,
    MAX_NAME_CHARACTERS,
    MAX_OPS,
    MAX_PROGRAM_OPS,
    MAX_READS,
    MAX_STREAMS,
)
from app.reading.cluster_faults import cluster_faults, lane_faults
from app.reading.schema_faults import kind_of, ops_of
from app.schemas.clusters import ClusterBody
from app.schemas.graphs import BufferBody, GraphBody, StreamBody
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError
from solver.graph import COMPUTE, NETWORK, Buffer, Graph, Op, RecordedStep, build
from solver.limits import MAX_BYTES

_STREAMS = TypeAdapter(Annotated[list[StreamBody], FailFast(), Field(max_length=MAX_STREAMS)])


_BUFFERS = TypeAdapter(Annotated[list[BufferBody], FailFast(), Field(max_length=MAX_BUFFERS)])


def check_limits(ops: list[Op], most_collectives: int = MAX_COLLECTIVES) -> Iterator[Fault]:
    """List the limits on a whole graph that these ops break."""
    done = "planned" if most_collectives == MAX_COLLECTIVES else "simulated"
    collectives = [op for op in ops if op.kind != COMPUTE]
    limits = [
        (len(ops), MAX_OPS, "ops"),
        (len(collectives), most_collectives, "collectives"),
        (sum(len(op.after) for op in ops), MAX_EDGES, "edges"),
    ]
    for count, most, name in limits:
        if count > most:
            yield Fault(
                "/ops",
                FaultCode.OUT_OF_RANGE,
                f"Graph: at most {most:,} {name} are {done}, got {count:,}.",
            )


def readable_faults(
    raw: Any, shape: list[Fault], most_collectives: int = MAX_COLLECTIVES
) -> list[Fault]:
    """List what the solver finds in a body that does not fit the schema."""
    bad = {section for fault in shape for section in fault.pointer.split("/")[1:2]}
    faults, ops = _readable_faults(raw, most_collectives)
    if isinstance(raw, dict) and "cluster" in raw and "cluster" not in bad:
        cluster = ClusterBody.model_validate(raw["cluster"])
        places = {fault.pointer for fault in shape}
        lanes = [fault for fault in lane_faults(ops, cluster) if fault.pointer not in places]
        faults += [*cluster_faults(cluster), *lanes]
    return list(dict.fromkeys(faults))


def readable_graph_faults(raw: Any) -> list[Fault]:
    """List what the solver finds in the graph of a body, as far as it can be read."""
    return _readable_faults(raw)[0]


def buffer_limits(
    ops: Sequence[Op], buffers: Sequence[Buffer], free: Sequence[str]
) -> Iterator[Fault]:
    """List the limits that buffers break, and ops beside them or beside streams of free order."""
    if (buffers or free) and len(ops) > MAX_PROGRAM_OPS:
        detail = (
            f"Graph: at most {MAX_PROGRAM_OPS:,} ops are planned with buffers or streams of free "
            f"order, got {len(ops):,}."
        )
        yield Fault("/ops", FaultCode.OUT_OF_RANGE, detail)
    reads = sum(len(buffer.read_by) for buffer in buffers)
    for count, most, what in (
        (len(buffers), MAX_BUFFERS, "buffers"),
        (reads, MAX_READS, "reads of buffers"),
    ):
        if count > most:
            detail = f"Graph: at most {most:,} {what} are planned, got {count:,}."
            yield Fault("/buffers", FaultCode.OUT_OF_RANGE, detail)


def checked_graph(
    name: str,
    ops: list[Op],
    buffers: Sequence[Buffer] = (),
    free: Sequence[str] = (),
    recorded: RecordedStep | None = None,
    most_collectives: int = MAX_COLLECTIVES,
) -> tuple[Graph | None, list[Fault]]:
    """Build a graph, or list all that is wrong with it."""
    if broken := [*check_limits(ops, most_collectives), *buffer_limits(ops, buffers, free)]:
        return None, within("graph", broken)
    try:
        return build(name, ops, buffers, free, recorded), []
    except InterlaceError as error:
        return None, within("graph", error.faults)


def _readable_faults(
    raw: Any, most_collectives: int = MAX_COLLECTIVES
) -> tuple[list[Fault], list[Op]]:
    """List what the solver finds in the ops as far as they can be read, and return these.

    What cannot be read has a harmless value in its place; ids that cannot be read might be those
    that others name, so then no op is unknown.
    """
    found = ops_of(raw)
    if found is None or len(found) > MAX_OPS:
        return [], []
    taken = {op["id"] for op in found if isinstance(op, dict) and _is_name(op.get("id"))}
    ops: list[Op] = []
    kept: dict[int, list[int]] = {}
    hidden = False
    for i, op in enumerate(found):
        known = op if isinstance(op, dict) else {}
        name: Any = known.get("id")
        if not _is_name(name):
            name, hidden = _free_name(f"op {i}", taken), True
        edges = known.get("after")
        after = edges if isinstance(edges, list) else []
        places = [place for place, other in enumerate(after) if _is_name(other)]
        if len(places) < len(after):
            kept[i] = places
        ops.append(_readable_op(known, name, tuple(after[place] for place in places)))
    unsure = {FaultCode.UNKNOWN_OP, FaultCode.TOO_MANY_FAULTS} if hidden else set()
    if not all(isinstance(op, dict) for op in found):
        unsure |= {FaultCode.NO_COMPUTE, FaultCode.NO_COLLECTIVE}
    if not all(isinstance(op, dict) and _has_channel(op) for op in found):
        unsure |= {FaultCode.UNKNOWN_CHANNEL}
    faults = [
        _moved(fault, kept)
        for fault in checked_graph(
            "", ops, *_readable_beside(raw["graph"]), most_collectives=most_collectives
        )[1]
        if fault.code not in unsure
    ]
    return faults, ops


def _readable_op(known: dict[str, Any], name: str, after: tuple[str, ...]) -> Op:
    """Return an op with what can be read of it; no time, which nobody looks at here."""
    kind, size, channel = kind_of(known), known.get("bytes"), known.get("channel")
    element, key = known.get("element_bytes"), known.get("fuse_key")
    source, target = known.get("source"), known.get("target")
    if kind == COMPUTE or not _is_name(source) or not _is_name(target):
        source = target = None
    if not _is_size(element) or not _is_size(size):
        element = 1
    stream = known.get("stream") if kind == COMPUTE else None
    slowdown = known.get("slowdown") if kind == COMPUTE else None
    return Op(
        name,
        kind,
        0.0,
        size if _is_size(size) else 1,
        after,
        channel if isinstance(channel, str) and _is_name(channel) else NETWORK,
        stream if _is_name(stream) else None,
        element,
        key if _is_name(key) else None,
        _readable_slowdown(slowdown) if isinstance(slowdown, dict) else None,
        source=source,
        target=target,
    )


def _readable_beside(graph: dict[str, Any]) -> tuple[list[Buffer], list[str]]:
    """Return the buffers of a graph where all can be read, and its streams of free order."""
    try:
        streams = _STREAMS.validate_python(graph.get("streams", []))
        free = [stream.name for stream in streams if stream.order == "free"]
    except ValidationError:
        free = []
    try:
        buffers = _BUFFERS.validate_python(graph.get("buffers", []))
    except ValidationError:
        return [], free
    return GraphBody(ops=[], buffers=buffers).buffers_of(), free


def _readable_slowdown(slowdown: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    """Return the channels that an op states, with a harmless factor; none of too many."""
    if len(slowdown) > MAX_CHANNELS + 1:
        return ()
    return tuple((name, 1.0) for name in sorted(filter(_is_name, slowdown)))


def _has_channel(op: dict[str, Any]) -> bool:
    """Whether it can be read which channel an op is on, if it is on any."""
    return kind_of(op) == COMPUTE or _is_name(op.get("channel", NETWORK))


def _is_size(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and 1 <= value <= MAX_BYTES


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return a name that no op has."""
    while name in taken:
        name += "'"
    return name


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_NAME_CHARACTERS


def _moved(fault: Fault, kept: dict[int, list[int]]) -> Fault:
    """Point at an edge's place in the body, where unreadable edges stand between."""
    match fault.pointer.split("/"):
        case ["", "graph", "ops", op, "after", edge] if int(op) in kept:
            place = kept[int(op)][int(edge)]
            return Fault(f"/graph/ops/{op}/after/{place}", fault.code, fault.detail)
    return fault
