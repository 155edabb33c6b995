"""Rows that are alike in some columns, side by side."""

from collections.abc import Sequence

import numpy as np

from solver.traces.dlc.records import Column


def groups_of(columns: Sequence[Column]) -> tuple[Column, Column]:
    """Sort rows by columns, and find where each group of equal ones begins.

    Parameters
    ----------
    columns
        Each of shape (n,); the first counts most.

    Returns
    -------
    tuple
        The rows in order, of shape (n,), equal ones as they were; and the positions in it of the
        first row of each group, of shape (groups,).
    """
    order = np.lexsort(columns[::-1])
    begins = np.ones(order.size, dtype=bool)
    begins[1:] = False
    for column in columns:
        ordered = column[order]
        begins[1:] |= ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(begins)
