"""What may be wrong with ops by themselves: types, values, and what a graph lacks."""

import math
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any

from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph.op import COLLECTIVES, COMPUTE, KINDS, NETWORK, SEND_RECV, Op
from solver.limits import MAX_BYTES, MAX_DURATION_US
from solver.wording import must_be, one_of

#: Types of what is plainly a number, or nothing.
_PLAIN = (int, float, type(None))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number, be it a float."""
    return _is_number(value) and (isinstance(value, Integral) or float(value).is_integer())


def _is_name(value: Any) -> bool:
    return isinstance(value, str)


def _or_none(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_right(value)


#: What each field of an op must be, how that is told, and what is harmless in its place.
_TYPES: dict[str, tuple[str, Callable[[Any], bool], Any]] = {
    "id": ("a string", _is_name, ""),
    "kind": ("a string", _is_name, COMPUTE),
    "channel": ("a string", _is_name, NETWORK),
    "stream": ("a string", _or_none(_is_name), None),
    "fuse_key": ("a string", _or_none(_is_name), None),
    "source": ("a string", _or_none(_is_name), None),
    "target": ("a string", _or_none(_is_name), None),
    "after": ("a list", lambda value: isinstance(value, list | tuple), ()),
    "duration_us": ("a number", _or_none(_is_number), 0.0),
    "bytes": ("an integer", _or_none(_is_whole), 1),
    "element_bytes": ("an integer", _is_whole, 1),
}


def well_typed(ops: tuple[Op, ...]) -> tuple[tuple[Op, ...], list[Fault]]:
    """Return ops whose values are of their types, and what was not.

    Whole numbers of bytes become integers; what has the wrong type has a harmless value, so that
    all else can be looked at.

    Notes
    -----
    O(ops + edges); a sixth of the time of :func:`solver.graph.build` where nothing is wrong.
    """
    if all(map(_is_typed, ops)):
        return ops, []
    faults: list[Fault] = []
    return tuple(_mended(i, op, faults) for i, op in enumerate(ops)), faults


def _is_typed(op: Op) -> bool:
    """Tell whether an op has plain values of the right types."""
    name, kind, duration, size, after, channel, stream, element, key, _, _, source, target = op
    return (
        type(name) is str
        and isinstance(kind, str)
        and type(duration) in _PLAIN
        and (size is None or type(size) is int)
        and type(after) is tuple
        and all(isinstance(each, str) for each in after)
        and isinstance(channel, str)
        and (stream is None or isinstance(stream, str))
        and type(element) is int
        and (key is None or isinstance(key, str))
        and (source is None or isinstance(source, str))
        and (target is None or isinstance(target, str))
    )


def _mended(i: int, op: Op, faults: list[Fault]) -> Op:
    """Return an op with the right types, and list what was not."""
    what = f"Op {i}" if not isinstance(op.id, str) else f"{_sort_of(op)} {op.id!r}"

    def wrong(field: str, rule: str, value: Any) -> None:
        detail = must_be(f"{what}: {field}", rule, value)
        faults.append(Fault(f"/ops/{i}/{field}", FaultCode.WRONG_TYPE, detail))

    harmless: dict[str, Any] = {}
    for field, (rule, is_right, instead) in _TYPES.items():
        if not is_right(value := getattr(op, field)):
            wrong(field, rule, value)
            harmless[field] = instead
    if not isinstance(op.id, str):
        harmless["id"] = f"op {i}"
    op = op._replace(**harmless)
    odd = [place for place, each in enumerate(op.after) if not isinstance(each, str)]
    for place in odd[:1]:
        wrong(f"after/{place}", "a string", op.after[place])
    return op._replace(
        after=tuple(each for each in op.after if isinstance(each, str)),
        bytes=None if op.bytes is None else int(op.bytes),
        element_bytes=int(op.element_bytes),
    )


def _sort_of(op: Op) -> str:
    """Say what an op is called; one of no known kind is an op."""
    return "Tensor" if isinstance(op.kind, str) and op.kind in COLLECTIVES else "Op"


def value_faults(ops: Sequence[Op]) -> Iterator[Fault]:
    """List values that are missing, out of range, or not of the op's kind."""
    for i, op in enumerate(ops):
        if op.kind not in KINDS:
            detail = must_be(f"Op {op.id!r}: kind", one_of(sorted(KINDS)), op.kind, KINDS)
            yield Fault(f"/ops/{i}/kind", FaultCode.OUT_OF_RANGE, detail)
        elif op.kind == COMPUTE:
            value = op.duration_us
            if value is None:
                detail = f"Op {op.id!r}: duration_us is missing."
                yield Fault(f"/ops/{i}/duration_us", FaultCode.MISSING_FIELD, detail)
            elif not math.isfinite(value) or not 0 <= value <= MAX_DURATION_US:
                yield Fault(
                    f"/ops/{i}/duration_us",
                    FaultCode.OUT_OF_RANGE,
                    f"Op {op.id!r}: duration_us must be 0 to {MAX_DURATION_US:g}, got {value!r}.",
                )
        elif op.stream is not None:
            detail = f"Tensor {op.id!r}: only compute ops have a stream."
            yield Fault(f"/ops/{i}/stream", FaultCode.EXTRA_FIELD, detail)
        elif op.slowdown is not None:
            detail = f"Tensor {op.id!r}: only compute ops have a slowdown."
            yield Fault(f"/ops/{i}/slowdown", FaultCode.EXTRA_FIELD, detail)
        else:
            yield from _size_faults(i, op)
        if op.source is not None or op.target is not None:
            yield from _pair_faults(i, op)


