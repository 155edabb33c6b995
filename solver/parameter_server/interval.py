"""How far a run of finite length may be from the long run: batch means."""

import math
from itertools import pairwise
from statistics import fmean, stdev
from typing import Final, NamedTuple

from scipy.special import stdtrit

from solver.parameter_server.run import StepsRun
from solver.units import slack

#: Most batches of a run.
MAX_BATCHES: Final = 20
#: Of the interval.
CONFIDENCE: Final = 0.95


class Pace(NamedTuple):
    """The time from one step's end to the next, of all workers together.

    Attributes
    ----------
    mean_us
        Mean over the steps that count [us].
    half_us
        The long run's mean is so close to it in 95 of 100 runs [us]; None where there are fewer
        than two batches.
    """

    mean_us: float
    half_us: float | None


def pace_of(run: StepsRun) -> Pace:
    r"""Measure a run's time per step, and how far from the long run's it may be.

    The steps that count, by their ends, are cut into at most :data:`MAX_BATCHES` batches, each of
    the same number of rounds of W steps; less than a batch is left over at the end. Workers in lock
    step end W steps at once, so whole rounds never cut between equals. The batches' mean times per
    step vary as the run's mean would if it were repeated: with b of them and standard deviation s
    half the interval is :math:`t_{b-1} s / \sqrt{b}`, t the quantile of Student's distribution.

    Notes
    -----
    O(steps log(steps)). Batches must be long beside what steps remember of those before, which is
    assumed: workers that are slow to leave lock step make the interval too narrow.

    References
    ----------
    .. [1] A. Law, W. Kelton, Simulation Modeling and Analysis, section 9.5.3.
    """
    after, end = run.start + slack(run.start), run.end + slack(run.end)
    ends = sorted(time for times in run.ends for time in times if after < time <= end)
    mean = (run.end - run.start) / len(ends)
    rounds = len(ends) // run.workers
    size = run.workers * math.ceil(rounds / MAX_BATCHES)
    if len(ends) < 2 * run.workers:
        return Pace(mean, None)
    cuts = [run.start, *ends[size - 1 :: size]]
    means = [(b - a) / size for a, b in pairwise(cuts)]
    quantile = float(stdtrit(len(means) - 1, (1 + CONFIDENCE) / 2))
    return Pace(mean, quantile * stdev(means, fmean(means)) / math.sqrt(len(means)))


def examples_per_s(pace: Pace, batch_size: int) -> tuple[float, float | None, float | None]:
    """Return examples per second and the ends of their interval.

    The interval is None where that of the pace is, or reaches down to a step of no time.
    """
    examples = batch_size * 1e6
    rate = examples / pace.mean_us
    if pace.half_us is None or pace.half_us >= pace.mean_us:
        return rate, None, None
    low, high = pace.mean_us + pace.half_us, pace.mean_us - pace.half_us
    return rate, examples / low, examples / high
