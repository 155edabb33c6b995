"""What is more than noise: a mean over steps against its own error and the others' spread."""

from dataclasses import dataclass

import numpy as np

from solver.arrivals.arrival import Floats
from solver.arrivals.medians import spread_of

#: So many standard errors are no noise, and so many are an interval's half.
_SURE, _HALF = 4.0, 2.0
#: With so many things to compare, how far they are apart tells the error of one step's.
_MANY = 4
#: Of more things the spread of all is that of all but one.
_OF_EACH = 100


@dataclass(frozen=True, slots=True)
class Excess:
    """How much longer something takes a step than the same elsewhere.

    Attributes
    ----------
    mean
        Over the steps [us].
    error
        Standard error [us]; None where nothing tells it.
    limit
        What it must be above to be no noise [us]; None likewise.
    """

    mean: float
    error: float | None
    limit: float | None

    @property
    def is_sure(self) -> bool:
        """Whether it is more than noise."""
        return self.limit is not None and self.mean > self.limit

    @property
    def interval(self) -> tuple[float, float]:
        """Two standard errors to both sides [us]."""
        half = _HALF * (self.error or 0.0)
        return self.mean - half, self.mean + half


def excesses(
    means: Floats,
    errors: Floats,
    steps: Floats,
    clock_us: float,
    floors: Floats,
    *,
    is_spread: bool = True,
) -> list[Excess]:
    """Tell of each mean how sure it is.

    Its variance is that of its steps, of the ranks' clocks, and of the other means, as no two ranks
    are alike. Of few steps the variance is itself not sure, and counts for more.

    Parameters
    ----------
    means, errors
        Over the steps, and the standard error that they tell [us].
    steps
        How many there are of each.
    clock_us
        How far the clocks are apart [us].
    floors
        Below which nothing is worth a word [us].
    is_spread
        Whether the other means tell how far such things are apart: not where half of them may have
        the same cause.

    Notes
    -----
    O(n^2 log n) for n means, O(n log n) of more than a hundred.
    """
    result = []
    everything = spread_of(means) if is_spread else 0.0
    for i, (mean, error, count, floor) in enumerate(
        zip(means.tolist(), errors.tolist(), steps.tolist(), floors.tolist(), strict=True)
    ):
        if count < 2 and len(means) < _MANY:  # noqa: PLR2004 - one step has no error
            result.append(Excess(mean, None, None))
            continue
        is_few = is_spread and len(means) <= _OF_EACH
        apart = spread_of(np.delete(means, i)) if is_few else everything
        few = 1 + 4 / max(count - 1, 1)
        whole = float(np.sqrt((few * error) ** 2 + apart**2 + clock_us**2 / max(count, 1)))
        result.append(Excess(mean, whole, max(_SURE * whole, floor)))
    return result
