"""A topology from what a request tells of it, or all that is wrong or missing."""

from dataclasses import replace

from app.schemas.allocations import TOPOLOGY_FORMS, TopologyBody
from solver.clusters.figures import faults_of_missing, with_figures
from solver.clusters.readers import topology_of_document, topology_of_text
from solver.clusters.regular import fat_tree, rails
from solver.clusters.topology import ClusterNode, Topology, wired, with_capacities
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError


def topology_of(body: TopologyBody, faults: list[Fault]) -> Topology | None:
    """Return the topology that is meant, or None with all that is wrong or missing."""
    forms = [form for form in TOPOLOGY_FORMS if getattr(body, form) is not None]
    if len(forms) != 1:
        detail = (
            f"Topology: give one of {', '.join(TOPOLOGY_FORMS)}; got {', '.join(forms) or 'none'}."
        )
        faults.append(Fault("/topology", FaultCode.MISSING_FIELD, detail))
        return None
    try:
        topology = _of_form(body, forms[0])
    except InterlaceError as error:
        place = f"/topology/{forms[0]}"
        faults += [replace(fault, pointer=place + fault.pointer) for fault in error.faults]
        return None
    known = topology.link_by_name
    unknown = [name for name in body.links if name not in known]
    faults += [
        Fault(f"/topology/links/{name}", FaultCode.UNKNOWN_LINK, f"There is no link {name!r}.")
        for name in unknown
    ]
    try:
        topology = with_figures(
            with_capacities(topology, dict(body.links)),
            body.level_gbps,
            body.oversubscription,
            node_gbps=body.node_gbps,
            startup_us=body.startup_us,
            hop_us=body.hop_us,
            node_startup_us=body.node_startup_us,
            node_hop_us=body.node_hop_us,
        )
    except InterlaceError as error:
        faults += [replace(fault, pointer=f"/topology{fault.pointer}") for fault in error.faults]
        return None
    faults += faults_of_missing(topology, "/topology")
    return None if faults else topology


def _of_form(body: TopologyBody, form: str) -> Topology:
    if form == "slurm":
        return topology_of_text(body.slurm or "", body.gpus)
    if form == "document":
        return topology_of_document(body.document, body.gpus)
    if body.fat_tree is not None:
        return fat_tree(**body.fat_tree.model_dump(), gpus=body.gpus or 8)
    if body.rails is not None:
        return rails(**body.rails.model_dump())
    nodes = [
        ClusterNode(node.name, node.gpus or body.gpus or 8, tuple(node.above), node.domain)
        for node in body.nodes or ()
    ]
    return wired(nodes, body.levels)
