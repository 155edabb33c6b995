"""Factors by which durations of a run differ from the stated ones."""

import math
from typing import Final

import numpy as np

from solver.units import FloatArray

#: Steps of a factor per 1. The last bit of an exponential is not the same on all processors, and
#: a long run can turn it into another run; 2^-24 is below the tolerance and above such bits.
_STEPS: Final = 2.0**24


def lognormal(random: np.random.Generator, spread: float, count: int) -> FloatArray:
    """Draw factors with mean 1 and this standard deviation, the same ones on every machine."""
    sigma = math.sqrt(math.log1p(spread**2))
    factors = np.exp(sigma * random.standard_normal(count) - sigma**2 / 2)
    return np.rint(factors * _STEPS) / _STEPS