def _pair_faults(i: int, op: Op) -> Iterator[Fault]:
    """List what is wrong with the pair of ranks of an op that names some."""
    pair = {"source": op.source, "target": op.target}
    for field, rank in pair.items():
        if op.kind != SEND_RECV and rank is not None:
            detail = f"{_sort_of(op)} {op.id!r}: only a {SEND_RECV} has a {field}."
            yield Fault(f"/ops/{i}/{field}", FaultCode.EXTRA_FIELD, detail)
        elif op.kind == SEND_RECV and rank is None:
            detail = f"Tensor {op.id!r}: {field} is missing; name both ranks or none."
            yield Fault(f"/ops/{i}/{field}", FaultCode.MISSING_FIELD, detail)
    if op.kind == SEND_RECV and op.source == op.target:
        detail = f"Tensor {op.id!r}: source and target must differ, both are {op.source!r}."
        yield Fault(f"/ops/{i}/target", FaultCode.OUT_OF_RANGE, detail)


def _size_faults(i: int, op: Op) -> Iterator[Fault]:
    if op.bytes is None:
        detail = f"Tensor {op.id!r}: bytes is missing."
        yield Fault(f"/ops/{i}/bytes", FaultCode.MISSING_FIELD, detail)
    elif not 0 < op.bytes <= MAX_BYTES:
        yield Fault(
            f"/ops/{i}/bytes",
            FaultCode.OUT_OF_RANGE,
            f"Tensor {op.id!r}: bytes must be 1 to 2^60, got {op.bytes!r}.",
        )
    elif op.element_bytes < 1:
        yield Fault(
            f"/ops/{i}/element_bytes",
            FaultCode.OUT_OF_RANGE,
            f"Tensor {op.id!r}: element_bytes must be 1 or more, got {op.element_bytes!r}.",
        )
    elif op.bytes % op.element_bytes:
        yield Fault(
            f"/ops/{i}/bytes",
            FaultCode.OUT_OF_RANGE,
            f"Tensor {op.id!r}: bytes must be a multiple of element_bytes "
            f"{op.element_bytes}, got {op.bytes}.",
        )


def whole_faults(ops: Sequence[Op]) -> Iterator[Fault]:
    """List what a graph lacks, and tensors that are too large together."""
    if all(op.kind != COMPUTE for op in ops):
        yield Fault("/ops", FaultCode.NO_COMPUTE, "The graph has no compute op.")
    sizes = [op.bytes or 0 for op in ops]
    if max(sizes, default=0) <= MAX_BYTES < sum(sizes):
        detail = f"All tensors: 2^60 bytes at most, got {sum(sizes)}."
        yield Fault("/ops", FaultCode.OUT_OF_RANGE, detail)
    if all(op.kind == COMPUTE for op in ops):
        yield Fault("/ops", FaultCode.NO_COLLECTIVE, "The graph has no collective op.")
