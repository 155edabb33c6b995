"""Thresholds by which a channel cannot have carried what is due.

The .pxd beside this module gives its types. Without a compiler the same lines run as Python, and
give the same figures.
"""

from math import inf

from solver.bounds.windows.time_windows import ChannelWork, TimeDirection


def is_late(
    work: ChannelWork,
    side: TimeDirection,
    back: TimeDirection,
    most: float,
    slack: float,
    c: int,
    lane: int,
) -> bool:
    """Tell whether the best launches in release order end too late for some threshold.

    Of the tensors of a lane, or of the whole channel as if all could be fused at the least start-up
    where ``lane`` is -1, those that are due by a threshold: f(k) = min over j < k of
    max(f(j), r_k) + a + S(j+1..k) as in :func:`solver.fusion.chain.fifo.chain_end`, with S the
    time of their bytes. O(n^2) at most, O(n) for each threshold that a launch of all does not meet.
    """
    count = 0
    startup = inf
    for k in range(work.first[c], work.first[c + 1]):
        i = side.by_end[k]
        if lane >= 0 and work.lane[i] != lane:
            continue
        startup = min(startup, work.startup[i])
        at = count
        while at and side.start[work.node[work.kept[at - 1]]] > side.start[work.node[i]]:
            work.kept[at] = work.kept[at - 1]
            at -= 1
        work.kept[at] = i
        work.steps += count - at
        count += 1
    for t in range(count):
        due = most - back.start[work.node[work.kept[t]]]
        last = shares = 0.0
        for k in range(count):
            i = work.kept[k]
            if most - back.start[work.node[i]] <= due:
                last = side.start[work.node[i]]
                shares += work.share[i]
        work.steps += count
        if (
            last + startup + shares > due + slack
            and _end(work, side, back, most, due, startup, count) > due + slack
        ):
            return True
    return False


def _end(
    work: ChannelWork,
    side: TimeDirection,
    back: TimeDirection,
    most: float,
    due: float,
    startup: float,
    count: int,
) -> float:
    """Least end of launches in release order [us] that carry what of ``work.kept`` is due."""
    ends, sums, queue = work.ends, work.sums, work.queue
    ends[0] = sums[0] = 0.0
    size = waiting = head = tail = 0
    for k in range(count):
        i = work.kept[k]
        v = work.node[i]
        if most - back.start[v] > due:
            continue
        ready = side.start[v]
        size += 1
        sums[size] = sums[size - 1] + work.share[i]
        while waiting < size - 1 and ends[waiting + 1] <= ready:
            waiting += 1
        while head < tail and queue[head] <= waiting:
            head += 1
        least = ready - sums[waiting]
        if head < tail and ends[queue[head]] - sums[queue[head]] < least:
            least = ends[queue[head]] - sums[queue[head]]
        ends[size] = max(ends[size - 1], least + sums[size] + startup)
        while (
            head < tail and ends[queue[tail - 1]] - sums[queue[tail - 1]] >= ends[size] - sums[size]
        ):
            tail -= 1
        queue[tail] = size
        tail += 1
    work.steps += count
    return ends[size]
