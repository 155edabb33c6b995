"""From where on more of something gains nothing."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from solver.units import TOLERANCE

#: A gain up to this share is nothing.
NOTHING: Final = 0.01


def knee_of(rates: Sequence[float], doubtful: Sequence[float] | None = None) -> int | None:
    """Return the first index behind which no rate is more than 1 % larger; not the last.

    Parameters
    ----------
    rates
        What is gained, at least one of them, by what grows; inf where it takes no time.
    doubtful
        Of each rate, up to where a larger one may be no gain over it.

    Notes
    -----
    O(rates).
    """
    behind = list(accumulate(reversed(rates), max))[::-1]
    nothing = (1 + NOTHING) * (1 + TOLERANCE)
    most = [
        max(nothing * rate, doubt) for rate, doubt in zip(rates, doubtful or rates, strict=True)
    ]
    return next((i for i, rate in enumerate(most[:-1]) if behind[i + 1] <= rate), None)


def workers_text(workers: int) -> str:
    """Write so many workers."""
    return f"{workers:,} worker{'s' if workers > 1 else ''}"
