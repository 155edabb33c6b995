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
        flat = next((i for i, each in enumerate(document) if each.get("flat")), None)
        if flat is not None:
            detail = (
                "A flat topology does not say which switch a node is below: give a tree or blocks, "
                "or JSON with fat_tree, rails, or nodes with what is above each."
            )
            raise InvalidTopology([Fault(f"/{flat}/flat", FaultCode.MISSING_FIELD, detail)])
        detail = "The file has no topology of a tree or of blocks."
        raise InvalidTopology([Fault("", FaultCode.EMPTY, detail)])
    switches: list[SwitchBelow] = []
    for i, each in sorted(trees, key=lambda at: not at[1].get("cluster_default"))[:1]:
        switches = _listed(each["tree"].get("switches"), "switch", f"/{i}/tree/switches")
    domains: list[SwitchBelow] = []
    for i, each in blocks[:1]:
        domains = _listed(each["block"].get("blocks"), "block", f"/{i}/block/blocks")
    return of_lists(switches, domains, gpus)


def _listed(entries: Any, key: str, place: str) -> list[SwitchBelow]:
    """Return what a list of switches or of blocks says."""
    if not isinstance(entries, list) or not entries:
        detail = f"There must be a list of what each {key!r} is, got {entries!r:.40}."
        raise InvalidTopology([Fault(place, FaultCode.WRONG_FORMAT, detail)])
    found, faults = [], []
    for k, entry in enumerate(entries):
        at = f"{place}/{k}"
        if not isinstance(entry, dict) or entry.get(key) in (None, ""):
            detail = f"Entry {k} has no {key!r}, which names it."
            faults.append(Fault(at, FaultCode.MISSING_FIELD, detail))
            continue
        texts = [entry.get(field) or "" for field in ("children", "nodes")]
        if not all(isinstance(text, str) for text in texts):
            detail = f"{entry[key]!r}: nodes and children are a host list in one text, not a list."
            faults.append(Fault(at, FaultCode.WRONG_FORMAT, detail))
            continue
        try:
            below, nodes = (hosts(text, at) for text in texts)
        except InvalidTopology as error:
            faults += error.faults
            continue
        found.append(SwitchBelow(str(entry[key]), below, nodes, at))
    if faults:
        raise InvalidTopology(faults)
    return found
