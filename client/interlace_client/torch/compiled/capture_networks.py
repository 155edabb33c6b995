"""What a launch costs in each process group, by where its ranks are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from interlace_client.torch.compiled.capture_collectives import CapturedGroup
from interlace_client.torch.compiled.capture_gpus import Gpu


@dataclass(frozen=True)
class Fabric:
    """The machine between the GPUs.

    Attributes
    ----------
    node_gpus
        GPUs of a node; ranks are laid out node by node.
    link_gbps
        Between GPUs of a node, one way [Gbit/s]; None for the GPU's own.
    nic_gbps
        Of the network card that each GPU has, one way [Gbit/s].
    startup_us
        Fixed cost of a launch [us].
    link_hop_us, nic_hop_us
        Fixed cost of a step of a ring inside a node, and from node to node [us].
    """

    node_gpus: int = 8
    link_gbps: float | None = None
    nic_gbps: float = 400.0
    startup_us: float = 10.0
    link_hop_us: float = 1.0
    nic_hop_us: float = 6.0


def channels_of(
    groups: Iterable[CapturedGroup],
    gpu: Gpu,
    fabric: Fabric,
    given: Mapping[str, Mapping[str, Any]],
) -> dict[str, dict[str, Any]]:
    """Return the channels of a cluster, as a request has them, by the names of the groups.

    A group is a ring. Inside a node it has the links' bandwidth. Between nodes it leaves each node
    by the cards of all its ranks there, each with a ring of its own: as many times a card's
    bandwidth as ranks share a node at least, but no more than the links'. A step takes the mean of
    the hops of the ring, of which one a node goes to another node.

    Parameters
    ----------
    given
        Channels, by name, that are taken as they are; their ``workers`` are added.

    References
    ----------
    .. [1] NCCL's model of rings: bandwidth of the slowest link, and a latency for each step by the
           link that it goes over (tuning.cc).
    """
    channels = {}
    for group in groups:
        workers = max(1, len(group.ranks))
        if group.name in given:
            channels[group.name] = {"workers": workers, **given[group.name]}
            continue
        link = fabric.link_gbps or gpu.link_gbps
        inside: dict[int, int] = {}
        for rank in group.ranks:
            node = rank // fabric.node_gpus
            inside[node] = inside.get(node, 0) + 1
        bandwidth, hop = link, fabric.link_hop_us
        if len(inside) > 1:
            bandwidth = min(link, fabric.nic_gbps * min(inside.values()))
            share = len(inside) / workers
            hop = share * fabric.nic_hop_us + (1 - share) * fabric.link_hop_us
        channels[group.name] = {
            "workers": workers,
            "algorithm": "ring",
            "bandwidth_gbps": bandwidth,
            "startup_us": fabric.startup_us,
            "hop_us": hop,
        }
    return channels
