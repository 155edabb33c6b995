"""What may be wrong with a cluster, whoever describes it."""

import math
from collections.abc import Iterator
from difflib import get_close_matches
from numbers import Integral, Real

from solver.codes import FaultCode
from solver.costs.algorithms import ALGORITHMS
from solver.costs.algorithms.servers import PLACEMENTS
from solver.costs.cluster import Cluster
from solver.errors import Fault
from solver.limits import MAX_COMPUTE_SLOWDOWN, MAX_WORKERS

#: Ranks, each from 1; bandwidths [Gbit/s], above 0; times [us], from 0. None where one is not said.
_RANKS = ("workers", "node_workers", "measured_workers")
_BANDWIDTHS = ("bandwidth_gbps", "reduction_gbps", "node_bandwidth_gbps", "measured_gbps")
_TIMES = ("startup_us", "hop_us", "node_hop_us", "constant_us", "us_per_byte")


def cluster_faults(cluster: Cluster) -> Iterator[Fault]:
    """Find all that is out of range in a cluster and its channels; pointers are into it."""
    yield from _own_faults(cluster)
    slowdown = cluster.compute_slowdown
    if not (math.isfinite(slowdown) and 1 <= slowdown <= MAX_COMPUTE_SLOWDOWN):
        detail = f"compute_slowdown must be 1 to {MAX_COMPUTE_SLOWDOWN:g}, got {slowdown!r}."
        yield Fault("/compute_slowdown", FaultCode.OUT_OF_RANGE, detail)
    for name, channel in cluster.channels:
        under = f"/channels/{name}"
        for fault in _own_faults(channel):
            yield Fault(under + fault.pointer, fault.code, f"Channel {name!r}: {fault.detail}")
        if channel.compute_slowdown != 1:
            detail = f"Channel {name!r}: compute_slowdown is the cluster's, for all channels."
            yield Fault(f"{under}/compute_slowdown", FaultCode.EXTRA_FIELD, detail)


def _own_faults(cluster: Cluster) -> Iterator[Fault]:
    for field in _RANKS:
        ranks = getattr(cluster, field)
        if ranks is not None and not (
            isinstance(ranks, Integral) and 1 <= int(ranks) <= MAX_WORKERS
        ):
            detail = f"{field} must be an integer from 1 to {MAX_WORKERS:,}, got {ranks!r}."
            yield Fault(f"/{field}", FaultCode.OUT_OF_RANGE, detail)
    for fields, rule, least in ((_BANDWIDTHS, "above 0", False), (_TIMES, "0 or more", True)):
        for field in fields:
            value = getattr(cluster, field)
            if value is None:
                continue
            is_right = isinstance(value, Real) and math.isfinite(value) and float(value) >= 0
            if not is_right or (value == 0 and not least):
                detail = f"{field} must be finite and {rule}, got {value!r}."
                yield Fault(f"/{field}", FaultCode.OUT_OF_RANGE, detail)
    for field, known in (("algorithm", ALGORITHMS), ("placement", PLACEMENTS)):
        name = getattr(cluster, field)
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            detail = f"{field} must be one of {', '.join(known)}, got {name!r}.{meant}"
            yield Fault(f"/{field}", FaultCode.OUT_OF_RANGE, detail)
