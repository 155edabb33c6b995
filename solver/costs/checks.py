"""What may be wrong with a cluster, whoever describes it."""

import math
from collections.abc import Collection, Iterator
from numbers import Integral, Real
from typing import Any

from solver.codes import FaultCode
from solver.costs.algorithms import ALGORITHMS
from solver.costs.algorithms.servers import PLACEMENTS
from solver.costs.cluster import Cluster
from solver.errors import Fault
from solver.limits import (
    MAX_BANDWIDTH_GBPS,
    MAX_COMPUTE_SLOWDOWN,
    MAX_STARTUP_US,
    MAX_WORKERS,
    MIN_BANDWIDTH_GBPS,
    MIN_LINE_RATE_SHARE,
)
from solver.wording import must_be, one_of, ranged, some_of

_Range = tuple[float, float]

_BANDWIDTH: _Range = (MIN_BANDWIDTH_GBPS, MAX_BANDWIDTH_GBPS)
_TIME: _Range = (0, MAX_STARTUP_US)
_SLOWDOWN: _Range = (1, MAX_COMPUTE_SLOWDOWN)

#: What each figure may be: ranks, bandwidths [Gbit/s], times [us]. None where one is not said.
_RANGES: dict[str, tuple[type[Integral] | type[Real], _Range]] = {
    **dict.fromkeys(("workers", "node_workers", "measured_workers"), (Integral, (1, MAX_WORKERS))),
    **dict.fromkeys(("bandwidth_gbps", "reduction_gbps"), (Real, _BANDWIDTH)),
    **dict.fromkeys(("node_bandwidth_gbps", "measured_gbps"), (Real, _BANDWIDTH)),
    **dict.fromkeys(("startup_us", "negotiation_us_per_worker"), (Real, _TIME)),
    **dict.fromkeys(("hop_us", "node_hop_us"), (Real, _TIME)),
    "line_rate_share": (Real, (MIN_LINE_RATE_SHARE, 1)),
    **dict.fromkeys(("constant_us", "us_per_byte"), (Real, _TIME)),
}

#: The figures that may not be None.
_NEEDED = (
    *("workers", "startup_us", "negotiation_us_per_worker", "line_rate_share"),
    *("hop_us", "node_hop_us", "constant_us"),
)

_NAMES = {"algorithm": tuple(ALGORITHMS), "placement": PLACEMENTS}


def cluster_faults(cluster: Cluster) -> Iterator[Fault]:
    """Find all that is out of range in a cluster and its channels; pointers are into it.

    In the words of whoever reads a cluster as JSON.
    """
    yield from _own_faults(cluster, "", "Cluster: ")
    stated = "Cluster: compute_slowdown", cluster.compute_slowdown
    yield from _figure_faults("/compute_slowdown", *stated, Real, _SLOWDOWN)
    links = dict(cluster.links)
    for name, capacity in cluster.links:
        what = f"Cluster: links/{name}/capacity_gbps"
        yield from _figure_faults(f"/links/{name}/capacity_gbps", what, capacity, Real, _BANDWIDTH)
    yield from path_faults(cluster, links, "", "Cluster: ")
    for name, channel in cluster.channels:
        under = f"/channels/{name}"
        yield from path_faults(channel, links, under, f"Cluster: channels/{name}/")
        if channel.links:
            detail = f"Cluster: channels/{name}/links is not a known field."
            yield Fault(f"{under}/links", FaultCode.EXTRA_FIELD, detail)
        yield from _own_faults(channel, under, f"Cluster: channels/{name}/")
        if channel.compute_slowdown != 1:
            detail = f"Cluster: channels/{name}/compute_slowdown is not a known field."
            yield Fault(f"{under}/compute_slowdown", FaultCode.EXTRA_FIELD, detail)


def _own_faults(cluster: Cluster, under: str, what: str) -> Iterator[Fault]:
    for field, rule in _RANGES.items():
        value = getattr(cluster, field)
        if value is not None or field in _NEEDED:
            yield from _figure_faults(f"{under}/{field}", f"{what}{field}", value, *rule)
    what_slows = f"{what}launch_slowdown", cluster.launch_slowdown
    yield from _figure_faults(f"{under}/launch_slowdown", *what_slows, Real, _SLOWDOWN)
    for field, known in _NAMES.items():
        name = getattr(cluster, field)
        if not isinstance(name, str):
            yield Fault(
                f"{under}/{field}",
                FaultCode.WRONG_TYPE,
                must_be(f"{what}{field}", "a string", name),
            )
        elif name not in known:
            detail = must_be(f"{what}{field}", one_of(known), name, known)
            yield Fault(f"{under}/{field}", FaultCode.OUT_OF_RANGE, detail)


def _figure_faults(
    pointer: str, what: str, value: Any, kind: type[Integral] | type[Real], right: _Range
) -> Iterator[Fault]:
    is_figure = isinstance(value, Real) and not isinstance(value, bool)
    if is_figure and not math.isfinite(value):
        yield Fault(pointer, FaultCode.OUT_OF_RANGE, must_be(what, ranged(*right), value))
    elif not is_figure or not isinstance(value, kind):
        rule = "an integer" if kind is Integral else "a number"
        yield Fault(pointer, FaultCode.WRONG_TYPE, must_be(what, rule, value))
    elif not right[0] <= float(value) <= right[1]:
        yield Fault(pointer, FaultCode.OUT_OF_RANGE, must_be(what, ranged(*right), value))


def path_faults(channel: Cluster, links: Collection[str], under: str, what: str) -> Iterator[Fault]:
    """Find links of a path that are unknown or named again, and what does not go with it."""
    known = f"it has {some_of(links)}" if links else "it has none"
    for place, name in enumerate(channel.path):
        pointer = f"{under}/path/{place}"
        if name not in links:
            detail = f"{what}path: the cluster has no link {name!r}; {known}."
            yield Fault(pointer, FaultCode.UNKNOWN_LINK, detail)
        elif name in channel.path[:place]:
            detail = f"{what}path names {name!r} twice; a launch crosses a link once."
            yield Fault(pointer, FaultCode.DUPLICATE_ID, detail)
    if channel.path and channel.shares is not None:
        detail = (
            f"{what}shares does not count beside path, which says what is shared; leave one out."
        )
        yield Fault(f"{under}/shares", FaultCode.EXTRA_FIELD, detail)
    if channel.launch_slowdown != 1 and channel.shares is not None:
        detail = f"{what}launch_slowdown does not count beside shares; leave one out."
        yield Fault(f"{under}/launch_slowdown", FaultCode.EXTRA_FIELD, detail)
    if channel.priority and not channel.path:
        detail = f"{what}priority does not count without a path; leave it out."
        yield Fault(f"{under}/priority", FaultCode.EXTRA_FIELD, detail)
