"""Largest tail first, preempting at releases: the exact preemptive schedule in continuous time."""

from heapq import heappop, heappush

import numpy as np

from solver.schedule.jobs import Jobs, PreemptiveSchedule, ServicePiece, critical_of
from solver.units import FloatArray


def jackson(jobs: Jobs) -> PreemptiveSchedule:
    r"""Send the released job with the largest tail, preempting at releases.

    Minimises :math:`\max_j (C_j + q_j)` on one channel with preemption,
    :math:`1 \mid r_j, pmtn \mid L_{max}`; the value equals
    :math:`\max_J \min_J r + \sum_J p + \min_J q` over subsets J, and the subset that attains it
    is returned as the proof.

    Parameters
    ----------
    jobs
        Release, duration and tail of n jobs, in any one unit.

    Returns
    -------
    Schedule
        Pieces in time order, the value, and the critical subset.

    Notes
    -----
    O(n log n). An equal tail does not preempt, and ties go to the smaller index, so the answer is
    reproducible. A job of
    duration 0 gets no piece and completes at its release.

    References
    ----------
    .. [1] PACE, Section IV-B, problem (10).
    .. [2] W. A. Horn, Some simple scheduling algorithms, 1974.
    """
    if not len(jobs):
        return PreemptiveSchedule((), 0.0, None)
    pieces, finish = _serve(jobs)
    value = finish + jobs.tail
    last = int(value.argmax())
    members = _critical(pieces, jobs.tail.tolist(), last, float(finish[last]))
    return PreemptiveSchedule(tuple(pieces), float(value[last]), critical_of(jobs, members))


def _serve(jobs: Jobs) -> tuple[list[ServicePiece], FloatArray]:
    """Run the rule; return the pieces in time order and each job's completion."""
    by_rank = np.lexsort((np.arange(len(jobs)), -jobs.tail))
    rank = np.empty(len(jobs), dtype=np.int64)
    rank[by_rank] = np.arange(len(jobs))
    arrivals = np.lexsort((rank, jobs.release))
    arrivals = arrivals[jobs.duration[arrivals] > 0]
    job_of, left = by_rank.tolist(), jobs.duration[by_rank].tolist()
    tail = jobs.tail[by_rank].tolist()
    ranks, times = rank[arrivals].tolist(), jobs.release[arrivals].tolist()
    finish = jobs.release[by_rank].tolist()
    times.append(float("inf"))
    pieces: list[ServicePiece] = []
    ready: list[int] = []
    now = 0.0
    at = 0
    while ready or at < len(ranks):
        if not ready and times[at] > now:
            now = times[at]
        while times[at] <= now:
            heappush(ready, ranks[at])
            at += 1
        current = heappop(ready)
        start, end = now, now + left[current]
        while times[at] < end:
            heappush(ready, ranks[at])
            at += 1
            if tail[ranks[at - 1]] > tail[current]:
                now = times[at - 1]
                left[current] = end - now
                heappush(ready, current)
                break
        else:
            finish[current] = now = end
        pieces.append(ServicePiece(job_of[current], start, now))
    completion = np.empty(len(jobs))
    completion[by_rank] = finish
    return pieces, completion


def _critical(pieces: list[ServicePiece], tail: list[float], last: int, finish: float) -> list[int]:
    """Jobs served without a gap up to ``finish``, all with the last job's tail or more."""
    members = {last}
    start = finish
    for piece in reversed(pieces):
        if piece.start >= finish:
            continue
        if piece.end < start or tail[piece.job] < tail[last]:
            break
        members.add(piece.job)
        start = piece.start
    return sorted(members)
