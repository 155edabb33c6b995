"""Which cost each lane of a cluster has, and what its launches cost what runs beside them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

from solver.codes import FaultCode
from solver.costs.algorithms import cost_of
from solver.costs.algorithms.extrapolation import MEASURED, is_extrapolated
from solver.costs.algorithms.stepwise import ring_effort
from solver.costs.checks import cluster_faults
from solver.costs.cluster import HIERARCHICAL, Cluster
from solver.costs.cost import Cost, scale
from solver.costs.cost_error import CostError, weighted
from solver.errors import Fault, InvalidCluster
from solver.graph import NETWORK, Graph, Op


class ChannelCost(NamedTuple):
    """What may be fused, at one cost: one kind of collective on one channel, and of one key.

    Elements of different sizes are of different types, so a bucket has elements of one size. Sends
    are of one pair of ranks. The cost depends on channel and kind alone.
    """

    channel: str
    kind: str
    fuse_key: str | None = None
    element_bytes: int = 1
    pair: tuple[str, str] | None = None

    def __str__(self) -> str:
        """Say what differs from what is usual."""
        key = "" if self.fuse_key is None else f" with fuse_key {self.fuse_key!r}"
        size = "" if self.element_bytes == 1 else f" of {self.element_bytes}-byte elements"
        pair = "" if self.pair is None else " from {!r} to {!r}".format(*self.pair)
        return f"{self.kind} on {self.channel}{pair}{key}{size}"


def lane_of_op(op: Op) -> ChannelCost:
    """Return the lane of a collective."""
    pair = None if op.source is None or op.target is None else (op.source, op.target)
    return ChannelCost(op.channel, op.kind, op.fuse_key, op.element_bytes, pair)


class Crossing(NamedTuple):
    """A channel whose launches cross links.

    Attributes
    ----------
    channel
        Its name.
    path
        The names of the links.
    priority
        Its class: higher ones are served first.
    ring
        How many the ring joins that crosses the links; None for the channel's workers.
    """

    channel: str
    path: tuple[str, ...]
    priority: int = 0
    ring: int | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """What a launch costs in each lane, and the compute beside it; ``network(lane)`` is its cost.

    Attributes
    ----------
    cost
        The cost of a launch in a lane.
    compute_slowdown
        While a launch is under way, compute ops that state no slowdown proceed at 1 / this of their
        speed; at least 1.
    cards
        Channels and the network card of each, of those that say which; the launches under way on
        the channels of one card share its bandwidth.
    workers
        Channels and the ranks of a collective on each: a shard is the whole over these.
    errors
        Channels and how far their costs are from what they were fitted to, of those that tell.
    scaled
        Channels whose costs were measured with other workers, or at another bandwidth.
    assumed
        Channels and what is assumed of their transport beyond start-up and bandwidth, in words.
    links
        Links and the capacity of each [Gbit/s].
    crossings
        The channels whose launches cross links.
    launch_slowdowns
        Channels whose launches take longer while their ranks compute, and how many times as long.
    """

    cost: Callable[[ChannelCost], Cost]
    compute_slowdown: float = 1.0
    cards: tuple[tuple[str, str], ...] = ()
    workers: tuple[tuple[str, int], ...] = ()
    errors: tuple[tuple[str, CostError], ...] = ()
    scaled: tuple[str, ...] = ()
    assumed: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, float], ...] = ()
    crossings: tuple[Crossing, ...] = ()
    launch_slowdowns: tuple[tuple[str, float], ...] = ()

    @property
    def shares_any(self) -> bool:
        """Whether the time of a launch depends on what else is under way."""
        return bool(self.cards or self.crossings or self.launch_slowdowns)

    def passes(self, lane: ChannelCost) -> float:
        """How often the bytes of a launch cross each link of its path: those of a ring.

        That is how nccl-tests count a bus's bandwidth. Of a hierarchical sum it is the ring of
        nodes that crosses links.
        """
        rings = {each.channel: each.ring for each in self.crossings}
        joined = rings.get(lane.channel) or dict(self.workers).get(lane.channel, 2)
        return ring_effort(joined, lane.kind).passes

    def faster(self, bandwidth: float = 1.0, startup: float = 1.0) -> "Network":
        """Return a network with so many times the bandwidth, its links' too, and the start-up."""
        is_free = bandwidth == inf
        return replace(
            self,
            cost=lambda lane: scale(self(lane), bandwidth, startup),
            links=() if is_free else tuple((name, of * bandwidth) for name, of in self.links),
            crossings=() if is_free else self.crossings,
        )

    def __call__(self, lane: ChannelCost) -> Cost:
        """Return the cost of a launch in a lane."""
        return self.cost(lane)


