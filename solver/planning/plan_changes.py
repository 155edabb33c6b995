"""A plan's neighbours: two launches swapped, two buckets joined, one parted, a tensor moved."""

from collections.abc import Sequence

import numpy as np

from solver.buckets import Launch
from solver.chain import Chain


def neighbour(
    launches: Sequence[Launch], chain: Chain, random: np.random.Generator
) -> tuple[Launch, ...] | None:
    """Return launches that differ in one place drawn at random; None where that changes nothing.

    Launches may come to wait for one another where a tensor comes after another.
    """
    place, how = int(random.integers(len(launches))), int(random.integers(4))
    return _CHANGES[how](list(launches), place, chain, random)


def _swapped(
    launches: list[Launch], place: int, chain: Chain, random: np.random.Generator
) -> tuple[Launch, ...] | None:
    """Let a launch and the next one change places."""
    if place + 1 >= len(launches) or launches[place].bucket == launches[place + 1].bucket:
        return None
    launches[place : place + 2] = launches[place + 1], launches[place]
    return tuple(launches)


def _joined(
    launches: list[Launch], place: int, chain: Chain, random: np.random.Generator
) -> tuple[Launch, ...] | None:
    """Send two buckets that follow each other as one, in one launch."""
    if place + 1 >= len(launches):
        return None
    first, second = launches[place], launches[place + 1]
    if not _may_join(first, second, chain):
        return None
    bucket = tuple(sorted(first.bucket + second.bucket))
    launches[place : place + 2] = [_whole(bucket, chain)]
    return tuple(launches)


def _parted(
    launches: list[Launch], place: int, chain: Chain, random: np.random.Generator
) -> tuple[Launch, ...] | None:
    """Send a bucket as two, earlier tensors first."""
    launch = launches[place]
    if len(launch.bucket) == 1 or not _is_whole(launch, chain):
        return None
    cut = int(random.integers(1, len(launch.bucket)))
    parts = launch.bucket[:cut], launch.bucket[cut:]
    launches[place : place + 1] = [_whole(part, chain) for part in parts]
    return tuple(launches)


def _moved(
    launches: list[Launch], place: int, chain: Chain, random: np.random.Generator
) -> tuple[Launch, ...] | None:
    """Move the last tensor of a bucket to the next one, or the first of that to it."""
    if place + 1 >= len(launches):
        return None
    first, second = launches[place], launches[place + 1]
    if not _may_join(first, second, chain):
        return None
    tensors = (*first.bucket, *second.bucket)
    cut = len(first.bucket) + (1 if random.integers(2) else -1)
    if not 0 < cut < len(tensors):
        return None
    parts = sorted(tensors[:cut]), sorted(tensors[cut:])
    launches[place : place + 2] = [_whole(tuple(part), chain) for part in parts]
    return tuple(launches)


_CHANGES = (_swapped, _joined, _parted, _moved)


def _may_join(first: Launch, second: Launch, chain: Chain) -> bool:
    """Tell whether tensors of two buckets, each sent whole, may travel together."""
    return (
        first.bucket != second.bucket
        and chain.lane[first.bucket[0]] == chain.lane[second.bucket[0]]
        and _is_whole(first, chain)
        and _is_whole(second, chain)
    )


def _is_whole(launch: Launch, chain: Chain) -> bool:
    return launch == _whole(launch.bucket, chain)


def _whole(bucket: tuple[int, ...], chain: Chain) -> Launch:
    return Launch(bucket, sum(chain.bytes[list(bucket)].tolist()))
