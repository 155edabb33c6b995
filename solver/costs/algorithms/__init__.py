"""How a cluster's algorithm becomes the cost of a kind of collective."""

from collections.abc import Callable

from solver.codes import FaultCode
from solver.costs.algorithms.calibrated import linear, piecewise, table
from solver.costs.algorithms.nodes import hierarchical
from solver.costs.algorithms.servers import parameter_server
from solver.costs.algorithms.stepwise import (
    double_binary_tree,
    halving_doubling,
    in_network,
    recursive_doubling,
    ring,
)
from solver.costs.cluster import (
    DOUBLE_BINARY_TREE,
    HALVING_DOUBLING,
    HIERARCHICAL,
    IN_NETWORK,
    LINEAR,
    PARAMETER_SERVER,
    PIECEWISE,
    RECURSIVE_DOUBLING,
    RING,
    TABLE,
    Cluster,
)
from solver.costs.cost import Cost
from solver.costs.functions.affine import Affine
from solver.errors import Fault, InvalidCluster
from solver.graph import ALL_REDUCE

#: Every algorithm, called alike; add one here.
ALGORITHMS: dict[str, Callable[[Cluster, str], Cost]] = {
    RING: ring,
    RECURSIVE_DOUBLING: recursive_doubling,
    HALVING_DOUBLING: halving_doubling,
    DOUBLE_BINARY_TREE: double_binary_tree,
    HIERARCHICAL: hierarchical,
    PARAMETER_SERVER: parameter_server,
    IN_NETWORK: in_network,
    TABLE: table,
    LINEAR: linear,
    PIECEWISE: piecewise,
}

#: Those that describe every kind of collective; the others describe all-reduce.
_EVERY_KIND = (RING, TABLE)


def cost_of(cluster: Cluster, kind: str = ALL_REDUCE) -> Cost:
    """Cost of a kind of collective on a cluster's own channel; 0 for one worker.

    Raises
    ------
    InvalidCluster
        When the algorithm does not describe the kind, a field that it needs is missing or does not
        fit, or a cost was measured elsewhere and is not to be extrapolated.
    """
    if cluster.workers == 1:
        return Affine(0.0, 0.0)
    if kind != ALL_REDUCE and cluster.algorithm not in _EVERY_KIND:
        detail = (
            f"The algorithm {cluster.algorithm} describes all_reduce only; "
            f"give {kind} a channel of its own with a ring or a table."
        )
        raise InvalidCluster([Fault("/algorithm", FaultCode.NOT_ALL_REDUCE, detail)])
    return ALGORITHMS[cluster.algorithm](cluster, kind)
