"""The rules that most policies are made of, and the buckets that they may send."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush

from solver.buckets import Launch, whole_elements
from solver.chain import Chain

#: A bucket (chain indices) and the sizes of the parts it is sent in [bytes].
Unit = tuple[tuple[int, ...], tuple[int, ...]]


#: Sort key of a unit (its index) that became ready at a time [us]; least goes first.
Key = Callable[[int, float], tuple[float, ...]]


class Queue:
    """Sends the parts of the ready unit with the least key; it is ready with its last tensor."""

    def __init__(self, units: Mapping[int, Unit], key: Key) -> None:
        self._units = units
        self._key = key
        self._home = {tensor: u for u, (bucket, _) in units.items() for tensor in bucket}
        self._missing = {u: len(bucket) for u, (bucket, _) in units.items()}
        self._launches = dict.fromkeys(units, 0)
        self._ready: list[tuple[tuple[float, ...], int]] = []

    def release(self, tensor: int, now: float) -> None:
        """Count a tensor in; queue its unit when it is the last one."""
        unit = self._home[tensor]
        self._missing[unit] -= 1
        if not self._missing[unit]:
            heappush(self._ready, (self._key(unit, now), unit))

    def first(self) -> Launch | None:
        """Tell what would be sent next."""
        if not self._ready:
            return None
        unit = self._ready[0][1]
        bucket, parts = self._units[unit]
        return Launch(bucket, parts[self._launches[unit]])

    def launch(self, now: float) -> Launch | None:
        """Send the next part of the first unit."""
        launch = self.first()
        if launch:
            unit = self._ready[0][1]
            self._launches[unit] += 1
            if self._launches[unit] == len(self._units[unit][1]):
                heappop(self._ready)
        return launch


class InOrder:
    """Replays launches in the order given, each as soon as its bucket is released."""

    def __init__(self, launches: Iterable[Launch]) -> None:
        self._launches = list(launches)[::-1]
        self._released: set[int] = set()

    def release(self, tensor: int, now: float) -> None:
        """Count a tensor in."""
        self._released.add(tensor)

    def launch(self, now: float) -> Launch | None:
        """Send the next part when all of its bucket is released."""
        if self._launches and self._released.issuperset(self._launches[-1].bucket):
            return self._launches.pop()
        return None


def queues(units: Sequence[Unit], key: Key, chain: Chain) -> list[Queue]:
    """Give each channel a queue of its units; a unit's number is its place among all."""
    return [Queue({u: units[u] for u in found}, key) for found in _by_channel(units, chain)]


def _by_channel(units: Sequence[Unit], chain: Chain) -> list[list[int]]:
    channel = chain.channel
    found: list[list[int]] = [[] for _ in chain.channels]
    for u, (bucket, _) in enumerate(units):
        found[channel[bucket[0]]].append(u)
    return found


def in_order(launches: Iterable[Launch], chain: Chain) -> list[InOrder]:
    """Replay launches in the order given, on each channel its own."""
    launches = list(launches)
    units: list[Unit] = [(launch.bucket, ()) for launch in launches]
    return [InOrder(launches[u] for u in found) for found in _by_channel(units, chain)]


def group_tensors(chain: Chain, joins: Callable[[list[int], int, int], bool]) -> list[list[int]]:
    """Put the tensors in buckets, in release order, each in its lane's open bucket or a new one.

    ``joins(bucket, held, tensor)`` tells whether a tensor may join its lane's open bucket, which
    holds so many bytes. A tensor that comes after a member of an open bucket closes it first. So
    what waits for a bucket is never in it, and no two buckets wait for each other: the one that
    waits takes its tensor after the other has taken its last.
    """
    buckets: list[list[int]] = []
    opened: dict[int, list[int]] = {}
    held = [0] * len(chain.lanes)
    masks = [0] * len(chain.lanes)  # members of the open buckets, as bits
    sizes = chain.bytes.tolist()
    for tensor, lane in enumerate(chain.lane):
        if chain.before:
            before = chain.before[tensor]
            opened = {k: bucket for k, bucket in opened.items() if not masks[k] & before}
        if lane not in opened or not joins(opened[lane], held[lane], tensor):
            opened[lane] = []
            held[lane] = masks[lane] = 0
            buckets.append(opened[lane])
        opened[lane].append(tensor)
        held[lane] += sizes[tensor]
        masks[lane] |= 1 << tensor if chain.before else 0
    return buckets


def whole_units(buckets: Iterable[Sequence[int]], chain: Chain) -> list[Unit]:
    """Units that send each bucket in one part."""
    return [(tuple(b), (int(chain.bytes[list(b)].sum()),)) for b in buckets]


def slice_tensors(chain: Chain, size: int) -> list[Unit]:
    """Units that send each tensor alone, in parts of so many bytes, the last one short.

    A part carries whole elements, and one at least.
    """
    return [
        ((i,), (part,) * (total // part) + ((total % part,) if total % part else ()))
        for i, (total, part) in enumerate(_slices(chain, size))
    ]


def slice_count(chain: Chain, size: int) -> int:
    """Count the parts of :func:`slice_tensors`."""
    return sum(-(-total // part) for total, part in _slices(chain, size))


def _slices(chain: Chain, size: int) -> list[tuple[int, int]]:
    """Bytes of each tensor, and of a part of it."""
    elements = map(chain.element_bytes, range(len(chain)))
    return [
        (total, max(element, whole_elements(size, element)))
        for total, element in zip(chain.bytes.tolist(), elements, strict=True)
    ]


def first_in_first_out(unit: int, now: float) -> tuple[float, ...]:
    """Key: earlier ready first, then the order of the units."""
    return (now, unit)


def most_urgent(units: Sequence[Unit], chain: Chain) -> Key:
    """Key: largest tail first; ties to the later release, then position."""
    tails = [float(chain.tail[list(bucket)].max()) for bucket, _ in units]
    return lambda unit, now: (-tails[unit], -now, unit)
