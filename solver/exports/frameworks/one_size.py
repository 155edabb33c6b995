"""Frameworks that take one size for all buckets: which one comes nearest to a plan."""

from collections.abc import Callable

from solver.chain import chain_of
from solver.exports.frameworks.forms import WholeBuckets
from solver.graph import Graph

#: Into how many equal buckets all bytes are divided, at most.
_DIVIDED = 32
#: Most sizes that are tried, and most ops that are simulated for them in all.
_TRIED = 64
_STEPS = 5_000_000


def best_size(graph: Graph, plan: WholeBuckets, time: Callable[[int], float]) -> tuple[int, float]:
    """Return the size [bytes] with the least time [us]; the largest wins a tie.

    Tried are the plan's own sizes and equal shares of all bytes: at most 64, evenly picked, and
    fewer of a large graph. ``time`` simulates one.
    """
    chain = chain_of(graph)
    own = [int(chain.bytes[list(bucket)].sum()) for bucket in plan.buckets]
    total = sum(own)
    shares = [-(-total // count) for count in range(1, _DIVIDED + 1)]
    sizes = sorted({*own, *shares}, reverse=True)
    count = max(4, min(_TRIED, _STEPS // len(graph.ops)))
    if len(sizes) > count:
        sizes = [sizes[i * (len(sizes) - 1) // (count - 1)] for i in range(count)]
    times = [(size, time(size)) for size in sizes]
    return min(times, key=lambda found: found[1])
