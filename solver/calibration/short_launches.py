r"""Recorded launches that are far too short: cut off by the end of a recording, or of a wrong size.

Launches wait, so their times lean to long, and a fit of least relative error leans to the short
ones: one that is a hundred times too short weighs as ten thousand. These are told by the line
:math:`T(n) = c (r + n)` of least :math:`\sum_i |\log T(n_i) - \log t_i|`, which no launch moves
far, however short it is.
"""

from typing import NamedTuple

import numpy as np

from solver.units import FloatArray

#: A launch is far too short when the line is more than so many times as long.
FAR = 4.0

#: Launches that are far too short are errors while they are at most this share of all, or one. More
#: of them are what launches take, and the others waited.
RARE = 0.1

#: Start-up over time per byte [bytes] of the lines that are tried: none, then each 1.19 times the
#: one before, to 16 TiB.
_RATIOS = np.concatenate([[0.0], 2.0 ** np.arange(0.0, 44.25, 0.25)])


class Screened(NamedTuple):
    """Launches without those that are far too short.

    Attributes
    ----------
    sizes, times
        Bytes and times [us] of the others, each of shape (n,).
    left_out
        How many were left out.
    """

    sizes: FloatArray
    times: FloatArray
    left_out: int


def without_short(sizes: FloatArray, times: FloatArray) -> Screened:
    r"""Leave out the launches that are far too short beside the others.

    Parameters
    ----------
    sizes, times
        Bytes and times [us] of launches of one kind, above 0, of shape (n,).

    Returns
    -------
    Screened
        All of them where none is far too short, or more than a tenth, of less than ten more than
        one.

    Notes
    -----
    O(n log n) for each of 178 ratios of start-up to time per byte. For a ratio the best line
    passes through the lower median of :math:`\log t_i - \log(r + n_i)`, so of launches of one size
    fewer than half cannot move it by being short.
    """
    times_log = np.log(times)
    middle = (sizes.size - 1) // 2
    least, line_log = np.inf, times_log
    for ratio in _RATIOS:
        shape = np.log(ratio + sizes)
        above = times_log - shape
        misses = above - np.partition(above, middle)[middle]
        error = float(np.abs(misses).sum())
        if error < least:
            least, line_log = error, times_log - misses
    is_short = times_log < line_log - np.log(FAR)
    count = int(is_short.sum())
    if count > max(1.0, RARE * sizes.size):
        return Screened(sizes, times, 0)
    return Screened(sizes[~is_short], times[~is_short], count)
