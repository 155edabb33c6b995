"""Medians of rows that share a key, with all of them and without the row itself."""

import numpy as np

from solver.arrivals.arrival import Floats, Ints


def median_by(key: Ints, value: Floats) -> Floats:
    """Return of each row the median of the rows of its key. O(n log n)."""
    order, first, count, _ = _sorted(key, value)
    sorted_ = value[order]
    middle = (sorted_[first + (count - 1) // 2] + sorted_[first + count // 2]) / 2
    return _back(order, middle)


def median_of_others(key: Ints, value: Floats) -> Floats:
    """Return of each row the median of the other rows of its key; nan where it is alone.

    Of a row that is far from the others the median of all is off by as much as the others spread,
    this is not. O(n log n).
    """
    order, first, count, place = _sorted(key, value)
    sorted_ = value[order]
    low, high = (count - 2) // 2, (count - 1) // 2  # among the others
    low, high = low + (low >= place), high + (high >= place)  # among all
    alone = count == 1
    at = np.where(alone, first, first + low), np.where(alone, first, first + high)
    middle = np.where(alone, np.nan, (sorted_[at[0]] + sorted_[at[1]]) / 2)
    return _back(order, middle)


def highest_by(key: Ints, value: Floats) -> Floats:
    """Return of each row the highest of the rows of its key. O(n log n)."""
    order, first, count, _ = _sorted(key, value)
    return _back(order, value[order][first + count - 1])


def spread_of(value: Floats) -> float:
    """Return the standard deviation by the median distance from the median; 0 of no values."""
    if not len(value):
        return 0.0
    return 1.4826 * float(np.median(np.abs(value - np.median(value))))


def _sorted(key: Ints, value: Floats) -> tuple[Ints, Ints, Ints, Ints]:
    """Sort rows by key and value; of each the first of its key, how many, and its place there."""
    order = np.lexsort((value, key))
    keys = key[order]
    begins = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else keys
    counts = np.diff(np.r_[begins, len(keys)])
    first, count = np.repeat(begins, counts), np.repeat(counts, counts)
    return order, first, count, np.arange(len(keys)) - first


def _back(order: Ints, value: Floats) -> Floats:
    result = np.empty_like(value)
    result[order] = value
    return result
