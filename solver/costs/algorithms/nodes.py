"""Nodes of several workers: a ring in each node, and rings across them."""

from dataclasses import replace

from solver.codes import FaultCode
from solver.costs.algorithms.stepwise import ring
from solver.costs.cluster import Cluster, missing_fields
from solver.costs.functions.affine import Affine
from solver.errors import Fault, InvalidCluster
from solver.graph import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER


def hierarchical(cluster: Cluster, kind: str) -> Affine:
    """Reduce-scatter in the node, all-reduce of S/g across nodes, all-gather in the node.

    The g workers of a node each reduce their g-th of the S bytes with their like in the other
    nodes, all at once: with one network card for all of them each has B/g. A launch is negotiated
    between all workers, and its share of the line rate is the network cards'.

    Raises
    ------
    InvalidCluster
        When a field is missing or the workers of a node do not divide all workers.
    """
    n, g, nic = cluster.workers, cluster.node_workers, cluster.bandwidth_gbps
    faults = missing_fields(cluster, "bandwidth_gbps", "node_workers", "node_bandwidth_gbps")
    if g is not None and n % g:
        detail = f"node_workers must divide the {n} workers, got {g}."
        faults.append(Fault("/node_workers", FaultCode.OUT_OF_RANGE, detail))
    if faults:
        raise InvalidCluster(faults)
    assert g is not None, "not missing"
    assert nic is not None, "not missing"
    inside = replace(
        cluster,
        workers=g,
        bandwidth_gbps=cluster.node_bandwidth_gbps,
        startup_us=0.0,
        negotiation_us_per_worker=0.0,
        line_rate_share=1.0,
        hop_us=cluster.node_hop_us,
    )
    across = replace(
        cluster,
        workers=n // g,
        bandwidth_gbps=nic / g if cluster.shared_nic else nic,
        startup_us=0.0,
        negotiation_us_per_worker=0.0,
    )
    scatter, gather = ring(inside, REDUCE_SCATTER), ring(inside, ALL_GATHER)
    between = ring(across, ALL_REDUCE)
    fixed = cluster.startup_us + cluster.negotiation_us_per_worker * n
    return Affine(
        fixed + scatter.startup + between.startup + gather.startup,
        scatter.per_byte + between.per_byte / g + gather.per_byte,
    )
