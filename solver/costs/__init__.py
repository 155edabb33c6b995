"""What a collective costs: time of one launch as a function of its bytes.

Every cost is called alike: ``cost.time(n)`` for one launch of n bytes, ``cost.times(sizes)`` for
many, ``cost.fits(budget, most)`` for the bytes that fit in a time, ``cost.minorants(total)`` for
the affine functions below it that the lower bound uses. Every launch pays the start-up, so each
part of a partitioned bucket pays it too.
"""

from solver.costs.algorithms import ALGORITHMS, cost_of
from solver.costs.algorithms.calibrated import table
from solver.costs.algorithms.extrapolation import MEASURED, is_extrapolated
from solver.costs.algorithms.servers import PLACEMENTS
from solver.costs.algorithms.stepwise import ring
from solver.costs.cluster import LINEAR, PIECEWISE, RING, TABLE, Cluster
from solver.costs.cost import Cost, scale
from solver.costs.cost_error import CostError
from solver.costs.functions.affine import Affine
from solver.costs.functions.measured import MeasuredCost
from solver.costs.functions.piecewise import Piecewise, PiecewiseCost
from solver.costs.network import (
    ChannelCost,
    Crossing,
    Network,
    alike,
    as_network,
    bytes_on,
    cost_error_of,
    lane_of_op,
    network_of,
)

__all__ = [
    "ALGORITHMS",
    "LINEAR",
    "MEASURED",
    "PIECEWISE",
    "PLACEMENTS",
    "RING",
    "TABLE",
    "Affine",
    "ChannelCost",
    "Cluster",
    "Cost",
    "CostError",
    "Crossing",
    "MeasuredCost",
    "Network",
    "Piecewise",
    "PiecewiseCost",
    "alike",
    "as_network",
    "bytes_on",
    "cost_error_of",
    "cost_of",
    "is_extrapolated",
    "lane_of_op",
    "network_of",
    "ring",
    "scale",
    "table",
]
