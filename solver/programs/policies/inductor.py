"""What PyTorch inductor makes of a problem: pre-bucketing, overlap schedule, bucketing."""

from solver.programs.execute import execute
from solver.programs.policies.overlap_schedule import GIB, OverlapSchedule
from solver.programs.policies.parameter_buckets import saturating, size_buckets
from solver.programs.policies.preserving_buckets import PreservingBuckets
from solver.programs.policies.under_way import keep_under_way
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program

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
    span: int | None = None,
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
    span
        Ops from the first to the last of what is fused before, at most; None: any number.

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
        units = size_buckets(problem, saturating(problem), span) if before else alone
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
