"""From where on more of something gains nothing."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from solver.units import TOLERANCE

#: A gain up to this share is nothing.
NOTHING: Final = 0.01


def knee_of(rates: Sequence[float], sure: Sequence[float] | None = None) -> int | None:
    """Return the first index behind which no rate is more than 1 % larger; not the last.

    Parameters
    ----------
    rates
        What is gained, at least one of them, by what grows; inf where it takes no time.
    sure
        Of each rate how much it is at least, which alone counts as larger; the rates themselves
        where they are exact.

    Notes
    -----
    O(rates).
    """
    behind = list(accumulate(reversed(sure or rates), max))[::-1]
    nothing = (1 + NOTHING) * (1 + TOLERANCE)
    return next((i for i, rate in enumerate(rates[:-1]) if behind[i + 1] <= nothing * rate), None)


def workers_text(workers: int) -> str:
    """Write so many workers."""
    return f"{workers:,} worker{'s' if workers > 1 else ''}"
