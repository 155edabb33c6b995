"""How far the costs of a cluster are from the launches that they were fitted to."""

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
