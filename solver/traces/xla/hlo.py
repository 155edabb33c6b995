"""Instructions of HLO text: which are collectives, of how many bytes, of how many workers.

``%all-reduce.2 = (f32[256,128]{1,0}, f32[64]{0}) all-reduce(%dot.3, %dot.4),
replica_groups={{0,1,2,3}}, ...``
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER
from solver.limits import MAX_BYTES, MAX_WORKERS
from solver.traces.dimensions import elements

#: Collectives of HLO, and the kind of each.
KINDS = {
    "all-reduce": ALL_REDUCE,
    "all-gather": ALL_GATHER,
    "reduce-scatter": REDUCE_SCATTER,
    "all-to-all": ALL_TO_ALL,
    "ragged-all-to-all": ALL_TO_ALL,
    "collective-broadcast": BROADCAST,
}
START, DONE = "-start", "-done"

_NAME = re.compile(r"\s*(?:ROOT\s)?\s?%?([\w.\-]{1,512}) = ")
_OPCODE = re.compile(r" ([a-z][a-z0-9\-]*)\(")
_SHAPE = re.compile(r"(?<![a-z0-9])([a-z][a-z0-9]{0,15})\[([0-9,]*)\]")
_WRITTEN = "replica_groups="
_GROUPS = re.compile(r"\{\{([0-9,]+)\}")
_IOTA = re.compile(r"\[[0-9]{1,9},([0-9]{1,9})\]<=")
_MESH = re.compile(r"mesh\[([^\]]*)\] \{([^}]*)\}")
#: An axis of a mesh and its length; one that is used, and which part of it.
AXIS = re.compile(r"'([^']+)'=([0-9]{1,9})")
USED = re.compile(r"'([^']+)'(?::\(([0-9]{1,9})\)([0-9]{1,9}))?")
_SIZES = {
    "pred": 1,
    **dict.fromkeys(("s8", "u8"), 1),
    **dict.fromkeys(("s16", "u16", "f16", "bf16"), 2),
    **dict.fromkeys(("s32", "u32", "f32"), 4),
    **dict.fromkeys(("s64", "u64", "f64", "c64"), 8),
    "c128": 16,
}


class Instruction(NamedTuple):
    """A collective of a program.

    Attributes
    ----------
    name
        As events name it, without ``%``.
    opcode
        A key of :data:`KINDS`.
    bytes
        Of the whole tensor, as in a graph; None when it cannot be told. ``MAX_BYTES + 1`` stands
        for all that is more than a graph takes.
    workers
        That take part; None when it cannot be told, or all do. ``MAX_WORKERS + 1`` stands for all
        that is more than can be.
    """

    name: str
    opcode: str
    bytes: int | None
    workers: int | None


def instruction(line: str) -> Instruction | None:
    """Read a line of HLO text; None when it is no collective, or the end of one.

    An all-gather that is only begun has its operands and its results for a result. The result of
    a reduce-scatter is a share.
    """
    name = _NAME.match(line)
    opcode = _OPCODE.search(line, name.end() - 1) if name else None
    if name is None or opcode is None:
        return None
    kind = opcode[1].removesuffix(START)
    if kind not in KINDS:
        return None
    workers = _workers(line[opcode.end() :])
    shapes = _shapes(line[name.end() : opcode.start()])
    if kind != opcode[1] and kind == "all-gather" and shapes is not None and len(shapes) > 1:
        shapes = shapes[len(shapes) // 2 :]
    return Instruction(name[1], kind, _whole(kind, shapes, workers), workers)


def bytes_of_shape(opcode: str, shape: str) -> int | None:
    """Return the bytes of a collective's result as a shape is written; None for a share."""
    return _whole(opcode, _shapes(shape), None)


def instructions(lines: Iterable[str]) -> dict[str, Instruction]:
    """Read the collectives of a program, by name. O(characters).

    Of those of one name that differ, as those of two programs of one name may, bytes and workers
    are not known.
    """
    found: dict[str, Instruction] = {}
    for line in lines:
        one = instruction(line)
        if one is not None:
            is_same = found.get(one.name, one) == one
            found[one.name] = one if is_same else one._replace(bytes=None, workers=None)
    return found


def width(kind: str) -> int | None:
    """Return the bytes of an element of a type; None of an unknown one, or of less than a byte."""
    return 1 if kind.startswith("f8") else _SIZES.get(kind)


def _shapes(text: str) -> list[int] | None:
    """Return the bytes of each shape in a text; None where a type or a length is not known."""
    sizes = []
    for kind, lengths in _SHAPE.findall(text):
        size = width(kind)
        count = elements([length for length in lengths.split(",") if length])
        if size is None or count is None:
            return None
        sizes.append(size * count)
    return sizes


def _whole(opcode: str, shapes: list[int] | None, workers: int | None) -> int | None:
    if not shapes:
        return None
    parts = workers if KINDS[opcode] == REDUCE_SCATTER else 1
    return min(sum(shapes) * parts, MAX_BYTES + 1) if parts else None


def _workers(attributes: str) -> int | None:
    """Return how many workers are in a group, by any of the ways in which groups are written."""
    at = attributes.find(_WRITTEN) + len(_WRITTEN)
    if at < len(_WRITTEN):
        return None
    if listed := _GROUPS.match(attributes, at):
        return min(len(listed[1].split(",")), MAX_WORKERS + 1)
    if iota := _IOTA.match(attributes, at):
        return min(int(iota[1]), MAX_WORKERS + 1)
    mesh = _MESH.match(attributes, at)
    used = USED.findall(mesh[2]) if mesh else []
    if mesh is None or not used:
        return None
    axes = {name: int(size) for name, size in AXIS.findall(mesh[1])}
    workers = 1
    for name, _, part in used:
        workers = min(workers * int(part or axes.get(name, 1)), MAX_WORKERS + 1)
    return workers
