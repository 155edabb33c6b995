"""Shapes of HLO: arrays with their bytes, and tuples of shapes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from solver.limits import MAX_BYTES
from solver.traces.dimensions import elements
from solver.traces.xla.hlo import width

#: Tuples nested deeper are no program's.
_DEPTH = 16
_ARRAY = re.compile(r"([a-z][a-z0-9]{0,15})(?:\[([^\]]*)\])?")
_LAYOUT = re.compile(r"(?:\{[^{}]*\})?")
_LENGTH = re.compile(r"<=|\s")
#: Types of less than a byte, which take one each where the layout does not say otherwise.
_SMALL = re.compile(r"[su][124]|f4\w*")
#: What a layout says of memory: four bits an element, and the host's memory space.
_NIBBLES, _HOST = "E(4)", "S(5)"


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """An array, or a token, which has no bytes.

    Attributes
    ----------
    type
        Of an element, such as ``bf16``.
    dims
        Its lengths; of a bounded one the bound.
    bytes
        On one device; 0 of what is in the host's memory.
    """

    type: str
    dims: tuple[int, ...]
    bytes: int

    @property
    def count(self) -> int:
        """How many elements it has."""
        return prod(self.dims)


#: An array, or a tuple of shapes.
Shape = ArrayShape | tuple["Shape", ...]


class ShapeFault(ValueError):
    """What is wrong with a shape, in a sentence."""


def shape_of(text: str, depth: int = 0) -> Shape:
    """Read a shape: ``f32[4,8]{1,0}``, ``(f32[4], (s32[], token[]))``.

    Raises
    ------
    ShapeFault
        When it is none, of an unknown type, or of more than 2^60 bytes.

    Notes
    -----
    O(characters) a level of nesting, of which there are at most 16.
    """
    text = text.strip()
    if text.startswith("("):
        if not text.endswith(")") or depth == _DEPTH:
            raise ShapeFault(f"{text[:40]!r} is no shape")
        return tuple(shape_of(part, depth + 1) for part in parted(text[1:-1]))
    found = _ARRAY.match(text)
    if found is None or not _LAYOUT.fullmatch(text, found.end()):
        raise ShapeFault(f"{text[:40]!r} is no shape")
    kind, layout = found[1], text[found.end() :]
    if kind in ("token", "opaque"):
        return ArrayShape(kind, (), 0)
    lengths = [_LENGTH.sub("", each) for each in (found[2] or "").split(",") if each.strip()]
    size = element_bytes(kind)
    if found[2] is None or size is None or not all(map(_is_length, lengths)):
        raise ShapeFault(f"{text[:40]!r} is no shape of a known type")
    count = elements(lengths)
    if count is None or size * count > MAX_BYTES:
        raise ShapeFault(f"{text[:40]!r} has more than 2^60 bytes")
    size *= count
    if _NIBBLES in layout:
        size = -(-size // 2)
    return ArrayShape(kind, tuple(map(int, lengths)), 0 if _HOST in layout else size)


def element_bytes(kind: str) -> int | None:
    """Return the bytes of an element of a type; None of an unknown one."""
    return 1 if _SMALL.fullmatch(kind) else width(kind)


def _is_length(text: str) -> bool:
    return text.isascii() and text.isdigit()


def leaves(shape: Shape) -> Iterator[ArrayShape]:
    """Yield the arrays of a shape in order."""
    if isinstance(shape, ArrayShape):
        yield shape
    else:
        for part in shape:
            yield from leaves(part)


def bytes_of(shape: Shape) -> int:
    """Bytes of all arrays of a shape on one device."""
    return sum(leaf.bytes for leaf in leaves(shape))


def parted(text: str) -> Iterator[str]:
    """Yield what stands between commas that are in no bracket; O(characters)."""
    depth = begin = 0
    for mark in re.finditer(r"[\[({})\],]", text):
        if mark[0] in "[({":
            depth += 1
        elif mark[0] in "])}":
            depth -= 1
        elif depth == 0:
            yield text[begin : mark.start()]
            begin = mark.end()
    if text[begin:].strip():
        yield text[begin:]
