"""What PyTorch inductor makes of a problem: pre-bucketing, overlap schedule, bucketing."""

from solver.graph import ALL_GATHER, REDUCE_SCATTER
from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.execute import execute
from solver.programs.policies.in_order import least_order
from solver.programs.policies.overlap_schedule import GIB, OverlapSchedule
from solver.programs.policies.preserving_buckets import PreservingBuckets
from solver.programs.policies.under_way import keep_under_way
from solver.programs.problem import ProgramProblem, is_fusable, lane_of
from solver.programs.program import Program

MIB = 1 << 20

#: What is tried: fusing before, how far to look ahead, and fusing after.
SETTINGS = ((True, 200, (True, False)), (False, 200, (True, False)), (False, 20, (True,)))


def inductor(
    problem: ProgramProblem,
    *,
    pre_bucketing: bool | None = None,
    bucketing: bool | None = None,
    overlap: float = 1.0,
    in_flight_bytes: int = 5 * GIB,
    more_bytes: int = GIB,
    more_share: float = 0.05,
    ahead: int | None = None,
    bucket_bytes: int = 2 * GIB,
) -> Program:
    """Return the program of inductor's overlap scheduling with bucketing.

    Gathers that need no other collective, and scatters that no other collective needs, are fused
    in order up to a size that uses the network well. Ops are then taken in the order of the
    first op of weight that each comes before; before each op of compute the launches that its time
    can hide are asked for, next needed first, as long as memory allows; exposed waits go last. At
    last launches of one lane are fused, when what hides each still does.

    Parameters
    ----------
    pre_bucketing, bucketing, ahead
        Whether to fuse before, and after, and how many ops of weight, and launches, are looked at;
        None stands for those of :data:`SETTINGS`, of which the fastest is kept, at equal time the
        first.
    overlap
        Share of an op's time that hides launches.
    in_flight_bytes
        Bytes of launches not waited for, at most.
    more_bytes, more_share
        Memory above the peak of the given order: the larger of the two.
    bucket_bytes
        Bytes of a bucket, at most.

    Notes
    -----
    An op of weight is one that takes the mean or longer: upstream those whose operations are
    counted (products of matrices, attention), which a problem does not tell. The copies of buckets
    are not weighed, and its memory is that of the host's order, in which a launch frees its inputs,
    as upstream. O(ops * ahead + collectives^2) sets of ops.

    References
    ----------
    .. [1] PyTorch 2.13, torch/_inductor/fx_passes: ``schedule_overlap_bucketing`` in
           overlap_scheduling.py, overlap_preserving_bucketer.py, ``pre_bucket_fsdp_collectives`` in
           fsdp.py; the defaults are theirs.
    """
    best: tuple[float, Program] | None = None
    alone = [(i,) for i in problem.graph.collectives]
    for before, reach, after in SETTINGS:
        if pre_bucketing not in {None, before}:
            continue
        far = reach if ahead is None else ahead
        units = fsdp_buckets(problem) if before else alone
        state = OverlapSchedule(
            problem, units, overlap, in_flight_bytes, (more_bytes, more_share), far
        )
        scheduled = state.run()
        for fuses in after if bucketing is None else (bucketing,):
            fuser = PreservingBuckets(problem, units, scheduled)
            each = [[u] for u in range(len(units))]
            buckets = fuser.fuse(bucket_bytes, far) if fuses else each
            program = keep_under_way(problem, fuser.program(buckets))
            time = execute(problem, program).iteration_time
            if best is None or time < best[0]:
                best = time, program
    assert best is not None
    return best[1]


def fsdp_buckets(problem: ProgramProblem) -> list[tuple[int, ...]]:
    """Fuse the gathers of inputs and the scatters of results, lane by lane in program order.

    Gathers that come after no other collective, and scatters that no collective comes after, on
    channels that have such a gather: no order of them contradicts another. O(ops + edges).
    """
    graph = problem.graph
    order = least_order(problem)
    below, above = [False] * len(graph.ops), [False] * len(graph.ops)
    for i in order:
        below[i] = any(below[j] or graph.ops[j].kind != COMPUTE_KIND for j in graph.preds[i])
    for i in reversed(order):
        above[i] = any(above[j] or graph.ops[j].kind != COMPUTE_KIND for j in graph.succs[i])
    gathers = [i for i in order if graph.ops[i].kind == ALL_GATHER and not below[i]]
    inputs = set(gathers)
    channels = {graph.ops[i].channel for i in gathers}
    open_: dict[object, list[int]] = {}
    buckets: list[list[int]] = []
    for i in order:
        op = graph.ops[i]
        if op.kind == COMPUTE_KIND:
            continue
        lane = lane_of(graph, i)
        is_result = op.kind == REDUCE_SCATTER and not above[i]
        if op.channel not in channels or not (is_result or i in inputs):
            buckets.append([i])
            continue
        bucket = open_.get(lane)
        size = sum(graph.ops[k].bytes or 0 for k in [*(bucket or ()), i])
        if bucket and size <= _cap(problem, i) and is_fusable(problem, [*bucket, i]):
            bucket.append(i)
            continue
        open_[lane] = [i]
        buckets.append(open_[lane])
    return [tuple(sorted(bucket)) for bucket in buckets]


def _cap(problem: ProgramProblem, i: int) -> int:
    """Least of some sizes with nine tenths of the rate of the largest [bytes]."""
    lane = lane_of(problem.graph, i)
    key = f"saturation {lane}"
    if key not in problem.memo:
        cost = problem.network(lane)
        rates = [size / max(cost.time(size), 1e-9) for size in _CAPS]
        problem.memo[key] = next(
            size for size, rate in zip(_CAPS, rates, strict=True) if rate >= 0.9 * rates[-1]
        )
    return int(problem.memo[key])


#: From the published least cap to the published most, doubling [bytes].
_CAPS = [size * MIB for size in (10, 20, 40, 80, 160, 320, 500)]
