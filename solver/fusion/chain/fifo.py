"""The best launches in release order: exact when all tails are equal and the cost is affine."""

from collections import deque

from solver.units import FloatArray, IntArray


def chain_end(release: FloatArray, sizes: IntArray, a: float, c: float) -> float:
    """Least end of contiguous launches of a + c s [us] that carry tensors in release order.

    f(k) = min over j < k of max(f(j), r_k) + a + c S(j+1..k), with f(0) = 0. Since f does not
    decrease, the launches that wait for r_k start best after the last j with f(j) <= r_k; among
    the others a queue keeps the least f(j) - c P_j. O(n).
    """
    return _solve(release, sizes, a, c)[0][-1]


def chain_cuts(release: FloatArray, sizes: IntArray, a: float, c: float) -> list[int]:
    """Return the ends of the launches that attain :func:`chain_end`, the last one n."""
    _, before = _solve(release, sizes, a, c)
    cuts = [len(release)]
    while before[cuts[-1]]:
        cuts.append(before[cuts[-1]])
    return cuts[::-1]


def _solve(
    release: FloatArray, sizes: IntArray, a: float, c: float
) -> tuple[list[float], list[int]]:
    """Return f(0..n), and for each k the j that attains it."""
    ends = [0.0]
    before = [0]
    prefix = [0.0]
    queue: deque[tuple[float, int]] = deque()  # (f(j) - c P_j, j), ascending
    waiting = 0
    for k, (ready, size) in enumerate(zip(release.tolist(), (c * sizes).tolist(), strict=True)):
        prefix.append(prefix[-1] + size)
        while waiting < k and ends[waiting + 1] <= ready:
            waiting += 1
        while queue and queue[0][1] <= waiting:
            queue.popleft()
        end, origin = ready - prefix[waiting], waiting
        if queue and queue[0][0] < end:
            end, origin = queue[0]
        ends.append(max(ends[-1], end + prefix[-1] + a))
        before.append(origin)
        key = ends[-1] - prefix[-1]
        while queue and queue[-1][0] >= key:
            queue.pop()
        queue.append((key, k + 1))
    return ends, before
