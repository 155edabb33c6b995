"""Windows of launches: when each may start and end if an iteration takes no longer than some time.

The .pxd beside this module gives its types. Without a compiler the same lines run as Python, and
give the same figures. What is proven of a bucket here is in MODEL.md section 7.1.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from math import inf


class ChannelWork:
    """What a graph's channels have to carry, and room to count it in.

    The launches of a bucket take ``startup[i]`` for each, the same for all of a lane, and
    ``share[i]`` for the bytes of each tensor i [us] at least, and those of tensor i alone ``least``
    of its node. ``steps`` counts what was done.
    """

    def __init__(
        self,
        least: Sequence[float],
        node: Sequence[int],
        channel: Sequence[int],
        lane: Sequence[int],
        startup: Sequence[float],
        share: Sequence[float],
    ) -> None:
        self.nodes = len(least)
        self.tensors = len(node)
        self.channels = max(channel) + 1
        self.lanes = max(lane) + 1
        self.least = array("d", least)
        self.node = array("i", node)
        self.channel = array("i", channel)
        self.lane = array("i", lane)
        self.startup = array("d", startup)
        self.share = array("d", share)
        self.tensor = array("i", [-1]) * self.nodes
        for i, k in enumerate(node):
            self.tensor[k] = i
        sizes = Counter(channel)
        begins = accumulate((sizes[c] for c in range(self.channels)), initial=0)
        self.first = array("i", begins)  # of each channel, in lists by channel
        self.by_start = array("i", [0]) * self.tensors
        self.held = array("i", [0]) * self.channels
        self.count = array("i", [0]) * self.lanes  # buckets that no two tensors can share
        self.reach = array("d", [0.0]) * (self.lanes * (self.tensors + 1))  # of each such count
        self.level = array("i", [0]) * self.tensors
        self.lost = array("d", [0.0]) * self.tensors
        self.seen = array("i", [0]) * self.tensors
        self.turn = 0
        self.shares = self.launches = self.losses = 0.0  # of those seen in this turn
        self.clash = array("d", [0.0]) * self.tensors
        self.clash_latest = array("d", [0.0]) * self.tensors
        self.clash_startup = array("d", [0.0]) * self.tensors  # of the launch more
        self.clash_with = array("i", [0]) * self.tensors
        self.far = array("d", [-1.0]) * self.nodes
        self.kept = array("i", [0]) * self.tensors
        self.queue = array("i", [0]) * (self.tensors + 1)
        self.ends = array("d", [0.0]) * (self.tensors + 1)
        self.sums = array("d", [0.0]) * (self.tensors + 1)
        self.touched = array("i", [0]) * self.nodes
        self.steps = 0.0

    def clear(self) -> None:
        """Forget all tensors that were added."""
        self.turn += 1
        self.shares = self.launches = self.losses = 0.0
        for lane in range(self.lanes):
            self.count[lane] = 0

    def add(self, side: "TimeDirection", i: int, start: float, latest: float) -> None:
        """Add a tensor to a set, in an order in which none comes before one that precedes it.

        Two tensors of a lane cannot share a bucket where one precedes the other, or where the one
        must start before the other can: that is an order, so the longest chain in it counts
        buckets. A channel loses, along a path, the start-up of each bucket and the tolls between.
        """
        lane = self.lane[i]
        at = lane * (self.tensors + 1)
        level, above = 0, self.count[lane] + 1  # reach: the least latest start from each level on
        while above - level > 1:
            middle = (level + above) >> 1
            if self.reach[at + middle] < start:
                level = middle
            else:
                above = middle
        for j in range(side.alike_from[i], side.alike_from[i + 1]):
            other = side.alike[j]
            if self.seen[other] == self.turn:
                level = max(level, self.level[other])
        level += 1
        loss = 0.0
        for j in range(side.link_from[i], side.link_from[i + 1]):
            other = side.link[j]
            if self.seen[other] == self.turn:
                loss = max(loss, self.lost[other] + side.toll[j])
        self.level[i] = level
        self.lost[i] = loss + self.startup[i]
        self.seen[i] = self.turn
        self.shares += self.share[i]
        self.losses = max(self.losses, self.lost[i])
        if level > self.count[lane]:
            self.count[lane] = level
            self.reach[at + level] = inf
            self.launches += self.startup[i]
        while level > 0 and self.reach[at + level] > latest:
            self.reach[at + level] = latest
            level -= 1
            self.steps += 1

    def taken(self, extra: float, clashing: float) -> float:
        """Return the time of a channel [us] that the tensors added take.

        With start-ups beside those of buckets, and what clashing pairs pay in start-ups by
        themselves.
        """
        return self.shares + max(self.launches + extra, clashing, self.losses)


class TimeDirection:
    """One direction of time: when each node starts and ends at the earliest [us].

    A collective starts when it is released, and ends with its bucket. Backwards these are counted
    from the end of the iteration: a collective then starts when it must be done, and ends when the
    first launch of its bucket must start.

    Parameters
    ----------
    order, preds
        Of the nodes; backwards the reversed order, and the successors.
    rows
        Of each node the set of tensors that precede it, as bytes of bits; None where that of a
        predecessor says as much.
    alike
        Of each tensor those of its lane that precede it with none of that lane between.
    links, tolls
        The same of its channel, and what the channel loses in between, at least [us].
    """

    def __init__(
        self,
        work: ChannelWork,
        order: Sequence[int],
        preds: Sequence[Sequence[int]],
        rows: Sequence[bytes | None],
        alike: Sequence[Sequence[int]],
        links: Sequence[Sequence[int]],
        tolls: Sequence[Sequence[float]],
    ) -> None:
        self.order = array("i", order)
        self.pred_from, self.pred = _flat(preds)
        self.alike_from, self.alike = _flat(alike)
        self.link_from, self.link = _flat(links)
        self.toll = array("d", [*(toll for row in tolls for toll in row), 0.0])
        self.width = (work.tensors + 7) // 8
        self.row = array("i", [-1]) * work.nodes
        bits = bytearray()
        for node, mask in enumerate(rows):
            if mask is not None:
                self.row[node] = len(bits) // self.width
                bits += mask
        self.bits = array("B", bytes(bits) + b"\0")
        self.start = array("d", [0.0]) * work.nodes
        self.end = array("d", work.least)
        # the tensors of each channel by the ends of their windows
        self.by_end = array("i", sorted(range(work.tensors), key=lambda i: (work.channel[i], i)))

    def times(self) -> tuple[list[float], list[float]]:
        """Return all starts and ends."""
        return list(self.start), list(self.end)

    def take(self, times: tuple[Sequence[float], Sequence[float]]) -> None:
        """Set all starts and ends."""
        self.start = array("d", times[0])
        self.end = array("d", times[1])


def _flat(rows: Sequence[Sequence[int]]) -> tuple["array[int]", "array[int]"]:
    """Put rows one behind another: where each begins, and what is in them."""
    begins = array("i", accumulate(map(len, rows), initial=0))
    return begins, array("i", [*(j for row in rows for j in row), 0])


def pass_on(
    work: ChannelWork,
    side: TimeDirection,
    back: TimeDirection,
    most: float,
    slack: float,
    every: int,
) -> int:
    """Raise starts and ends along the graph: 1 if one rose, -1 if one comes too late, else 0.

    Without ``every`` the channels' work before a node counts only where a time before it rose.
    """
    changed = 0
    for c in range(work.channels):
        work.held[c] = 0
    for at in range(work.nodes):
        v = side.order[at]
        touched = every
        least = side.start[v]
        for k in range(side.pred_from[v], side.pred_from[v + 1]):
            p = side.pred[k]
            touched |= work.touched[p]
            least = max(least, side.end[p])
        if touched and side.row[v] >= 0:
            for c in range(work.channels):
                least = max(least, _carried(work, side, back, most, slack, c, side.row[v]))
        if least > side.start[v] + slack:
            touched = changed = 1
            side.start[v] = least
        if side.start[v] + work.least[v] > side.end[v] + slack:
            touched = changed = 1
            side.end[v] = side.start[v] + work.least[v]
        work.touched[v] = touched
        left = most - max(side.end[v] + back.start[v], side.start[v] + back.end[v])
        if left < -slack:
            return -1
        _insert(work, side, v)
    work.steps += work.nodes
    return changed


def _insert(work: ChannelWork, side: TimeDirection, v: int) -> None:
    """Put a node, if it is a collective, among those of its channel by their starts."""
    i = work.tensor[v]
    if i < 0:
        return
    c = work.channel[i]
    k = work.first[c] + work.held[c]
    while k > work.first[c] and side.start[work.node[work.by_start[k - 1]]] > side.start[v]:
        work.by_start[k] = work.by_start[k - 1]
        k -= 1
    work.by_start[k] = i
    work.held[c] += 1


def _carried(
    work: ChannelWork,
    side: TimeDirection,
    back: TimeDirection,
    most: float,
    slack: float,
    c: int,
    row: int,
) -> float:
    """Least time by which a channel can have carried the tensors of a row.

    The largest, over all times, of that time plus what those take that start at it or later.
    """
    best = 0.0
    work.clear()
    for k in range(work.first[c] + work.held[c] - 1, work.first[c] - 1, -1):
        i = work.by_start[k]
        if side.bits[row * side.width + (i >> 3)] >> (i & 7) & 1:
            v = work.node[i]
            # in reversed time, since the last one comes first
            work.add(back, i, back.end[v] - most - slack, -side.start[v])
            best = max(best, side.start[v] + work.taken(0.0, 0.0))
    work.steps += work.held[c]
    return best


def paths(work: ChannelWork, side: TimeDirection, begin: int, last: int, i: int) -> None:
    """Find the longest paths from the end of a tensor that meet no other of its channel.

    ``work.far`` has them for the nodes from place ``begin`` of the order, the tensor's own, to
    place ``last`` [us], and -1 where there is none.
    """
    c = work.channel[i]
    work.far[work.node[i]] = 0.0
    for at in range(begin + 1, last + 1):
        v = side.order[at]
        best = -1.0
        for k in range(side.pred_from[v], side.pred_from[v + 1]):
            p = side.pred[k]
            other = work.tensor[p]
            if work.far[p] < 0 or (other >= 0 and other != i and work.channel[other] == c):
                continue
            reach = work.far[p]
            if other != i:
                reach += work.least[p]
            best = max(best, reach)
        work.far[v] = best
    work.steps += last - begin


def forget(work: ChannelWork, side: TimeDirection, begin: int, last: int) -> None:
    """Take back what :func:`paths` found."""
    for at in range(begin, last + 1):
        work.far[side.order[at]] = -1.0
