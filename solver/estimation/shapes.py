r"""What times depend on beside the figures of the answer: the form of costs.

Figures are those of a line and of a ring's steps, which a cost model can say. Predicted times do
not rest on that form alone. A launch that goes in pieces, each passed on while the next one comes,
takes with the best number of pieces [1]_

.. math:: α + c\,(S + \sqrt{κ S})

with S bytes, c the time of a byte, and κ the bytes that take twice as long as their bandwidth says.
The steps of a ring of n workers, as many as they are with :data:`_AMONG`, grow with
:math:`(n - 1)^g`: g is 1 on a ring, and less where start-ups grow with a logarithm.

References
----------
.. [1] P. Sanders, J. Speck, J. L. Träff, Two-tree algorithms for full bandwidth broadcast,
       reduction and scan, Parallel Computing 35 (2009).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import sqrt

from solver.costs import RING, ChannelCost, Cluster, Cost, MeasuredCost, Network
from solver.estimation.parameters import EstimatedParameter
from solver.estimation.runs import MeasuredRun

SLOW, GROWTH = "slow_bytes", "startup_growth"

#: Median, standard deviation of the logarithm, least and most: of κ [bytes], a launch of 100 KB is
#: twice as long within a factor of 7; of g, from a logarithm's 0.4 to a ring's 1.
_SLOW = (1e5, 1.0, 1.0, 1e9)
_GROWTH = (0.65, 0.4, 0.1, 2.0)

#: With so many workers start-ups do not depend on g.
_AMONG = 8

#: Points of a curve [bytes].
_SIZES = tuple(2**k for k in range(8, 33))


def shapes_of(runs: Sequence[MeasuredRun]) -> tuple[EstimatedParameter, ...]:
    """List what the costs of each network depend on beside the figures."""
    networks = dict.fromkeys(run.network for run in runs if run.workers > 1)
    return tuple(
        EstimatedParameter(name, network, median, median, spread, spread, least, most)
        for network in networks
        for name, (median, spread, least, most) in ((SLOW, _SLOW), (GROWTH, _GROWTH))
    )


def with_growth(cluster: Cluster, growth: float) -> Cluster:
    """Return a cluster whose ring has as many more steps as grow with this power of them."""
    if cluster.algorithm != RING:
        return cluster
    steps = (cluster.workers - 1) / (_AMONG - 1)
    return replace(cluster, hop_us=cluster.hop_us * steps ** (growth - 1))


def with_slow_launches(network: Network, slow: float) -> Network:
    """Return a network on which launches of so many bytes take twice as long as their bytes do."""

    @cache
    def cost(lane: ChannelCost) -> Cost:
        line = network.cost(lane)
        per_byte = (line.time(_SIZES[-1]) - line.time(_SIZES[-2])) / (_SIZES[-1] - _SIZES[-2])
        times = tuple(line.time(size) + per_byte * sqrt(slow * size) for size in _SIZES)
        return MeasuredCost(_SIZES, times, per_byte, 0.0)

    return replace(network, cost=cost)
