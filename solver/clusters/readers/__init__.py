"""Readers of topologies as schedulers have them: from a file's text to nodes and links."""

from collections.abc import Callable
from typing import Any, Final

from solver.clusters.readers import kubernetes, slurm_conf, slurm_yaml, volcano
from solver.clusters.topology import InvalidTopology, Topology
from solver.codes import FaultCode
from solver.errors import Fault

#: Readers of parsed JSON or YAML: each tells whether a document is of its form.
DOCUMENTS: Final[tuple[tuple[Callable[[Any], bool], Callable[..., Topology]], ...]] = (
    (slurm_yaml.looks_like, slurm_yaml.read),
    (volcano.looks_like, volcano.read),
    (kubernetes.looks_like, kubernetes.read),
)


def topology_of_document(document: Any, gpus: int | None = None) -> Topology:
    """Return the topology of parsed JSON or YAML.

    Parameters
    ----------
    document
        Slurm's ``topology.yaml``, or a list of Kubernetes nodes or of Volcano's HyperNodes.
    gpus
        GPUs of each node that does not say.

    Raises
    ------
    InvalidTopology
        When no reader knows it, or its reader finds it wrong.
    """
    for looks_like, read in DOCUMENTS:
        if looks_like(document):
            return read(document, gpus)
    detail = (
        "The topology is none that is read: Slurm's topology.yaml, a list of Kubernetes nodes, or "
        "of Volcano's HyperNodes (kubectl get ... -o json)."
    )
    raise InvalidTopology([Fault("", FaultCode.UNKNOWN_FORMAT, detail)])


def topology_of_text(text: str, gpus: int | None = None) -> Topology:
    """Return the topology of Slurm's ``topology.conf``, which Topograph writes as well.

    Raises
    ------
    InvalidTopology
        With each line that is wrong.
    """
    return slurm_conf.read(text, gpus)
