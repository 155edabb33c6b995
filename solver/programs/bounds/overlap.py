"""What a resource cannot do beside a collective at the beginning or at the end.

When a collective e starts, the ops of a stream that e comes after have ended. Those that have not
are still followed by their own collectives, on the channel of e only after e: ops put off to run
beside e lengthen what the channel has left. Each op pays its time to collectives of that channel
that come after it, none of which takes more than its own time; only the unpaid rest can hide e
(MODEL.md section 16.4). At the beginning the same holds in reverse.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solver.bounds.kinds import OVERLAP
from solver.evidence.bound import Bound
from solver.graph.links import Positions
from solver.programs.bounds.work import Resource, additive_times
from solver.programs.problem import ProgramProblem
from solver.units import FloatArray

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Rest:
    """What remains of a resource beside a collective.

    Attributes
    ----------
    op
        Position of the collective.
    gain_us
        The time of the iteration less the work of the resource, at least [us].
    is_linked
        Whether the collective comes after an op of the resource (at the beginning: before one),
        so that the resource's work has what comes before it (after it) too.
    """

    op: int
    gain_us: float
    is_linked: bool


def overlap_bound(
    problem: ProgramProblem,
    resources: Sequence[Resource],
    heads: FloatArray,
    tails: FloatArray,
    best: Bound,
) -> Bound:
    """Return the best of a bound and what streams and channels have left beside a collective.

    Notes
    -----
    O(collectives * groups of ops with the same collectives after them) for each pair of resources.
    """
    graph = problem.graph
    for other in resources:
        if other.parts[0].least is None:
            continue
        after = _reach(graph.order[::-1], graph.succs, other)
        before = _reach(graph.order, graph.preds, other)
        for own in resources:
            if own is other:
                continue
            times = additive_times(own)
            ends = _rests(own, times, other, after, tails)
            begins = _rests(own, times, other, before, heads)
            work = sum(times)
            head, tail = float(heads[own.members].min()), float(tails[own.members].min())
            for value, pair in _values(ends, begins, before, other, work, head, tail):
                if value > best.value_us:
                    names = tuple(graph.ops[i].id for i in pair)
                    best = Bound(OVERLAP, value, names)
    return best


def _values(
    ends: list[_Rest],
    begins: list[_Rest],
    before: Sequence[int],
    other: Resource,
    work: float,
    head: float,
    tail: float,
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """List bounds by one collective at the end, one at the beginning, or both [us]."""
    for rest in ends:
        yield (head if rest.is_linked else 0.0) + work + rest.gain_us, (rest.op,)
    for rest in begins:
        yield (tail if rest.is_linked else 0.0) + work + rest.gain_us, (rest.op,)
    place = {i: k for k, i in enumerate(other.members.tolist())}
    for last in ends:
        for first in begins:
            if before[last.op] >> place[first.op] & 1:
                yield first.gain_us + work + last.gain_us, (first.op, last.op)
                break


def _reach(order: Sequence[int], links: Positions, resource: Resource) -> list[int]:
    """Return of each op the members that a path leads to along links, as a bit mask."""
    place = {i: k for k, i in enumerate(resource.members.tolist())}
    masks = [0] * len(links)
    for i in order:
        for j in links[i]:
            masks[i] |= masks[j] | (1 << place[j] if j in place else 0)
    return masks


def _rests(
    own: Resource,
    times: Sequence[float],
    other: Resource,
    reach: Sequence[int],
    tails: FloatArray,
) -> list[_Rest]:
    """Return what each collective of ``other`` adds to the work of ``own``, the most first."""
    groups: dict[int, float] = {}
    for i, time in zip(own.members.tolist(), times, strict=True):
        if time > 0.0:
            groups[reach[i]] = groups.get(reach[i], 0.0) + time
    ordered = sorted(groups.items(), key=lambda group: (group[0].bit_count(), group[0]))
    members = other.members
    linked = _bits([mask for mask, _ in ordered], len(members))
    apart = ~linked.T @ np.array([time for _, time in ordered])
    fixed = _bits([reach[i] | 1 << k for k, i in enumerate(members.tolist())], len(members))
    best: dict[int, float] = {}
    for line, startup, places in _lines(other):
        for least in (np.zeros(len(members)), tails[members]):
            room = np.where(tails[members] >= least[:, None], line, 0.0)
            room[np.arange(len(members)), np.arange(len(members))] += startup
            surely = (fixed * room).sum(axis=1) + least
            # all rooms full: what is unpaid at least
            unpaid = apart - (room.sum(axis=1) + least - surely)
            ceiling = surely - np.maximum(unpaid, 0.0)
            for k in np.flatnonzero(places & (ceiling > 0.0)).tolist():
                if ceiling[k] > best.get(k, 0.0):
                    groups_apart = [group for group in ordered if not group[0] >> k & 1]
                    left = np.where(fixed[k], 0.0, room[k])
                    gain = float(surely[k]) - _unpaid(groups_apart, left)
                    best[k] = max(gain, best.get(k, 0.0))
    rests = [
        _Rest(int(members[k]), gain, bool(linked[:, k].any()))
        for k, gain in sorted(best.items())
        if gain > 0.0
    ]
    return sorted(rests, key=lambda rest: (-rest.gain_us, rest.op))


def _bits(masks: Sequence[int], count: int) -> BoolArray:
    """Return the bits of masks, a row for each."""
    width = (count + 7) // 8
    raw = np.frombuffer(b"".join(mask.to_bytes(width, "little") for mask in masks), np.uint8)
    bits = np.unpackbits(raw.reshape(len(masks), width), axis=1, bitorder="little")
    return bits[:, :count].astype(bool)


def _lines(resource: Resource) -> Iterator[tuple[FloatArray, float, BoolArray]]:
    """List times of the members of a channel, a start-up, and members [us].

    Any set with one of the members takes the sum of its times and the start-up at least.
    """
    sums = [max(part.lines, key=lambda line: float(line.sum())) for part in resource.parts]
    for p, part in enumerate(resource.parts):
        rest = np.sum([0.0 * sums[p], *(line for q, line in enumerate(sums) if q != p)], axis=0)
        places = np.array(part.carries)
        for line in part.lines:
            yield line + rest, 0.0, places
        for startup, per_byte in part.minorants:
            yield per_byte * part.bytes + rest, startup, places


def _unpaid(groups: Sequence[tuple[int, float]], room: FloatArray) -> float:
    """Return what groups of ops cannot pay to the collectives of their masks, few first [us].

    ``room`` is what each of these takes [us].
    """
    some = int.from_bytes(np.packbits(room > 0.0, bitorder="little").tobytes(), "little")
    left: list[float] = room.tolist()
    total = 0.0
    for mask, time in groups:
        reached, unpaid = mask & some, time
        while reached and unpaid > 0.0:
            low = reached & -reached
            m = low.bit_length() - 1
            paid = min(unpaid, left[m])
            unpaid -= paid
            left[m] -= paid
            if left[m] <= 0.0:
                some ^= low
            reached ^= low
        total += unpaid
    return total
