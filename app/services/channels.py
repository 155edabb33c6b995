"""Which channels of a cluster change when its workers, bandwidth or start-up do."""

from collections.abc import Iterator

from app.schemas.clusters import ChannelBody, ClusterBody
from solver.chain import chain_of
from solver.graph import NETWORK, Graph


def is_fixed(name: str, channel: ChannelBody) -> bool:
    """Tell whether a channel keeps its workers whatever the cluster's are."""
    return name != NETWORK and channel.workers is not None


def scaling_notes(graph: Graph, cluster: ClusterBody, *, speed: bool = False) -> Iterator[str]:
    """Say what another cluster changes, where the graph uses more than the network, or links.

    The cluster's workers are those of the network and of every channel without workers of its own.
    Groups with workers of their own, as those of tensor parallelism, stay as they are, and with
    ``speed`` so do bandwidth and start-up of all channels but the network. Links, bytes, which are
    those of whole tensors, and compute never change: each worker has a batch of its own.
    """
    networks = cluster.networks()
    names = {graph.ops[i].channel: None for i in graph.collectives}
    used = [
        name for name in (names if graph.free else chain_of(graph).channels) if name in networks
    ]
    if any(networks[name][1].path for name in used):
        yield "Links keep their capacities."
    if set(used) <= {NETWORK}:
        return
    others = [name for name in used if name != NETWORK]
    follow = [name for name in used if not is_fixed(name, networks[name][1])]
    if follow:
        yield f"The worker counts are those of {_listed(follow)}."
    for name in used:
        if name not in follow:
            yield f"{name} keeps its groups of {networks[name][1].workers:,} workers."
    if speed:
        yield f"Bandwidth and start-up of {_listed(others)} stay as they are."
    yield "Bytes of the whole tensors and compute times are the same with any number of workers."


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
