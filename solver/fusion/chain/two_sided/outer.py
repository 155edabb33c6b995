"""What tensors that are left can send outside of what the labels have placed.

Drop the first k' tensors of a chain. Of the tensors k' to k - 1 that are left, launches carry F at
most by the release of the last top before the core, and G at most in the tail of the last top
behind it (MODEL.md section 5, *core*). The rest of their work lies between the two, with all that
is placed: so with m launches no plan of a label is below

    r_top - F + work of k' and later + a m + q_top - G.
"""

import numpy as np

from solver.fusion.chain.loops.release_order import ends
from solver.units import FloatArray

#: Most tensors of which this is asked, and how many k' about.
MOST, _DROPPED = 128, 32
_NEVER = -1e300


def dropped_of(count: int) -> list[int]:
    """List the k' of a chain of so many tensors; none of too many."""
    return list(range(0, count, max(1, count // _DROPPED))) if count <= MOST else []


def outside(head: FloatArray, total: FloatArray, startup: float) -> FloatArray:
    """Return head_top less F of each k', of each k left, and of each top: flat, in this order.

    ``head`` are releases, or tails, ascending; ``total`` the work of the first 0, 1, ..., n.
    Where more is left out than left it says nothing, very low.
    """
    count = len(head)
    rows = [np.empty(0)]
    for first in dropped_of(count):
        work = np.diff(total[first:])
        end = np.asarray(ends(np.ascontiguousarray(head[first:]), work, startup)[0])
        carried = total[first:] - total[first]
        by = carried[:, None] - np.maximum(0.0, end[:, None] - head[None, :])
        least = np.full((count, count), _NEVER)
        least[first:] = head - np.maximum.accumulate(by, axis=0)[:-1]
        rows.append(least.ravel())
    return np.concatenate(rows)
