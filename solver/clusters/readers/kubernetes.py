"""Nodes of Kubernetes with labels of where they are: Kueue's levels, zones, and Topograph's."""

from typing import Any, Final

from solver.clusters.readers.manifests import node_of, of_each
from solver.clusters.readers.slurm_conf import ASSUMED_GPUS
from solver.clusters.topology import ClusterNode, InvalidTopology, Topology, wired
from solver.codes import FaultCode
from solver.errors import Fault

#: Labels of levels from the nearest, each a family that its maker documents: Topograph's, those of
#: Kueue's examples, and those of Kubernetes itself.
FAMILIES: Final[tuple[tuple[str, ...], ...]] = (
    (
        "network.topology.nvidia.com/leaf",
        "network.topology.nvidia.com/spine",
        "network.topology.nvidia.com/core",
    ),
    ("cloud.provider.com/topology-rack", "cloud.provider.com/topology-block"),
    ("topology.kubernetes.io/rack", "topology.kubernetes.io/zone"),
    ("topology.kubernetes.io/zone", "topology.kubernetes.io/region"),
)

#: The label of a node's NVLink domain.
ACCELERATOR: Final = "network.topology.nvidia.com/accelerator"


def looks_like(document: Any) -> bool:
    """Tell whether a document is a list of nodes."""
    items = document.get("items") if isinstance(document, dict) else None
    return isinstance(items, list) and all(
        isinstance(item, dict) and item.get("kind", "Node") == "Node" for item in items
    )


def read(document: Any, gpus: int | None = None, labels: tuple[str, ...] | None = None) -> Topology:
    """Return the topology of nodes by their labels.

    Parameters
    ----------
    document
        What ``kubectl get nodes -o json`` prints.
    gpus
        GPUs of a node that does not count ``nvidia.com/gpu``; None for 8.
    labels
        Labels of the levels from the nearest; None for the first family that all nodes have.

    Raises
    ------
    InvalidTopology
        When nodes lack the labels, or have something else than Kubernetes where names, labels and
        GPUs stand.
    """
    items = of_each(document["items"], node_of)
    found = [item.labels for item in items]
    chosen = labels or next(
        (family for family in FAMILIES if all(family[0] in own for own in found)), None
    )
    if chosen is None or not items:
        families = "; ".join(family[0] for family in FAMILIES)
        detail = f"Nodes must have a label of where they are, all the same of: {families}."
        raise InvalidTopology([Fault("/items", FaultCode.MISSING_FIELD, detail)])
    levels = tuple(label for label in chosen if all(label in own for own in found))
    faults = [
        Fault(
            f"/items/{i}", FaultCode.MISSING_FIELD, f"Node {items[i].name!r} has no label {label}."
        )
        for i, own in enumerate(found)
        for label in chosen
        if label not in own and (labels is not None)
    ]
    if faults:
        raise InvalidTopology(faults)
    nodes = []
    for item in items:
        own = item.labels
        # Names of racks need not differ from zone to zone: the whole way down names a switch.
        way = ["/".join(own[label] for label in reversed(levels[i:])) for i in range(len(levels))]
        top = () if len(levels) > 1 else ("network",)
        nodes.append(
            ClusterNode(
                item.name,
                item.gpus if item.gpus is not None else gpus or ASSUMED_GPUS,
                (*way, *top),
                own.get(ACCELERATOR),
                tuple(sorted(own.items())),
            )
        )
    words = tuple(label.rpartition("/")[2].removeprefix("topology-") for label in levels)
    return wired(
        [node for node in nodes if node.gpus],
        ("node", *words, *(() if len(levels) > 1 else ("network",))),
    )
