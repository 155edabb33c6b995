"""Slurm's ``topology.yaml``, parsed: the default topology of the file, a tree or blocks.

The form is that of the manual page topology.yaml(5) of Slurm 25.05.
"""

from typing import Any

from solver.clusters.readers.hostlist import hosts
from solver.clusters.readers.slurm_conf import of_lists
from solver.clusters.readers.switches import SwitchBelow
from solver.clusters.topology import InvalidTopology, Topology
from solver.codes import FaultCode
from solver.errors import Fault


def looks_like(document: Any) -> bool:
    """Tell whether parsed YAML is Slurm's topologies."""
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(each, dict) and "topology" in each for each in document)
    )


def read(document: Any, gpus: int | None = None) -> Topology:
    """Return the topology that is the cluster's default, with the first blocks as NVLink domains.

    Raises
    ------
    InvalidTopology
        When there is neither tree nor block.
    """
    trees = [(i, each) for i, each in enumerate(document) if isinstance(each.get("tree"), dict)]
    blocks = [(i, each) for i, each in enumerate(document) if isinstance(each.get("block"), dict)]
    if not trees and not blocks:
        detail = "The file has no topology of a tree or of blocks."
        raise InvalidTopology([Fault("", FaultCode.EMPTY, detail)])
    switches: list[SwitchBelow] = []
    for i, each in sorted(trees, key=lambda at: not at[1].get("cluster_default"))[:1]:
        for k, one in enumerate(each["tree"].get("switches", ())):
            place = f"/{i}/tree/switches/{k}"
            below = hosts(one.get("nodes") or "", place), hosts(one.get("children") or "", place)
            switches.append(SwitchBelow(one["switch"], below[1], below[0], place))
    domains: list[SwitchBelow] = []
    for i, each in blocks[:1]:
        for k, one in enumerate(each["block"].get("blocks", ())):
            place = f"/{i}/block/blocks/{k}"
            domains.append(
                SwitchBelow(one["block"], (), hosts(one.get("nodes") or "", place), place)
            )
    return of_lists(switches, domains, gpus)
