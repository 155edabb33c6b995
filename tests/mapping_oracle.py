"""All mappings of a small job onto a small cluster, in plain Python; shares no code with it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations, permutations


def up(node: str, above: dict[str, tuple[str, ...]], stop: str) -> list[str]:
    """Links from a node up to a switch."""
    found, below = [], node
    for switch in above[node]:
        found.append(f"{below}>{switch}")
        if switch == stop:
            return found
        below = switch
    raise ValueError(stop)


def bandwidth(
    edges: Iterable[tuple[int, int]],
    nodes: tuple[str, ...],
    above: dict[str, tuple[str, ...]],
    capacity: dict[str, float],
) -> float:
    """Of the slowest of all edges between slots that send at once."""
    ups: dict[str, int] = defaultdict(int)
    downs: dict[str, int] = defaultdict(int)
    for one, two in edges:
        a, b = nodes[one], nodes[two]
        if a == b:
            continue
        meet = next(s for s in above[a] if s in above[b])
        for link in up(a, above, meet):
            ups[link] += 1
        for link in up(b, above, meet):
            downs[link] += 1
    links = {*ups, *downs}
    return min((capacity[n] / max(ups[n], downs[n]) for n in links), default=float("inf"))


def rings(gpus: int, slot: int, ranks: int, stride: int) -> Iterator[tuple[int, int]]:
    """Edges between slots of the rings of ``ranks`` GPUs, each ``stride`` after the last."""
    for block in range(0, gpus, ranks * stride):
        for offset in range(stride):
            ring = [block + offset + k * stride for k in range(ranks)]
            for i, rank in enumerate(ring):
                one, two = rank // slot, ring[(i + 1) % ranks] // slot
                if one != two:
                    yield one, two


def every_mapping(free: Iterable[str], slots: int) -> Iterator[tuple[str, ...]]:
    """All choices and orders of nodes."""
    return permutations(free, slots)


def every_ring(free: Iterable[str], slots: int) -> Iterator[tuple[str, ...]]:
    """All choices of nodes, in all orders round a ring: where it begins and its way are no matter.

    A link has as many flows either way of a ring, whichever way round it goes.
    """
    for first, *others in combinations(free, slots):
        for rest in permutations(others):
            if len(rest) < 2 or rest[0] < rest[-1]:
                yield first, *rest


def chains(gpus: int, slot: int, stride: int) -> Iterator[tuple[int, int]]:
    """Edges between slots of pipelines, whose stages are ``stride`` GPUs each."""
    for rank in range(gpus - stride):
        one, two = rank // slot, (rank + stride) // slot
        if one != two:
            yield one, two
