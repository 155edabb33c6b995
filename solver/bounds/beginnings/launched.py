"""The launches of a beginning that came to an end, with the bytes of each part."""

from collections.abc import Sequence

from solver.bounds.beginnings.follow import Beginnings
from solver.buckets import Launch, Launches, whole_elements
from solver.chain import Chain
from solver.costs import Affine


def launches_of(search: Beginnings, chain: Chain, costs: Sequence[Affine]) -> Launches:
    """Read the launches of the beginning that has come to an end, each channel's in order.

    A first part takes the bytes for which its channel waits next, and one element or more; the last
    part takes the others. Later credits of a bucket are left to its last part, so the launches may
    end later than the beginning: simulate them.

    Parameters
    ----------
    search
        Of which some beginning came to an end: its states are the rows up to one with nothing left.
    chain, costs
        The collectives, and the cost of each lane.

    Returns
    -------
    tuple of Launch
        None where a bucket in two parts has fewer than two elements.
    """
    found: list[Launch] = []
    begun: dict[int, int] = {}  # place of the first part of each bucket, by its mask
    latest: dict[int, int] = {}  # the bucket that each channel has begun by its launch before
    first_us: dict[int, float] = {}
    row = 0
    while search.left[row] or search.many[row]:
        before, after = _credits(search, row), _credits(search, row + 1)
        row += 1
        for bucket in latest.values():
            first_us[bucket] = max(before.get(bucket, 0.0), after.get(bucket, 0.0))
        first, last = after.keys() - before.keys(), before.keys() - after.keys()
        whole = search.left[row - 1] ^ search.left[row]
        if not (first or last or whole):
            continue  # a channel waits
        [bucket] = first or last or {whole}
        members = _members(bucket)
        channel = search.channel[members[0]]
        latest.pop(channel, None)
        if first:
            begun[bucket] = len(found)
            latest[channel], first_us[bucket] = bucket, 0.0
        size = sum(int(chain.bytes[i]) for i in members)
        part = size
        if last:
            element = chain.element_bytes(members[0])
            per_byte = costs[chain.lane[members[0]]].per_byte
            ahead = min(size, int(first_us[bucket] / per_byte)) if per_byte else 0
            ahead = min(max(element, whole_elements(ahead, element)), size - element)
            if ahead <= 0:
                return ()
            found[begun[bucket]] = Launch(members, ahead)
            part = size - ahead
        found.append(Launch(members, part))
    return tuple(found)


def _credits(search: Beginnings, row: int) -> dict[int, float]:
    """Return the credit [us] of each bucket begun, by its mask."""
    places = range(row * search.count, row * search.count + search.many[row])
    return {search.begun[k]: search.credit[k] for k in places}


def _members(bucket: int) -> tuple[int, ...]:
    return tuple(i for i in range(bucket.bit_length()) if bucket >> i & 1)
