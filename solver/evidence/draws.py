"""Seeded draws of what costs may be: start-up, bandwidth, launches and compute at once."""

from typing import Final

import numpy as np

from solver.evidence.doubts import Doubt
from solver.simulation.factors import lognormal

#: Standard deviations of the factors, whose mean is 1: as far as calibrations are off.
STARTUP_SPREAD: Final = 0.5
BANDWIDTH_SPREAD: Final = 0.15
LAUNCH_SPREAD: Final = 0.15
COMPUTE_SPREAD: Final = 0.1


def draws_of(count: int, seed: int) -> tuple[Doubt, ...]:
    """Draw so many factors on all costs, log-normal of mean 1; the same ones on every machine.

    The first of more draws are the draws of fewer.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    spreads = STARTUP_SPREAD, BANDWIDTH_SPREAD, LAUNCH_SPREAD, COMPUTE_SPREAD
    found = []
    for number in range(count):
        factors = [float(lognormal(random, spread, 1)[0]) for spread in spreads]
        found.append(Doubt(f"draw {number}", *factors))
    return tuple(found)
