"""How far the costs of a cluster are from the launches that they were fitted to."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CostError:
    """Relative errors of fitted costs; None where nothing was measured.

    Attributes
    ----------
    median, p90
        Of abs(cost / measured time - 1) over the launches that the costs were fitted to.
    spread
        How far repeated measurements of one size were apart: (p90 - p10) / median of their times.
    """

    median: float | None = None
    p90: float | None = None
    spread: float | None = None


def weighted(errors: Iterable[tuple[CostError, float]]) -> CostError | None:
    """Return the mean of errors by weights above 0, each figure over those that know it.

    None where there are none.
    """
    rows = [(error, weight) for error, weight in errors if weight > 0]
    if not rows:
        return None
    return CostError(
        _mean((error.median, weight) for error, weight in rows),
        _mean((error.p90, weight) for error, weight in rows),
        _mean((error.spread, weight) for error, weight in rows),
    )


def _mean(figures: Iterable[tuple[float | None, float]]) -> float | None:
    known = [(value, weight) for value, weight in figures if value is not None]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if known else None
