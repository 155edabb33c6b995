"""A lower bound on a shape's step, without running its passes."""

from solver.shapes.job_shape import JobShape
from solver.shapes.pipeline.orders import BACKWARD, FORWARD, WEIGHTS_APART
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
    Where micro-batches come from both ends, a rank begins with those that reach it first.

    Notes
    -----
    O(virtual stages). Proven of the simulated time under the costs given, of nothing else.
    """
    least = 0.0
    ahead, behind = (_before_ranks(shape, times, kind) for kind in (FORWARD, BACKWARD))
    for rank in range(shape.pp):
        stages = shape.stages_of(rank)
        busy = shape.micro_batches // shape.ways * sum(sum(times.passes[k]) for k in stages)
        own = min(times.reductions[k] for k in stages) / shape.overlapped_buckets
        if rank in (0, shape.pp - 1):
            own += times.tied_us
        own += times.optimizers[rank] + times.gathers[rank]
        back = 0.0 if shape.schedule in WEIGHTS_APART else behind[rank]
        least = max(least, ahead[rank] + busy + max(back, own))
    return (least + times.step_us) * _ROUNDED


def _before_ranks(shape: JobShape, times: StageTimes, kind: int) -> list[float]:
    """Return what a micro-batch's passes and messages before each rank take, the least way [us]."""
    forth = [0.0] * shape.pp
    for rank in range(shape.pp - 1):
        forth[rank + 1] = forth[rank] + times.passes[rank][kind] + times.messages[rank]
    if shape.ways == 1:
        return forth
    back = [0.0] * shape.pp
    for rank in range(shape.pp - 1, 0, -1):
        stage = 2 * shape.pp - 1 - rank
        back[rank - 1] = back[rank] + times.passes[stage][kind] + times.messages[rank - 1]
    return [min(each) for each in zip(forth, back, strict=True)]
