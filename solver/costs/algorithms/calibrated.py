"""Costs from measurements: a table, a line and a curve; scaled when they were taken elsewhere."""

from dataclasses import replace

from solver.codes import FaultCode
from solver.costs.algorithms.extrapolation import extrapolation_faults, growth
from solver.costs.cluster import Cluster, missing_fields
from solver.costs.functions.affine import Affine
from solver.costs.functions.measured import MeasuredCost
from solver.costs.functions.piecewise import Piecewise
from solver.errors import Fault, InvalidCluster
from solver.graph import ALL_REDUCE, ALL_TO_ALL, SEND_RECV

#: What nccl-tests call kinds of collective, where that is not our word.
_PROGRAMS = {ALL_TO_ALL: "alltoall", SEND_RECV: "sendrecv"}


def table(cluster: Cluster, kind: str) -> MeasuredCost:
    """Measured times, linear between points; points of the same size are averaged.

    Raises
    ------
    InvalidCluster
        With fewer than two different sizes, or measured elsewhere.
    """
    pointer, points = "/table", cluster.table
    if kind != ALL_REDUCE:
        pointer, points = f"/tables/{kind}", dict(cluster.tables).get(kind, ())
    groups: dict[int, list[float]] = {}
    for size, time in sorted(points):
        groups.setdefault(size, []).append(time)
    faults = extrapolation_faults(cluster)
    if len(groups) < 2:  # noqa: PLR2004 - a line takes two points
        detail = _too_few(kind, len(groups))
        code = FaultCode.OUT_OF_RANGE if kind == ALL_REDUCE or points else FaultCode.MISSING_FIELD
        faults.append(Fault(pointer, code, detail))
    if faults:
        raise InvalidCluster(faults)
    sizes = tuple(groups)
    times = tuple(sum(found) / len(found) for found in groups.values())
    half = min(range(len(sizes) - 1), key=lambda i: (abs(2 * sizes[i] - sizes[-1]), i))
    slope = max(0.0, (times[-1] - times[half]) / (sizes[-1] - sizes[half]))
    measured = MeasuredCost(sizes, times, slope, 0.0).stretch(*growth(cluster, kind))
    return replace(measured, startup=cluster.startup_us)


def _too_few(kind: str, sizes: int) -> str:
    """Say what a table lacks, and which program of nccl-tests measures it."""
    program = f"{_PROGRAMS.get(kind, kind)}_perf"
    if not sizes:
        return (
            f"{kind} was not measured: the cost has no table of it. Measure it, with {program} of "
            "nccl-tests, and fit all benchmarks at once, or give points of it."
        )
    return f"A table of {kind} needs points of two different sizes, as {program} prints."


def linear(cluster: Cluster, kind: str) -> Affine:
    """T(n) = constant + time per byte n, both fitted, the start-up on top.

    Raises
    ------
    InvalidCluster
        When no time per byte is given, or it was measured elsewhere.
    """
    if cluster.us_per_byte is None or extrapolation_faults(cluster):
        raise InvalidCluster(
            [*missing_fields(cluster, "us_per_byte"), *extrapolation_faults(cluster)]
        )
    fitted = Affine(cluster.constant_us, cluster.us_per_byte).stretch(*growth(cluster, kind))
    return replace(fitted, startup=fitted.startup + cluster.startup_us)


def piecewise(cluster: Cluster, kind: str) -> Piecewise:
    """OSF's curve (18), the start-up on top.

    Raises
    ------
    InvalidCluster
        When no curve is given, or it was measured elsewhere.
    """
    if cluster.piecewise is None or extrapolation_faults(cluster):
        raise InvalidCluster(
            [*missing_fields(cluster, "piecewise"), *extrapolation_faults(cluster)]
        )
    fitted = Piecewise(cluster.piecewise, 0.0).stretch(*growth(cluster, kind))
    return replace(fitted, startup=cluster.startup_us)
