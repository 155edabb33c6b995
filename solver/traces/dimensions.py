"""How many elements a tensor has whose dimensions a trace writes as text."""

from collections.abc import Sequence
from math import prod

from solver.limits import MAX_BYTES, MAX_DIMENSIONS

#: Most digits of a length that is read as a number: longer ones are over every limit.
_DIGITS = 18


def elements(lengths: Sequence[str]) -> int | None:
    """Multiply the lengths of a tensor's dimensions; 1 where there are none.

    Parameters
    ----------
    lengths
        Each of one ASCII digit or more.

    Returns
    -------
    int | None
        ``MAX_BYTES + 1`` for all that is more than ``MAX_BYTES``; None with more than
        :data:`~solver.limits.MAX_DIMENSIONS` dimensions.

    Notes
    -----
    O(characters).
    """
    if len(lengths) > MAX_DIMENSIONS:
        return None
    digits = [length.lstrip("0") or "0" for length in lengths]
    if "0" in digits:
        return 0
    if any(len(length) > _DIGITS for length in digits):
        return MAX_BYTES + 1
    return min(prod(map(int, digits)), MAX_BYTES + 1)
