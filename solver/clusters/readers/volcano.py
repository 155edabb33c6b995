"""Volcano's HyperNodes: sets of nodes, and of other sets, by tier."""

import re
from dataclasses import replace
from typing import Any

from solver.clusters.readers.kubernetes import gpus_of
from solver.clusters.readers.slurm_conf import ASSUMED_GPUS
from solver.clusters.readers.switches import SwitchBelow, topology_of_switches
from solver.clusters.topology import Topology


def looks_like(document: Any) -> bool:
    """Tell whether a document is a list of HyperNodes."""
    items = document.get("items") if isinstance(document, dict) else None
    return isinstance(items, list) and any(
        isinstance(item, dict) and item.get("kind") == "HyperNode" for item in items
    )


def read(document: Any, gpus: int | None = None) -> Topology:
    """Return the topology of HyperNodes, and of the nodes that stand beside them in the list.

    A member is named, or meant by a regular expression, which is looked for among the nodes of the
    list (``kubectl get nodes,hypernodes -o json``).

    Parameters
    ----------
    document
        The list.
    gpus
        GPUs of a node that does not count ``nvidia.com/gpu``; None for 8.

    Raises
    ------
    InvalidTopology
        When the sets are no tree.
    """
    items = [item for item in document["items"] if isinstance(item, dict)]
    counted = {_name(item): gpus_of(item) for item in items if item.get("kind") == "Node"}
    names = [name for name, count in counted.items() if count != 0]
    switches = []
    for i, item in enumerate(items):
        if item.get("kind") != "HyperNode":
            continue
        nodes: list[str] = []
        below: list[str] = []
        for member in (item.get("spec") or {}).get("members") or ():
            selector = member.get("selector") or {}
            exact = (selector.get("exactMatch") or {}).get("name")
            pattern = (selector.get("regexMatch") or {}).get("pattern")
            meant = [exact] if exact and counted.get(exact) != 0 else []
            if pattern:
                meant = [name for name in names if re.search(pattern, name)]
            (below if member.get("type") == "HyperNode" else nodes).extend(meant)
        switches.append(SwitchBelow(_name(item), tuple(below), tuple(nodes), f"/items/{i}"))
    found = topology_of_switches(switches, gpus or ASSUMED_GPUS)
    own = (replace(node, gpus=counted.get(node.name) or node.gpus) for node in found.nodes)
    return replace(found, nodes=tuple(own))


def _name(item: dict[str, Any]) -> str:
    return str((item.get("metadata") or {}).get("name", ""))