@dataclass(frozen=True, slots=True)
class _OfCluster:
    """The cost of each lane of a cluster, computed once; another of the same cluster is equal."""

    cluster: Cluster
    known: dict[ChannelCost, Cost] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def __call__(self, lane: ChannelCost) -> Cost:
        found = self.known.get(lane)
        if found is None:
            found = self.known[lane] = self._computed(lane)
        return found

    def __reduce__(self) -> tuple[type["_OfCluster"], tuple[Cluster]]:
        """Pickle the cluster alone."""
        return _OfCluster, (self.cluster,)

    def _computed(self, lane: ChannelCost) -> Cost:
        channels = {NETWORK: self.cluster, **dict(self.cluster.channels)}
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


@dataclass(frozen=True, slots=True)
class _Alike:
    """The same cost in every lane."""

    cost: Cost

    def __call__(self, _lane: ChannelCost) -> Cost:
        return self.cost


def cluster_behind(network: Network) -> Cluster | None:
    """Return the cluster that a network was made of; None of one of other costs."""
    return network.cost.cluster if isinstance(network.cost, _OfCluster) else None


def network_of(cluster: Cluster) -> Network:
    """Cost of each lane of a cluster, computed once.

    Raises
    ------
    InvalidCluster
        With all that :func:`solver.costs.checks.cluster_faults` finds. From the network, for a
        lane that the cluster does not describe.
    """
    if faults := list(cluster_faults(cluster)):
        raise InvalidCluster(faults)
    channels = {NETWORK: cluster, **dict(cluster.channels)}
    cards = ((name, channel.shares) for name, channel in channels.items())
    return Network(
        _OfCluster(cluster),
        cluster.compute_slowdown,
        tuple((name, card) for name, card in cards if card is not None),
        tuple((name, channel.workers) for name, channel in channels.items()),
        tuple(
            (name, channel.cost_error)
            for name, channel in channels.items()
            if channel.cost_error is not None
        ),
        tuple(name for name, channel in channels.items() if is_extrapolated(channel)),
        tuple(
            (name, words)
            for name, channel in channels.items()
            if (words := _assumed_of(channel)) is not None
        ),
        cluster.links,
        tuple(
            Crossing(name, channel.path, channel.priority, _ring_of(channel))
            for name, channel in channels.items()
            if channel.path
        ),
        tuple(
            (name, channel.launch_slowdown)
            for name, channel in channels.items()
            if channel.launch_slowdown > 1
        ),
    )


def _ring_of(channel: Cluster) -> int | None:
    """Return how many the ring across links joins where these are fewer than the workers."""
    if channel.algorithm != HIERARCHICAL or channel.node_workers is None:
        return None
    return channel.workers // channel.node_workers


def _assumed_of(channel: Cluster) -> str | None:
    """Say what is assumed of a channel's transport; None where nothing is, or it was measured."""
    said = []
    if channel.negotiation_us_per_worker:
        said.append(f"{channel.negotiation_us_per_worker:g} us of negotiation a worker and launch")
    if channel.line_rate_share < 1:
        said.append(f"{channel.line_rate_share:.4g} of the bandwidth for the transport")
    return " and ".join(said) if said and channel.algorithm not in MEASURED else None


def bytes_on(graph: Graph) -> Counter[str]:
    """Return the bytes that a graph sends on each channel."""
    sent = Counter[str]()
    for op in (graph.ops[i] for i in graph.collectives):
        sent[op.channel] += op.bytes or 0
    return sent


def cost_error_of(network: Network, graph: Graph) -> CostError | None:
    """Return how far off a network's costs are, by the bytes that a graph sends on each channel.

    None where no channel that it sends on tells.
    """
    sent = bytes_on(graph)
    return weighted((error, sent[channel]) for channel, error in network.errors)


def as_network(given: Network | Cluster) -> Network:
    """Return a network, or that of a cluster, which is what people have in hand."""
    return network_of(given) if isinstance(given, Cluster) else given


def alike(cost: Cost, compute_slowdown: float = 1.0) -> Network:
    """Return a network that costs the same in every lane."""
    return Network(_Alike(cost), compute_slowdown)
