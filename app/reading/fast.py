"""A body that fits the schema, read in one pass."""

import re
from itertools import chain
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from app.limits import MAX_CHANNELS, MAX_NAME_CHARACTERS, MAX_OPS
from app.reading.parsing import repeats_key
from app.reading.references import FindGraph
from app.reading.schema_faults import Model, fitting
from app.schemas.base import PLAIN
from app.schemas.graphs import CollectiveKind
from solver.graph import COMPUTE, NETWORK, Op
from solver.limits import MAX_BYTES, MAX_COMPUTE_SLOWDOWN, MAX_DURATION_US

_Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_CHARACTERS)]


class _FastOp(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An op of any kind."""

    id: _Name
    kind: Literal["compute"] | CollectiveKind
    after: Annotated[tuple[_Name, ...], Meta(max_length=MAX_OPS)] | UnsetType = UNSET
    duration_us: Annotated[float, Meta(ge=0, le=MAX_DURATION_US)] | UnsetType = UNSET
    bytes: Annotated[int, Meta(ge=1, le=MAX_BYTES)] | UnsetType = UNSET
    channel: _Name | UnsetType = UNSET
    stream: _Name | UnsetType | None = UNSET
    element_bytes: Annotated[int, Meta(ge=1, le=MAX_BYTES)] | UnsetType = UNSET
    fuse_key: _Name | UnsetType | None = UNSET
    cut: bool | UnsetType = UNSET
    source: _Name | UnsetType | None = UNSET
    target: _Name | UnsetType | None = UNSET
    slowdown: (
        Annotated[
            dict[_Name, Annotated[float, Meta(ge=1, le=MAX_COMPUTE_SLOWDOWN)]],
            Meta(max_length=MAX_CHANNELS + 1),
        ]
        | UnsetType
        | None
    ) = UNSET


class _Graph(msgspec.Struct, forbid_unknown_fields=True):
    ops: Annotated[list[_FastOp], Meta(max_length=MAX_OPS)]
    name: str | UnsetType = UNSET
    streams: msgspec.Raw | UnsetType = UNSET
    buffers: msgspec.Raw | UnsetType = UNSET
    recorded: msgspec.Raw | UnsetType = UNSET


_GRAPH = msgspec.json.Decoder(_Graph)
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_fast(
    body: bytes | bytearray, model: type[Model], graph_of: FindGraph
) -> tuple[Model, list[Op]] | None:
    """Return a body without its ops, and the ops; None when it may not fit the schema.

    Parsing to dicts and validating those takes four times as long and three times the memory for a
    graph of a million ops (tests/benchmarks/big.py). What is read here is the same as what
    :mod:`app.reading.schema_faults` finds to fit; whatever is not understood here is left to it.

    Parameters
    ----------
    body
        JSON, without a byte order mark.
    model
        What it is a request for.
    graph_of
        Finds a stored graph by its id.

    Notes
    -----
    O(bytes).
    """
    if repeats_key(body):  # first, while the graph takes no memory
        return None
    try:
        fields = _FIELDS.decode(body)
        source = fields.pop("graph", None)
        if source is None:
            text = graph_of(msgspec.json.decode(fields.pop("graph_id"), type=str))
            source = msgspec.Raw((text or "").encode())
        graph = _GRAPH.decode(source)
        rest = {key: msgspec.json.decode(value) for key, value in fields.items()}
        beside = {
            key: msgspec.json.decode(value)
            for key, value in (
                ("streams", graph.streams),
                ("buffers", graph.buffers),
                ("recorded", graph.recorded),
            )
            if not isinstance(value, UnsetType)
        }
    except (msgspec.MsgspecError, ValueError, RecursionError, KeyError):
        return None
    request = fitting({"graph": {"name": graph.name or "", "ops": [], **beside}, **rest}, model)
    ops = _ops_of(graph)
    if request is None or ops is None:
        return None
    # a control character in a text stands behind a backslash, or is this one
    has_controls = (b"\\" in body or b"\x7f" in body) and not _are_plain(ops)
    return None if has_controls else (request, ops)


def _ops_of(graph: _Graph) -> list[Op] | None:
    """Return the ops; None when one does not fit its kind."""
    ops = []
    for op in graph.ops:
        size, time = op.bytes, op.duration_us
        after = () if op.after is UNSET else op.after
        if op.kind == COMPUTE:
            if time is UNSET or any(field is not UNSET for field in _sent(op)):
                return None
            slowdown = tuple(sorted(op.slowdown.items())) if isinstance(op.slowdown, dict) else None
            stream = op.stream or None
            ops.append(Op(op.id, COMPUTE, time, None, after, stream=stream, slowdown=slowdown))
        elif size is UNSET or any(field is not UNSET for field in (time, op.stream, op.slowdown)):
            return None
        else:
            channel, element = op.channel or NETWORK, op.element_bytes or 1
            key, cut = op.fuse_key or None, op.cut is not False
            pair = op.source or None, op.target or None
            ops.append(
                Op(op.id, op.kind, None, size, after, channel, None, element, key, None, cut, *pair)
            )
    return ops


def _sent(op: _FastOp) -> tuple[object, ...]:
    """Return the fields that a collective alone has."""
    return op.bytes, op.channel, op.element_bytes, op.fuse_key, op.cut, op.source, op.target


def _are_plain(ops: list[Op]) -> bool:
    """Whether no name has a control character."""
    names = chain.from_iterable(
        (
            op.id,
            op.channel,
            op.stream or "",
            op.fuse_key or "",
            op.source or "",
            op.target or "",
            *op.after,
            *(name for name, _ in op.slowdown or ()),
        )
        for op in ops
    )
    return re.fullmatch(PLAIN, "".join(names)) is not None
