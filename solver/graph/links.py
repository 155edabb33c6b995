"""Edges between ops: from names to positions, in topological order, or around a cycle."""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

Positions = tuple[tuple[int, ...], ...]


class LinkedNode(Protocol):
    """What has a name, comes after others, and may be one of a stream."""

    @property
    def id(self) -> str:
        """Name."""

    @property
    def after(self) -> tuple[str, ...]:
        """Names of what comes before."""

    @property
    def stream(self) -> str | None:
        """What runs one op at a time."""


class EdgePositions(NamedTuple):
    """Edges as positions.

    Attributes
    ----------
    preds, succs
        Positions of each op's predecessors and successors, without repeats.
    is_whole
        Whether all ids differ, and all edges lead from one op to another.
    """

    preds: Positions
    succs: Positions
    is_whole: bool


def link(ops: Iterable[LinkedNode], free: Container[str] = ()) -> EdgePositions:
    """Find the positions of each op's predecessors and successors.

    The op before it in its stream is a predecessor as well, but in the streams ``free``. Of two
    ops with one id the first is meant; edges that lead nowhere or to their own op are
    left out. O(ops + edges).
    """
    ops = tuple(ops)
    places = list(range(len(ops)))  # the same object wherever an op is named
    index = dict(zip((op.id for op in reversed(ops)), reversed(places), strict=True))
    is_whole = len(index) == len(ops)
    before = {j: places[i] for i, j in stream_edges(ops) if ops[i].stream not in free}
    preds: list[tuple[int, ...]] = []
    for i, op in enumerate(ops):
        try:
            above = tuple(map(index.__getitem__, op.after))
        except KeyError:
            above = tuple(index[name] for name in op.after if name in index)
            is_whole = False
        if i in above:
            above = tuple(j for j in above if j != i)
            is_whole = False
        if i in before:
            above = (*above, before[i])
        preds.append(above if len(above) < 2 else tuple(dict.fromkeys(above)))  # noqa: PLR2004
    del index, before
    return EdgePositions(tuple(preds), turned(preds, places), is_whole)


def turned(preds: Sequence[Sequence[int]], places: Sequence[int]) -> Positions:
    """Return the successors of each op, ascending; ``places`` are the positions from 0.

    Lists go when their tuples are made: a graph of millions of edges is held once.
    """
    none: list[int] = []
    succs: list[Any] = [none] * len(preds)
    for i, above in zip(places, preds, strict=True):
        for j in above:
            if succs[j] is none:
                succs[j] = [i]
            else:
                succs[j].append(i)
    for j, found in enumerate(succs):
        succs[j] = tuple(found)
    return tuple(succs)


def topological_order(preds: Sequence[Sequence[int]], succs: Sequence[Sequence[int]]) -> list[int]:
    """Kahn's algorithm; ops on or behind a cycle are missing from the result."""
    waiting = [len(found) for found in preds]
    order = [i for i, count in enumerate(waiting) if count == 0]
    for i in order:  # grows while it is read
        for j in succs[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                order.append(j)
    return order


def short_cycle(
    preds: Sequence[Sequence[int]], succs: Sequence[Sequence[int]], order: Sequence[int]
) -> list[int]:
    """Find a cycle, then the shortest one through its first op, by breadth-first search.

    ``order`` is what :func:`topological_order` gave, and not all of the ops. O(ops + edges).
    """
    done = set(order)
    here = next(i for i in range(len(preds)) if i not in done)
    walked: dict[int, None] = {}
    while here not in walked:  # every op left has a predecessor left
        walked[here] = None
        here = next(j for j in preds[here] if j not in done)
    path = list(walked)
    start = min(path[path.index(here) :])
    came: dict[int, int] = {}
    queue = [start]
    for i in queue:
        for j in succs[i]:
            if j == start:
                return _walk_back(i, start, came)
            if j not in came and j not in done:
                came[j] = i
                queue.append(j)
    raise AssertionError("an op on a cycle reaches itself")  # pragma: no cover - by construction


def _walk_back(last: int, start: int, came: dict[int, int]) -> list[int]:
    cycle = [last]
    while cycle[-1] != start:
        cycle.append(came[cycle[-1]])
    return cycle[::-1]


def stream_edges(ops: Sequence[LinkedNode]) -> Iterator[tuple[int, int]]:
    """Yield the edges that streams add: an op's position and that of the next in its stream."""
    last: dict[str, int] = {}
    for i, op in enumerate(ops):
        if op.stream is not None:
            if op.stream in last:
                yield last[op.stream], i
            last[op.stream] = i
