"""Buckets by block of the model, the next block's gathered while one is computed."""

from collections.abc import Sequence
from itertools import pairwise

from solver.graph import ALL_GATHER
from solver.programs.policies.in_order import least_order
from solver.programs.policies.parameter_buckets import parameter_collectives, with_the_rest
from solver.programs.policies.pulled_order import pulled_order
from solver.programs.problem import ProgramProblem, is_fusable, lane_of
from solver.programs.program import COMPUTE, LAUNCH, WAIT, Program, with_waits

#: Collectives of a block in one lane, at most.
_LONGEST = 256


def transformer_blocks(problem: ProgramProblem) -> Program:
    """Return the program of transformer-block bucketing.

    All gathers of a block's parameters are one bucket, and all scatters of its gradients, lane by
    lane. A block's gathers are launched right before the first that needs the gathers before them,
    so they travel while the block before is computed; its scatters when the last gradient is
    there, and waited for after the launch of the next block's. Everything else keeps the order of
    the graph.

    Notes
    -----
    Upstream the user names the modules. A graph here has no modules: a block is one period of the
    sizes of what parameters send, in the order in which it is needed or ready
    (:func:`repeated_blocks`). O(ops + edges + collectives * longest period).

    References
    ----------
    .. [1] PyTorch, torch/_inductor/fx_passes/overlap_manual_scheduling.py,
           ``manual_overlap_bucketing``, and pytorch/torchtitan, pull requests 1881 and 2056, the
           pass ``transformer_block_bucketing``.
    """
    graph = problem.graph
    place = {i: at for at, i in enumerate(least_order(problem))}
    gathers, scatters = _lanes(problem, place)
    fused = [
        block
        for row in (*gathers, *scatters)
        for block in _allowed(problem, repeated_blocks(row, [graph.ops[i].bytes or 0 for i in row]))
    ]
    buckets = with_the_rest(problem, fused)
    bucket_of = {i: b for b, members in enumerate(buckets) for i in members}
    own = {bucket_of[i] for row in gathers for i in row}
    first = {b: min(_use(problem, i, place) for i in buckets[b]) for b in own}
    queue = sorted(own, key=lambda b: (first[b], b))
    ends = {bucket_of[i] for row in scatters for i in row}
    last = {max(buckets[b], key=place.__getitem__): b for b in ends}
    wanted: list[tuple[str, int]] = []
    launched, before = 0, None
    for i in least_order(problem):
        while launched < len(queue) and first[queue[max(0, launched - 1)]] <= place[i]:
            wanted.append((LAUNCH, queue[launched]))
            launched += 1
        if i not in bucket_of:
            wanted.append((COMPUTE, i))
        elif i in last:
            wanted.append((LAUNCH, last[i]))
            wanted += [] if before is None else [(WAIT, before)]
            before = last[i]
        elif bucket_of[i] not in own | ends:
            wanted.append((LAUNCH, bucket_of[i]))
    wanted += [(LAUNCH, b) for b in queue[launched:]]
    return with_waits(problem, buckets, pulled_order(problem, buckets, wanted))


def repeated_blocks(row: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    """Cut a row of collectives into the periods of their sizes, with what is before and after.

    The period is that of the longest stretch of at least two; of equals the shortest. A row
    without one is one block. O(row * longest period).
    """
    best, start, period = 0, 0, max(1, len(row))
    for each in range(1, min(_LONGEST, len(row) // 2) + 1):
        run = 0
        for k in range(len(row) - each):
            run = run + 1 if sizes[k] == sizes[k + each] else 0
            if run >= each and run + each > best:
                best, start, period = run + each, k - run + 1, each
    end = start + best // period * period
    cuts = [0, *range(start, end, period), end, len(row)] if best else [0, len(row)]
    pieces = [list(row[a:b]) for a, b in pairwise(cuts)]
    return [piece for piece in pieces if piece]


def _lanes(
    problem: ProgramProblem, place: dict[int, int]
) -> tuple[list[list[int]], list[list[int]]]:
    """Return gathers by lane in the order of their use, and scatters in that of their release."""
    graph = problem.graph
    gathers: dict[object, list[int]] = {}
    scatters: dict[object, list[int]] = {}
    for i in parameter_collectives(problem):
        rows = gathers if graph.ops[i].kind == ALL_GATHER else scatters
        rows.setdefault(lane_of(graph, i), []).append(i)
    for row in gathers.values():
        row.sort(key=lambda i: (_use(problem, i, place), place[i]))
    for row in scatters.values():
        row.sort(key=lambda i: (max((place[j] for j in graph.preds[i]), default=-1), place[i]))
    return list(gathers.values()), list(scatters.values())


def _use(problem: ProgramProblem, i: int, place: dict[int, int]) -> int:
    """Return the place of the first that needs a collective; behind all where none does."""
    return min((place[j] for j in problem.graph.succs[i]), default=len(place))


def _allowed(problem: ProgramProblem, blocks: list[list[int]]) -> list[list[int]]:
    """Cut blocks to the most bytes of a bucket."""
    found: list[list[int]] = []
    for block in blocks:
        bucket: list[int] = []
        for i in block:
            if bucket and not is_fusable(problem, [*bucket, i]):
                found.append(bucket)
                bucket = []
            bucket.append(i)
        found.append(bucket)
    return found
