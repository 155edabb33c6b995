r"""Straight lines of least relative error, many at once.

For points x, times t and weights w = 1/t^2 the line c x + d minimises
:math:`\sum w (c x + d - t)^2`, the sum of squared relative errors.
"""

from typing import NamedTuple

import numpy as np

from solver.units import FloatArray


class Moments(NamedTuple):
    """Weighted sums of points about their means, each a number or an array of them.

    Attributes
    ----------
    weight
        Sum of w.
    x, t
        Means.
    xx, xt, tt
        Sums of w (x - mean)^2, w (x - mean)(t - mean) and w (t - mean)^2.
    """

    weight: FloatArray
    x: FloatArray
    t: FloatArray
    xx: FloatArray
    xt: FloatArray
    tt: FloatArray


class CandidateLines(NamedTuple):
    """Lines c x + d with the sum of their squared relative errors.

    Attributes
    ----------
    slope, constant
        c and d.
    error
        The sum.
    """

    slope: FloatArray
    constant: FloatArray
    error: FloatArray


def moments(x: FloatArray, times: FloatArray) -> Moments:
    """Moments of one set of points; O(n), without cancellation."""
    w = times**-2.0
    weight = w.sum()
    mean, time = (w * x).sum() / weight, (w * times).sum() / weight
    dx, dt = x - mean, times - time
    return Moments(weight, mean, time, (w * dx**2).sum(), (w * dx * dt).sum(), (w * dt**2).sum())


def running_moments(x: FloatArray, times: FloatArray) -> Moments:
    """Moments of the first k points for k = 1..n; O(n), with the rounding of long sums."""
    w = times**-2.0
    weight, wx, wt = w.cumsum(), (w * x).cumsum(), (w * times).cumsum()
    mean, time = wx / weight, wt / weight
    xx, xt = (w * x * x).cumsum() - wx * mean, (w * x * times).cumsum() - wx * time
    return Moments(weight, mean, time, xx, xt, np.arange(1.0, x.size + 1) - wt * time)


def straight(sums: Moments, *, is_constant_free: bool = False) -> CandidateLines:
    """Find the best lines with slope >= 0 and, unless it is free, constant >= 0.

    Where the best line of all breaks a constraint the optimum has that one at 0: the error is
    convex, and both cannot break, since times and x are positive when the constant is bound.
    """
    safe = np.where(sums.xx > 0, sums.xx, 1.0)
    slope = np.where(sums.xx > 0, np.maximum(sums.xt, 0.0) / safe, 0.0)
    constant = sums.t - slope * sums.x
    if not is_constant_free:
        below = constant < 0
        whole = sums.xx + sums.weight * sums.x**2
        through_0 = (sums.xt + sums.weight * sums.x * sums.t) / np.where(below, whole, 1.0)
        slope = np.where(below, through_0, slope)
        constant = np.where(below, 0.0, constant)
    miss = constant - sums.t + slope * sums.x
    error = sums.tt - 2 * slope * sums.xt + slope**2 * sums.xx + sums.weight * miss**2
    return CandidateLines(slope, constant, np.maximum(error, 0.0))
