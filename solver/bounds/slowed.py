"""A lower bound where compute is slowed down while launches are under way.

All other bounds hold as they are: they take an op to last as long as it does by itself, at least.
This one counts what launches cost the longest path of compute. It takes P at full speed. By the end
of the iteration a channel has carried for h at least, the least total time of launches that carry
its bytes. In an op of the path that the channel makes s times as long it carries for s d at most, d
the op's duration, and there each unit of time costs 1 - 1/s of compute; beside no op of the path it
costs all of it. So the least that h can cost is what it costs in the ops of least s, each full, and
then beside none (MODEL.md section 5.1).
"""

from collections.abc import Iterable, Sequence

import numpy as np

from solver.bounds.chain import LowerBound
from solver.bounds.kinds import SLOWED
from solver.chain import Chain, chain_of, lane_bytes, on_channel
from solver.costs import Cost, Network
from solver.graph import Graph
from solver.simulation.contention import contention_of
from solver.simulation.engine import costs_of


def with_slowdown(bound: LowerBound, graph: Graph, network: Network) -> LowerBound:
    """Return the better of a bound without contention and the one of slowed compute.

    O(ops + edges).
    """
    chain, contention = chain_of(graph), contention_of(graph, network)
    if not any(factor > 1 for factors in contention.factors for factor in factors):
        return bound
    took: dict[int, float] = {}  # of the longest path of compute, by sort
    for op in _longest_path(graph):
        sort = contention.sorts[op]
        took[sort] = took.get(sort, 0.0) + graph.durations[op]
    busy = _busy(chain, costs_of(chain, network))
    values = [
        chain.compute_time
        + _least_cost(time, ((contention.factors[sort][k], us) for sort, us in took.items()))
        for k, time in enumerate(busy)
    ]
    k = max(range(len(values)), key=values.__getitem__)
    if values[k] <= bound.value:
        return bound
    return LowerBound(values[k], SLOWED, on_channel(chain, chain.channels[k]))


def _busy(chain: Chain, costs: Sequence[Cost]) -> list[float]:
    """Return the least total time of launches that carry the bytes of each channel [us]."""
    busy = dict.fromkeys(chain.channels, 0.0)
    for lane, total, cost in zip(chain.lanes, lane_bytes(chain), costs, strict=True):
        busy[lane.channel] += float(cost.least(total)(np.array([total]))[0])
    return list(busy.values())


def _least_cost(busy: float, ops: Iterable[tuple[float, float]]) -> float:
    """Return the least delay by a channel that carries for so long [us].

    ``ops`` are factors, and times at full speed [us].
    """
    delay = 0.0
    for factor, time in sorted(ops):
        beside = min(busy, factor * time)
        delay += (1 - 1 / factor) * beside
        busy -= beside
    return delay + busy


def _longest_path(graph: Graph) -> list[int]:
    """Return the ops of the longest path with collectives at 0, the last one first."""
    ends = [0.0] * len(graph.ops)
    for i in graph.order:
        ends[i] = max((ends[j] for j in graph.preds[i]), default=0.0) + graph.durations[i]
    here: int | None = ends.index(max(ends))
    path = []
    while here is not None:
        path.append(here)
        here = max(graph.preds[here], key=lambda j: (ends[j], -j), default=None)
    return path
