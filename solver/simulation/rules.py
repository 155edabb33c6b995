"""The rules that most policies are made of, and the buckets that they may send."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from solver.buckets import Launch, whole_elements
from solver.chain import Chain
from solver.graph import SEND_RECV
from solver.simulation.kernel.credit import CreditQueue
from solver.simulation.kernel.senders import InOrder, Queue, Unit, Units


class Order(NamedTuple):
    """Which of the units that are ready goes first: that of the least rank.

    Attributes
    ----------
    ranks
        Of each unit; empty when all have the same.
    latest_first
        Of one rank the unit that became ready last goes first, else the one that did so first; of
        those the one of the smallest number.
    """

    ranks: Sequence[float] = ()
    latest_first: bool = False


#: Earlier ready first, then the order of the units.
first_in_first_out = Order()


def most_urgent(units: Sequence[Unit], chain: Chain) -> Order:
    """Largest tail first; ties to the later release, then position."""
    tails = chain.tail.tolist()
    return Order([-max(tails[i] for i in bucket) for bucket, _ in units], latest_first=True)


def queues(units: Sequence[Unit], order: Order, chain: Chain) -> list[Queue]:
    """Give each channel a queue of its units; a unit's number is its place among all."""
    return [Queue(*each) for each in _queues(units, order, chain)]


def credit_queues(
    units: Sequence[Unit], order: Order, chain: Chain, credit: int
) -> list[CreditQueue]:
    """Give each channel a queue of its units whose parts are issued on a credit [bytes]."""
    parts = [0] * len(chain.channels)
    channel = chain.channel
    for bucket, sizes in units:
        parts[channel[bucket[0]]] += len(sizes)
    found = _queues(units, order, chain)
    return [CreditQueue(*each, parts[k], credit) for k, each in enumerate(found)]


def _queues(
    units: Sequence[Unit], order: Order, chain: Chain
) -> "list[tuple[Units, int, array[float], float]]":
    flat = Units(units, chain)
    counts = Counter(flat.channel)
    ranks = array("d", order.ranks or bytes(8 * len(units)))
    turn = -1.0 if order.latest_first else 1.0
    return [(flat, counts[channel], ranks, turn) for channel in range(len(chain.channels))]


def in_order(launches: Iterable[Launch], chain: Chain) -> list[InOrder]:
    """Replay launches in the order given, on each channel its own."""
    parts: dict[tuple[int, ...], list[int]] = {}
    for bucket, size in (launches := list(launches)):
        parts.setdefault(bucket, []).append(size)
    flat = Units([(bucket, tuple(sizes)) for bucket, sizes in parts.items()], chain)
    numbers = {bucket: unit for unit, bucket in enumerate(parts)}
    orders = [array("i") for _ in chain.channels]
    for bucket, _ in launches:
        orders[flat.channel[numbers[bucket]]].append(numbers[bucket])
    return [InOrder(flat, order) for order in orders]


def group_tensors(chain: Chain, joins: Callable[[list[int], int, int], bool]) -> list[list[int]]:
    """Put the tensors in buckets, in release order, each in its lane's open bucket or a new one.

    ``joins(bucket, held, tensor)`` tells whether a tensor may join its lane's open bucket, which
    holds so many bytes. A send from one rank to another is always alone: nothing that runs today
    fuses these. A tensor that comes after a member of an open bucket closes it first. So
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
        is_alone = chain.lanes[lane].kind == SEND_RECV
        if is_alone or lane not in opened or not joins(opened[lane], held[lane], tensor):
            opened[lane] = []
            held[lane] = masks[lane] = 0
            buckets.append(opened[lane])
        opened[lane].append(tensor)
        held[lane] += sizes[tensor]
        masks[lane] |= 1 << tensor if chain.before else 0
    return buckets


def whole_units(buckets: Iterable[Sequence[int]], chain: Chain) -> list[Unit]:
    """Units that send each bucket in one part."""
    sizes = chain.bytes.tolist()
    return [(tuple(b), (sum(sizes[i] for i in b),)) for b in buckets]


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
