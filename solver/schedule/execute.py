"""From a preemptive order to launches: every part pays the start-up."""

from heapq import heappop, heappush

import numpy as np

from solver.buckets import ChannelBuckets, Launch, largest_part, whole_elements
from solver.costs import Cost
from solver.schedule.jobs import Jobs, PreemptiveSchedule, ServicePiece
from solver.units import slack


def jobs_of(buckets: ChannelBuckets, cost: Cost) -> Jobs:
    """Buckets as jobs, each paying the start-up once."""
    return Jobs(buckets.release, cost.times(buckets.bytes), buckets.tail)


def cut_at_releases(buckets: ChannelBuckets, cost: Cost) -> tuple[list[Launch], float]:
    """Send the most urgent released bucket, cutting it when a more urgent one is released.

    The part that runs then carries the whole elements that fit by that release, and the rest pays
    the start-up again; when none fit, that part is not launched and the channel waits
    (MODEL.md section 3). An equal tail does not cut; ties go to the smaller index.

    Returns
    -------
    launches
        Parts in the order in which they start.
    value
        max over buckets of completion + tail [us].

    Notes
    -----
    O((m + parts) log m) for m buckets.
    """
    by_rank = np.lexsort((np.arange(len(buckets)), -buckets.tail))
    rank = np.empty(len(buckets), dtype=np.int64)
    rank[by_rank] = np.arange(len(buckets))
    members = [buckets.members[i] for i in by_rank.tolist()]
    tail = buckets.tail[by_rank].tolist()
    left = buckets.bytes[by_rank].tolist()
    ranks, times = rank.tolist(), [*buckets.release.tolist(), float("inf")]
    launches: list[Launch] = []
    ready: list[int] = []
    now = value = 0.0
    at = 0
    while ready or at < len(ranks):
        if not ready and times[at] > now:
            now = times[at]
        while times[at] <= now:
            heappush(ready, ranks[at])
            at += 1
        current = heappop(ready)
        size = left[current]
        end = now + cost.time(size)
        until = end - slack(end)  # what is released by then, rounding aside, cuts
        while times[at] < until:
            heappush(ready, ranks[at])
            at += 1
            if tail[ranks[at - 1]] > tail[current]:
                release = times[at - 1]
                size = largest_part(cost, release - now, left[current], buckets.element_bytes)
                left[current] -= size
                heappush(ready, current)
                now = release
                break
        else:
            now = end
            value = max(value, end + tail[current])
        if size:
            launches.append(Launch(members[current], size))
    return launches, value


def follow(schedule: PreemptiveSchedule, jobs: Jobs, buckets: ChannelBuckets) -> list[Launch]:
    """Turn a slotted schedule's pieces into launches, in its order.

    A piece that serves x of a bucket's p slots carries floor(bytes x / p), down to whole elements,
    the last one the rest; pieces that would carry nothing are not launched (MODEL.md section 3). A
    bucket that needs no slot goes at its release.
    """
    left = buckets.bytes.tolist()
    unserved = jobs.duration.tolist()
    free = [ServicePiece(j, r, r) for j, r in enumerate(jobs.release.tolist()) if not unserved[j]]
    launches = []
    for piece in sorted([*free, *schedule.pieces], key=lambda piece: piece.start):
        served = piece.end - piece.start
        unserved[piece.job] -= served
        if unserved[piece.job]:
            size = int(buckets.bytes[piece.job]) * int(served) // int(jobs.duration[piece.job])
            size = whole_elements(size, buckets.element_bytes)
        else:
            size = left[piece.job]
        left[piece.job] -= size
        if size:
            launches.append(Launch(buckets.members[piece.job], size))
    return launches


def value_of(launches: list[Launch], buckets: ChannelBuckets, cost: Cost) -> float:
    """Replay launches in order, each no earlier than its release and the previous end [us]."""
    release, tail = buckets.release.tolist(), buckets.tail.tolist()
    left = buckets.bytes.tolist()
    number = {members: i for i, members in enumerate(buckets.members)}
    now = value = 0.0
    for members, size in launches:
        i = number[members]
        now = max(now, release[i]) + cost.time(size)
        left[i] -= size
        if not left[i]:
            value = max(value, now + tail[i])
    return value
