"""Which cost each lane of a cluster has."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from solver.codes import FaultCode
from solver.costs.algorithms import cost_of
from solver.costs.cluster import Cluster
from solver.costs.cost import Cost
from solver.errors import Fault, InvalidCluster
from solver.graph import NETWORK


class Lane(NamedTuple):
    """One kind of collective on one channel: what may be fused, at one cost."""

    channel: str
    kind: str


#: What a launch costs in each lane.
Network = Callable[[Lane], Cost]


def network_of(cluster: Cluster) -> Network:
    """Cost of each lane of a cluster, computed once.

    Raises
    ------
    InvalidCluster
        From the network, for a lane that the cluster does not describe.
    """
    channels = {NETWORK: cluster, **dict(cluster.channels)}

    @cache
    def network(lane: Lane) -> Cost:
        if lane.channel not in channels:
            detail = f"The cluster has no channel {lane.channel!r}."
            raise InvalidCluster([Fault("/channels", FaultCode.UNKNOWN_CHANNEL, detail)])
        try:
            return cost_of(channels[lane.channel], lane.kind)
        except InvalidCluster as error:
            under = "" if lane.channel == NETWORK else f"/channels/{lane.channel}"
            raise InvalidCluster(
                [Fault(under + f.pointer, f.code, f.detail) for f in error.faults]
            ) from None

    return network


def alike(cost: Cost) -> Network:
    """Return a network that costs the same in every lane."""
    return lambda _: cost
