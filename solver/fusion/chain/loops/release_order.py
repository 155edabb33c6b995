"""The least ends of contiguous launches in release order, at an affine cost.

The .pxd beside this module gives its types. Without a compiler the same lines run as Python, and
give the same figures.
"""

from array import array
from collections.abc import Sequence

from solver.units import FloatArray


def ends(release: FloatArray, work: FloatArray, a: float) -> tuple[Sequence[float], Sequence[int]]:
    """Return f(0..n) of :func:`solver.fusion.chain.fifo.chain_end`, and the j that attains each.

    ``work`` is the time of each tensor without the start-up a [us].
    """
    count = len(release)
    found = array("d", [0.0]) * (count + 1), array("i", [0]) * (count + 1)
    end_of, before = found
    prefix = array("d", [0.0]) * (count + 1)
    keys = array("d", [0.0]) * count  # a queue of f(j) - c P_j, ascending, and of j
    queue = array("i", [0]) * count
    head = size = waiting = 0
    for k in range(count):
        ready = release[k]
        carried = prefix[k] + work[k]
        prefix[k + 1] = carried
        while waiting < k and end_of[waiting + 1] <= ready:
            waiting += 1
        while head < size and queue[head] <= waiting:
            head += 1
        end, origin = ready - prefix[waiting], waiting
        if head < size and keys[head] < end:
            end, origin = keys[head], queue[head]
        end_of[k + 1] = max(end_of[k], end + carried + a)
        before[k + 1] = origin
        key = end_of[k + 1] - carried
        while size > head and keys[size - 1] >= key:
            size -= 1
        keys[size], queue[size] = key, k + 1
        size += 1
    return found
