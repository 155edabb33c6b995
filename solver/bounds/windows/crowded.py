"""Windows of a channel that have to hold more than they can.

The .pxd beside this module gives its types. Without a compiler the same lines run as Python, and
give the same figures.
"""

from math import inf

from solver.bounds.windows.time_windows import ChannelWork, TimeDirection


def crowd(
    work: ChannelWork, side: TimeDirection, back: TimeDirection, most: float, slack: float, c: int
) -> int:
    """Raise ends in a channel: 1 if one rose, -1 if a window is too short, else 0.

    Of a window, from a time on until another, the tensors that must be sent within it take their
    bytes' time, and start-ups: of buckets that no two of them can share, and one more for each pair
    that neither can share a bucket nor follow one another; or what is lost along a path. What does
    not fit into it beside them ends after them. O(n^2).
    """
    changed = 0
    begin, past = work.first[c], work.first[c + 1]
    _sort(work, side, back, begin, past)
    _clashes(work, side, back, most, slack, begin, past)
    for a in range(begin, past):
        first = side.start[work.node[side.by_end[a]]]
        found = _windows(work, side, back, most, slack, begin, past, first)
        if found < 0:
            return -1
        changed |= found
    return changed


def _windows(
    work: ChannelWork,
    side: TimeDirection,
    back: TimeDirection,
    most: float,
    slack: float,
    begin: int,
    past: int,
    first: float,
) -> int:
    """Look at all windows of a channel from a time on."""
    changed = 0
    work.clear()
    extra = clashing = tight = 0.0
    until = room = inf
    apart = -inf
    for b in range(begin, past):
        i = side.by_end[b]
        v = work.node[i]
        if side.start[v] < first:
            continue
        due = most - back.start[v]
        value = _new_launch(work, side, i, extra, clashing, until - first, slack)
        if room < work.share[i] - slack:
            value = max(value, tight + work.startup[i] + work.share[i])
        if first + value > side.end[v] + slack:
            side.end[v] = first + value
            changed = 1
            if side.end[v] > due + slack:
                return -1
        latest = most - back.end[v] + slack
        work.add(side, i, side.start[v], latest)
        if work.clash[b] >= first and min(side.start[v], work.clash[b]) > apart:
            apart = max(latest, work.clash_latest[b])
            extra += work.clash_startup[b]
            clashing += work.clash_startup[b] + work.startup[i] + work.startup[work.clash_with[b]]
        until = due
        if until - first - work.taken(extra, clashing) < room:
            tight = work.taken(extra, clashing)
            room = until - first - tight
            if room < -slack:
                return -1
    work.steps += past - begin
    return changed


def _new_launch(
    work: ChannelWork,
    side: TimeDirection,
    i: int,
    extra: float,
    clashing: float,
    until: float,
    slack: float,
) -> float:
    """Time that a tensor takes with those added [us], if it shares no bucket and is not done then.

    0 where it might be done by the time ``until`` [us], counted as what they take.
    """
    lane = work.lane[i]
    level = work.count[lane]
    last = work.reach[lane * (work.tensors + 1) + level]
    if level and last >= side.start[work.node[i]]:
        return 0.0
    if until - work.taken(extra + work.startup[i], clashing) < work.share[i] - slack:
        return work.taken(extra, clashing) + work.startup[i] + work.share[i]
    return 0.0


def _sort(
    work: ChannelWork, side: TimeDirection, back: TimeDirection, begin: int, past: int
) -> None:
    """Sort the tensors of a channel by the ends of their windows, which are nearly sorted."""
    for a in range(begin + 1, past):
        i = side.by_end[a]
        tail = back.start[work.node[i]]
        b = a
        while b > begin and back.start[work.node[side.by_end[b - 1]]] < tail:
            side.by_end[b] = side.by_end[b - 1]
            b -= 1
        side.by_end[b] = i


def _clashes(
    work: ChannelWork,
    side: TimeDirection,
    back: TimeDirection,
    most: float,
    slack: float,
    begin: int,
    past: int,
) -> None:
    """Find for each tensor one before it in ``by_end`` that it clashes with, the latest to start.

    Two tensors clash when they cannot share a bucket, and neither's can be done before the other's
    begins: then the parts of the one lie around the other's, three launches or more.
    """
    for b in range(begin, past):
        work.clash[b] = -inf
        k = side.by_end[b]
        v = work.node[k]
        start, due, latest = side.start[v], most - back.start[v], most - back.end[v]
        for a in range(begin, b):
            i = side.by_end[a]
            u = work.node[i]
            other = side.start[u]
            if other <= work.clash[b]:
                continue
            if side.end[u] + work.least[v] <= due + slack:
                continue
            if side.end[v] + work.least[u] <= most - back.start[u] + slack:
                continue
            if work.lane[i] == work.lane[k]:
                room = most - back.start[u] - max(start, other)
                room -= work.startup[i] + work.share[i] + work.share[k]
                meet = min(latest - other, most - back.end[u] - start)
                if min(meet, room) >= -slack:
                    continue
            work.clash[b] = other
            work.clash_latest[b] = most - back.end[u] + slack
            work.clash_with[b] = i
            work.clash_startup[b] = min(work.startup[i], work.startup[k])
    work.steps += (past - begin) * (past - begin) / 4
