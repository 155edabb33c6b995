"""How far a run of finite length may be from the long run: batch means."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean, stdev
from typing import Final, NamedTuple

from solver.parameter_server.record import StepsRun
from solver.units import slack

#: Most batches of a run.
MAX_BATCHES: Final = 20
#: Of the interval.
CONFIDENCE: Final = 0.95


#: Batches that correlate more are joined, while so many are left.
_DEPENDENT: Final = 0.2
_LEAST_BATCHES: Final = 4


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
    step vary as the run's mean would if it were repeated, if they do not depend on one another:
    while neighbours do, by a correlation of more than :data:`_DEPENDENT`, pairs of them become one,
    down to :data:`_LEAST_BATCHES`. With b batches of standard deviation s half the interval is
    :math:`t_{b-1} s / \sqrt{b}`, t the quantile of Student's distribution.

    Workers in step end a round one by one, and the run ends with the first: the mean is that of
    whole rounds.

    Notes
    -----
    O(steps log(steps)). Where all batches together are short beside what steps remember of those
    before, the interval is too narrow: workers may be slow to leave lock step, see :func:`drifts`.

    References
    ----------
    .. [1] A. Law, W. Kelton, Simulation Modeling and Analysis, section 9.5.3.
    """
    after, end = run.start + slack(run.start), run.end + slack(run.end)
    ends = sorted(time for times in run.ends for time in times if after < time <= end)
    mean = (run.end - run.start) / len(ends)
    rounds = len(ends) // run.workers
    if run.is_synchronous and rounds:  # the last one is cut where its first worker ends
        whole = rounds * run.workers
        mean = (ends[whole - 1] - run.start) / whole
    size = run.workers * math.ceil(rounds / MAX_BATCHES)
    if len(ends) < 2 * run.workers:
        return Pace(mean, None)
    cuts = [run.start, *ends[size - 1 :: size]]
    means = [(b - a) / size for a, b in pairwise(cuts)]
    while len(means) >= 2 * _LEAST_BATCHES and _correlation(means) > _DEPENDENT:
        means = [fmean(pair) for pair in zip(means[-2::-2], means[::-2], strict=False)]
    from scipy.special import stdtrit  # noqa: PLC0415 - takes time

    quantile = float(stdtrit(len(means) - 1, (1 + CONFIDENCE) / 2))
    return Pace(mean, quantile * stdev(means, fmean(means)) / math.sqrt(len(means)))


def drifts(run: StepsRun) -> bool:
    """Tell whether the halves of what counts have paces outside each other's intervals."""
    ends = sorted(time for times in run.ends for time in times if run.start < time <= run.end)
    if len(ends) < 8 * run.workers:
        return False
    middle = ends[len(ends) // 2]
    first = pace_of(replace(run, end=middle))
    second = pace_of(replace(run, start=middle))
    apart = abs(first.mean_us - second.mean_us) - slack(first.mean_us)
    return apart > (first.half_us or 0.0) + (second.half_us or 0.0)


def _correlation(means: Sequence[float]) -> float:
    """Return the correlation of neighbours; 0 where nothing varies."""
    middle = fmean(means)
    off = [mean - middle for mean in means]
    spread = sum(x * x for x in off)
    return sum(a * b for a, b in pairwise(off)) / spread if spread else 0.0


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
