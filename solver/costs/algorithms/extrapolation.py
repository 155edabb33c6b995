"""Measured costs on other workers, or over another bandwidth, than those of the measurement."""

from solver.codes import FaultCode
from solver.costs.algorithms.stepwise import ring_effort
from solver.costs.cluster import LINEAR, PIECEWISE, TABLE, Cluster
from solver.errors import Fault

#: Algorithms whose figures hold for the workers and the bandwidth of a measurement.
MEASURED = (TABLE, LINEAR, PIECEWISE)


def is_extrapolated(cluster: Cluster) -> bool:
    """Tell whether a measured cost is scaled to workers or a bandwidth that were not measured."""
    return cluster.algorithm in MEASURED and cluster.workers > 1 and bool(_differences(cluster))


def extrapolation_faults(cluster: Cluster) -> list[Fault]:
    """Find what keeps a measured cost from being used on this cluster."""
    if not cluster.extrapolate:
        return [
            Fault(
                f"/{field}",
                FaultCode.NOT_MEASURED,
                f"The cost was measured with {measured}, not {wanted}; "
                "`extrapolate` scales it as a ring would.",
            )
            for field, measured, wanted in _differences(cluster)
        ]
    if cluster.measured_workers == 1:
        detail = "A cost measured with 1 worker cannot be scaled to more; it takes 2 at least."
        return [Fault("/measured_workers", FaultCode.OUT_OF_RANGE, detail)]
    return []


def growth(cluster: Cluster, kind: str) -> tuple[float, float]:
    """Return how many times longer than measured the least launch takes, and what is beyond it.

    The first grows with the steps of a ring, (n-1)/(n0-1), the rest with the bytes that pass each
    worker, ((n-1)/n) / ((n0-1)/n0), and with B0/B. The start-up on top is not scaled.
    """
    here = ring_effort(cluster.workers, kind)
    there = ring_effort(cluster.measured_workers or cluster.workers, kind)
    faster = 1.0
    if cluster.bandwidth_gbps is not None and cluster.measured_gbps is not None:
        faster = cluster.bandwidth_gbps / cluster.measured_gbps
    return here.steps / there.steps, here.passes / there.passes / faster


def _differences(cluster: Cluster) -> list[tuple[str, str, str]]:
    """Field, measured and wanted figure wherever the two differ."""
    differences = []
    n0, n = cluster.measured_workers, cluster.workers
    if n0 is not None and n0 != n:
        differences.append(("workers", f"{n0} workers", f"{n}"))
    b0, b = cluster.measured_gbps, cluster.bandwidth_gbps
    if b0 is not None and b is not None and b0 != b:
        differences.append(("bandwidth_gbps", f"{b0:g} Gbit/s", f"{b:g}"))
    return differences
