"""A lower bound where compute is slowed down while launches are under way.

All other bounds hold as they are: they take an op to last as long as it does by itself, at least.
This one counts what launches cost the longest path of compute. It takes P at full speed and ends by
the end T of the iteration; of T the launches cover h at least, the least total time in which a
channel carries its bytes, and while they do it advances by 1 / slowdown. So
P <= T - (1 - 1 / slowdown) h (MODEL.md section 5.1).
"""

from collections.abc import Sequence

import numpy as np

from solver.bounds.chain import SLOWED, LowerBound
from solver.chain import Chain, lane_bytes, on_channel
from solver.costs import Cost


def with_slowdown(
    bound: LowerBound, chain: Chain, costs: Sequence[Cost], slowdown: float
) -> LowerBound:
    """Return the better of a bound without slowdown and the one of slowed compute.

    ``costs`` are those of the chain's lanes. O(n) for n tensors.
    """
    if slowdown == 1 or not len(chain):
        return bound
    busy = dict.fromkeys(chain.channels, 0.0)
    for lane, total, cost in zip(chain.lanes, lane_bytes(chain), costs, strict=True):
        busy[lane.channel] += float(cost.least(total)(np.array([total]))[0])
    channel = max(busy, key=lambda name: busy[name])
    value = chain.compute_time + (1 - 1 / slowdown) * busy[channel]
    return LowerBound(value, SLOWED, on_channel(chain, channel)) if value > bound.value else bound
