"""A body that fits the schema, read in one pass."""

import re
from itertools import chain
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType

from app.limits import MAX_NAME, MAX_OPS
from app.reading.schema_faults import Model, fitting
from app.schemas.base import PLAIN
from app.schemas.graphs import CollectiveKind
from solver.graph import COMPUTE, MAX_BYTES, MAX_DURATION_US, NETWORK, Op

_QUOTE, _ESCAPE = b'"\\'


#: So many bytes are looked at together.
_AT_ONCE = 2**16


def texts_of(value: Any) -> int:
    """Count the texts in a JSON value, keys of objects included."""
    if isinstance(value, dict):
        return len(value) + sum(map(texts_of, value.values()))
    if isinstance(value, list):
        return sum(map(texts_of, value))
    return isinstance(value, str)


def may_repeat(body: bytes | bytearray, texts: int) -> bool:
    """Tell whether JSON may repeat a key, when so many texts were read of it.

    True also when that cannot be told so fast: when a text has a quotation mark, or ends with a
    backslash. O(bytes), at some gigabytes a second.
    """
    found, codes = 0, np.frombuffer(body, np.uint8)
    has_escapes = b"\\" in body
    for i in range(1, len(codes), _AT_ONCE):  # an object does not begin with a quotation mark
        marks = codes[i : i + _AT_ONCE] == _QUOTE
        if has_escapes and np.any(marks & (codes[i - 1 : i - 1 + len(marks)] == _ESCAPE)):
            return True
        found += int(np.count_nonzero(marks))
    return found != 2 * texts


_Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]


class _Op(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An op of any kind."""

    id: _Name
    kind: Literal["compute"] | CollectiveKind
    after: Annotated[tuple[_Name, ...], Meta(max_length=MAX_OPS)] | UnsetType = UNSET
    duration_us: Annotated[float, Meta(ge=0, le=MAX_DURATION_US)] | UnsetType = UNSET
    bytes: Annotated[int, Meta(ge=1, le=MAX_BYTES)] | UnsetType = UNSET
    channel: _Name | UnsetType = UNSET
    stream: _Name | UnsetType | None = UNSET


class _Graph(msgspec.Struct, forbid_unknown_fields=True):
    ops: Annotated[list[_Op], Meta(max_length=MAX_OPS)]
    name: str | UnsetType = UNSET


_GRAPH = msgspec.json.Decoder(_Graph)


_REST = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_quickly(body: bytes | bytearray, model: type[Model]) -> tuple[Model, list[Op]] | None:
    """Return a body without its ops, and the ops; None when it may not fit the schema.

    O(bytes).
    """
    try:
        raw = _REST.decode(body)
        graph = _GRAPH.decode(raw.pop("graph"))
        rest = {key: msgspec.json.decode(value) for key, value in raw.items()}
    except (msgspec.MsgspecError, ValueError, RecursionError, KeyError):
        return None
    request = fitting({"graph": {"name": graph.name or "", "ops": []}, **rest}, model)
    if request is None:
        return None
    found = _ops_of(graph)
    if found is None:
        return None
    ops, texts = found
    texts += texts_of({**rest, "graph": {"ops": []}}) + (0 if graph.name is UNSET else 2)
    # a control character in a text stands behind a backslash, or is this one
    has_controls = (b"\\" in body or b"\x7f" in body) and not _are_plain(ops)
    return None if has_controls or may_repeat(body, texts) else (request, ops)


def _ops_of(graph: _Graph) -> tuple[list[Op], int] | None:
    """Return the ops, and of how many texts they were read; None when one does not fit its kind."""
    ops = []
    texts = 5 * len(graph.ops)  # keys and values: an id, a kind, and a time or a size
    for op in graph.ops:
        size, time, after = op.bytes, op.duration_us, op.after
        if after is UNSET:
            after = ()
        else:
            texts += 1 + len(after)
        if op.kind == COMPUTE:
            if time is UNSET or size is not UNSET or op.channel is not UNSET:
                return None
            if op.stream is not UNSET:
                texts += 1 if op.stream is None else 2
            ops.append(Op(op.id, COMPUTE, time, None, after, stream=op.stream or None))
        elif size is UNSET or time is not UNSET or op.stream is not UNSET:
            return None
        else:
            texts += 0 if op.channel is UNSET else 2
            ops.append(Op(op.id, op.kind, None, size, after, op.channel or NETWORK))
    return ops, texts


def _are_plain(ops: list[Op]) -> bool:
    """Whether no name has a control character."""
    names = chain.from_iterable((op.id, op.channel, op.stream or "", *op.after) for op in ops)
    return re.fullmatch(PLAIN, "".join(names)) is not None
