"""What XLA's combiners make of collectives, given their thresholds."""

from collections.abc import Mapping, Sequence

from solver.graph import REDUCE_SCATTER
from solver.programs.problem import ProgramProblem, lane_of

#: Most collectives that XLA makes one.
MOST_MEMBERS = 256


def output_bytes(problem: ProgramProblem, position: int) -> int:
    """Size of what a collective writes [bytes], which is what XLA's thresholds count."""
    op = problem.graph.ops[position]
    size = op.bytes or 0
    if op.kind != REDUCE_SCATTER:
        return size
    return -(-size // dict(problem.network.workers).get(op.channel, 1))


def combined(
    problem: ProgramProblem, order: Sequence[int], thresholds: Mapping[str, int]
) -> tuple[tuple[int, ...], ...]:
    """Make buckets of collectives as XLA's combiners do.

    The first collective that is left begins a bucket. It takes those after it that it may be fused
    with, until one does not fit or needs one of the bucket; one larger than the threshold goes
    alone, and so does each of a kind without one.

    Parameters
    ----------
    order
        Positions of all collectives, in the order in which XLA comes to them.
    thresholds
        By kind the most bytes that a bucket of several writes.

    Returns
    -------
    tuple
        Positions of each bucket, ascending; in the order of their first collectives.

    Notes
    -----
    O(collectives squared) words of as many bits in the worst case. Whether two need each other is
    asked of the graph with all buckets made before, as XLA does.

    References
    ----------
    .. [1] openxla/xla, service/collective_combiner_utils.h: CombineInstructionsByKey.
    .. [2] openxla/xla, gpu_compiler.cc: its combiners, each with a count of 256.
    """
    needs = _Needs(problem, order)
    left = dict.fromkeys(order)
    buckets: list[tuple[int, ...]] = []
    while left:
        first = next(iter(left))
        lane = lane_of(problem.graph, first)
        most = thresholds.get(lane.kind, 0)
        bucket: list[int] = []
        size = 0
        for i in [i for i in left if lane_of(problem.graph, i) == lane]:
            own = output_bytes(problem, i)
            if own > most:
                buckets.append((i,))
                del left[i]
                continue
            if size + own > most or len(bucket) == MOST_MEMBERS or needs.either(bucket, i):
                break
            bucket.append(i)
            size += own
            del left[i]
        if bucket:
            needs.join(bucket)
            buckets.append(tuple(sorted(bucket)))
    place = {i: k for k, i in enumerate(order)}
    return tuple(sorted(buckets, key=lambda members: min(place[i] for i in members)))


class _Needs:
    """Which collectives come after which, through buckets made so far; sets are bits."""

    def __init__(self, problem: ProgramProblem, order: Sequence[int]) -> None:
        graph = problem.graph
        self._bit = {i: 1 << k for k, i in enumerate(order)}
        after = [0] * len(graph.ops)
        for i in reversed(graph.order):
            for j in graph.succs[i]:
                after[i] |= after[j] | self._bit.get(j, 0)
        self._after = {i: after[i] for i in order}
        self._joined: list[tuple[int, int]] = []

    def either(self, bucket: Sequence[int], other: int) -> bool:
        """Tell whether one of a bucket comes after another collective, or that after it."""
        own, behind = self._of(bucket)
        bit, after = self._of([other])
        return bool(self._reached(behind) & bit or self._reached(after) & own)

    def join(self, bucket: Sequence[int]) -> None:
        """Make collectives one: what comes after one of them comes after all."""
        if len(bucket) > 1:
            self._joined.append(self._of(bucket))

    def _of(self, positions: Sequence[int]) -> tuple[int, int]:
        members = behind = 0
        for i in positions:
            members |= self._bit[i]
            behind |= self._after[i]
        return members, behind

    def _reached(self, behind: int) -> int:
        """Add what comes after the buckets that are reached."""
        before = -1
        while before != behind:
            before = behind
            for members, after in self._joined:
                if behind & members:
                    behind |= members | after
        return behind
