"""Parameter servers: each worker pushes its gradient and pulls the sum.

PHub's four placements (phub.txt, section 2): one server (C, central) or as many as workers (S,
sharded), on a worker's machine (C, colocated) or not (NC). Push and pull go one after the other,
full duplex; the busiest link decides.
"""

from solver.codes import FaultCode
from solver.costs.algorithms.stepwise import Effort, stepwise
from solver.costs.cluster import Cluster, missing_fields
from solver.costs.functions.affine import Affine
from solver.errors import Fault, InvalidCluster
from solver.wording import must_be, one_of

#: Where the servers are: on machines of their own (n) or on workers; one or sharded.
PLACEMENTS = ("ncc", "cc", "ncs", "cs")


def parameter_server(cluster: Cluster, kind: str) -> Affine:
    """Push, then pull: passes of the bytes over the busiest link by placement.

    A central server's link carries those of all workers, 2n, less one pair when it is on a worker;
    sharded, each worker's link carries all bytes twice, less its own shard when it has one.

    Raises
    ------
    InvalidCluster
        When the placement is unknown or no bandwidth is given.
    """
    n = cluster.workers
    passes = {"ncc": 2 * n, "cc": 2 * (n - 1), "ncs": 2, "cs": 2 * (n - 1) / n}
    if cluster.placement not in passes:
        detail = must_be("placement", one_of(PLACEMENTS), cluster.placement, PLACEMENTS)
        fault = Fault("/placement", FaultCode.OUT_OF_RANGE, detail)
        raise InvalidCluster([*missing_fields(cluster, "bandwidth_gbps"), fault])
    return stepwise(cluster, Effort(2, passes[cluster.placement]))
