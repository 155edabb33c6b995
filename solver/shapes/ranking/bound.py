"""A lower bound on a shape's step, without running its passes."""

from solver.shapes.job_shape import JobShape
from solver.shapes.pipeline.orders import WEIGHTS_APART
from solver.shapes.stage_times import StageTimes

#: Sums in another order differ by roundings; a bound is lower by more than these.
_ROUNDED = 1 - 1e-9


def least_time(shape: JobShape, times: StageTimes) -> float:
    r"""Return a time that a shape's step does not beat, in whatever order its passes run [us].

    Rank r begins once a micro-batch has passed the virtual stages before r, runs all its passes,
    and then, unless weights have passes of their own, a micro-batch goes back through these
    stages:

    .. math:: \max_r \Big(\sum_{k<r} F_k + m \sum_{k \equiv r} (F_k + B_k + W_k)
              + \max\big(\sum_{k<r} B_k, R_r + O_r\big)\Big)

    with the least sum of gradients R that can follow the last pass, and optimizer and gather O.

    Notes
    -----
    O(virtual stages). Proven of the simulated time under the costs given, of nothing else.
    """
    ahead = behind = 0.0
    least = 0.0
    has_messages = shape.pp > 1
    for rank in range(shape.pp):
        stages = shape.stages_of(rank)
        busy = shape.micro_batches * sum(sum(times.passes[k]) for k in stages)
        own = min(times.reductions[k] for k in stages) / shape.overlapped_buckets
        if rank in (0, shape.pp - 1):
            own += times.tied_us
        own += times.optimizers[rank] + times.gathers[rank]
        back = 0.0 if shape.schedule in WEIGHTS_APART else behind
        least = max(least, ahead + busy + max(back, own))
        if has_messages:
            ahead += times.passes[rank][0] + times.messages[rank]
            behind += times.passes[rank][1] + times.messages[rank]
    return (least + times.step_us) * _ROUNDED
