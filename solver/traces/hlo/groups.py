"""Which devices are in a collective together: the ways in which HLO text writes groups."""

import re
from collections.abc import Sequence
from itertools import product
from math import prod

from solver.traces.hlo.module import HloInstruction
from solver.traces.xla.hlo import AXIS, USED

#: Groups of devices, each in the order of the text.
Groups = tuple[tuple[int, ...], ...]

_LISTED = re.compile(r"replica_groups=\{(\{[\d,{}\s]*\})\}")
_NONE = re.compile(r"replica_groups=\{\}")
_IOTA = re.compile(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MESH = re.compile(r"replica_groups=mesh\[([^\]]*)\]\s*\{([^}]*)\}(?:,?\s*device_ids=([^,\s]*))?")
_PAIRS = re.compile(r"source_target_pairs=\{([\d,{}\s]*)\}")


_PAIR = 2
#: Numbers of devices have no more digits, and so many devices are read.
_DIGITS = 9
_MOST_DEVICES = 2**17


class GroupFault(ValueError):
    """What is wrong with the groups of a collective, in a sentence."""


def groups_of(one: HloInstruction, devices: int | None) -> Groups:
    """Return the groups of a collective; of a permute the pairs of sender and receiver.

    Parameters
    ----------
    one
        The collective.
    devices
        All of the program, which are one group where none is written.

    Raises
    ------
    GroupFault
        When they are not written, or in no way that is known.

    Notes
    -----
    O(devices). An iota ``[a,b]<=[d0,d1]T(p0,p1)`` numbers devices row by row in an array of the
    lengths d, transposes it by p, and cuts what comes out into a groups of b. A mesh names axes of
    such an array: devices that differ in the axes in braces alone are a group, of an axis
    ``'x':(a)b`` in the b parts of each of its a parts.
    """
    text = one.attributes
    if found := _PAIRS.search(text):
        pairs = _lists(found[1])
        if not pairs or any(len(pair) != _PAIR for pair in pairs):
            raise GroupFault("its source_target_pairs are none")
        return pairs
    if found := _LISTED.search(text):
        if groups := _lists(found[1]):
            return groups
        raise GroupFault("its replica_groups have no device")
    if found := _IOTA.search(text):
        return _iota(*(_numbers(part) for part in found.groups()))
    if found := _MESH.search(text):
        return _mesh(found[1], found[2], found[3])
    if (_NONE.search(text) or "replica_groups=" not in text) and devices:
        return (tuple(range(_bounded(devices))),)
    raise GroupFault("its replica_groups are written in no way that is known")


def _numbers(text: str | None) -> tuple[int, ...]:
    return tuple(_number(each) for each in (text or "").split(",") if each)


def _number(text: str) -> int:
    if len(text) > _DIGITS:
        raise GroupFault(f"{text[:20]}... is the number of no device")
    return int(text)


def _bounded(count: int) -> int:
    if not 1 <= count <= _MOST_DEVICES:
        raise GroupFault(f"its groups are of {count:,} devices, 1 to {_MOST_DEVICES:,} are read")
    return count


def _lists(text: str) -> Groups:
    return tuple(
        tuple(_number(each) for each in re.findall(r"\d+", group))
        for group in re.findall(r"\{([\d,\s]*)\}", text)
        if group.strip()
    )


def _iota(shape: Sequence[int], dims: Sequence[int], order: Sequence[int]) -> Groups:
    """Cut what an iota numbers into groups of its last length."""
    count = _bounded(prod(dims))
    axes = order or tuple(range(len(dims)))
    if sorted(axes) != list(range(len(dims))) or prod(shape) != count:
        raise GroupFault("the lengths of its replica_groups do not fit each other")
    strides = [prod(dims[k + 1 :]) for k in range(len(dims))]
    flat = [
        sum(at * strides[axis] for at, axis in zip(place, axes, strict=True))
        for place in product(*(range(dims[axis]) for axis in axes))
    ]
    size = shape[-1]
    return tuple(tuple(flat[k : k + size]) for k in range(0, count, size))


def _mesh(axes: str, used: str, ids: str | None) -> Groups:
    """Group the devices of a mesh that differ in the axes that are used alone."""
    if ids:
        raise GroupFault("its mesh numbers devices in an order of its own")
    dims: list[tuple[int, bool]] = []
    parts = {name: (before, size) for name, before, size in USED.findall(used)}
    for name, length in AXIS.findall(axes):
        whole = int(length)
        if name not in parts:
            dims.append((whole, False))
            continue
        before, size = parts.pop(name)
        if not size:
            dims.append((whole, True))
            continue
        outer, inner = int(before), int(size)
        if outer * inner == 0 or whole % (outer * inner):
            raise GroupFault(f"axis {name!r} of {whole} has no {inner} parts in each of {outer}")
        dims += [(outer, False), (inner, True), (whole // (outer * inner), False)]
    _bounded(prod(length for length, _ in dims))
    if not dims or parts:
        raise GroupFault("its mesh lacks an axis that it uses")
    found: dict[tuple[int, ...], list[int]] = {}
    for device, place in enumerate(product(*(range(length) for length, _ in dims))):
        key = tuple(at for at, (_, is_used) in zip(place, dims, strict=True) if not is_used)
        found.setdefault(key, []).append(device)
    return tuple(map(tuple, found.values()))


def channel_names(
    every: Sequence[tuple[Groups, bool]], devices: int, network: str
) -> dict[tuple[Groups, bool], str]:
    """Name a channel for each set of groups, in the order of the first collective.

    All devices are ``network``; ``groups_of_4`` have four devices each, with the distance of the
    first two where several sets have as many (``groups_of_4_by_2``), and a number where that does
    not tell them apart; permutes, which are told apart from other groups, are ``pairs``.
    """
    sets = list(dict.fromkeys((_ordered(groups), are_pairs) for groups, are_pairs in every))
    names = [_name(groups, devices, network, are_pairs=are_pairs) for groups, are_pairs in sets]
    told: dict[tuple[Groups, bool], str] = {}
    seen: dict[str, int] = {}
    for key, short in zip(sets, names, strict=True):
        name = f"{short}_by_{_distance(key[0])}" if names.count(short) > 1 else short
        seen[name] = seen.get(name, 0) + 1
        told[key] = name if seen[name] == 1 else f"{name}_{seen[name]}"
    return {(groups, are_pairs): told[_ordered(groups), are_pairs] for groups, are_pairs in every}


def _ordered(groups: Groups) -> Groups:
    return tuple(sorted(tuple(sorted(group)) for group in groups))


def _name(groups: Groups, devices: int, network: str, *, are_pairs: bool) -> str:
    most = max(map(len, groups))
    if most == devices:
        return network
    return "pairs" if are_pairs else f"groups_of_{most}"


def _distance(groups: Groups) -> int:
    return groups[0][1] - groups[0][0] if len(groups[0]) > 1 else 0
