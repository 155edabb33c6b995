"""How far repeated measurements are apart."""

import numpy as np

from solver.units import FloatArray

#: Fewer measurements of a size have no quantiles.
_LEAST = 3


def spread_of(sizes: FloatArray, times: FloatArray) -> float | None:
    """Return how far measurements of one size are apart: (p90 - p10) / median of their times.

    The median over the sizes that were measured at least three times; None where there is none.

    Parameters
    ----------
    sizes, times
        Bytes and time [us] of each, of shape (n,); times above 0.

    Notes
    -----
    O(n log n).
    """
    found = []
    order = np.argsort(sizes, kind="stable")
    _, begins = np.unique(sizes[order], return_index=True)
    for some in np.split(times[order], begins[1:]):
        if some.size >= _LEAST:
            low, middle, high = np.quantile(some, (0.1, 0.5, 0.9))
            found.append(float((high - low) / middle))
    return float(np.median(found)) if found else None
