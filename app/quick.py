"""A body that fits the schema, read in one pass.

Parsing to dicts and validating those takes four times as long and three times the memory for a
graph of a million ops (tests/benchmarks/big.py). What is read here is the same as what
:mod:`app.shape` finds to fit; whatever is not understood here is left to it.
"""

import re
from itertools import chain
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from app.body import PLAIN
from app.faults import MAX_NAME
from app.requests import MAX_OPS, CollectiveKind
from app.shape import Model, fitting
from solver.graph import COMPUTE, MAX_BYTES, MAX_DURATION_US, NETWORK, Op

_Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]


class _Op(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An op of any kind."""

    id: _Name
    kind: Literal["compute"] | CollectiveKind
    after: Annotated[tuple[_Name, ...], Meta(max_length=MAX_OPS)] = ()
    duration_us: Annotated[float, Meta(ge=0, le=MAX_DURATION_US)] | UnsetType = UNSET
    bytes: Annotated[int, Meta(ge=1, le=MAX_BYTES)] | UnsetType = UNSET
    channel: _Name | UnsetType = UNSET
    stream: _Name | UnsetType | None = UNSET


class _Graph(msgspec.Struct, forbid_unknown_fields=True):
    ops: Annotated[list[_Op], Meta(max_length=MAX_OPS)]
    name: str = ""


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
    request = fitting({"graph": {"name": graph.name, "ops": []}, **rest}, model)
    if request is None:
        return None
    ops = []
    for op in graph.ops:
        size, time = op.bytes, op.duration_us
        if op.kind == COMPUTE:
            if time is UNSET or size is not UNSET or op.channel is not UNSET:
                return None
            ops.append(Op(op.id, COMPUTE, time, None, op.after, stream=op.stream or None))
        elif size is UNSET or time is not UNSET or op.stream is not UNSET:
            return None
        else:
            ops.append(Op(op.id, op.kind, None, size, op.after, op.channel or NETWORK))
    # a control character in a text stands behind a backslash, or is this one
    if (b"\\" in body or b"\x7f" in body) and not _are_plain(ops):
        return None
    return request, ops


def _are_plain(ops: list[Op]) -> bool:
    """Whether no name has a control character."""
    names = chain.from_iterable((op.id, op.channel, op.stream or "", *op.after) for op in ops)
    return re.fullmatch(PLAIN, "".join(names)) is not None
